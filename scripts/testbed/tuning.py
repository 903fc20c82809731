"""The command `scripts/tune`: plays settings of players against each other."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from playout import games, players
from playout.commands import interrupts
from playout.games import Game
from playout.players import Limit
from testbed.bench import Bench, Column, ResultTable, in_writable_folder, output
from testbed.local_matches import (
    RESULT,
    LocalPairing,
    PlayedPair,
    pairings,
    play_pair,
    result,
    run_on_cores,
    score,
)
from testbed.machine import described, headline

EPILOG = """
\b
Examples:
  scripts/tune connect_four "uct(c=0.3)" "uct(c=0.5)" "uct(c=1)" --seconds 0.02
  scripts/tune othello "uct(c=0.3)" "uct(c=1)" --against uct --simulations 2000
  scripts/tune gomoku my_bot:MyBot --against uct --games 20 --json result.json

\b
Give the players no seed: with a seed and --simulations they would repeat
their matches from equal openings.
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

#: The results of the pairs, by the names of both players.
Results = dict[tuple[str, str], list[PlayedPair]]


def _even(context: click.Context, parameter: click.Parameter, count: int) -> int:
    if count % 2:
        raise click.BadParameter("must be even, because each opening is played twice")
    return count


@click.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("game")
@click.argument("names", nargs=-1, required=True, metavar="PLAYER...")
@click.option("--against", metavar="PLAYER", help="All players play only against this one.")
@click.option(
    "--games",
    "count",
    default=80,
    show_default=True,
    type=click.IntRange(2),
    callback=_even,
    help="Matches of each two players.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    help=f"Thinking time per move.  [default: {DEFAULT_S}]",
)
@click.option(
    "--simulations", type=click.IntRange(1), help="Simulations per move, without a time limit."
)
@click.option(
    "--plies",
    default=2,
    show_default=True,
    type=click.IntRange(0),
    help="Random moves at the start of each pair.",
)
@click.option("--seed", default=1, show_default=True, help="Seed of the openings.")
@click.option(
    "--cores",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Cores per match; more for players with several threads.",
)
@click.option(
    "--json",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    callback=in_writable_folder,
    help="Also write the results to this file, with every pair.",
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
    """Play matches between settings of players at GAME, and show which are stronger.

    A PLAYER has its options in parentheses, as in "uct(c=0.3)". All players play each other, or
    with --against only that one. Each opening is played twice, with colours swapped, and one match
    runs on each core. Ctrl-C shows the results so far.
    """
    sys.path.append(os.getcwd())  # for players in the current folder; worker processes inherit it
    loaded = _check(game, [*names, *([against] if against else [])])
    both = _contests(names, against)
    limit = Limit(DEFAULT_S if seconds is None and simulations is None else seconds, simulations)
    each = [pairings(game, two, limit, count=count // 2, plies=plies, seed=seed) for two in both]
    # In turns, so that Ctrl-C leaves an equal number of pairs for each.
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
        click.echo(f"These are the results so far. {why}", err=True)
        sys.exit(code)


def _check(game: str, names: Sequence[str]) -> Game:
    """Return the game. Raises UsageError if it or a player cannot be loaded."""
    try:
        loaded = games.load(game)
        for name in names:
            players.load(name, loaded).close()
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    return loaded


def _contests(names: Sequence[str], against: str | None) -> list[tuple[str, str]]:
    """Return the pairs of players that play each other. Raises UsageError."""
    if len(set(names)) < len(names):
        raise click.UsageError("a player is named twice")
    if against:
        return [(name, against) for name in names]
    if len(names) < 2:
        raise click.UsageError("expected at least two players, or one and --against another")
    return list(itertools.combinations(names, 2))


def _play(wanted: list[LocalPairing], cores: int, results: Results) -> tuple[int, str] | None:
    """Fill `results`; return an exit code and the reason if not all pairs were played."""
    steps = [f"pair {n} of {len(wanted)}" for n in range(1, len(wanted) + 1)]
    track = Bench("tune", quick=False).track(steps)
    found = run_on_cores(play_pair, wanted, cores)
    try:
        with interrupts.as_exception():
            for _, (pairing, pair) in zip(track, found, strict=True):
                results[pairing.players].append(pair)
    except KeyboardInterrupt:
        return 130, "Interrupted."
    except click.ClickException as error:
        return 1, f"Stopped: {error.message}"
    return None


def _tables(game: Game, limit: Limit, results: Results, *, standings: bool) -> list[ResultTable]:
    per_move = [
        *([f"{limit.seconds * 1e3:g} ms"] if limit.seconds else []),
        *([f"{limit.simulations:,} simulations"] if limit.simulations else []),
    ]
    matches = ResultTable(f"{game}, {' and '.join(per_move)} per move", MATCHES)
    for (player, other), pairs in results.items():
        if pairs:
            matches.add(player=player, other=other, **result(pairs))
    return [matches, _standings(results)] if standings else [matches]


def _standings(results: Results) -> ResultTable:
    """Return the score of each player against all others, the best first."""
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


def _as_json(wanted: list[LocalPairing], results: Results) -> dict[str, Any]:
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
