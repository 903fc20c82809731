"""Analyses of a search in GTP: read from engines that play here, and written by our own engine.

`lz-genmove_analyze` of Leela Zero and `kata-genmove_analyze` of KataGo report the moves of a search
as they think. A report is one line, with `info move D4 visits 123 winrate 5321 order 0 pv D4 Q16`
for each move, the most visited first. Win rates are those of the player to move: from 0 to 1 in
KataGo, in ten-thousandths in Leela Zero and here. Sabaki and Lizzie read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from playout.games import Position
from playout.players.core.player import ActionStats, Info
from playout.players.engines.client import counted, legal_line
from playout.players.engines.gtp_games import GtpBoard
from playout.players.engines.gtp_text import COLOURS, GtpError, seat_of, whole_number

#: Most moves of a principal variation that are read.
_LONGEST = 60
#: Most moves in a line that is written.
MOST_MOVES = 50
#: The time between two lines, in hundredths of a second: if the other program does not give it, and
#: the least, because a report takes a millisecond or more.
DEFAULT_INTERVAL, LEAST_INTERVAL = 50, 10
#: The unit of win rates in ten-thousandths.
_WHOLE = 10_000
_MOST = 10**6
#: Longer whole numbers are cut.
_DIGITS = 15
_MOVE = re.compile(r"(?:^|\s)info (?=move )")
_PAIR = re.compile(r"\b(move|visits|winrate|order)\s+(\S+)")
#: Parts of a report of KataGo that follow its last move.
_AFTER_MOVES = re.compile(r"\s(?:rootInfo|ownership|ownershipStdev)\s.*", re.DOTALL)
_VARIATION = re.compile(r"\bpv((?:\s+(?:pass|[A-Za-z]\d+))+)", re.IGNORECASE)


def analysis(
    board: GtpBoard, position: Position, report: str, *, is_kata: bool = False
) -> Info | None:
    """Return the analysis of a report; None if nothing in it can be read.

    Its win rate and its line of moves are those of the move with order 0. `is_kata`: whether the
    report is one of KataGo's commands.
    """
    #: The order of a move, its statistics and its line.
    found: list[tuple[float, ActionStats, tuple[int, ...]]] = []
    for text in filter(None, _MOVE.split(_AFTER_MOVES.sub("", report))):
        values = dict(reversed(_PAIR.findall(text)))  # the first one of each counts
        action = board.action(position.state, values.get("move", ""))
        try:
            visits = counted(int(values["visits"][:_DIGITS]))
            win_rate = _fraction(values["winrate"], is_kata=is_kata)
            order = float(values.get("order", "inf"))
        except (KeyError, ValueError):
            continue
        if action is not None and 0 <= win_rate <= 1:
            variation = _VARIATION.search(text)
            names = variation[1].split()[:_LONGEST] if variation else ()
            stats = ActionStats(action, visits, visits * win_rate)
            found.append((order, stats, legal_line(position, names, board.action)))
    if not found:
        return None
    found.sort(key=lambda each: (each[0], -each[1].visits))
    _, best, pv = found[0]
    return Info(
        simulations=counted(sum(each.visits for _, each, _ in found)),
        depth=len(pv),
        win_rate=best.win_rate,
        pv=pv,
        actions=tuple(sorted((each for _, each, _ in found), key=lambda each: -each.visits)),
    )


def of_move(info: Info, action: int) -> Info:
    """Return the analysis of the move that was played, if the search preferred another one."""
    if info.pv[:1] == (action,):
        return info
    played = next((each for each in info.actions if each.action == action), None)
    if played is None or not played.visits:
        return info
    return replace(info, win_rate=played.win_rate, pv=(action,), depth=1)


def _fraction(text: str, *, is_kata: bool) -> float:
    """Return a win rate from 0 to 1. Raises ValueError."""
    is_fraction = is_kata or "." in text or text == "1"
    return float(text) if is_fraction else int(text[:_DIGITS]) / _WHOLE


class AnalysisRequest(NamedTuple):
    """The arguments: the seat, if given, the seconds between two lines, and the number of moves.

    `is_kata`: whether the lines have the form of KataGo.
    """

    seat: int | None
    interval_s: float
    most: int
    is_kata: bool = False


#: Keys of KataGo, each with true or false, for reports that players do not make.
_KATA_REPORTS = (
    "ownership",
    "ownershipStdev",
    "movesOwnership",
    "movesOwnershipStdev",
    "pvVisits",
    "pvEdgeVisits",
    "rootInfo",
)


def parse_request(arguments: list[str], *, is_kata: bool = False) -> AnalysisRequest:
    """Return the request of `[COLOUR] [INTERVAL] [KEY VALUE ...]`. Raises GtpError.

    The keys are `interval` and `maxmoves`; `minmoves`, and for KataGo's commands the reports that
    only KataGo makes, are accepted without an effect.
    """
    words = list(arguments)
    seat, interval, most = None, DEFAULT_INTERVAL, MOST_MOVES
    ignored = ("minmoves", *_KATA_REPORTS) if is_kata else ("minmoves",)
    if words and words[0].lower() in ("b", "w", *COLOURS.values()):
        seat = seat_of(words.pop(0))
    if words and words[0].isdecimal():
        interval = whole_number(words.pop(0), 1, _MOST)
    while words:
        match words:
            case ["interval", value, *rest]:
                interval = whole_number(value, 1, _MOST)
            case ["maxmoves", value, *rest]:
                most = whole_number(value, 1, _MOST)
            case [key, _, *rest] if key in ignored:
                pass
            case _:
                raise GtpError(
                    f"cannot use {words[0]!r}: expected [COLOUR] [INTERVAL] [interval N] "
                    "[maxmoves N]"
                )
        words = rest
    seconds = max(interval, LEAST_INTERVAL) / 100
    return AnalysisRequest(seat, seconds, min(most, MOST_MOVES), is_kata)


def info_line(board: GtpBoard, position: Position, info: Info, request: AnalysisRequest) -> str:
    """Return the line for an analysis of a position; "" if it has no move."""
    known = info.actions or [
        ActionStats(action, info.simulations, info.win_rate * info.simulations)
        for action in info.pv[:1]
    ]
    parts = []
    for order, each in enumerate(known[: request.most]):
        moves = info.pv if info.pv[:1] == (each.action,) else (each.action,)
        rate = each.win_rate if each.visits else info.win_rate
        shown = f"{rate:.4f}" if request.is_kata else round(_WHOLE * rate)
        prior = "" if each.prior is None else _prior(each.prior, is_kata=request.is_kata)
        parts.append(
            f"info move {board.name(position.state, each.action)} visits {each.visits} "
            f"winrate {shown} {prior}order {order} "
            f"pv {' '.join(_names(board, position, moves))}"
        )
    return " ".join(parts)


def _prior(probability: float, *, is_kata: bool) -> str:
    """Return the probability of the policy for a move, as both programs write it."""
    return f"prior {probability:.4f} " if is_kata else f"prior {round(_WHOLE * probability)} "


def _names(board: GtpBoard, position: Position, line: tuple[int, ...]) -> Iterator[str]:
    """Return the names of the moves of a line, up to the first illegal one."""
    after, ply = position.extended(line), position.ply
    return map(board.name, after.states[ply:-1], after.moves[ply:])
