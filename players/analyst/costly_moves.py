"""The moves that cost the most in lost matches: a search finds them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import structs

from playout import games
from playout.games import Position, SpecError
from playout.players.best import Best
from playout.players.core.player import Info, Limit, Player

#: The maximum number of lost matches that are searched for costly moves.
MOST_SEARCHED = 12
#: The costly moves shown of a match, and the win rate that a move has to cost.
_MOVES, _COST = 3, 0.1
#: The win rate of each proven result.
_PROVEN = {1: 1.0, 0: 0.5, -1: 0.0}


class CostlyMove(msgspec.Struct, frozen=True):
    """A move of the loser, with the move that was better by the search.

    `ply` counts the moves of the match from 1. `win_rate` and `left` are the loser's win rates
    before and after the move.
    """

    ply: int
    move: str
    better: str
    win_rate: float
    left: float

    @property
    def cost(self) -> float:
        """The win rate that the move has lost."""
        return self.win_rate - self.left

    def __str__(self) -> str:
        return (
            f"move {self.ply}, {self.move}: win rate {self.win_rate:.0%} -> {self.left:.0%}; "
            f"better: {self.better}"
        )


class Loss(msgspec.Struct, frozen=True):
    """A lost match: the seat of the loser, its end, all moves, and those that cost the most.

    The first `opening` of the moves were made for the players. `costly` is empty before a search.
    """

    match: str
    game: str
    opponent: str
    seat: int
    reason: str
    opening: int
    moves: tuple[str, ...]
    costly: tuple[CostlyMove, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the match for people: a heading, its moves, and a line for each costly move."""
        yield (
            f"Match {self.match}, {self.game}, player {self.seat} against {self.opponent}, lost: "
            f"{self.reason}"
        )
        made, played = self.moves[: self.opening], self.moves[self.opening :]
        yield "  " + " ".join([*made, "|", *played] if made else played)
        if not self.costly:
            yield "  no move cost a tenth of the win rate: the position before was lost, or unclear"
        for each in self.costly:
            yield f"  {each}"

    def described(self) -> dict[str, Any]:
        """Return the match for an agent, as a map for JSON with the moves as one text."""
        return {**msgspec.to_builtins(self), "moves": " ".join(self.moves)}


def instructive(
    lost: Sequence[Loss], number: int, seconds: float, searching: Callable[[str], object]
) -> list[Loss]:
    """Return up to `number` lost matches, ordered by the cost of their costliest move.

    The first twelve are searched, in `seconds` in all. `searching` receives a line before each.
    Raises SpecError for a game with chance or an unknown one, and IllegalAction.
    """
    chosen = lost[:MOST_SEARCHED]
    plies = sum(len(each.moves) - each.opening for each in chosen)
    limit = Limit(seconds=seconds / max(1, plies))
    found, players = [], dict[str, Player]()
    try:
        for place, each in enumerate(chosen, 1):
            searching(f"Searching lost match {place} of {len(chosen)}")
            found.append(structs.replace(each, costly=_costly(each, limit, players)))
    finally:
        for player in players.values():
            player.close()
    found.sort(key=lambda loss: loss.costly[0].cost if loss.costly else 0.0, reverse=True)
    return found[:number]


def _costly(loss: Loss, limit: Limit, players: dict[str, Player]) -> tuple[CostlyMove, ...]:
    """Return the costly moves of a match; `players` keeps the search of each game."""
    last = Position.from_names(games.load(loss.game), loss.moves)
    if last.game.has_chance:
        raise SpecError(f"{loss.game} has chance: a move is not to blame for a roll")
    if (player := players.get(loss.game)) is None:
        player = players[loss.game] = Best(last.game, seed=1)
    plies = range(loss.opening, last.ply + 1)
    searched = [_searched(player, last.at(ply), loss.seat, limit) for ply in plies]
    found = []
    for ply, ((rate, best), (left, _)) in zip(plies, itertools.pairwise(searched), strict=False):
        before = last.at(ply)
        if before.to_move == loss.seat and rate - left >= _COST and last.moves[ply] != best:
            found.append(CostlyMove(ply + 1, loss.moves[ply], before.name(best), rate, left))
    return tuple(sorted(found, key=lambda each: each.cost, reverse=True)[:_MOVES])


def _searched(player: Player, position: Position, seat: int, limit: Limit) -> tuple[float, int]:
    """Return the win rate of a seat by a search, or by the result, and the best action."""
    if winner := position.winner:
        return (0.5 if winner not in (1, 2) else float(winner == seat)), -1
    result = player.choose(position, limit)
    info = result.info or Info()
    rate = info.win_rate if info.proven is None else _PROVEN[info.proven]
    return (rate if position.to_move == seat else 1.0 - rate), result.action
