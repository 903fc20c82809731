"""Reads what lz-genmove_analyze and kata-genmove_analyze report about a search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from games import Game, State
from players.core.player import ActionStats, Info
from players.engines.client import Position
from players.engines.gtp_boards import GtpBoard

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
