"""`playout-tournament compare`: plays players against each other without a server."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import rich.table
from rich import box
from rich.console import Console
from rich.text import Text

from playout import games, players
from playout.commands import interrupts
from playout.commands.options import FiniteRange, add_current_folder, in_writable_folder, registered
from playout.commands.progress import doing
from playout.games import Game
from playout.players import Limit
from playout.players.comparison.pairs import PairTask, PlayedPair, openings, play_task, score
from playout.players.comparison.workers import run_on_cores
from playout.players.evaluations import files
from playout.ratings.luck import Interval, interval
from playout.ratings.pairs import OpeningError

EPILOG = """
\b
Examples:
  playout-tournament compare --game connect_four "uct(c=0.3)" "uct(c=0.5)" "uct(c=1)" --time 0.02
  playout-tournament compare --game othello "uct(c=0.3)" "uct(c=1)" --against uct --simulations 2000
  playout-tournament compare --game gomoku my_bot:MyBot --against uct --pairs 10 --json result.json

Give the players no seed: with a seed and --simulations they would repeat their matches from equal
openings. Use `match` or `run` for clocks, for programs in other languages, for a test that stops
when the result is certain enough, and for what must survive a crash.
"""
DEFAULT_S = 0.05
#: The least width of a table, in which the names of two players have their places.
_WIDTH = 190
_EXPLANATION = (
    "Without luck: the score less the luck of the player's rolls, which is the value of the "
    "position after each roll less its mean over all rolls."
)

#: The played pairs, by the names of both players.
Results = dict[tuple[str, str], list[PlayedPair]]


@click.command("compare", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, required=True, metavar="PLAYER...")
@click.option("--game", required=True, help="The game, with its parameters.")
@click.option("--against", metavar="PLAYER", help="All players play only against this one.")
@click.option(
    "--pairs",
    default=40,
    show_default=True,
    type=click.IntRange(1),
    help="Pairs of matches for each two players.",
)
@click.option(
    "--time",
    type=FiniteRange(0, min_open=True),
    help=f"Seconds for each move.  [default: {DEFAULT_S}, without --simulations]",
)
@click.option("--simulations", type=click.IntRange(1), help="Simulations or nodes for each move.")
@click.option(
    "--plies",
    default=2,
    show_default=True,
    type=click.IntRange(0),
    help="Random moves at the start of each pair, with the rolls of dice.",
)
@click.option("--seed", default=1, show_default=True, help="Seed of the random moves and rolls.")
@click.option(
    "--evaluation",
    metavar="FILE",
    help="The evaluation that measures the luck of rolls.  [default: the one of the game]",
)
@click.option(
    "--cores",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Cores for each match; more for players with several threads.",
)
@click.option(
    "--json",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    callback=in_writable_folder,
    help="Also write the results to this file, with the points of every pair.",
)
def main(
    names: tuple[str, ...],
    game: str,
    against: str | None,
    pairs: int,
    time: float | None,
    simulations: int | None,
    plies: int,
    seed: int,
    evaluation: str | None,
    cores: int,
    path: Path | None,
) -> None:
    """Compare players without a server, and show which are stronger.

    A PLAYER has its options in parentheses, as in "uct(c=0.3)". All players play each other, or
    with --against only that one, in pairs of matches from one opening, with colours swapped. One
    match runs on each core. Ctrl-C shows the results so far.
    """
    both = _contests(names, against)
    loaded = _checked(game, [*names, *([against] if against else [])])
    if evaluation:
        _require_evaluation(loaded, evaluation)
    limit = Limit(DEFAULT_S if time is None and simulations is None else time, simulations)
    try:
        begins = openings(loaded, plies, seed, pairs)
    except OpeningError as error:
        raise click.UsageError(str(error)) from error
    # In turns, so that Ctrl-C leaves an equal number of pairs for each.
    tasks = [
        PairTask(str(loaded), two, limit, opening, seed + number, evaluation or files.SHIPPED)
        for number, opening in enumerate(begins)
        for two in both
    ]
    results: Results = {two: [] for two in both}
    stopped = _play(tasks, cores, results)
    console = Console(width=max(_WIDTH, shutil.get_terminal_size().columns), highlight=False)
    console.print(_matches(f"{loaded}, {_spelled(limit)} per move", results))
    if _has_luck(results):
        click.echo(_EXPLANATION)
    if not against and len(names) > 2:
        console.print(_standings(results))
    if path:
        document = {
            "game": str(loaded),
            "seconds": limit.seconds,
            "simulations": limit.simulations,
            "plies": plies,
            "seed": seed,
            "evaluation": evaluation,
            "matches": _as_json(results),
        }
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if stopped:
        code, why = stopped
        click.echo(f"These are the results so far. {why}", err=True)
        sys.exit(code)


def _checked(game: str, names: Sequence[str]) -> Game:
    """Return the game. Raises UsageError if it or a player cannot be loaded."""
    add_current_folder(*names)
    try:
        loaded = games.load(registered(game))
        for name in names:
            players.load(name, loaded).close()
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    return loaded


def _require_evaluation(game: Game, file: str) -> None:
    """Raise UsageError if an evaluation cannot measure the luck of a game."""
    if not game.has_chance:
        raise click.UsageError(f"--evaluation measures the luck of rolls; {game} has none")
    try:
        files.load_net(game, file)
    except files.EvaluationError as error:
        raise click.UsageError(f"--evaluation: {error}") from error


def _contests(names: Sequence[str], against: str | None) -> list[tuple[str, str]]:
    """Return the pairs of players that play each other. Raises UsageError."""
    if len(set(names)) < len(names):
        raise click.UsageError("a player is named twice")
    if against:
        return [(name, against) for name in names]
    if len(names) < 2:
        raise click.UsageError("expected at least two players, or one and --against another")
    return list(itertools.combinations(names, 2))


def _play(tasks: list[PairTask], cores: int, results: Results) -> tuple[int, str] | None:
    """Fill `results`; return an exit code and the reason if not all pairs were played."""
    found = run_on_cores(play_task, tasks, cores)
    try:
        with interrupts.as_exception():
            for number in range(1, len(tasks) + 1):
                with doing(f"Playing pair {number} of {len(tasks)}"):
                    task, pair = next(found)
                results[task.players].append(pair)
    except KeyboardInterrupt:
        found.close()
        return 130, "Interrupted."
    except click.ClickException as error:
        return 1, f"Stopped: {error.message}"
    return None


def _spelled(limit: Limit) -> str:
    return " and ".join(
        [
            *([f"{limit.seconds * 1e3:g} ms"] if limit.seconds else []),
            *([f"{limit.simulations:,} simulations"] if limit.simulations else []),
        ]
    )


def _matches(title: str, results: Results) -> rich.table.Table:
    """Return a row for each two players, from the view of the first one."""
    table = _table(title, "player", "against")
    for heading in ("games", "won", "tied", "lost", "score", "95 %", "Elo", "95 %", "stronger"):
        table.add_column(heading, justify="right", no_wrap=True)
    has_luck = _has_luck(results)
    more = ("without luck", "95 %") if has_luck else ()
    for heading in (*more, "ms a move", "the other's"):
        table.add_column(heading, justify="right", no_wrap=True)
    for (player, other), pairs in results.items():
        if not pairs:
            continue
        found = score([pair.score for pair in pairs])
        counts = (2 * found.pairs, found.won, found.tied, found.lost)
        table.add_row(
            Text(player),
            Text(other),
            *map(str, counts),
            f"{found.share:.1%}",
            f"{found.low:.1%} to {found.high:.1%}",
            _elo(found.elo),
            f"{_elo(found.elo_low)} to {_elo(found.elo_high)}",
            "" if found.los is None else f"{found.los:.1%}",
            *(_without_luck(pairs) if has_luck else ()),
            *(f"{1e3 * each:.2f}" for each in _seconds_a_move(pairs)),
        )
    return table


def _has_luck(results: Results) -> bool:
    return any(pair.luck is not None for pairs in results.values() for pair in pairs)


def _without_luck(pairs: Sequence[PlayedPair]) -> tuple[str, str]:
    """Return the share of the points less the luck of all rolls, and its interval."""
    found = _adjusted(pairs)
    bounds = "unknown" if found.low is None else f"{found.low:.1%} to {found.high:.1%}"
    return f"{found.mean:.1%}", bounds


def _adjusted(pairs: Sequence[PlayedPair]) -> Interval:
    return interval([each for pair in pairs if (each := pair.without_luck) is not None])


def _standings(results: Results) -> rich.table.Table:
    """Return the score of each player against all others, the best first."""
    found: dict[str, list[float]] = {}
    for (player, other), pairs in results.items():
        for pair in pairs:
            share = pair.score.total / 2
            found.setdefault(player, []).append(share)
            found.setdefault(other, []).append(1 - share)
    table = _table("Against all others", "player")
    for heading in ("games", "score"):
        table.add_column(heading, justify="right", no_wrap=True)
    means = {player: sum(shares) / len(shares) for player, shares in found.items()}
    for player, share in sorted(means.items(), key=lambda item: -item[1]):
        table.add_row(Text(player), str(2 * len(found[player])), f"{share:.1%}")
    return table


def _table(title: str, *names: str) -> rich.table.Table:
    """Return a table with columns for names, which wrap, so that no number is cut."""
    table = rich.table.Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _elo(value: float | None) -> str:
    return "unknown" if value is None else f"{value:+.0f}"


def _seconds_a_move(pairs: Sequence[PlayedPair]) -> tuple[float, float]:
    first, second = (
        sum(pair.seconds[seat] for pair in pairs) / max(1, sum(pair.moves[seat] for pair in pairs))
        for seat in (0, 1)
    )
    return first, second


def _as_json(results: Results) -> list[dict[str, Any]]:
    rows = []
    for (player, other), pairs in results.items():
        if pairs:
            found = score([pair.score for pair in pairs])
            numbers = {each: getattr(found, each) for each in found.__struct_fields__}
            points = [list(pair.score) for pair in pairs]
            more: dict[str, Any] = {"seconds_a_move": _seconds_a_move(pairs), "points": points}
            if pairs[0].luck is not None:
                more["luck"] = [pair.luck for pair in pairs]
                more["without_luck"] = _adjusted(pairs)._asdict()
            rows.append({"player": player, "other": other, **numbers, **more})
    return rows
