"""Reads what lz-genmove_analyze and kata-genmove_analyze report about a search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from playout.games import Game, IllegalAction, State
from playout.players.core.player import ActionStats, Info
from playout.players.engines.client import Position
from playout.players.engines.gtp_games import GtpBoard
from playout.players.engines.gtp_text import COLOURS, GtpError, seat_of, whole_number

#: Most moves of a principal variation.
_LONGEST = 60
_MOVE = re.compile(r"(?:^|\s)info (?=move )")
_PAIR = re.compile(r"(move|visits|winrate)\s+(\S+)")
_VARIATION = re.compile(r"\bpv((?:\s+(?:pass|[A-Za-z]\d+))+)", re.IGNORECASE)


def analysis(
    game: Game, board: GtpBoard, position: Position, reports: Sequence[str]
) -> Info | None:
    """Return the analysis of the last report, without what it cannot read; None if that is all.

    Win rates are from 0 to 1 in KataGo, and in ten-thousandths in Leela Zero.
    """
    state = position.states[-1]
    found: list[tuple[ActionStats, tuple[int, ...]]] = []
    for text in filter(None, _MOVE.split(reports[-1])):
        values = dict(_PAIR.findall(text))
        action = board.action(state, values.get("move", ""))
        try:
            visits, win_rate = int(values["visits"]), _fraction(values["winrate"])
        except (KeyError, ValueError):
            continue
        if action is not None and visits >= 0 and 0 <= win_rate <= 1:
            stats = ActionStats(action, visits, visits * win_rate)
            found.append((stats, tuple(_variation(game, board, state, text))))
    if not found:
        return None
    found.sort(key=lambda each: -each[0].visits)
    best, pv = found[0]
    return Info(
        simulations=sum(each.visits for each, _ in found),
        depth=len(pv),
        win_rate=best.win_rate,
        pv=pv,
        actions=tuple(each for each, _ in found),
    )


def _fraction(text: str) -> float:
    """A win rate from 0 to 1. Raises ValueError."""
    return float(text) if "." in text or text == "1" else int(text) / 10_000


def _variation(game: Game, board: GtpBoard, state: State, text: str) -> Iterator[int]:
    """The moves of a principal variation, as far as they are legal."""
    variation = _VARIATION.search(text)
    for word in variation[1].split()[:_LONGEST] if variation else ():
        action = board.action(state, word)
        if action is None:
            return
        yield action
        state = game.next_state(state, action)


# The analysis of a position as Leela Zero writes it, which Sabaki and Lizzie read.
#
# A line has `info move D4 visits 123 winrate 5321 order 0 pv D4 Q16` for each move, the most
# visited first; `winrate` is in hundredths of a per cent, for the player to move.


#: The name of an action in a position.
Namer = Callable[[State, int], str]

#: The most moves of a line.
MOST_MOVES = 50
#: The time between two lines, in hundredths of a second: if the other program does not give it, and
#: the least, because a report takes a millisecond or more.
DEFAULT_INTERVAL, LEAST_INTERVAL = 50, 10


class AnalysisRequest(NamedTuple):
    """What to analyse: the seat, if given, the seconds between two lines, and the most moves."""

    seat: int | None
    interval_s: float
    most: int

    def require_turn(self, mover: int) -> None:
        """Raise GtpError if the seat is given and not to move."""
        if self.seat not in (None, mover):
            raise GtpError(f"it is {COLOURS[mover]}'s turn")


def parse_request(arguments: list[str]) -> AnalysisRequest:
    """Return the request of `[COLOUR] [INTERVAL] [KEY VALUE ...]`. Raises GtpError.

    The keys are `interval` and `maxmoves`; `minmoves` is accepted without an effect.
    """
    words = list(arguments)
    seat, interval, most = None, DEFAULT_INTERVAL, MOST_MOVES
    if words and words[0].lower() in ("b", "w", *COLOURS.values()):
        seat = seat_of(words.pop(0))
    if words and words[0].isdecimal():
        interval = _interval(words.pop(0))
    while words:
        match words:
            case ["interval", value, *rest]:
                interval = _interval(value)
            case ["maxmoves", value, *rest]:
                most = whole_number(value, 1, 10**6)
            case ["minmoves", _, *rest]:
                pass
            case _:
                raise GtpError(
                    f"cannot use {words[0]!r}: expected [COLOUR] [INTERVAL] [interval N] "
                    "[maxmoves N]"
                )
        words = rest
    seconds = max(interval, LEAST_INTERVAL) / 100
    return AnalysisRequest(seat, seconds, min(most, MOST_MOVES))


def info_line(game: Game, state: State, info: Info, name: Namer, most: int) -> str:
    """Return the line for an analysis of `state`; "" if it says nothing about any move."""
    known = info.actions or [
        ActionStats(action, info.simulations, info.win_rate * info.simulations)
        for action in info.pv[:1]
    ]
    parts = []
    for order, each in enumerate(known[:most]):
        moves = info.pv if info.pv[:1] == (each.action,) else (each.action,)
        rate = each.win_rate if each.visits else info.win_rate
        parts.append(
            f"info move {name(state, each.action)} visits {each.visits} "
            f"winrate {round(10000 * rate)} order {order} "
            f"pv {' '.join(_line(game, state, moves, name))}"
        )
    return " ".join(parts)


def _interval(text: str) -> int:
    return whole_number(text, 1, 10**6)


def _line(game: Game, state: State, actions: tuple[int, ...], name: Namer) -> Iterator[str]:
    """Yield the names of successive moves, as far as they are legal."""
    for action in actions:
        try:
            after = game.next_state(state, action)
        except IllegalAction:
            return
        yield name(state, action)
        state = after
