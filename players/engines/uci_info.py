"""The lines `info` of our UCI engine: a player's analysis of a move, in the terms of UCI.

A player reports an expected result p from 0 to 1. The score is 400 log10(p / (1 - p)) centipawns,
as in the ratings of chess, and for a proven result the moves to it, if the line of moves leads
there. Values that players do not report are left out: selective depth, the use of the memory, and
in games with ties the chances of a win, a tie and a loss until the result is proven.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from playout.games import Position
from playout.players.core.player import ActionStats, Info, PlayResult
from playout.players.engines.uci_games import UciGame

#: The score of a proven win whose length is not known, in centipawns.
PROVEN_CP = 10_000
#: Expected results are kept this far from 0 and 1, where the score would be infinite.
_LEAST = 1e-9
_PERMILLE = 1000


@dataclass(frozen=True)
class MoveLine:
    """A move and what is known about it, for the player to move; its actions begin `info.pv`."""

    actions: tuple[int, ...]
    info: Info | None

    @property
    def value(self) -> float:
        """The expected result from 0 to 1; a proven win is above 1, a proven loss below 0."""
        if self.info is None:
            return 0.5
        return 0.5 + self.info.proven if self.info.proven else self.info.win_rate


def lines_of(result: PlayResult, most: int) -> list[MoveLine]:
    """Return the best lines of a search, the chosen move first.

    A player reports its line of moves for the chosen move only.
    """
    info = result.info
    if info is None:
        return [MoveLine((result.action,), None)]
    pv = info.pv if info.pv[:1] == (result.action,) else (result.action,)
    chosen = MoveLine((result.action,), replace(info, pv=pv))
    others = (_other(info, each) for each in info.actions if each.action != result.action)
    return [chosen, *(each for each in others if each)][:most]


def _other(info: Info, stats: ActionStats) -> MoveLine | None:
    """Return the line of a move that was not chosen; None if it was not examined."""
    if not stats.visits and stats.proven is None:
        return None
    pv = (stats.action,)
    rate = stats.win_rate if stats.proven is None else (1 + stats.proven) / 2
    return MoveLine(pv, Info(depth=info.depth, win_rate=rate, pv=pv, proven=stats.proven))


def line_after(actions: tuple[int, ...], info: Info | None, *, same_player: bool) -> MoveLine:
    """Return the line of a move from the analysis of the position after it.

    `same_player` says whether the player who made the move is to move again.
    """
    if info is None:
        return MoveLine(actions, None)
    rate, proven = info.win_rate, info.proven
    if not same_player:
        rate, proven = 1 - rate, None if proven is None else -proven
    seen = Info(
        simulations=info.simulations,
        depth=len(actions) + info.depth,
        win_rate=rate,
        pv=(*actions, *info.pv),
        proven=proven,
    )
    return MoveLine(actions, seen)


class InfoWriter:
    """Writes the lines of a search from one position."""

    def __init__(self, uci: UciGame, position: Position, *, shows_wdl: bool) -> None:
        self._uci, self._position = uci, position
        self._shows_wdl = shows_wdl

    def line(self, number: int, info: Info, nodes: int, seconds: float) -> str:
        """Return the line about the move with that number, 1 for the best.

        `nodes` and `seconds` are those of the whole search so far.
        """
        names = self._uci.line_names(self._position, info.pv)
        words = ["info"]
        if info.depth:
            words += ["depth", str(info.depth)]
        words += ["multipv", str(number), "score", self.score(info)]
        if self._shows_wdl and (chances := self._wdl(info)):
            words += ["wdl", chances]
        words += ["nodes", str(nodes)]
        if seconds > 0:
            words += ["nps", str(round(nodes / seconds))]
        words += ["time", str(round(1000 * seconds))]
        return " ".join([*words, *(["pv", *names] if names else [])])

    def score(self, info: Info) -> str:
        """Return `cp` or `mate` with its number, for the player to move."""
        if not info.proven:
            return f"cp {centipawns(0.5 if info.proven == 0 else info.win_rate)}"
        if self._position.extended(info.pv).winner <= 0:  # the line does not lead to the end
            return f"cp {info.proven * PROVEN_CP}"
        moves = len(self._uci.line_names(self._position, info.pv))
        return f"mate {info.proven * ((moves + 1) // 2)}"

    def _wdl(self, info: Info) -> str:
        """Return the chances of a win, a tie and a loss in thousandths, "" if they are unknown."""
        if info.proven == 0:
            return f"0 {_PERMILLE} 0"
        if info.proven is None and self._uci.has_ties:
            return ""
        rate = info.win_rate if info.proven is None else (1 + info.proven) / 2
        won = round(_PERMILLE * rate)
        return f"{won} 0 {_PERMILLE - won}"


def centipawns(win_rate: float) -> int:
    """Return the score of an expected result from 0 to 1."""
    rate = min(max(win_rate, _LEAST), 1 - _LEAST)
    return round(400 * math.log10(rate / (1 - rate)))
