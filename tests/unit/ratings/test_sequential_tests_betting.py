"""Evidence by betting: simulated candidates, their errors, and the pairs that they need."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from playout.protocol.tournament_spec import Betting
from playout.ratings.evidence import NELO_PER_DEVIATION
from playout.ratings.sequential_tests import EXHAUSTED_AFTER, EProcess, Race, level_of
from support.scale import repetitions

#: The share of pairs with one point for each, as of a game without ties.
SHARED = 0.625
#: Pairs until the verdict at a normalized Elo, for the candidate with this number: simulated with
#: another program.
NEEDED = {(20, 1): 1050, (20, 5): 1836, (50, 1): 286, (50, 20): 694, (100, 1): 131, (100, 100): 422}


def scores(nelo: float, rng: random.Random) -> Iterator[float]:
    """Scores of pairs of a candidate that is stronger by this normalized Elo."""
    effect = nelo * math.sqrt(2) / NELO_PER_DEVIATION
    lost = (1 - SHARED) / 2 - effect * math.sqrt((1 - SHARED) / 4 / (1 + effect**2))
    while True:
        drawn = rng.random()
        yield 0.0 if drawn < lost else 0.5 if drawn < lost + SHARED else 1.0


def dealt(rng: random.Random) -> Iterator[tuple[float, float]]:
    """Scores of pairs of equal players with and without luck, whose tails differ.

    Both matches are decided by luck up to a skewed rest: rarely, a score without luck is -1.
    """
    while True:
        raw = (rng.random() < 0.5) / 2 + (rng.random() < 0.5) / 2
        yield raw, -1.0 if rng.random() < 0.02 else 0.5 + 0.03 / 0.98


def raced(nelos: list[float], rng: random.Random, tried: int = 0, block: int = 16) -> Race:
    """A race that is over, played in blocks as by the format."""
    race = Race(Betting(tried=tried), len(nelos))
    players = [scores(each, rng) for each in nelos]
    number = 0
    while not race.is_over:
        number += 1
        one = number if number <= len(nelos) else race.order(f"{rng.random()}")[0]
        for _ in range(block):
            race.add(one, next(players[one - 1]))
    return race


def pairs(race: Race) -> int:
    return sum(each.pairs for each in race.processes.values())


@pytest.mark.parametrize(("nelo", "number"), NEEDED)
def test_a_stronger_candidate_is_found_with_the_known_number_of_pairs(
    nelo: int, number: int
) -> None:
    rng, rounds = random.Random(number), repetitions(2000, short=nelo // 5 + 4)
    found = [raced([nelo], rng, number - 1, block=1) for _ in range(rounds)]
    assert sum(each.winner == 1 for each in found) / rounds > 0.85
    mean = sum(map(pairs, found)) / rounds
    needed = NEEDED[nelo, number]
    # The standard deviation of the number of pairs is about half of its mean.
    assert abs(mean / needed - 1) < 0.1 + 3 * 0.5 / math.sqrt(rounds)


def test_an_author_who_retries_and_stops_as_he_likes_promotes_an_equal_one_rarely() -> None:
    """He tests twenty candidates, watches each pair, and stops at the first success."""
    rng, authors = random.Random(3), repetitions(1000, short=12)
    promoted = 0
    for _ in range(authors):
        for number in range(20):
            process = EProcess(Betting(), level_of(Betting(tried=number), 1))
            equal = scores(0, rng)
            for _ in range(rng.choice((20, 100, 300))):  # it goes on although it looks futile
                process.add(next(equal))
            if process.state == "stronger":
                promoted += 1
                break
    assert promoted / authors <= 0.05 + 2.4 * math.sqrt(0.05 * 0.95 / authors)


def test_a_race_finds_the_one_that_is_stronger_with_fewer_pairs() -> None:
    rng, rounds = random.Random(4), repetitions(200, short=2)
    found = [raced([40, *[0] * 7], rng) for _ in range(rounds)]
    assert sum(each.winner == 1 for each in found) / rounds > 0.9
    assert sum(map(pairs, found)) / rounds < 0.6 * 6055  # eight independent tests


def test_the_candidates_against_one_player_share_alpha() -> None:
    alone = sum(level_of(Betting(tried=number), 1) for number in range(1000))
    assert alone == pytest.approx(0.05, rel=1e-2)
    assert alone < 0.05
    race, later = 8 * level_of(Betting(), 8), level_of(Betting(tried=8), 1)
    assert race + later == pytest.approx(sum(level_of(Betting(tried=n), 1) for n in range(9)))


def test_pairs_with_known_moves_are_no_evidence() -> None:
    """A deterministic player wins again and again from the same opening."""
    process = EProcess(Betting(), 0.025)
    for _ in range(10 * EXHAUSTED_AFTER):
        process.add(1.0, repeated=True)
    assert process.state == "exhausted"
    assert len(process.curve) == 2


def test_a_won_race_stays_won() -> None:
    race = Race(Betting(), 1)
    for _ in range(500):
        race.add(1, 1.0)
    assert race.winner == 1
    assert race.processes[1].pairs < 100
    for _ in range(500):
        race.add(1, 0.0)
    assert race.winner == 1


def test_equal_candidates_are_promoted_rarely_without_luck() -> None:
    """Also where the scores without luck have a long tail, which clipping would cut."""
    rng, rounds = random.Random(5), repetitions(4000, short=60)
    promoted = 0
    for _ in range(rounds):
        process = EProcess(Betting(elo1=50, without_luck=True), 0.05)
        pairs_of_equals = dealt(rng)
        for _ in range(400):
            raw, without = next(pairs_of_equals)
            process.add(raw, without_luck=without)
        promoted += process.state == "stronger"
    assert promoted / rounds <= 0.05 + 2.4 * math.sqrt(0.05 * 0.95 / rounds)


def test_a_candidate_is_found_with_fewer_pairs_without_luck() -> None:
    """Luck decides nine tenths of the variance, and the goal is the same."""
    rng, needed = random.Random(6), []
    for is_without in (False, True):
        terms = Betting(elo1=20, without_luck=is_without)
        counts = []
        for _ in range(repetitions(400, short=6)):
            process = EProcess(terms, 0.05)
            while process.state != "stronger" and process.pairs < 4000:
                luck, rest = rng.gauss(0, 0.95), rng.gauss(0.0814, 0.31)
                without = 0.5 + rest * 0.35 if is_without else None
                process.add(0.5 + (luck + rest) * 0.35, without_luck=without)
            counts.append(process.pairs)
        needed.append(sum(counts) / len(counts))
    assert needed[1] < 0.5 * needed[0]
