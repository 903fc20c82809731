"""Moves that preserve the exact value of a position, for each game and player, at equal time.

The positions are those of `agents/exact_values.json.xz`, which `scripts/solve` makes: in each,
at least one move preserves the value (a win, a tie or a loss with best play) and at least one does
not. Several moves may preserve it; each of them counts. In games with chance, these are the moves
with the greatest expected result. *Chance* is the share that random moves would reach. Players get
the positions one by one, each with an empty match before it. Each core has a player of its own.
"""

from __future__ import annotations

import functools
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import click

from playout import games, players
from playout.agents.solved_positions import SolvedPosition, exact
from playout.games import SpecError
from playout.players import Limit, Player
from playout.players.comparison.workers import run_on_cores
from playout.ratings.evidence import Share
from testbed.bench import Bench, Column, ResultTable

PLAYERS = ("alphabeta", "alphazero", "uct", "rave", "minimax", "flat", "greedy")
SECONDS = 0.02
#: Seconds that a player gets for the positions of a task, at most.
TASK_S = 2.0

COLUMNS = (
    Column("game", "game"),
    Column("count", "positions"),
    Column("chance", "chance", ".1%"),
)


class ChoiceTask(NamedTuple):
    """A game, a player, seconds for each move, and positions."""

    game: str
    player: str
    seconds: float
    positions: Sequence[SolvedPosition]


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each game, with a column for each player."""
    positions, names = _positions(bench), bench.selected.players or PLAYERS
    seconds = bench.selected.seconds or SECONDS
    if bench.selected.players:
        _check(bench, names, list(positions))
    tasks = [
        ChoiceTask(game, name, seconds, some[first : first + _size(seconds)])
        for game, some in positions.items()
        for name in names
        for first in range(0, len(some), _size(seconds))
    ]
    kept = _kept(bench, tasks)
    title = f"Moves that preserve the value at {seconds:g} s a move, and 95 % intervals"
    table = ResultTable(title, (*COLUMNS, *(Column(name, name) for name in names)))
    for game, some in positions.items():
        shares = {
            name: Share(kept[game, name], len(some)) for name in names if (game, name) in kept
        }
        table.add(None, game=game, count=len(some), chance=_chance(some), **shares)
    return [table]


def _positions(bench: Bench) -> dict[str, list[SolvedPosition]]:
    """Return the positions of the games that were asked for. Raises UsageError."""
    stored = exact()
    for game in bench.selected.games:
        if game not in stored:
            raise click.UsageError(f"no positions of {game}; expected some of {', '.join(stored)}")
    wanted = bench.selected.games or tuple(stored)
    return {game: stored[game][: bench.pick(None, 10)] for game in wanted}


def _check(bench: Bench, names: Sequence[str], specs: Sequence[str]) -> None:
    """Raise UsageError for a player that can play none of the games."""
    for name in names:
        if not any(bench.can_play(name, spec) for spec in specs):
            raise click.UsageError(f"{name} can play none of the games")


def _size(seconds: float) -> int:
    """Return the number of positions of a task."""
    return max(1, int(TASK_S / seconds))


def _kept(bench: Bench, tasks: Sequence[ChoiceTask]) -> Counter[tuple[str, str]]:
    """Return the number of moves that preserve the value, by game and player.

    A player that cannot play a game has no number.
    """
    found = Counter[tuple[str, str]]()
    steps = [f"task {n} of {len(tasks)}" for n in range(1, len(tasks) + 1)]
    for _, (task, kept) in zip(bench.track(steps), run_on_cores(_choices, tasks), strict=True):
        if kept is not None:
            found[task.game, task.player] += kept
    return found


def _choices(task: ChoiceTask) -> int | None:
    """Return the number of moves that preserve the value; None if the player cannot play."""
    player = _player(task.player, task.game)
    if player is None:
        return None
    limit = Limit(seconds=task.seconds)
    chosen = [player.choose(each.position, limit).action for each in task.positions]
    return sum(map(SolvedPosition.kept_by, task.positions, chosen))


@functools.lru_cache(maxsize=1)
def _player(name: str, spec: str) -> Player | None:
    """Return a player, None if it cannot play; each worker process keeps its last one."""
    try:
        return players.load(name, games.load(spec))
    except SpecError:
        return None


def _chance(positions: Sequence[SolvedPosition]) -> float:
    """Return the mean share of the legal moves that preserve the value."""
    return statistics.fmean(each.chance for each in positions)
