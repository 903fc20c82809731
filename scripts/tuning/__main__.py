"""The command `scripts/tune`."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import games
import players
from games import Game
from players import Limit
from testbed.bench import Bench, in_writable_folder, output
from testbed.machine import described, headline
from testbed.matches import RESULT, Pairing, PlayedPair, pairings, played, result
from testbed.score import score
from testbed.table import Column, ResultTable

EPILOG = """
\b
Examples:
  scripts/tune connect_four "uct(c=0.3)" "uct(c=0.5)" "uct(c=1)" --seconds 0.02
  scripts/tune othello "uct(c=0.3)" "uct(c=1)" --against uct --simulations 2000
  scripts/tune gomoku my_bot:MyBot --against uct --games 20 --json result.json

\b
Give no seed to the players, or those that stop by --simulations repeat
themselves wherever openings do.
"""
DEFAULT_S = 0.05

MATCHES = (Column("player", "player"), Column("other", "against"), *RESULT)
STANDINGS = (
    Column("player", "player"),
    Column("games", "games"),
    Column("score", "score", ".1%"),
    Column("low", "95 %: from", ".1%"),
    Column("high", "to", ".1%"),
)

#: What came of the pairs of each two players.
Results = dict[tuple[str, str], list[PlayedPair]]


def _even(context: click.Context, parameter: click.Parameter, count: int) -> int:
    if count % 2:
        raise click.BadParameter("each opening is played twice, so the number must be even")
    return count


@click.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("game")
@click.argument("names", nargs=-1, required=True, metavar="PLAYER...")
@click.option("--against", metavar="PLAYER", help="All play against this one, and nobody else.")
@click.option(
    "--games",
    "count",
    default=80,
    show_default=True,
    type=click.IntRange(2),
    callback=_even,
    help="How many each two play.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    help=f"To think about a move.  [default: {DEFAULT_S}]",
)
@click.option(
    "--simulations", type=click.IntRange(1), help="To make for a move, whatever it takes."
)
@click.option(
    "--plies",
    default=2,
    show_default=True,
    type=click.IntRange(0),
    help="Random moves at the beginning of each pair.",
)
@click.option("--seed", default=1, show_default=True, help="Of the openings.")
@click.option(
    "--cores",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="For a match; more where players have more than one thread.",
)
@click.option(
    "--json",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    callback=in_writable_folder,
    help="Write the results there too, with every pair.",
)
def main(
    game: str,
    names: tuple[str, ...],
    against: str | None,
    count: int,
    seconds: float | None,
    simulations: int | None,
    plies: int,
    seed: int,
    cores: int,
    path: Path | None,
) -> None:
    """Play settings of players against each other at GAME, and say which are stronger.

    A PLAYER is spelled with its options, as in "uct(c=0.3)". All play all, or with --against, all
    one. Each opening is played twice, with colours swapped, and one match runs on each core. Ctrl-C
    shows what there is so far.
    """
    sys.path.append(os.getcwd())  # for a player of one's own; workers take it over
    loaded = _check(game, [*names, *([against] if against else [])])
    both = _contests(names, against)
    limit = Limit(DEFAULT_S if seconds is None and simulations is None else seconds, simulations)
    each = [pairings(game, two, limit, count=count // 2, plies=plies, seed=seed) for two in both]
    # By turns, so that there is as much of each when Ctrl-C comes.
    wanted = [pairing for turn in zip(*each, strict=True) for pairing in turn]
    document = described("scripts/tune")
    out = output()
    out.print(headline(document), markup=False, soft_wrap=True)
    results: Results = {two: [] for two in both}
    stopped = _play(wanted, cores, results)
    for table in _tables(loaded, limit, results, standings=not against and len(names) > 2):
        out.print()
        out.print(table.as_rich())
    if path:
        path.write_text(json.dumps(document | _as_json(wanted, results), indent=2) + "\n")
    if stopped:
        code, why = stopped
        click.echo(f"This is what there was. {why}", err=True)
        sys.exit(code)


def _check(game: str, names: Sequence[str]) -> Game:
    """The game. Raises UsageError when that or a player cannot be loaded."""
    try:
        loaded = games.load(game)
        for name in names:
            players.load(name, loaded).close()
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    return loaded


def _contests(names: Sequence[str], against: str | None) -> list[tuple[str, str]]:
    """Who plays whom. Raises UsageError."""
    if len(set(names)) < len(names):
        raise click.UsageError("a player is named twice")
    if against:
        return [(name, against) for name in names]
    if len(names) < 2:
        raise click.UsageError("name two players at least, or one and --against another")
    return list(itertools.combinations(names, 2))


def _play(wanted: list[Pairing], cores: int, results: Results) -> tuple[int, str] | None:
    """Fill `results`; an exit code and the reason, if it came to a stop before the end."""
    steps = [f"pair {n} of {len(wanted)}" for n in range(1, len(wanted) + 1)]
    track = Bench("tune", quick=False).track(steps)
    try:
        for _, (pairing, pair) in zip(track, played(wanted, cores), strict=True):
            results[pairing.players].append(pair)
    except KeyboardInterrupt:
        return 130, "Interrupted."
    except click.ClickException as error:
        return 1, f"Then {error.message}"
    return None


def _tables(game: Game, limit: Limit, results: Results, *, standings: bool) -> list[ResultTable]:
    per_move = [
        *([f"{limit.seconds * 1e3:g} ms"] if limit.seconds else []),
        *([f"{limit.simulations:,} simulations"] if limit.simulations else []),
    ]
    matches = ResultTable(f"{game}, {' and '.join(per_move)} a move", MATCHES)
    for (player, other), pairs in results.items():
        if pairs:
            matches.add(player=player, other=other, **result(pairs))
    return [matches, _standings(results)] if standings else [matches]


def _standings(results: Results) -> ResultTable:
    """Everybody's score against all others, the best first."""
    shares: dict[str, list[float]] = {}
    for (player, other), pairs in results.items():
        for pair in pairs:
            share = sum(pair.points) / 2
            shares.setdefault(player, []).append(share)
            shares.setdefault(other, []).append(1 - share)
    table = ResultTable("Against all others", STANDINGS)
    scores = {player: score(each) for player, each in shares.items()}
    for player, (share, low, high) in sorted(scores.items(), key=lambda item: -item[1].share):
        table.add(player=player, games=2 * len(shares[player]), score=share, low=low, high=high)
    return table


def _as_json(wanted: list[Pairing], results: Results) -> dict[str, Any]:
    first = wanted[0]
    return {
        "game": first.game,
        "seconds": first.limit.seconds,
        "simulations": first.limit.simulations,
        "plies": first.plies,
        "games_wanted": 2 * len(wanted),
        "matches": [
            {
                "player": player,
                "other": other,
                **result(pairs),
                "pairs": [pair.points for pair in pairs],
            }
            for (player, other), pairs in results.items()
            if pairs
        ],
    }


if __name__ == "__main__":
    main(prog_name="scripts/tune")
