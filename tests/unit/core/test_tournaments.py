"""Tournaments of a hub: entrants, organizers and watchers, without a socket."""

from __future__ import annotations

import dataclasses
import heapq
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from playout import games
from playout.games import Position
from playout.protocol.messages import (
    Adjudicate,
    Analysis,
    AnswerOffer,
    ChangeTournament,
    ClockState,
    ClusterWorker,
    Code,
    CreateTournament,
    Ended,
    EndTournament,
    Error,
    Fixture,
    Join,
    Move,
    Offer,
    Ok,
    Reason,
    ReportCluster,
    Request,
    Resign,
    Started,
    TimeControl,
    Tournament,
    Update,
    WatchTournament,
    Withdraw,
)
from playout.protocol.tournament_spec import (
    Adjudication,
    Betting,
    Entrant,
    Openings,
    SandboxSettings,
    Sprt,
    TournamentSpec,
    loads,
)
from playout.server.core.accounts import entrant_token
from playout.server.core.handlers.hosting import BACK_OFF, WORKS_S, CoreShares
from playout.server.core.hub import Hub
from playout.server.model.offered_bots import parse_offered_bots
from playout.server.model.records import (
    Account,
    MatchEnded,
    MatchStarted,
    Record,
    TournamentChanged,
    TournamentCreated,
    TournamentEnded,
)
from playout.server.tournament.ledger import Ledger
from playout.server.tournament.results import Results
from playout.server.tournament.state import TournamentState
from support import fixtures
from support.hub_harness import (
    EPOCH,
    HubHarness,
    MemoryClient,
    administrator,
    hello_of,
    match_between,
)
from support.tournaments import (
    NAMES,
    TOKEN,
    Bots,
    account,
    last,
    member,
    new_tournament,
    spec_of,
    stored_tournament,
)


def test_a_tournament_is_played_to_its_end() -> None:
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of(3, rounds=2, openings=Openings(plies=2)))
    assert not tournament.over
    bots = Bots(harness, *(member(harness, name) for name in NAMES[:3]))
    for client in bots.clients:
        client.ask(Join(matches=2), Ok)
    bots.play()
    fixtures = last(zoe)
    assert len(fixtures) == 3 * 2 * 2
    assert all(each.winner in (1, 2, -1) for each in fixtures.values())
    assert all(each.reason is Reason.RULES for each in fixtures.values())
    assert zoe.heard(Tournament)[-1].over
    assert isinstance(harness.stored[-1], TournamentEnded)
    for (*key, leg, attempt), first in fixtures.items():
        if leg == 1:
            second = fixtures[(*key, 2, attempt)]
            assert first.players == second.players[::-1], "colours are swapped"


@pytest.mark.parametrize("format_", ["swiss", "round_robin"])
def test_everybody_moves_first_in_half_of_all_matches_and_against_each(format_: str) -> None:
    harness = HubHarness()
    bots = Bots(harness, *(member(harness, name) for name in NAMES))
    bots.join()
    zoe, _ = new_tournament(harness, spec_of(4, format=format_, rounds=3, concurrency=2))
    bots.play()
    assert zoe.heard(Tournament)[-1].over
    seated = Counter(fixture.players for fixture in last(zoe).values())
    assert seated.total() == (12 if format_ == "swiss" else 36)
    assert all(seated[first, second] == seated[second, first] for first, second in seated)


def test_both_matches_of_a_pair_begin_with_its_opening() -> None:
    harness = HubHarness()
    new_tournament(harness, spec_of(openings=Openings(plies=3)))
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    ann.say(Join(matches=2))
    bob.say(Join(matches=2))
    first, second = ann.heard(Started)
    assert first.moves == second.moves
    assert len(first.moves) == 3
    game = games.load("tic_tac_toe")
    assert first.to_move == game.current_player(first.state) == 2
    assert (first.seat, second.seat) == (1, 2)


def test_an_entrant_plays_no_more_at_once_than_it_wants_to() -> None:
    harness = HubHarness()
    new_tournament(harness, spec_of(2, rounds=5))
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    ann.say(Join(matches=1))
    bob.say(Join(matches=3))
    assert len(harness.matches) == 1
    ann.say(Join(matches=2))
    assert len(harness.matches) == 2


def test_an_entrant_that_is_not_ready_gets_no_match_until_it_is() -> None:
    harness = HubHarness()
    new_tournament(harness, spec_of(2, rounds=5))
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    ann.say(Join(matches=0))
    bob.say(Join())
    assert not harness.matches
    ann.say(Join())
    assert len(harness.matches) == 1


def test_the_answer_to_join_has_the_games() -> None:
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of(2, games=("tic_tac_toe", "nim")))
    other = zoe.ask(CreateTournament(id=2, spec=spec_of(2, games=("hex",))), Tournament)
    ann = member(harness, "Ann")
    assert ann.ask(Join(matches=0), Ok).games == ("tic_tac_toe", "nim", "hex")
    assert ann.ask(Join(tournament=other.tournament), Ok).games == ("hex",)
    assert member(harness, "Ida").ask(Join(), Ok).games == ()


def test_a_pair_without_a_first_move_in_time_is_played_once_again() -> None:
    """Ann never moves: the pair is lost at the second attempt, after a restart, too."""
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of(2, rounds=1, clock="1/move"))
    for name in ("Ann", "Bob"):
        member(harness, name).say(Join())
    harness.wait(2.0)
    first = last(zoe)[1, 1, 1, 1, 1]
    assert (first.winner, first.reason) == (0, Reason.VOID)
    harness.wait(2.0)
    second = last(zoe)[1, 1, 1, 1, 2]
    assert (second.winner, second.reason) == (2, Reason.TIME)
    restored = Ledger.restored(stored_tournament(harness.stored))
    assert restored.fixtures[first.match].reason is Reason.VOID
    assert "a player's time was up before its first move" in Results(restored).report().notes[0]


def test_a_crash_is_a_loss_with_its_error() -> None:
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of(2, rounds=1))
    bots = Bots(harness, *(member(harness, name) for name in ("Ann", "Bob")))
    bots.join()
    match = bots.clients[0].heard(Started)[0].match
    bots.clients[0].ask(Resign(id=1, match=match, crash="ValueError: x"), Ok)
    found = last(zoe)[1, 1, 1, 1, 1]
    assert (found.winner, found.reason, found.error) == (2, Reason.CRASH, "ValueError: x")
    assert bots.clients[1].heard(Ended)[0].text == "Ann crashed: ValueError: x"
    bots.play()
    report = Results(Ledger.restored(stored_tournament(harness.stored))).report()
    assert "Ann crashed in 1 match, last with: ValueError: x" in report.notes


def test_a_player_that_has_moved_loses_on_time_at_once() -> None:
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of(2, rounds=1, clock="1/move"))
    bots = Bots(harness, *(member(harness, name) for name in ("Ann", "Bob")))
    bots.join()
    bots.play(2)
    harness.wait(2.0)
    assert last(zoe)[1, 1, 1, 1, 1].reason is Reason.TIME


def test_the_concurrency_of_the_tournament_is_kept_to() -> None:
    harness = HubHarness()
    new_tournament(harness, spec_of(4, rounds=5, concurrency=2))
    for name in NAMES:
        member(harness, name).say(Join(matches=10))
    assert len(harness.matches) == 2


def test_a_refusal_gives_the_reason() -> None:
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of())
    known = tournament.tournament
    assert harness.client("Guest").refused(Join()) is Code.NOT_FOR_GUESTS
    eve = member(harness, "Eve")
    assert eve.refused(Join(tournament=known)) is Code.NOT_ALLOWED
    assert eve.refused(Join(tournament="x")) is Code.UNKNOWN_TOURNAMENT
    assert eve.refused(CreateTournament(spec=spec_of())) is Code.NOT_ALLOWED
    for bad in (
        spec_of(games=("shogi",)),
        spec_of(1),
        spec_of(clock="soon"),
        spec_of(format="sprt"),
        spec_of(format="sprt", sprt=Sprt(elo0=5.0, elo1=0.0)),
        spec_of(format="sprt", sprt=Sprt(alpha=float("nan"))),
        spec_of(rounds=10**9),
        dataclasses.replace(spec_of(), entrants=(Entrant("Ann", ""), Entrant("ANN", ""))),
        spec_of(openings=Openings(lines={"tic_tac_toe": ((0, 0),)})),
    ):
        assert zoe.refused(CreateTournament(spec=bad)) is Code.BAD_TOURNAMENT


def test_with_many_moves_it_is_a_tie() -> None:
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of(adjudication=Adjudication(max_plies=4)))
    bots = Bots(harness, member(harness, "Ann"), member(harness, "Bob"))
    bots.join()
    bots.play()
    ends = [(each.winner, each.reason, each.plies) for each in last(zoe).values()]
    assert ends == [(-1, Reason.ADJUDICATION, 4)] * 2


def test_a_proven_result_is_the_result() -> None:
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of(adjudication=Adjudication(proofs=True)))
    bots = Bots(harness, member(harness, "Ann"), member(harness, "Bob"))
    bots.join()
    for winner in (1, -1):
        bots.play(3)
        match = harness.only_match()
        late = Adjudicate(match=match.id, ply=2, winner=winner)
        assert zoe.refused(late) is Code.WRONG_PLY
        zoe.ask(Adjudicate(id=1, match=match.id, ply=3, winner=winner), Ok)
        for client in bots.clients:
            assert client.heard(Ended)[-1].reason is Reason.ADJUDICATION
        assert zoe.refused(late) is Code.MATCH_OVER
    ends = [(each.winner, each.reason, each.plies) for each in last(zoe).values()]
    assert ends == [(1, Reason.ADJUDICATION, 3), (-1, Reason.ADJUDICATION, 3)]
    assert zoe.heard(Tournament)[-1].over


def test_only_matches_of_tournaments_are_adjudicated() -> None:
    harness = HubHarness()
    zoe = administrator(harness, "Zoe")
    match = match_between(harness.client("Ann"), harness.client("Bob"))
    assert zoe.refused(Adjudicate(match=match, ply=0, winner=1)) is Code.NOT_ALLOWED
    assert zoe.refused(Adjudicate(match="m", ply=0, winner=1)) is Code.UNKNOWN_MATCH


def test_a_match_without_result_has_its_pair_played_again() -> None:
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of())
    bots = Bots(harness, member(harness, "Ann"), member(harness, "Bob"))
    bots.join(matches=2)
    bots.play(3)
    (first, _) = harness.matches.values()
    first.abort("a fault of the server")
    harness.do(_settled(harness, first.id))
    bots.play()
    told = last(zoe)
    assert sorted(told) == [(1, 1, 1, leg, attempt) for leg in (1, 2) for attempt in (1, 2)]
    assert {each.reason for key, each in told.items() if key[-1] == 1} == {Reason.ABORTED}
    assert {each.reason for key, each in told.items() if key[-1] == 2} == {Reason.RULES}
    assert zoe.heard(Tournament)[-1].over


def _settled(harness: HubHarness, match: str) -> Any:
    harness.hub.rooms[match].settle(harness.now)
    return harness.hub._finish_call(harness.now)


def test_the_first_illegal_move_loses() -> None:
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of())
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    ann.say(Join())
    bob.say(Join())
    (started,) = ann.heard(Started)
    error = ann.ask(Move(match=started.match, ply=0, action=99), Error)
    assert error.code is Code.ILLEGAL_ACTION
    assert last(zoe)[1, 1, 1, 1, 1].reason is Reason.ILLEGAL_MOVES


def test_a_book_of_openings_is_played_and_not_sent_to_watchers() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    for client in (ann, bob):
        client.say(Join())
    book = Openings(lines={"tic_tac_toe": tuple((one, 8) for one in range(8))})
    zoe, told = new_tournament(harness, spec_of(openings=book))
    started = ann.heard(Started)[0].moves
    assert started in book.lines["tic_tac_toe"]
    assert told.spec == spec_of()
    zoe.say(EndTournament(tournament=told.tournament))
    assert zoe.heard(Tournament)[-1].spec == spec_of()
    (stored,) = (each for each in harness.stored if isinstance(each, TournamentCreated))
    assert loads(stored.spec).openings == book


def test_an_opening_may_begin_at_a_position_of_the_game() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    for client in (ann, bob):
        client.say(Join())
    fen = "4k3/8/8/8/8/8/4P3/4K2R b K - 3 17"
    (king,) = Position.from_names(games.load(f"chess(fen={fen})"), ["Ke7"]).moves
    book = Openings(lines={"chess": ((king,),)}, fens={"chess": (fen,)})
    _, told = new_tournament(harness, spec_of(games=("chess",), openings=book))
    assert told.spec.openings == Openings()
    for client in (ann, bob):
        started = client.heard(Started)[0]
        assert (started.game, started.moves) == (f"chess(fen={fen})", (king,))
    stored = harness.stored
    assert [each.rated for each in stored if isinstance(each, MatchStarted)] == [False]
    (created,) = (each for each in stored if isinstance(each, TournamentCreated))
    assert loads(created.spec).openings == book


@pytest.mark.parametrize(
    ("lines", "fens", "told"),
    [
        (((),), ("8/8 w - -",), "openings.fens.chess[0]: chess: cannot read the position"),
        (((),), ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",), "the match is over there"),
        (((),), ("x,y=1",), "openings.fens.chess[0]: chess: cannot read the position 'x;y=1'"),
        (((),), (), "openings.fens.chess: must have one text for each opening of lines"),
        ((), ("",), "openings.fens.chess: must have one text for each opening of lines"),
        (((99999,),), ("",), "openings.lines.chess[0]: the opening [99999] cannot be played"),
    ],
)
def test_a_position_that_the_game_refuses_is_answered(
    lines: tuple[tuple[int, ...], ...], fens: tuple[str, ...], told: str
) -> None:
    harness = HubHarness()
    zoe = administrator(harness, "Zoe")
    book = Openings(lines={"chess": lines}, fens={"chess": fens})
    bad = spec_of(games=("chess",), openings=book)
    assert zoe.refused(CreateTournament(spec=bad)) is Code.BAD_TOURNAMENT
    assert told in zoe.heard(Error)[-1].text


def test_a_message_has_no_private_field_of_a_specification() -> None:
    """Each text of a specification that is not listed here is private."""
    mark = "/home/ada/secret"
    entrants = (
        Entrant("Ann", "1", player=f"uct(net={mark}/a.npz)"),
        Entrant("Bob", "1", command=mark, folder=mark, protocol="uci", sandbox=True),
    )
    limits = SandboxSettings(reads=(mark,), command=mark, uses=mark)
    harness = HubHarness()
    zoe, told = new_tournament(
        harness, dataclasses.replace(spec_of(sandbox=limits), entrants=entrants)
    )
    eve = harness.client("Eve")
    eve.say(WatchTournament(tournament=told.tournament))
    zoe.say(Withdraw(tournament=told.tournament, entrant="Ann"))
    zoe.say(EndTournament(tournament=told.tournament))
    for event in (told, *zoe.heard(Tournament), *eve.heard(Tournament)):
        assert "secret" not in repr(event)
        assert event.spec.entrants[0].player == "uct(net=a.npz)"
        assert event.spec.entrants[1].sandbox
    (stored,) = (each for each in harness.stored if isinstance(each, TournamentCreated))
    assert loads(stored.spec).entrants == entrants


def test_every_text_of_an_entrant_is_public_or_private() -> None:
    open_to_all = {
        Entrant: {"name", "version", "clock", "protocol"},
        SandboxSettings: {"without"},
        TournamentSpec: {"name", "games", "format", "clock", "anchor", "machine", "starts"},
    }
    for kind, names in open_to_all.items():
        texts = {each.name for each in dataclasses.fields(kind)  # type: ignore[arg-type]
                 if "str" in str(each.type) and not each.metadata}  # fmt: skip
        assert texts == names


def test_a_later_watcher_is_sent_all_fixtures() -> None:
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of(3))
    bots = Bots(harness, *(member(harness, name) for name in NAMES[:3]))
    bots.join()
    bots.play(20)
    eve = harness.client("Eve")
    eve.say(WatchTournament(tournament=tournament.tournament))
    bots.play()
    assert last(eve) == last(zoe)
    assert eve.heard(Tournament)[-1] == zoe.heard(Tournament)[-1]


def test_watchers_know_the_processes_of_running_matches() -> None:
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of())
    bots = Bots(harness, member(harness, "Ann"), member(harness, "Bob"))
    for number, client in enumerate(bots.clients, 2):
        client.say(Join(process=number))
    eve = harness.client("Eve")
    eve.say(WatchTournament(tournament=tournament.tournament))
    for client in (zoe, eve):
        (running,) = client.heard(Fixture)
        assert running.players == ("Ann", "Bob")
        assert running.processes == (2, 3)
    bots.play()
    assert [each.processes for each in last(zoe).values()] == [(None, None)] * 2
    second = [each for each in zoe.heard(Fixture) if each.leg == 2 and each.winner is None]
    assert [each.processes for each in second] == [(3, 2)]


def test_a_session_that_dies_is_replaced_by_another_of_the_account() -> None:
    harness = HubHarness(take_over_after_s=5.0, reconnect_s=60.0)
    zoe, _ = new_tournament(harness, spec_of())
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    bots = Bots(harness, ann, bob)
    ann.say(Join())
    bob.say(Join())
    bots.play(2)
    match = harness.only_match().id
    bob.hang_up()
    again = harness.client("Bob", token=TOKEN, legal_actions=True)
    again.say(Join())
    assert not again.heard(Started), "the other may still come back"
    harness.wait(6.0)
    assert [event.match for event in again.heard(Started)] == [match]
    bots.clients.append(again)
    bots.play()
    assert [each.reason for each in last(zoe).values()] == [Reason.RULES] * 2


@pytest.mark.parametrize("clock", ["none", "1/move"])
def test_a_match_that_both_players_left_is_played_again(clock: str) -> None:
    harness = HubHarness(take_over_after_s=5.0, reconnect_s=60.0)
    zoe, _ = new_tournament(harness, spec_of(clock=clock))
    bots = Bots(harness, member(harness, "Ann"), member(harness, "Bob"))
    bots.join()
    bots.play(2)
    for client in bots.clients:
        client.hang_up()
    harness.wait(61.0)
    (voided,) = last(zoe).values()
    assert (voided.winner, voided.reason) == (0, Reason.ABORTED)
    bots = Bots(harness, *(harness.client(name, token=TOKEN, legal_actions=True)
                           for name in ("Ann", "Bob")))  # fmt: skip
    bots.join()
    bots.play()
    counted = [each for each in last(zoe).values() if each.attempt == 2]
    assert [each.reason for each in counted] == [Reason.RULES] * 2


def test_sessions_on_one_core_set_play_each_other_one_match_at_a_time() -> None:
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of(4, rounds=2))
    clients = {(name, core_set): member(harness, name) for core_set in (1, 2) for name in NAMES}
    bots = Bots(harness, *clients.values())
    for (_, core_set), client in clients.items():
        client.say(Join(process=core_set, core_set=core_set))
    running: dict[str, tuple[int | None, int | None]] = {}
    bots.play()
    for event in zoe.heard(Fixture):
        if event.winner is None:
            assert event.processes[0] == event.processes[1]
            assert event.processes not in running.values()
            running[event.match] = event.processes
        else:
            del running[event.match]
    assert len(last(zoe)) == 24


def test_a_session_without_a_core_set_plays_against_all() -> None:
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of(2, rounds=3))
    ann, bob, too = (member(harness, name) for name in ("Ann", "Bob", "Bob"))
    bots = Bots(harness, ann, bob, too)
    ann.say(Join(matches=2))
    for core_set, client in enumerate((bob, too), start=1):
        client.say(Join(process=core_set, core_set=core_set))
    assert len(zoe.heard(Fixture)) == 2
    bots.play()
    assert len(last(zoe)) == 6


def test_matches_on_a_reported_cluster_have_the_speed_of_its_cores() -> None:
    harness = HubHarness()
    spec = spec_of(2, rounds=4, clock="10+0.1", core_speed=1000.0)
    zoe, event = new_tournament(harness, spec)
    workers = (
        ClusterWorker(host="lab1", cores=2, speed=800.0, core_sets=(1, 2)),
        ClusterWorker(host="lab2", cores=1, core_sets=(3,)),
    )
    report = ReportCluster(id=3, tournament=event.tournament, workers=workers)
    zoe.ask(report, Ok)
    clients = {(name, number): member(harness, name) for number in (2, 3) for name in NAMES[:2]}
    bots = Bots(harness, *clients.values())
    for (_, core_set), client in clients.items():
        client.say(Join(process=core_set, core_set=core_set))
    first = zoe.heard(Fixture)
    assert {each.processes[0]: each.core_speed for each in first} == {2: 800.0, 3: None}
    assert harness.hub.tournaments.clusters.of(event.tournament) == report
    other = structs.replace(report, workers=())
    zoe.ask(other, Ok)
    assert harness.hub.tournaments.clusters.of(event.tournament) == other
    bots.play()
    stored = [each for each in harness.stored if isinstance(each, MatchStarted)]
    assert {each.core_speed: each.clock for each in stored} == {800.0: "12.5+0.125", None: "10+0.1"}
    assert [each.core_speed for each in stored].count(800.0) == 1
    assert harness.hub.tournaments.clusters.of(event.tournament) is None, "it is over"


def test_a_report_of_a_cluster_ends_with_its_session() -> None:
    harness = HubHarness()
    zoe, event = new_tournament(harness, spec_of(2))
    zoe.ask(ReportCluster(id=3, tournament=event.tournament, workers=()), Ok)
    assert zoe.refused(ReportCluster(id=4, tournament="x", workers=())) is Code.UNKNOWN_TOURNAMENT
    zoe.hang_up()
    assert harness.hub.tournaments.clusters.of(event.tournament) is None


# After a restart.


def restarted(harness: HubHarness, **policy: Any) -> HubHarness:
    """A new hub with the records of the old one."""
    stored = stored_tournament(harness.stored)
    again = HubHarness(**policy)
    again.now = harness.now + 10.0
    again.hub._context._id_stamp += int(again.now * 1000)
    again.stored = list(harness.stored)
    again.hub._context.records = len(again.stored)
    again.commit()
    for name in NAMES:
        account(again, name)
    again.hub.restore_tournaments([] if stored.ended else [stored])
    unfinished = [each for each in stored.matches if not each.ended]
    again.do(again.hub.restore_matches(unfinished, again.now))
    return again


def played_pairs(records: Iterable[Record]) -> list[tuple[str | None, tuple[str, str]]]:
    """The matches with a result, each with its first mover."""
    matches = stored_tournament(records).matches
    return sorted((each.started.fixture, each.started.players) for each in matches if each.ended)


@pytest.mark.parametrize("format_", ["round_robin", "gauntlet", "swiss", "knockout"])
def test_a_tournament_that_is_interrupted_has_the_pairs_it_would_have_had(format_: str) -> None:
    spec = spec_of(4, format=format_, rounds=2, openings=Openings(plies=2), seed=3)
    lengths = (5, 17, 1, 30, 9, 2, 40)
    harness = HubHarness()
    new_tournament(harness, spec)
    for length in (*lengths, 1_000_000):
        bots = Bots(harness, *(member(harness, name) for name in NAMES), seed=length)
        bots.join(matches=2)
        harness.wait(20.0)  # the sessions from before end
        bots.play(length)
        if length < 1_000_000:
            harness = restarted(harness)
    stored = stored_tournament(harness.stored)
    assert stored.ended
    ledger = Ledger.restored(stored)
    assert ledger.is_decided
    fixtures = [fixture for fixture, _ in played_pairs(harness.stored)]
    assert len(fixtures) == len(set(fixtures)), "none is doubled"
    for match in stored.matches:
        assert match.ended is not None
        assert match.ended.winner, "none is lost"
    if format_ == "round_robin":
        uninterrupted = HubHarness()
        new_tournament(uninterrupted, spec)
        bots = Bots(uninterrupted, *(member(uninterrupted, name) for name in NAMES))
        bots.join(matches=2)
        bots.play()
        assert played_pairs(uninterrupted.stored) == played_pairs(harness.stored)


class RepeatableBots(Bots):
    """Their moves follow from the player and the position; Bob wins at once where he can."""

    def _choose(self, event: Started | Update) -> int:
        room = self.harness.hub.rooms[event.match]
        position, name = room.match.position, room.seats[event.to_move - 1].name
        legal = position.legal_actions
        good = [each for each in legal if name == "Bob" and position.play(each).winner > 0]
        drawn = zlib.crc32(repr((name, *position.moves)).encode())
        return (good or legal)[drawn % len(good or legal)]


class TransactionHarness(HubHarness):
    """Knows how many records were stored after each transaction."""

    def commit(self) -> None:
        self.__dict__.setdefault("transactions", []).append(len(self.stored))
        super().commit()


def test_a_race_that_is_killed_after_any_transaction_is_decided_with_the_same_pairs() -> None:
    """As in a queue of tests, fewer players than its concurrency allows continue it."""
    terms = Betting(elo1=200, alpha=0.2)
    openings = Openings(plies=3)
    spec = spec_of(format="race", rounds=0, openings=openings, betting=terms, concurrency=2)

    def decided(harness: HubHarness) -> tuple[Sequence[float], int]:
        bots = RepeatableBots(harness, member(harness, "Ann"), member(harness, "Bob"))
        bots.join()
        bots.play()
        stored = stored_tournament(harness.stored)
        assert stored.ended
        race = Ledger.restored(stored).race
        assert race
        assert race.winner
        return race.processes[1].curve, len(played_pairs(harness.stored))

    harness = TransactionHarness()
    new_tournament(harness, spec)
    result, records = decided(harness), harness.stored
    for kill in harness.__dict__["transactions"][-10:]:
        harness = TransactionHarness()
        harness.stored = records[:kill]
        again = restarted(harness, take_over_after_s=0.0)
        assert decided(again) == result, f"killed after record {kill} of {len(records)}"


#: The actions of administrators on a tournament, one of whose entrants is in a match.
ACTIONS: dict[str, Callable[[str, str], Request]] = {
    "pause": lambda its_id, _: ChangeTournament(id=9, tournament=its_id, paused=True),
    "continue": lambda its_id, _: ChangeTournament(id=9, tournament=its_id, paused=False),
    "extend": lambda its_id, _: ChangeTournament(id=9, tournament=its_id, rounds=4),
    "replace": lambda its_id, name: ChangeTournament(
        id=9, tournament=its_id, replaced=name, entrant=Entrant("Dan", "")
    ),
    "add": lambda its_id, _: ChangeTournament(id=9, tournament=its_id, entrant=Entrant("Dan", "")),
    "withdraw": lambda its_id, name: Withdraw(id=9, tournament=its_id, entrant=name),
    "end": lambda its_id, _: EndTournament(id=9, tournament=its_id),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_that_is_killed_after_any_of_its_records_is_done_or_not_begun(
    action: str,
) -> None:
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of(3, rounds=3))
    bots = Bots(harness, *(member(harness, name) for name in NAMES))
    bots.join()
    bots.play(9)
    if action == "continue":
        changed(zoe, tournament, paused=True)
    before, entrant = len(harness.stored), running(zoe)[0].players[0]
    zoe.ask(ACTIONS[action](tournament.tournament, entrant), Ok)
    records = harness.stored
    assert len(records) > before

    def state(number: int) -> tuple[object, ...]:
        found = stored_tournament(records[:number])
        return found.created.spec, found.created.paused, found.withdrawn, bool(found.ended)

    begun, done = state(before), state(len(records))
    assert begun != done
    for kill in range(before, len(records) + 1):
        assert state(kill) in (begun, done)
        harness.stored = records[:kill]
        again = restarted(harness, take_over_after_s=0.0)
        players = {name for each in again.matches.values() for name in each.players}
        if state(kill) == done and action == "replace":
            assert entrant not in players
        if state(kill) == done and action == "end":
            assert not again.matches
        bots = Bots(again, *(member(again, name) for name in NAMES))
        bots.join()
        bots.play()
        assert bool(stored_tournament(again.stored).ended) == (state(kill)[1] is not True)
        assert not again.matches


def test_a_hosted_tournament_is_created_by_its_last_record() -> None:
    """Killed before that, the server has accounts for its entrants and nothing else."""
    harness = HubHarness(bots=2, offered=parse_offered_bots(["random"]))
    zoe = administrator(harness, "Zoe")
    harness.slow, before = True, len(harness.stored)
    entrants = tuple(Entrant(name, "", player="random") for name in NAMES[:2])
    spec = dataclasses.replace(spec_of(), entrants=entrants, concurrency=1)
    assert not zoe.say(CreateTournament(id=1, spec=spec, hosted=True))
    harness.finish_jobs()
    records = [type(each) for each in harness.stored[before:]]
    assert records == [Account, Account, TournamentCreated]
    assert not zoe.heard(Tournament)
    assert not harness.organizers
    harness.commit()
    assert zoe.heard(Tournament)
    assert len(harness.organizers) == 1


def test_withdrawals_are_remembered() -> None:
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of(3))
    zoe.ask(Withdraw(tournament=tournament.tournament, entrant="bob"), Ok)
    assert zoe.heard(Tournament)[-1].withdrawn == (1,)
    harness = restarted(harness)
    bots = Bots(harness, *(member(harness, name) for name in NAMES[:3]))
    bots.join()
    bots.play()
    stored = stored_tournament(harness.stored)
    assert stored.ended
    assert {match.started.players for match in stored.matches} == {("Ann", "Cyd"), ("Cyd", "Ann")}


def ended_by_its_organizer() -> tuple[HubHarness, MemoryClient]:
    """Return a hub whose only tournament was ended after two moves, and its organizer."""
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of())
    bots = Bots(harness, member(harness, "Ann"), member(harness, "Bob"))
    bots.join()
    bots.play(2)
    zoe.ask(EndTournament(tournament=tournament.tournament), Ok)
    return harness, zoe


def test_a_tournament_that_is_ended_by_its_organizer_is_over_at_once() -> None:
    harness, zoe = ended_by_its_organizer()
    assert not harness.matches
    assert [each.reason for each in last(zoe).values()] == [Reason.ABORTED]
    assert zoe.heard(Tournament)[-1].over


def test_a_match_of_a_tournament_that_had_ended_is_aborted_after_a_restart() -> None:
    harness, _ = ended_by_its_organizer()
    assert isinstance(harness.stored[-2], TournamentEnded)
    assert isinstance(harness.stored.pop(), MatchEnded), "killed before it was stored"
    again = restarted(harness)
    assert not again.matches
    assert isinstance(again.stored[-1], MatchEnded)
    assert again.stored[-1].reason is Reason.ABORTED


def test_a_match_between_different_clocks_gives_each_its_own_and_is_not_rated() -> None:
    harness = HubHarness()
    entrants = (Entrant("Ann", "1", clock="60+1"), Entrant("Bob", "1"))
    spec = spec_of(entrants=2, format="match", clock="10/move")
    new_tournament(harness, dataclasses.replace(spec, entrants=entrants))
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    Bots(harness, ann, bob).join()
    first, second = ann.heard(Started)[-1], bob.heard(Started)[-1]
    assert first.clock == second.clock == "60+1 | 10/move"
    assert first.time_control == TimeControl(60.0, 1.0, 0, 0.0)
    assert second.time_control == TimeControl(0.0, 0.0, 1, 10.0)
    assert first.time_controls == (first.time_control, second.time_control)
    assert first.clocks == (ClockState(60.0, 0), ClockState(0.0, 1))
    assert not first.rated


class HopelessBots(Bots):
    """Ann reports that she loses, and Bob that he wins."""

    def _replies(self, client: MemoryClient) -> list[tuple[MemoryClient, Move]]:
        rate = 0.01 if client is self.clients[0] else 0.99
        return [
            (each, structs.replace(move, info=Analysis(win_rate=rate)))
            for each, move in super()._replies(client)
        ]


def test_a_match_ends_when_both_report_the_same_winner() -> None:
    harness = HubHarness()
    rules = Adjudication(resign_moves=2)
    zoe, _ = new_tournament(harness, spec_of(format="match", adjudication=rules))
    bots = HopelessBots(harness, member(harness, "Ann"), member(harness, "Bob"))
    bots.join()
    bots.play()
    for fixture in last(zoe).values():
        assert fixture.reason is Reason.ADJUDICATION
        assert fixture.plies == 4
        assert fixture.winner == 1 + fixture.players.index("Bob")
    assert zoe.heard(Tournament)[-1].over
    ended = bots.clients[0].heard(Ended)[0]
    assert ended.text == "adjudicated: Bob wins by the win rates of both players"


def test_win_rates_before_a_restart_count() -> None:
    harness = HubHarness()
    rules = Adjudication(resign_moves=2)
    new_tournament(harness, spec_of(format="match", adjudication=rules))
    bots = HopelessBots(harness, member(harness, "Ann"), member(harness, "Bob"))
    bots.join()
    bots.play(3)
    (room,) = restarted(harness).hub.rooms.values()
    assert room.scores is not None
    assert room.scores.winner() is None
    room.scores.moved(2 if room.match.ply % 2 else 1, room.match.ply, Analysis(win_rate=0.99))
    assert room.scores.winner() == 1 + room.match.players.index("Bob")


@pytest.mark.parametrize("allowed", [False, True])
def test_players_agree_on_a_draw_only_in_a_tournament_that_allows_it(allowed: bool) -> None:
    harness = HubHarness()
    ann, bob = (member(harness, name) for name in ("Ann", "Bob"))
    new_tournament(harness, spec_of(concurrency=1, draw_offers=allowed))
    bots = Bots(harness, ann, bob)
    bots.join()
    bots.play(2)
    match = harness.only_match()
    (room,) = restarted(harness).hub.rooms.values()
    assert room.offers.draws is allowed, "also after a restart"
    assert ann.refused(Offer(match=match.id, offer="takeback", ply=2)) is Code.NOT_ALLOWED
    offer = Offer(match=match.id, offer="draw", ply=2)
    if not allowed:
        assert ann.refused(offer) is Code.NOT_ALLOWED
        return
    ann.say(offer)
    bob.say(AnswerOffer(match=match.id, offer="draw", ply=2, accept=True))
    ended = bob.heard(Ended)[0]
    assert (ended.match, ended.winner, ended.reason) == (match.id, -1, Reason.AGREEMENT)
    bots.play()
    assert not harness.matches


def changed(zoe: MemoryClient, tournament: Tournament, **fields: Any) -> None:
    zoe.ask(ChangeTournament(id=9, tournament=tournament.tournament, **fields), Ok)


def test_while_a_tournament_is_paused_no_match_begins() -> None:
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of(2, rounds=3, concurrency=1))
    bots = Bots(harness, *(member(harness, name) for name in NAMES[:2]))
    changed(zoe, tournament, paused=True)
    bots.join()
    assert not harness.matches
    changed(zoe, tournament, paused=False)
    assert len(harness.matches) == 1
    changed(zoe, tournament, paused=True)
    bots.play()
    assert (len(last(zoe)), zoe.heard(Tournament)[-1].over) == (1, False)
    changed(zoe, tournament, paused=False, rounds=4)
    bots.play()
    assert len(last(zoe)) == 8
    assert zoe.heard(Tournament)[-1].over


def test_a_successor_takes_the_place_and_plays_the_rest() -> None:
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of(3, rounds=2, concurrency=1))
    bots = Bots(harness, *(member(harness, name) for name in NAMES))
    bots.join()
    bots.play(20)
    changed(zoe, tournament, replaced="ann", entrant=Entrant("Dan", ""))
    assert not any("Ann" in fixture.players for fixture in running(zoe))
    bots.play()
    assert zoe.heard(Tournament)[-1].over
    stored = stored_tournament(harness.stored)
    assert [each.name for each in loads(stored.created.spec).entrants] == ["Dan", "Bob", "Cyd"]
    report = Results(Ledger.restored(stored)).report()
    assert [row.counts.matches for row in report.standings] == [8, 8, 8]


def running(client: MemoryClient) -> list[Fixture]:
    return [fixture for fixture in last(client).values() if fixture.winner is None]


@pytest.mark.parametrize("format_", ["swiss", "round_robin", "gauntlet"])
def test_a_late_entrant_plays_as_the_format_says(format_: str) -> None:
    harness = HubHarness()
    spec = spec_of(2, format=format_, rounds=3, concurrency=1)
    zoe, tournament = new_tournament(harness, spec)
    bots = Bots(harness, *(member(harness, name) for name in NAMES[:3]))
    bots.join()
    bots.play(3)
    changed(zoe, tournament, entrant=Entrant("Cyd", ""))
    bots.play()
    assert zoe.heard(Tournament)[-1].over
    played = Counter(name for fixture in last(zoe).values() for name in fixture.players)
    assert played["Cyd"] == {"swiss": 4, "round_robin": 12, "gauntlet": 6}[format_]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"rounds": 1}, "rounds: must be more than 1, not 1"),
        ({"replaced": "Eve", "entrant": Entrant("Dan", "")}, "is no entrant"),
        ({"replaced": "Ann"}, "must take the place"),
        ({"replaced": "Ann", "entrant": Entrant("Bob", "")}, "is taken"),
        ({"replaced": "Ann", "entrant": Entrant("Dan", "", player="uct")}, "has to log in"),
        ({"replaced": "Ann", "entrant": Entrant("Dan", "", command="true")}, "has to log in"),
        ({"entrant": Entrant("Dan", "")}, "the last round is being played"),
    ],
)
def test_a_change_that_is_not_possible_is_refused(fields: dict[str, Any], text: str) -> None:
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of(3, format="swiss"))
    request = ChangeTournament(id=9, tournament=tournament.tournament, **fields)
    assert text in zoe.ask(request, Error).text
    assert not any(isinstance(each, TournamentChanged) for each in harness.stored)


def test_a_hosted_tournament_has_an_organizer_until_it_is_over() -> None:
    offered = parse_offered_bots(["random", "Max=uct(time=1)", "Rhino=engine(file=/r/e.toml)"])
    harness = HubHarness(bots=2, offered=offered)
    zoe = administrator(harness, "Zoe")

    def create(*entrants: Entrant) -> CreateTournament:
        spec = dataclasses.replace(spec_of(2, concurrency=1), entrants=entrants)
        return CreateTournament(id=1, spec=spec, hosted=True)

    account(harness, "Bob")
    ann, bob = Entrant("Ann", "", player="random"), Entrant("Bob", "")
    for wrong, text in (
        (Entrant("Max", "", player="random"), "'Max' is a bot of this server"),
        (Entrant("Bob", "", player="random"), "'Bob' is registered"),
        (Entrant("Cyd", "", player="flat"), "the player of no bot"),
        (Entrant("Cyd", "", command="true"), "starts no commands"),
    ):
        assert text in zoe.ask(create(ann, wrong), Error).text
    assert harness.organizers == []
    tournament = zoe.ask(create(ann, bob), Tournament).tournament
    (order,) = harness.organizers
    assert set(order.players) == {"random", "uct(time=1)", "engine(file=/r/e.toml)"}
    harness.client("organizer", role="spectator", session=order.token)
    bot = harness.client("Ann", token=entrant_token(order.key, "Ann"))
    bot.ask(Join(tournament=tournament), Ok)
    stranger = harness.connect()
    assert stranger.ask(hello_of("Ann", token=entrant_token("guess", "Ann")), Error)
    again = restarted(harness, bots=0)
    message = ChangeTournament(id=1, tournament=tournament, paused=True)
    administrator(again, "Yan").ask(message, Ok)
    assert again.organizers == []
    fails(harness, tournament, "was killed")
    harness.wait(BACK_OFF.wait_s(1))
    assert len(harness.organizers) == 2
    zoe.ask(EndTournament(id=2, tournament=tournament), Ok)
    fails(harness, tournament, "is done")
    harness.wait(BACK_OFF.longest_s)
    assert len(harness.organizers) == 2
    assert harness.hub.tournaments.faults(tournament) == []


def fails(harness: HubHarness, tournament: str, why: str) -> None:
    """Let the organizer of a tournament exit."""
    harness.do(harness.hub.organizer_ended(tournament, why, harness.now))


def test_an_organizer_that_fails_is_started_after_growing_pauses_and_the_reason_is_known() -> None:
    harness = HubHarness(bots=2, offered=parse_offered_bots(["random"]))
    zoe = administrator(harness, "Zoe")
    ann, bob = Entrant("Ann", "", player="random"), Entrant("Bob", "")
    spec = dataclasses.replace(spec_of(2, concurrency=1), entrants=(ann, bob))
    account(harness, "Bob")
    tournament = zoe.ask(CreateTournament(id=1, spec=spec, hosted=True), Tournament).tournament
    for failures in range(1, 4):
        before = len(zoe.heard(Tournament))
        fails(harness, tournament, "has ended with exit code 1: the disk is full")
        pause_s = 2.0**failures
        assert harness.hub.tournaments.faults(tournament) == [
            "the program that starts the entrants has ended with exit code 1: the disk is full; "
            f"the next attempt follows after {pause_s:g} s"
        ]
        assert len(zoe.heard(Tournament)) > before, "its watchers ask for the page again"
        harness.wait(pause_s - 0.5)
        assert len(harness.organizers) == failures
        harness.wait(0.5)
        assert len(harness.organizers) == failures + 1
    token = harness.organizers[-1].token
    organizer = harness.client("organizer", role="spectator", session=token)
    zoe.ask(WatchTournament(id=2, tournament=tournament), Tournament)
    assert harness.hub.tournaments.faults(tournament), "another one watches it"
    organizer.ask(WatchTournament(id=2, tournament=tournament), Tournament)
    assert harness.hub.tournaments.faults(tournament) == []
    harness.wait(WORKS_S + 1)
    fails(harness, tournament, "was killed")
    harness.wait(BACK_OFF.wait_s(1))
    assert len(harness.organizers) == 5, "it has worked: the pause is short again"


def test_a_player_that_is_no_longer_offered_is_not_started_and_can_be_replaced() -> None:
    harness = HubHarness(bots=2, offered=parse_offered_bots(["random", "Max=uct(time=1)"]))
    zoe = administrator(harness, "Zoe")
    names = "Uma", "Vic", "Wes"
    players = "random", "uct(time=1)", "uct(time=1)"
    entrants = tuple(
        Entrant(name, "", player=each) for name, each in zip(names, players, strict=True)
    )
    spec = dataclasses.replace(spec_of(3, concurrency=1), entrants=entrants)
    tournament = zoe.ask(CreateTournament(id=1, spec=spec, hosted=True), Tournament).tournament
    again = restarted(harness, bots=2, offered=parse_offered_bots(["random"]))
    again.hub.tournaments.start_organizers(again.now)
    assert again.hub.tournaments.faults(tournament) == [
        f"{name}: no bot of this server has its player any more: replace it" for name in names[1:]
    ]
    yan = administrator(again, "Yan")
    for name, new in (("Vic", "Xyz"), ("Wes", "You")):
        entrant = Entrant(new, "", player="random")
        change = ChangeTournament(id=1, tournament=tournament, replaced=name, entrant=entrant)
        yan.ask(change, Ok)
    assert again.hub.tournaments.faults(tournament) == []
    wrong = Entrant("Zed", "", player="uct(time=1)")
    change = ChangeTournament(id=1, tournament=tournament, replaced="Uma", entrant=wrong)
    assert "the player of no bot" in yan.ask(change, Error).text


def test_late_entrants_and_successors_have_the_versions_of_their_players() -> None:
    harness = HubHarness(bots=2, offered=parse_offered_bots(["random"]))
    harness.hub = Hub(
        harness.policy, random.Random(1), epoch=EPOCH, version_of=lambda player: f"of {player}"
    )
    zoe = administrator(harness, "Zoe")
    entrants = tuple(Entrant(name, "1", player="random") for name in ("Ann", "Bob"))
    spec = dataclasses.replace(spec_of(2, format="swiss", rounds=3), entrants=entrants)
    spec = dataclasses.replace(spec, concurrency=1)
    tournament = zoe.ask(CreateTournament(id=1, spec=spec, hosted=True), Tournament).tournament
    account(harness, "Dan")
    changes: tuple[dict[str, Any], ...] = (
        {"replaced": "Ann", "entrant": Entrant("Eve", "", player="random")},
        {"entrant": Entrant("Cyd", "2", player="random")},
        {"entrant": Entrant("Dan", "")},
    )
    for fields in changes:
        zoe.ask(ChangeTournament(id=1, tournament=tournament, **fields), Ok)
    changed = zoe.heard(Tournament)[-1].spec.entrants
    assert [each.version for each in changed] == ["of random", "1", "2", ""]


def test_hosted_tournaments_share_the_matches_at_once() -> None:
    harness = HubHarness()
    zoe = administrator(harness, "Zoe")
    spec = spec_of(2, rounds=9, concurrency=4)
    bots = Bots(harness, *(member(harness, name) for name in NAMES[:2]))
    bots.join(matches=20)
    first = zoe.ask(CreateTournament(id=1, spec=spec, hosted=True), Tournament)
    assert len(harness.matches) == 4
    second = zoe.ask(CreateTournament(id=2, spec=spec, hosted=True), Tournament)
    bots.play(200)
    count = Counter(room.record.tournament for room in harness.hub.rooms.values())
    assert count == {first.tournament: 2, second.tournament: 2}
    changed(zoe, second, paused=True)
    bots.play()
    assert len(running(zoe)) == 0


def test_hosted_tournaments_share_the_cores_by_weight() -> None:
    """Of weights 1, 2 and 3, with matches of 1 to 10 s; all cores are always in use."""
    hosted = [
        TournamentState(str(weight), spec_of(format="ladder", concurrency=4, weight=weight))
        for weight in (1, 2, 3)
    ]
    shares, used, now, chance = CoreShares(), Counter[str](), 0.0, random.Random(1)
    ends: list[tuple[float, str, TournamentState]] = []
    for number in range(2000):
        while found := shares.next(hosted, hosted, now):
            match, seconds = f"{number} {len(ends)}", chance.uniform(1.0, 10.0)
            found.running[match] = fixtures.fixture((1, 1, 1), 1, None)
            heapq.heappush(ends, (now + seconds, match, found))
            used[found.id] += seconds
        assert len(ends) == 4
        now, match, over = heapq.heappop(ends)
        shares.count(hosted, now)
        del over.running[match]
    for each in hosted:
        assert used[each.id] / used.total() == pytest.approx(each.spec.weight / 6, rel=0.1)


def test_a_planned_tournament_starts_at_its_time_also_after_a_restart() -> None:
    harness = HubHarness(bots=2, offered=parse_offered_bots(["random"]))
    entrants = tuple(Entrant(name, "1", player="random") for name in ("Ann", "Bob"))
    at = datetime.fromtimestamp(harness.now + EPOCH + 3600, UTC).isoformat()
    spec = dataclasses.replace(spec_of(2, concurrency=1, starts=at), entrants=entrants)
    zoe = administrator(harness, "Zoe")
    zoe.ask(CreateTournament(id=1, spec=spec, hosted=True), Tournament)
    again = restarted(harness, bots=2, offered=harness.policy.offered)
    for each, left_s in ((harness, 3600.0), (again, 3590.0)):
        each.wait(left_s - 1)
        assert each.organizers == []
        each.wait(2)
        assert len(each.organizers) == 1
