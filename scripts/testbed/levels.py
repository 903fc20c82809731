"""The command `scripts/levels`: finds limits of the player `best` for each level and game.

From the easiest level on, each one is found by matches. *Easy* scores 80 to 95 % against random
moves, and each level 10 to 25 % against the next one. *Easy* and *Medium* may play random moves in
between, *Strong* and *Master* never do. A level is found by bisection of a list of rising strength.

In games with chance, even the strongest player loses matches. *Master* is then the strongest, and
the others are on the way to it: *Easy* scores about as much against random moves as each level
against the one before. Scores are without luck.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from playout import games
from playout.commands import interrupts, progress
from playout.players import Limit
from playout.players.best import LEVELS, Strength, levels
from playout.players.comparison.pairs import PairTask, openings, play_task
from playout.players.comparison.workers import run_on_cores

FILE = Path(__file__).parents[2] / "players" / "levels.json"
#: Pairs of matches, with colours swapped, for each score, and random moves before each.
PAIRS, OPENING = 30, 2
#: The players limit themselves.
UNLIMITED = Limit(simulations=1 << 40)
#: The scores of Easy against random moves, and of a level against the next one: of those that are
#: wanted, 0.80 to 0.95 and 0.10 to 0.25, the part that makes the levels strong.
AGAINST_RANDOM, AGAINST_NEXT = (0.87, 0.95), (0.10, 0.17)
#: Strengths with random moves, and careful ones without, each list in rising order.
FEWEST = 32
CARELESS = [Strength(FEWEST, share / 100) for share in range(90, 0, -10)]
CAREFUL = [Strength(round(4 * 2 ** (step / 2))) for step in range(29)]
RANDOM = "random(seed=SEED)"
#: Positions of the strongest level of a game with chance: more do not complete another depth.
MOST_WITH_CHANCE = 8192
#: How far a score may be from the wanted one, in games with chance.
TOLERANCE = 0.03
#: Those of Easy and Medium: all that rise from one to the next.
RISING = [*CARELESS, *(each for each in CAREFUL if each.simulations >= FEWEST)]


class LevelScore(NamedTuple):
    """A level of a game, and a score: of the level below, or for Easy its own against random."""

    level: str
    strength: Strength
    score: float


def score_of(game: str, first: str, second: str, seed: int) -> float:
    """Return the share of the points that the first player gets in `PAIRS` pairs of matches."""
    draw, shares = random.Random(seed), 0.0
    for opening in openings(games.load(game), OPENING, seed, PAIRS):
        own = str(draw.getrandbits(32))
        one, two = (text.replace("SEED", own) for text in (first, second))
        pair = play_task(PairTask(game, (one, two), UNLIMITED, opening, int(own)))
        shares += pair.score.total / 2 if pair.without_luck is None else pair.without_luck
    return min(1.0, max(0.0, shares / PAIRS))


def spelled(strength: Strength) -> str:
    """Return the player of a strength; SEED stands for the seed of a pair."""
    limits = f"simulations={strength.simulations},mistakes={strength.mistakes}"
    return f"best({limits},seed=SEED)"


def found_levels(name: str) -> list[LevelScore]:
    """Return the levels of a game, the easiest first."""
    first, later, careful = AGAINST_RANDOM, AGAINST_NEXT, CAREFUL
    if games.load(name).has_chance:
        careful = [each for each in CAREFUL if each.simulations <= MOST_WITH_CHANCE]
        first, later = steps_to(score_of(name, spelled(careful[-1]), RANDOM, seed=1))
    strength, score = _bisected(name, RISING, first, RANDOM, is_above=True)
    found = [LevelScore(LEVELS[0], strength, score)]
    for level in LEVELS[1:]:
        among = RISING if level == "medium" else careful
        if strength in among:
            among = among[among.index(strength) + 1 :] or among[-1:]
        if careful is not CAREFUL and level == LEVELS[-1]:
            among = careful[-1:]
        before = spelled(strength)
        strength, score = _bisected(name, among, later, before, is_above=False)
        found.append(LevelScore(level, strength, score))
    return found


def steps_to(score: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the bounds of the scores of Easy, and of a level against the next one.

    The steps from random moves to the strongest player are then equal in Elo; that one has `score`
    against random moves.
    """
    score = min(0.99, max(0.5, score))
    above = 1 / (1 + (1 / score - 1) ** (1 / len(LEVELS)))
    return (above - TOLERANCE, above + TOLERANCE), (1 - above - TOLERANCE, 1 - above + TOLERANCE)


def _bisected(
    game: str, among: list[Strength], bounds: tuple[float, float], other: str, *, is_above: bool
) -> tuple[Strength, float]:
    """Return the strength whose score is nearest to the middle of the bounds, and the score.

    The score is that of the strength against `other` if `is_above`, otherwise that of `other`.
    """
    low, high = 0, len(among) - 1
    middle, tried = sum(bounds) / 2, dict[int, float]()
    while low <= high:
        place = (low + high) // 2 if tried else min(4, high)
        own = spelled(among[place])
        first, second = (own, other) if is_above else (other, own)
        score = tried[place] = score_of(game, first, second, seed=place)
        if bounds[0] <= score <= bounds[1]:
            break
        if (score < middle) == is_above:
            low = place + 1
        else:
            high = place - 1
    place, score = min(tried.items(), key=lambda each: abs(each[1] - middle))
    return among[place], score


def table(found: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines of the table in docs/players.md."""
    yield "| game | easy: random moves, simulations | medium | strong | master |"
    yield "| --- | --- | --- | --- | --- |"
    for name, scores in sorted(found.items()):
        cells = []
        for level in LEVELS:
            strength = levels()[name][level]
            mistakes = f"{strength.mistakes:.0%}, " if strength.mistakes else ""
            cells.append(f"{mistakes}{strength.simulations:,} ({scores[level]:.0%})")
        yield f"| `{name}` | {' | '.join(cells)} |"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[GAME]...")
def main(names: tuple[str, ...]) -> None:
    """Measure the levels of the player `best`, and write players/levels.json.

    Without GAME, all built-in games are measured, one on each core; that takes about an hour on
    two cores. It prints the table for docs/players.md: for each level the share of random moves
    and the simulations of a move, and in parentheses the score of the level below, for easy its
    own against random moves.

    \b
    Examples:
      scripts/levels
      scripts/levels chess othello
    """
    built_in = [name for name in games.names() if name != "open_spiel"]
    if unknown := sorted({*names} - {*built_in}):
        raise click.UsageError(f"no {unknown[0]}; expected some of {', '.join(built_in)}")
    known = {name: dict(each) for name, each in levels().items()}
    scores: dict[str, dict[str, float]] = {}
    wanted = names or tuple(built_in)
    stored = interrupts.with_text("Interrupted; the games so far are stored.")
    with stored, progress.doing(f"Measuring {len(wanted)} games"):
        for name, found in run_on_cores(found_levels, wanted):
            known[name] = {each.level: each.strength for each in found}
            scores[name] = {each.level: each.score for each in found}
            _write(known)
            text = ", ".join(f"{level} {score:.0%}" for level, score in scores[name].items())
            progress.say(f"{name}: {text}")
    levels.cache_clear()
    for line in table(scores):
        click.echo(line)


def _write(known: dict[str, dict[str, Strength]]) -> None:
    ordered = {name: known[name] for name in sorted(known)}
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")
