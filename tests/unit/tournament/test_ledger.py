"""The ledger of a tournament: equal from live events, stored records and a watcher's fixtures."""

from __future__ import annotations

import random

import pytest

from playout.protocol.messages import Fixture, Reason
from playout.protocol.tournament_spec import Betting, Sprt, TournamentSpec, dumps
from playout.ratings import sequential_tests
from playout.ratings.pairs import Pair
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    StoredTournament,
    TournamentCreated,
    flat,
)
from playout.server.tournament.ledger import LEGS, Ledger, MatchSlot, StoredGame
from playout.server.tournament.results import Results
from support.fixtures import KEY, fixture, ledger_of, pair, spec
from support.scale import repetitions


class Recorded:
    """A tournament as the server keeps it: a live ledger, and the records that are stored."""

    def __init__(self, spec: TournamentSpec) -> None:
        self.ledger = Ledger("t", spec)
        self.games: list[StoredGame] = []

    def start(self, slot: MatchSlot) -> str:
        """Start a match in a slot, and return its id."""
        started = MatchStarted(
            **flat(
                match=f"m{len(self.games):03}",
                game="nim",
                players=("Ann", "Bob") if slot.leg == 1 else ("Bob", "Ann"),
                accounts=(None, None),
                sessions=("1", "2"),
                clock="none",
                rated=True,
                illegal_moves=0,
                credit_cap_s=0.0,
                tournament="t",
                fixture=str(slot),
                at=0.0,
            )
        )
        self.games.append(StoredGame(started, None, ()))
        self.ledger.put(slot.fixture(started))
        return started.match

    def end(self, match: str, winner: int, *actions: int) -> list[str]:
        at = float(sum(each.ended is not None for each in self.games))
        ended = MatchEnded(
            **flat(
                match=match, winner=winner, returns=(0.0, 0.0), reason=Reason.RULES, text="", at=at
            )
        )
        changed = self.ledger.match_ended(ended, actions)
        place = int(match[1:])
        self.games[place] = StoredGame(self.games[place].started, ended, actions)
        return [each.match for each in changed]

    def restored(self) -> Ledger:
        """The ledger after a restart of the server."""
        created = TournamentCreated(
            tournament="t", name="a test", spec=dumps(self.ledger.spec), at=0.0
        )
        return Ledger.restored(StoredTournament(created=created), self.games)


def facts(ledger: Ledger) -> tuple[object, ...]:
    return (
        ledger.fixtures,
        ledger.running,
        ledger.ended,
        ledger.attempts,
        ledger.results,
        set(ledger.void_matches),
        ledger.pairs,
        ledger.voided,
        ledger.is_decided,
        ledger.counted_matches,
        ledger.accepted,
        [round(each, 6) for each in ledger.llrs],
    )


@pytest.mark.parametrize("seed", range(repetitions(100, short=8)))
def test_a_restart_and_a_watcher_have_the_facts_of_the_server(seed: int) -> None:
    chance = random.Random(seed)
    format_, test = chance.choice((("match", None), ("sprt", Sprt(0, 200))))
    recorded = Recorded(spec(format_, rounds=6, sprt=test))
    ledger, watcher = recorded.ledger, Ledger("t", recorded.ledger.spec)
    for _ in range(80):
        slots = [
            MatchSlot(each.key, leg, attempt.number if attempt else 1)
            for each in ledger.pairs
            if each.key not in ledger.results
            for attempt in [ledger.attempts.get(each.key)]
            for leg in (1, 2)
            if attempt is None or leg not in attempt.legs
        ]
        if slots and chance.random() < 0.5:
            changed = [recorded.start(chance.choice(slots[:6]))]
        elif ledger.running:
            match = chance.choice(sorted(ledger.running))
            changed = recorded.end(match, chance.choice((0, 1, 2, -1)), chance.randrange(4))
        else:
            continue
        for match in changed:
            watcher.put(ledger.fixtures[match])
        assert facts(watcher) == facts(ledger)
    assert facts(recorded.restored()) == facts(ledger)
    assert facts(ledger_of(ledger.spec, ledger.fixtures.values())) == facts(ledger)


def test_a_match_is_no_repetition_of_one_that_does_not_count() -> None:
    recorded = Recorded(spec())
    recorded.end(recorded.start(MatchSlot(KEY, 1, 1)), 1, 5, 6)
    recorded.end(recorded.start(MatchSlot(KEY, 2, 1)), 0, 5)
    again = recorded.start(MatchSlot(KEY, 1, 2))
    recorded.end(again, 1, 5, 6)
    assert not recorded.ledger.fixtures[again].repeated
    other = recorded.start(MatchSlot((2, 1, 1), 1, 1))
    recorded.end(other, 1, 5, 6)
    assert recorded.ledger.fixtures[other].repeated, "the second attempt counts"
    assert recorded.restored().fixtures == recorded.ledger.fixtures


@pytest.mark.parametrize("seed", range(10))
def test_the_order_in_which_matches_end_changes_no_evidence(seed: int) -> None:
    tested = spec("sprt", rounds=0, sprt=Sprt(0, 50))
    found = []
    for order in (random.Random(seed), random.Random(seed + 1000)):
        recorded = Recorded(tested)
        open_ = [recorded.start(MatchSlot((n, 1, 1), leg, 1)) for n in range(1, 20) for leg in LEGS]
        while open_:
            match = open_.pop(order.randrange(min(6, len(open_))))
            slot = recorded.ledger.fixtures[match]
            moves = random.Random(f"{seed} {slot.round} {slot.leg}").randrange(4)
            recorded.end(match, (1, 2, -1, 1)[moves], moves)
        ledger = recorded.ledger
        found.append((ledger.llrs, ledger.counted_pairs, sorted(ledger.format.repeated)))
        assert facts(recorded.restored()) == facts(ledger)
    assert found[0] == found[1]


def test_the_test_continues_from_the_pairs_before() -> None:
    tested = spec("sprt", rounds=0, sprt=Sprt(0, 50))
    results = [(1, 2), (2, 1), (-1, 1), (1, 2), (2, 2), (-1, -1)] * 4
    ledger = ledger_of(tested, ())
    for number, (first, second) in enumerate(results, 1):
        for each in pair((number, 1, 1), first, second, repeated=number == 3):
            ledger.put(each)
        assert len(ledger.llrs) == number - (number >= 3)
    assert tested.sprt
    assert ledger.llrs == pytest.approx(sequential_tests.curve(ledger.counted_pairs, tested.sprt))


def test_a_pair_counts_as_voided_when_it_is_played_again() -> None:
    ledger = ledger_of(spec(), [fixture(KEY, 1, 1), fixture(KEY, 2, 0)])
    assert (ledger.voided, ledger.ended, ledger.results) == (0, 0, {})
    ledger.put(fixture(KEY, 1, None, attempt=2))
    assert ledger.voided == 1


def test_a_race_is_decided_by_the_pairs_before_the_first_open_one() -> None:
    terms = Betting(elo1=200)
    race = spec("race", 3, rounds=0, betting=terms)
    ledger, fixtures = ledger_of(race, []), list[Fixture]()

    def play(entered: Pair) -> None:
        """Entrant 2 wins all its matches; the first player wins those of entrant 1."""
        won = (1, 2) if entered.entrants[0] == 2 else (2, 1)
        for each in pair(entered.key, *(won if 2 in entered.entrants else (1, 1))):
            ledger.put(each)
            fixtures.append(each)

    first, *others = ledger.pairs
    for each in others:
        play(each)
    assert not ledger.is_decided, "the first pair is open"
    play(first)
    assert ledger.is_decided
    assert ledger.race
    assert ledger.race.winner == 2
    assert [ledger.race.processes[one].state for one in (1, 2)] == ["futile", "stronger"]
    again = ledger_of(race, reversed(fixtures))
    assert again.race
    assert again.race.processes[2].curve == ledger.race.processes[2].curve
    report = Results(ledger).report()
    assert [each.betting.state for each in report.head_to_head if each.betting] == [
        "futile", "stronger"
    ]  # fmt: skip


@pytest.mark.parametrize("limit", [None, 6])
def test_later_pairs_of_a_race_change_no_number(limit: int | None) -> None:
    """After the decision, or after the maximum number of pairs."""
    race = spec("race", 2, rounds=0, betting=Betting(elo1=200))
    ledger = ledger_of(race, [])
    ledger.pair_limit = limit
    reports = []
    for each in ledger.pairs:
        for match in pair(each.key, *((1, 2) if each.entrants[0] == 1 else (2, 1))):
            ledger.put(match)
        if ledger.race and (ledger.race.is_over or ledger.race.pairs == limit):
            reports.append(Results(ledger).report())
    assert len(reports) > 2
    assert reports[0].done == (limit or 10)
    assert all(each == reports[0] for each in reports)


def test_a_race_with_repeated_pairs_goes_on_until_it_is_decided() -> None:
    """Candidate 1 wins with the moves of its first pair; candidate 2 loses."""
    race = spec("race", 3, rounds=0, betting=Betting(elo1=200))
    ledger = ledger_of(race, [])
    while open_pairs := [each for each in ledger.pairs if each.key not in ledger.results]:
        for each in open_pairs:
            first = each.entrants[0]
            winners = (1, 2) if first == 1 or each.entrants == (0, 2) else (2, 1)
            for match in pair(each.key, *winners, repeated=1 in each.entrants):
                ledger.put(match)
        if ledger.is_decided:
            break
    assert ledger.race
    states = [ledger.race.processes[one].state for one in (1, 2)]
    assert states == ["exhausted", "futile"]
    assert ledger.is_decided
    again = ledger_of(race, ledger.fixtures.values())
    assert again.pairs == ledger.pairs
