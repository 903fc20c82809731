"""Jobs in slices: requests are answered between them, and no slice is lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from playout.protocol.messages import (
    Abort,
    Code,
    CreateTournament,
    EndTournament,
    Error,
    Fixture,
    Join,
    Ping,
    Pong,
    Seek,
    Started,
    Tournament,
    WatchTournament,
    Withdraw,
)
from playout.protocol.tournament_spec import Entrant, Openings
from playout.server.core.sessions import MATCHES_WITH_VIEWS
from playout.server.core.timers import PAUSE_S, JobQueue, Timers
from support.hub_harness import HubHarness, administrator, only
from support.tournaments import NAMES, Bots, last, member, new_tournament, spec_of


def counted(log: list[str], name: str, slices: int) -> Callable[[float], bool]:
    numbers = itertools.count(1)

    def work(now: float) -> bool:
        number = next(numbers)
        log.append(f"{name}{number}")
        return number < slices

    return work


def run_all(timers: Timers) -> None:
    while (at := timers.next()) is not None:
        for timer in timers.due(at):
            timer.call(at)


def test_jobs_take_turns_and_the_first_slice_of_a_started_one_is_done_at_once() -> None:
    timers, log = Timers(), list[str]()
    jobs = JobQueue(timers)
    jobs.start(counted(log, "a", 3), 0.0)
    assert log == ["a1"]
    jobs.add(counted(log, "b", 2), 0.0)
    jobs.start(counted(log, "c", 1), 0.0)
    run_all(timers)
    assert log == ["a1", "c1", "a2", "b1", "a3", "b2"]


def test_a_job_that_fails_does_not_stop_the_others() -> None:
    timers, log = Timers(), list[str]()
    jobs = JobQueue(timers)

    def fail(now: float) -> bool:
        raise RuntimeError("a fault")

    jobs.add(fail, 0.0)
    jobs.add(counted(log, "a", 1), 0.0)
    with pytest.raises(RuntimeError):
        run_all(timers)
    run_all(timers)
    assert log == ["a1"]


def ask_for(openings: tuple[tuple[int, ...], ...]) -> tuple[HubHarness, CreateTournament]:
    spec = spec_of(games=("connect_four",), openings=Openings(lines={"connect_four": openings}))
    return HubHarness(), CreateTournament(id=1, spec=spec)


def test_requests_are_answered_while_openings_are_checked() -> None:
    harness, request = ask_for(tuple(itertools.islice(itertools.product(range(7), repeat=6), 900)))
    boss = administrator(harness, "Zoe")
    harness.do(harness.hub.receive(boss.number, request, harness.now))
    harness.wait(PAUSE_S)
    assert not boss.heard(Tournament)
    harness.do(harness.hub.receive(boss.number, Ping(id=2), harness.now))
    assert only(boss.inbox, Pong).re == 2
    harness.finish_jobs()
    assert only(boss.inbox, Tournament).re == 1


def test_an_opening_that_is_found_to_be_bad_later_is_reported() -> None:
    harness, request = ask_for((((0, 1, 2, 3, 4, 5),) * 200) + ((0, 99),))
    boss = administrator(harness, "Zoe")
    (error,) = boss.say(request)
    assert isinstance(error, Error)
    assert (error.re, error.code) == (1, Code.BAD_TOURNAMENT)
    assert "connect_four[200]: the opening [0, 99] cannot be played" in error.text
    assert not harness.stored


def test_an_administrator_that_leaves_while_openings_are_checked_has_its_tournament() -> None:
    harness, request = ask_for(tuple(itertools.islice(itertools.product(range(7), repeat=6), 900)))
    boss = administrator(harness, "Zoe")
    harness.do(harness.hub.receive(boss.number, request, harness.now))
    boss.hang_up()
    harness.finish_jobs()
    assert len(harness.stored) == 1


def test_requests_are_answered_while_entrants_are_checked() -> None:
    entrants = tuple(Entrant(f"entrant {number}", "") for number in range(256))
    spec = replace(spec_of(format="gauntlet", anchor="Ann"), entrants=entrants)
    harness, request = HubHarness(), CreateTournament(spec=spec)
    boss = administrator(harness, "Zoe")
    harness.do(harness.hub.receive(boss.number, request, harness.now))
    harness.wait(PAUSE_S)
    assert not boss.heard(Error)
    harness.finish_jobs()
    assert only(boss.inbox, Error).code is Code.BAD_TOURNAMENT


@pytest.mark.parametrize("format_", ["swiss", "knockout"])
def test_rounds_are_paired_in_slices_between_which_requests_are_handled(
    format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playout.server.tournament.ledger.PAIRS_A_STEP", 1)
    harness = HubHarness()
    lines = [member(harness, name) for name in NAMES]
    boss, tournament = new_tournament(harness, spec_of(4, format=format_, rounds=2))
    for line in lines:
        line.say(Join())
    Bots(harness, *lines).play(moves=12)
    harness.do(
        harness.hub.receive(
            boss.number, Withdraw(tournament=tournament.tournament, entrant="Ann"), harness.now
        )
    )
    harness.wait(PAUSE_S)
    harness.do(
        harness.hub.receive(
            boss.number, Withdraw(tournament=tournament.tournament, entrant="Bob"), harness.now
        )
    )
    harness.finish_jobs()
    Bots(harness, *lines).play()
    told = last(boss)
    assert {each.players for each in told.values() if each.round == 2} <= {
        ("Cyd", "Dan"),
        ("Dan", "Cyd"),
    }
    assert boss.heard(Tournament)[-1].over


def test_a_new_watcher_is_sent_all_fixtures_in_order_and_then_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("playout.server.core.handlers.feeds.FIXTURES_A_SLICE", 2)
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    boss, tournament = new_tournament(harness, spec_of(rounds=3))
    for client in (ann, bob):
        client.say(Join())
    Bots(harness, ann, bob).play(moves=30)
    began = list(dict.fromkeys(each.match for each in boss.heard(Fixture)))
    assert len(began) > 3
    eve = harness.client("Eve", role="spectator")
    request = WatchTournament(id=1, tournament=tournament.tournament)
    harness.do(harness.hub.receive(eve.number, request, harness.now))
    assert len(eve.heard(Fixture)) == 2
    Bots(harness, ann, bob).play()
    harness.finish_jobs()
    seen = eve.heard(Fixture)
    assert list(dict.fromkeys(each.match for each in seen)) == list(
        dict.fromkeys(each.match for each in boss.heard(Fixture))
    )
    assert {each.match: each for each in seen} == {each.match: each for each in boss.heard(Fixture)}
    assert eve.inbox[-1] == boss.inbox[-1]
    assert isinstance(eve.inbox[-1], Tournament)
    assert eve.inbox[-1].over


def test_many_matches_of_two_seeks_begin_in_slices() -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    ann.say(Seek(game="nim", matches=100))
    harness.do(harness.hub.receive(bob.number, Seek(game="nim", matches=100), harness.now))
    assert 0 < len(harness.matches) < 100
    harness.finish_jobs()
    assert len(harness.matches) == len(bob.heard(Started)) == 100


def test_many_matches_of_a_tournament_begin_in_slices() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    spec = spec_of(rounds=60, games=("gomoku",), openings=Openings(plies=4), concurrency=100)
    boss, _ = new_tournament(harness, spec)
    ann.say(Join(matches=100))
    harness.do(harness.hub.receive(bob.number, Join(matches=100), harness.now))
    assert len(harness.matches) < 100
    harness.finish_jobs()
    assert len(harness.matches) == 100
    boss.say(Abort(match=next(iter(harness.matches))))
    assert len(harness.matches) == 100, "the pair is played again"


def test_many_matches_of_a_tournament_end_in_slices_before_it_is_over() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    boss, tournament = new_tournament(harness, spec_of(rounds=60, concurrency=100))
    for client in (ann, bob):
        client.say(Join(matches=100))
    assert len(harness.matches) == 100
    end = EndTournament(id=2, tournament=tournament.tournament)
    harness.do(harness.hub.receive(boss.number, end, harness.now))
    assert 0 < len(harness.matches) < 100
    harness.finish_jobs()
    assert not harness.matches
    assert len([each for each in boss.heard(Fixture) if each.winner == 0]) == 100
    assert isinstance(boss.inbox[-1], Tournament)
    assert boss.inbox[-1].over


def test_a_session_of_many_matches_is_sent_no_views() -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann", views=True), harness.client("Bob")
    few, many = Seek(game="nim", matches=MATCHES_WITH_VIEWS), Seek(game="nim")
    for client in (ann, bob):
        client.say(few)
    assert all(each.view for each in ann.heard(Started))
    for client in (ann, bob):
        client.say(many)
    last = ann.heard(Started)[-1]
    assert (last.view, last.board, last.legal_moves) == (None, None, None)
