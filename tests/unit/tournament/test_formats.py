"""Formats: their pairs, byes and winners, in whatever order results come in."""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playout.games import SpecError
from playout.games.core import plugins
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.ratings.pairs import Key, Pair, PairScore, PairScores
from playout.server.tournament import formats
from playout.server.tournament.format import finished
from playout.server.tournament.formats import Format
from playout.server.tournament.formats.knockout import MORE_PAIRS, first_seats
from playout.server.tournament.formats.sprt import AHEAD
from playout.server.tournament.formats.swiss import PreviousRounds, maximum_matching, pair_off
from support.scale import repetitions

FOR_MANY = ["round_robin", "gauntlet", "ladder", "swiss", "knockout"]
LOST, TIED, WON = PairScore(0, 0), PairScore(0.5, 0.5), PairScore(1, 1)


def format_of(name: str, entrants: int, games: int = 1, rounds: int = 1) -> Format:
    return formats.load(
        TournamentSpec(
            name="test",
            games=tuple(f"game {number}" for number in range(games)),
            format=name,
            entrants=tuple(Entrant(str(number), "1") for number in range(entrants)),
            rounds=rounds,
        )
    )


def any_format(data: st.DataObject) -> Format:
    name = data.draw(st.sampled_from(formats.names()))
    entrants = data.draw(st.integers(2, 9)) if name in FOR_MANY else 2
    return format_of(name, entrants, data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3)))


def outcome(pair: Pair, luck: int = 0) -> PairScore:
    """The score of a pair, the same whenever it is played; with many ties, for knockouts."""
    chance = random.Random(f"{pair} {luck}")
    return PairScore(chance.choice([0, 0.5, 0.5, 1]), chance.choice([0, 0.5, 0.5, 1]))


def to_play(format_: Format, results: PairScores, withdrawn: Sequence[int] = ()) -> list[Pair]:
    return [pair for pair in format_.pairs(results, withdrawn) if pair.key not in results]


def played(
    format_: Format,
    luck: int = 0,
    order: random.Random | None = None,
    withdrawn: Sequence[int] = (),
) -> dict[Key, PairScore]:
    """The scores of all pairs, played in schedule order or in another."""
    results: dict[Key, PairScore] = {}
    while pairs := to_play(format_, results, withdrawn):
        pair = order.choice(pairs) if order else pairs[0]
        results[pair.key] = outcome(pair, luck)
    return results


def first_moves(pairs: Sequence[Pair]) -> Counter[int]:
    """How much more often each entrant moved first in a pair's first match than second."""
    balance: Counter[int] = Counter()
    for pair in pairs:
        balance[pair.entrants[0]] += 1
        balance[pair.entrants[1]] -= 1
    return balance


# All formats.


def test_a_format_is_known_by_its_name() -> None:
    known = ["gauntlet", "knockout", "ladder", "match", "race", "round_robin", "sprt", "swiss"]
    assert formats.names() == known
    with pytest.raises(SpecError, match="did you mean 'swiss'"):
        format_of("swis", 4)


@pytest.mark.parametrize("name", ["match", "sprt"])
def test_some_formats_are_for_two_entrants(name: str) -> None:
    with pytest.raises(SpecError, match="for two entrants, not 3"):
        format_of(name, 3)


@pytest.mark.parametrize("name", FOR_MANY)
def test_a_format_needs_two_entrants(name: str) -> None:
    with pytest.raises(SpecError, match="two or more entrants, not 1"):
        format_of(name, 1)


@given(st.data(), st.integers(0, 2**32))
@settings(max_examples=repetitions(150, short=30))
def test_results_in_any_order_lead_to_the_same_schedule(data: st.DataObject, seed: int) -> None:
    format_, order = any_format(data), random.Random(seed)
    results: dict[Key, PairScore] = {}
    before: list[Pair] = []
    while True:
        pairs = format_.pairs(results)
        assert pairs == sorted(pairs)
        assert len({pair.key for pair in pairs}) == len(pairs)
        assert set(before) <= set(pairs)
        assert results.keys() <= {pair.key for pair in pairs}
        before = pairs
        if not (remaining := to_play(format_, results)):
            break
        pair = order.choice(remaining)
        results[pair.key] = outcome(pair)
    in_order = played(format_)
    assert in_order == results
    assert format_.pairs(in_order) == before
    assert format_.byes(in_order) == format_.byes(results)
    assert format_.pairs(dict(reversed(results.items()))) == before


@given(st.data(), st.integers(0, 2**32))
@settings(max_examples=repetitions(150, short=30))
def test_a_withdrawn_entrant_is_left_out_and_the_rest_goes_on(
    data: st.DataObject, seed: int
) -> None:
    """At whatever moment: complete pairs stay, and no pair of other entrants changes."""
    format_, order = any_format(data), random.Random(seed)
    results: dict[Key, PairScore] = {}
    withdrawn: list[int] = []
    while remaining := to_play(format_, results, withdrawn):
        assert not any(one in withdrawn for pair in remaining for one in pair.entrants)
        if order.random() < 0.1:
            before = format_.pairs(results, withdrawn)
            withdrawn.append(order.choice(remaining).entrants[order.randrange(2)])
            kept = {
                pair
                for pair in before
                if pair.key in results or not set(pair.entrants) & set(withdrawn)
            }
            after = set(format_.pairs(results, withdrawn))
            assert kept <= after
            assert after - kept <= set(to_play(format_, results, withdrawn))
        else:
            pair = order.choice(remaining)
            results[pair.key] = outcome(pair)
    assert results.keys() == {pair.key for pair in format_.pairs(results, withdrawn)}


@given(st.data())
@settings(max_examples=repetitions(100, short=20))
def test_two_meet_from_all_different_openings(data: st.DataObject) -> None:
    format_ = any_format(data)
    pairs = format_.pairs(played(format_))
    met = Counter((frozenset(pair.entrants), pair.game, pair.opening) for pair in pairs)
    assert set(met.values()) == {1}


# Round robin and gauntlet.


@pytest.mark.parametrize("games", [1, 2, 3])
@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("entrants", range(2, 12))
def test_in_a_round_robin_all_meet_all(entrants: int, rounds: int, games: int) -> None:
    pairs = format_of("round_robin", entrants, games, rounds).pairs({})
    everybody = {frozenset(two) for two in itertools.combinations(range(entrants), 2)}
    cycle = len(pairs) // rounds
    for start in range(0, len(pairs), cycle):
        met = Counter((frozenset(p.entrants), p.game) for p in pairs[start : start + cycle])
        assert set(met.values()) == {1}
        assert {two for two, _ in met} == everybody
        assert {p.opening for p in pairs[start : start + cycle]} == {start // cycle}
    for _, group in itertools.groupby(pairs, key=lambda pair: pair.key[0]):
        busy = Counter(one for pair in group for one in pair.entrants)
        assert set(busy.values()) == {games}
        assert len(busy) == entrants - entrants % 2


@pytest.mark.parametrize("name", ["round_robin", "gauntlet"])
@pytest.mark.parametrize("games", [1, 2, 3])
@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("entrants", range(2, 12))
def test_all_begin_as_often_as_not(name: str, entrants: int, rounds: int, games: int) -> None:
    pairs = format_of(name, entrants, games, rounds).pairs({})
    assert all(abs(more) <= 1 for more in first_moves(pairs).values())
    for game in {pair.game for pair in pairs}:
        assert all(
            abs(more) <= 1 for more in first_moves([p for p in pairs if p.game == game]).values()
        )


def test_in_a_gauntlet_the_first_meets_all_others() -> None:
    pairs = format_of("gauntlet", 4, games=2, rounds=2).pairs({})
    assert [(pair.key, pair.game, pair.opening) for pair in pairs[:3]] == [
        ((1, 1, 1), "game 0", 0),
        ((1, 1, 2), "game 1", 0),
        ((1, 2, 1), "game 0", 0),
    ]
    met = Counter((frozenset(pair.entrants), pair.game) for pair in pairs)
    assert len(met) == 3 * 2
    assert set(met.values()) == {2}
    assert all(0 in two for two, _ in met)


# Swiss.


def past_of(entrants: int, chance: random.Random) -> PreviousRounds:
    """Random rounds, possible and impossible ones."""
    everybody = [frozenset(two) for two in itertools.combinations(range(entrants), 2)]
    return PreviousRounds(
        points=tuple(chance.choice([0, 1, 1, 2]) for _ in range(entrants)),
        byes=tuple(chance.choice([0, 0, 1]) for _ in range(entrants)),
        first_moves=tuple(chance.choice([-1, 0, 1]) for _ in range(entrants)),
        met=tuple(chance.choices(everybody, k=chance.randrange(len(everybody)))),
    )


def pairings_of(entrants: Sequence[int]) -> Iterator[list[frozenset[int]]]:
    """All ways to pair an even number of entrants."""
    if not entrants:
        yield []
    for other in entrants[1:]:
        for rest in pairings_of([one for one in entrants[1:] if one != other]):
            yield [frozenset((entrants[0], other)), *rest]


def fewest_rematches(entrants: Sequence[int], past: PreviousRounds) -> int:
    return min(sum(two in past.met for two in way) for way in pairings_of(entrants))


@pytest.mark.parametrize("entrants", range(2, 9))
def test_a_swiss_round_has_as_few_rematches_as_any(entrants: int) -> None:
    for seed in range(60):
        past = past_of(entrants, random.Random(seed))
        pairings, idle = finished(pair_off(past))
        there = sorted(one for pairing in pairings for one in pairing)
        assert sorted([*there, *idle]) == list(range(entrants))
        rematches = sum(frozenset(two) in past.met for two in pairings)
        assert rematches == fewest_rematches(there, past)
        if idle:
            fewest = min(past.byes)
            assert past.byes[idle[0]] == fewest
            others = [
                [each for each in range(entrants) if each != one]
                for one in range(entrants)
                if past.byes[one] == fewest
            ]
            assert rematches == min(fewest_rematches(rest, past) for rest in others)


@pytest.mark.parametrize("entrants", range(2, 12))
def test_a_swiss_has_byes_in_turn_and_no_rematch_early(entrants: int) -> None:
    rounds = entrants - 1 + entrants % 2
    for luck in range(3):
        format_ = format_of("swiss", entrants, rounds=rounds)
        results = played(format_, luck)
        pairs, byes = format_.pairs(results), format_.byes(results)
        assert len(pairs) == rounds * (entrants // 2)
        assert len(byes) == len({bye.entrant for bye in byes}) == rounds * (entrants % 2)
        assert {bye.matches for bye in byes} <= {2}
        met = [frozenset(p.entrants) for p in pairs if p.key[0] <= (entrants + 1) // 2]
        assert len(met) == len(set(met))
        assert all(abs(more) <= 2 for more in first_moves(pairs).values())


@pytest.mark.parametrize(
    ("games", "upper"),
    [(2, [{0, 2}, {1, 3}]), (1, [{0, 3}, {1, 2}])],  # 0 and 2 have begun, 1 and 3 have not
)
def test_a_swiss_pairs_those_with_as_many_points(games: int, upper: list[set[int]]) -> None:
    swiss = format_of("swiss", 8, games, rounds=3)
    first = swiss.pairs({})
    assert [set(pair.entrants) for pair in first[::games]] == [{0, 4}, {1, 5}, {2, 6}, {3, 7}]
    results = {pair.key: WON if pair.entrants[0] < 4 else LOST for pair in first}
    second = swiss.pairs(results)[4 * games :]
    lower = [{one + 4 for one in two} for two in upper]
    assert [set(pair.entrants) for pair in second[::games]] == upper + lower
    assert {pair.opening for pair in second} == {1}


def test_a_swiss_waits_for_the_round_to_end() -> None:
    swiss = format_of("swiss", 4, games=2, rounds=2)
    results = dict.fromkeys([pair.key for pair in swiss.pairs({})[:-1]], TIED)
    assert len(swiss.pairs(results)) == 4
    results[1, 2, 2] = TIED
    assert len(swiss.pairs(results)) == 8


def test_the_last_without_a_bye_has_it() -> None:
    swiss = format_of("swiss", 5, games=2, rounds=2)
    assert swiss.byes({}) == [(1, 4, 4)]
    results = dict.fromkeys([pair.key for pair in swiss.pairs({})], TIED)
    assert swiss.byes(results) == [(1, 4, 4), (2, 3, 4)]


def test_in_a_swiss_the_opponent_of_a_withdrawn_entrant_has_a_bye() -> None:
    swiss = format_of("swiss", 4, rounds=3)
    results = {(1, 2, 1): TIED}
    assert [pair.entrants for pair in to_play(swiss, results)] == [(0, 2)]
    assert swiss.byes(results, [2]) == [(1, 0, 2), *swiss.byes(results, [2])[1:]]
    for pair in to_play(swiss, results, [2]):
        assert pair.key[0] == 2
        results[pair.key] = TIED
    later = to_play(swiss, results, [2])
    assert later
    assert not any(2 in pair.entrants for pair in later)
    assert swiss.byes(results, [2, 0])[0] == (1, 0, 2)  # it keeps its bye if it withdraws later


def test_a_large_swiss_is_without_rematch() -> None:
    format_ = format_of("swiss", 40, rounds=8)
    met = [frozenset(pair.entrants) for pair in format_.pairs(played(format_))]
    assert len(met) == len(set(met)) == 160


# Knockout.


def test_a_bracket_keeps_the_best_apart() -> None:
    assert first_seats(2) == [0, 1]
    assert first_seats(3) == [0, 3, 1, 2]
    assert first_seats(8) == [0, 7, 3, 4, 1, 6, 2, 5]


@pytest.mark.parametrize("entrants", range(2, 18))
def test_a_knockout_has_one_winner(entrants: int) -> None:
    for luck in range(4):
        knockout = format_of("knockout", entrants, games=2)
        assert knockout.winner({}) is None
        results = played(knockout, luck, random.Random(luck))
        encounters = {pair.key[:2]: frozenset(pair.entrants) for pair in knockout.pairs(results)}
        assert len(encounters) == entrants - 1
        ranking = knockout.ranking(results)
        assert ranking is not None
        assert sorted(ranking) == list(range(entrants))
        assert ranking[0] == knockout.winner(results)
        lasted = {one: max(key for key, two in encounters.items() if one in two) for one in ranking}
        assert [lasted[one][0] for one in ranking] == sorted(
            (number for number, _ in lasted.values()), reverse=True
        )


def test_in_a_knockout_the_best_have_no_opponent_at_first() -> None:
    knockout = format_of("knockout", 5)
    assert [bye.entrant for bye in knockout.byes({})] == [0, 1, 2]
    assert [set(pair.entrants) for pair in knockout.pairs({})] == [{3, 4}, {1, 2}]


def test_an_encounter_begins_when_both_entrants_are_known() -> None:
    knockout = format_of("knockout", 8)
    results = {(1, 1, 1): WON, (1, 2, 1): LOST}
    assert [pair.key for pair in knockout.pairs(results)] == [
        (1, 1, 1), (1, 2, 1), (1, 3, 1), (1, 4, 1), (2, 1, 1)
    ]  # fmt: skip


def test_a_tied_encounter_is_extended() -> None:
    knockout = format_of("knockout", 2, games=2, rounds=1)
    results = {(1, 1, 1): WON, (1, 1, 2): WON}  # each has won when it began
    for more in range(MORE_PAIRS):
        assert knockout.winner(results) is None
        (pair,) = to_play(knockout, results)
        assert pair.key == (1, 1, 3 + more)
        assert pair.game == f"game {more % 2}"
        assert pair.opening == 1 + more // 2
        results[pair.key] = TIED
    assert to_play(knockout, results) == []
    assert knockout.winner(results) == 0
    results[1, 1, 2 + MORE_PAIRS] = LOST
    pair = knockout.pairs(results)[-1]
    assert knockout.winner(results) == pair.entrants[1]


def test_the_opponent_of_a_withdrawn_entrant_advances() -> None:
    knockout = format_of("knockout", 4)
    results = {(1, 2, 1): LOST}  # 1 against 2
    assert [set(pair.entrants) for pair in to_play(knockout, results, [0])] == [{2, 3}]
    assert [set(pair.entrants) for pair in to_play(knockout, results, [3])] == [{0, 2}]
    assert knockout.winner(results, [0, 3]) == 2
    assert knockout.winner(results, [0, 2]) == 3


# Two.


def test_a_match_has_a_pair_for_each_round_and_game() -> None:
    assert format_of("match", 2, games=2, rounds=2).pairs({}) == [
        Pair((1, 1, 1), "game 0", (0, 1), 0),
        Pair((1, 1, 2), "game 1", (1, 0), 0),
        Pair((2, 1, 1), "game 0", (1, 0), 1),
        Pair((2, 1, 2), "game 1", (0, 1), 1),
    ]


def test_a_sequential_test_has_always_more_to_play() -> None:
    endless = format_of("sprt", 2, games=2, rounds=0)
    known = endless.pairs({})
    assert len(known) == 2 * AHEAD
    most = {pair.key: TIED for pair in known[:-2]}
    more = endless.pairs(most)
    assert more[: len(known)] == known
    assert len(more) == 4 * AHEAD
    for results in ({}, most):
        for count in (len(known), len(more)):
            assert endless.knows_more(count, results) == (len(endless.pairs(results)) > count)
    assert format_of("sprt", 2, rounds=5).pairs({}) == format_of("match", 2, rounds=5).pairs({})


@pytest.mark.parametrize("name", ["round_robin", "gauntlet", "match"])
def test_a_fixed_schedule_does_not_depend_on_results(name: str) -> None:
    format_ = format_of(name, 2, games=2, rounds=3)
    known = format_.pairs({})
    results = {pair.key: TIED for pair in known}
    assert not format_.knows_more(len(known), results)
    assert format_.pairs(results) == known


# Matching.


def largest(edges: Sequence[tuple[int, int]]) -> int:
    """The size of a maximum matching, by trying all."""
    if not edges:
        return 0
    (one, other), *rest = edges
    apart = [edge for edge in rest if not {one, other} & set(edge)]
    return max(largest(rest), 1 + largest(apart))


@given(st.integers(1, 8), st.data())
@settings(max_examples=repetitions(200, short=30))
def test_a_matching_is_as_large_as_any(size: int, data: st.DataObject) -> None:
    everybody = list(itertools.combinations(range(size), 2))
    edges = data.draw(st.lists(st.sampled_from(everybody), unique=True)) if everybody else []
    graph: dict[int, set[int]] = {one: set() for one in range(size)}
    for one, other in edges:
        graph[one].add(other)
        graph[other].add(one)
    matched = maximum_matching(graph)
    assert all(matched[other] == one and other in graph[one] for one, other in matched.items())
    assert len(matched) == 2 * largest(edges)


# One file is a format.

ROOT = Path(formats.__file__).parents[2]
NAMED = re.compile(rf"""(?:==|!=|\bin|\bcase)\s*[(\[{{]?\s*["']({"|".join(formats.names())})["']""")


def test_names_of_formats_are_compared_nowhere() -> None:
    compared = {
        str(file.relative_to(ROOT)): NAMED.findall(file.read_text(encoding="utf-8"))
        for folder in ("core", "organizer", "tournament", "web")
        for file in (ROOT / folder).rglob("*.py")
    }
    assert {file: names for file, names in compared.items() if names} == {}


def test_a_file_in_the_folder_is_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (
        "from playout.server.tournament.format import Format, encounter",
        "class Chain(Format):",
        "    only_two, is_fixed = False, True",
        "    @classmethod",
        "    def most_known(cls, entrants, games, rounds):",
        "        return entrants - 1",
        "    def schedule(self, results, withdrawn):",
        "        meetings = [(one, one + 1) for one in range(self.entrants - 1)]",
        "        pairs = [encounter(self.games, (1, two[1]), two, 0) for two in meetings]",
        "        return [pair for each in pairs for pair in each]",
    )
    (tmp_path / "chain.py").write_text("\n".join(lines))
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    plugins.built_in.cache_clear()
    try:
        assert "chain" in formats.names()
        chain = format_of("chain", 3)
        assert [pair.entrants for pair in chain.pairs({})] == [(0, 1), (1, 2)]
        assert chain.pair_count() == (2, 2)
    finally:
        plugins.built_in.cache_clear()
        sys.modules.pop(f"{formats.__name__}.chain", None)


# Races.


def of_race(
    format_: Format, better: int, *, order: random.Random, most: int, withdraws: int | None = None
) -> tuple[dict[Key, PairScore], list[int]]:
    """The scores of `most` pairs, of which one candidate wins more; one may withdraw half-way."""
    results: dict[Key, PairScore] = {}
    withdrawn: list[int] = []
    while len(results) < most and (pairs := to_play(format_, results, withdrawn)):
        pair = order.choice(pairs[:4])
        luck = random.Random(str(pair)).choice([LOST, TIED, WON])
        won = WON if pair.entrants[0] == better else LOST
        results[pair.key] = won if better in pair.entrants and pair.opening % 9 == 0 else luck
        if withdraws is not None and len(results) == most // 2:
            withdrawn.append(withdraws)
    return results, withdrawn


def test_a_race_begins_with_a_block_of_each_candidate_and_the_same_openings() -> None:
    known = format_of("race", 4, games=2, rounds=0).pairs({})
    blocks = [{pair.entrants for pair in known if pair.key[0] == number} for number in (1, 2, 3)]
    assert blocks == [{(0, 1), (1, 0)}, {(0, 2), (2, 0)}, {(0, 3), (3, 0)}]
    openings = [[pair.opening for pair in known if pair.key[0] == each] for each in (1, 2, 3)]
    assert openings[0] == openings[1] == openings[2]
    assert openings[0] == [number // 2 for number in range(len(openings[0]))]


@pytest.mark.parametrize("withdraws", [None, 2, 3])
def test_the_pairs_of_a_race_follow_from_the_results_in_any_order(withdraws: int | None) -> None:
    format_ = format_of("race", 4, rounds=0)
    results, withdrawn = of_race(format_, 1, order=random.Random(1), most=300, withdraws=withdraws)
    assert len(results) == 300
    known = format_.pairs(results, withdrawn)
    assert results.keys() <= {pair.key for pair in known}
    assert format_.pairs(dict(reversed(results.items())), withdrawn) == known
    played = Counter(max(pair.entrants) for pair in known)
    assert played[1] > played[2] + played[3]
    assert format_of("race", 4, rounds=5).pairs({}) == format_.pairs({})[:5]


def test_a_race_knows_more_when_a_block_is_complete() -> None:
    format_ = format_of("race", 3, rounds=0)
    results: dict[Key, PairScore] = {}
    known = format_.pairs(results)
    while len(results) < 200:
        pair = next(each for each in known if each.key not in results)
        results[pair.key] = outcome(pair)
        longer = format_.pairs(results)
        assert longer[: len(known)] == known
        if len(longer) > len(known):
            assert format_.knows_more(len(known), results)
        known = longer


@pytest.mark.parametrize("name", formats.names())
@given(st.data())
@settings(max_examples=repetitions(100, short=8), deadline=None)
def test_more_rounds_and_late_entrants_change_no_pair(name: str, data: st.DataObject) -> None:
    kind = formats.find(name)
    number = data.draw(st.integers(2, 7)) if not kind.only_two else 2
    spec = TournamentSpec(
        name="test",
        games=("nim",),
        format=name,
        entrants=tuple(Entrant(str(each), "1") for each in range(number)),
        rounds=data.draw(st.integers(2, 4)),
    )
    before, results = formats.load(spec), dict[Key, PairScore]()
    for pair in itertools.islice(iter_played(before, results), data.draw(st.integers(0, 12))):
        results[pair.key] = outcome(pair)
    known = before.pairs(results)
    since = max((pair.key[0] for pair in known), default=0) + 1 if kind.depends_on_results else 2
    if kind.takes_more_rounds:
        spec = replace(spec, rounds=spec.rounds + 1)
    if kind.takes_late_entrants:
        spec = replace(spec, entrants=(*spec.entrants, Entrant("late", "1", since=since)))
    after = formats.load(spec)
    now = {pair.key: pair for pair in after.pairs(results)}
    assert all(now[pair.key] == pair for pair in known)
    for pair in iter_played(after, results):
        results[pair.key] = outcome(pair)
    played = Counter(one for pair in after.pairs(results) for one in pair.entrants)
    if kind.takes_late_entrants:
        byes = {each.entrant for each in after.byes(results)}
        assert played[number] > 0 or number in byes
    if name == "round_robin":
        assert set(played.values()) == {number * spec.rounds}
        meetings = Counter(frozenset(pair.entrants) for pair in after.pairs(results))
        assert set(meetings.values()) == {spec.rounds}


def iter_played(format_: Format, results: dict[Key, PairScore]) -> Iterator[Pair]:
    """Yield the next pair to be played, until the caller stops or none is left, at most 200."""
    for _ in range(200):
        if not (left := to_play(format_, results)):
            return
        yield left[0]


# Ladder.


def test_a_ladder_pairs_neighbours_until_it_is_ended() -> None:
    """The stronger always wins: later the strongest and the weakest do not meet."""
    ladder, results = format_of("ladder", 9, rounds=0), dict[Key, PairScore]()
    for _ in range(160):
        pair = to_play(ladder, results)[0]
        results[pair.key] = WON if pair.entrants[0] < pair.entrants[1] else LOST
    late = [pair.entrants for pair in ladder.pairs(results)][-60:]
    assert all(abs(first - second) <= 5 for first, second in late)
    assert {one for two in late for one in two} == set(range(9)), "nobody always waits"
    assert all(abs(more) <= 3 for more in first_moves(ladder.pairs(results)).values())


def test_a_ladder_knows_the_next_round_while_one_is_played() -> None:
    ladder = format_of("ladder", 4, rounds=0)
    first, second, *rest = to_play(ladder, {})
    assert [pair.key[0] for pair in (first, second, *rest)] == [1, 1, 2, 2]
    results = {pair.key: TIED for pair in (second, *rest)}
    assert to_play(ladder, results) == [first], "the third round waits for the first one"
    assert ladder.knows_more(4, {**results, first.key: TIED})
    assert {pair.key[0] for pair in to_play(ladder, {**results, first.key: TIED})} == {3, 4}


def test_a_ladder_ends_when_one_entrant_is_left() -> None:
    ladder = format_of("ladder", 3, rounds=0)
    assert to_play(ladder, {}, withdrawn=[0, 1]) == []
