"""server.organizer.runner without a server: the requests that it sends, the processes it starts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs
from twisted.internet.task import Clock

from playout.commands.child import Child, LogFolder, Program, stop
from playout.protocol.connection import ServerConnection
from playout.protocol.messages import (
    Code,
    CreateTournament,
    Error,
    Event,
    Fixture,
    Hello,
    Ping,
    Pong,
    Reason,
    Request,
    Tournament,
    WatchTournament,
    Welcome,
    Withdraw,
)
from playout.protocol.tournament_spec import Entrant, SandboxSettings, TournamentSpec, public
from playout.server.organizer.console import LineDisplay
from playout.server.organizer.entrants import LocalEntrants, RunnerCalls
from playout.server.organizer.local_server import organizer_hello
from playout.server.organizer.runner import Runner, RunRequest
from playout.server.organizer.supervisor import CRASHES

NAMES = ("Ann", "Bob", "Cem", "Dee")
SPEC = TournamentSpec(
    name="a try",
    games=("tic_tac_toe",),
    format="round_robin",
    entrants=tuple(Entrant(name, "", command="any") for name in NAMES),
    rounds=2,
    concurrency=4,
)


FAILS, STAYS = "false", "sleep 60"


class StoppableClock(Clock):
    """The part of a reactor that the runner needs."""

    stopped = False

    def stop(self) -> None:
        self.stopped = True


class RunnerHarness:
    """A runner with a fake connection; time passes when the test says so."""

    def __init__(self, logs: LogFolder, request: RunRequest, command: str = STAYS) -> None:
        self.is_open = False
        self.sent: list[Request] = []
        self.processes: list[tuple[str, Child]] = []
        self.clock = StoppableClock()
        self._command = command

        def entrants(event: Tournament, calls: RunnerCalls) -> LocalEntrants:
            return LocalEntrants(event, self.start, logs, calls)

        self.runner = Runner(self.clock, request, entrants, None, LineDisplay(), logs)
        self.runner.use(cast(ServerConnection, self), organizer_hello("Zoe", "secret"))

    def start(self, entrant: Entrant, number: int, log: Path) -> Child:
        process = Program(self._command.split(), os.environ).start(log)
        self.processes.append((entrant.name, process))
        return process

    @property
    def counts(self) -> Counter[str]:
        return Counter(name for name, _ in self.processes)

    # The methods of a connection.

    def send(self, request: Request) -> None:
        self.sent.append(request)

    def open(self) -> None:
        """Do nothing: `connect` makes the connection."""

    def close(self) -> None:
        self.is_open = False

    # What happens.

    def connect(self) -> None:
        self.runner.connected()
        assert self.sent_of(Hello)
        self.is_open = True
        self.receive(Welcome(protocol=1, session="s", name="Zoe", software="", games=()))

    def disconnect(self) -> None:
        self.is_open = False
        self.runner.disconnected("a test")

    def receive(self, *events: Event) -> None:
        for event in events:
            self.runner.received(event)

    def sent_of(self, kind: type[Request]) -> list[Request]:
        """Of that kind, since this was asked last."""
        found = [each for each in self.sent if isinstance(each, kind)]
        self.sent = [each for each in self.sent if each not in found]
        return found

    def poll(self, times: int = 1) -> None:
        for _ in range(times):
            for _, process in self.processes:
                if self._command == FAILS:
                    process.wait(10)
            self.clock.advance(0.2)
            self.runner._poll()

    def create_tournament(self) -> None:
        """The tournament is held, and there is nothing yet to be told of it."""
        self.connect()
        self.receive(Tournament(re="create_tournament", tournament="t", spec=SPEC), Pong(re="ping"))
        self.sent.clear()


def fixture(number: int, first: str, second: str, **fields: Any) -> Fixture:
    return Fixture(
        tournament="t", round=number, board=1, number=1, leg=1, match=f"m{number}",
        game="tic_tac_toe", players=(first, second), **fields,
    )  # fmt: skip


@pytest.fixture
def harness(logs: LogFolder) -> Iterator[RunnerHarness]:
    harness = RunnerHarness(logs, RunRequest(SPEC))
    yield harness
    stop((process for _, process in harness.processes), 0.0)


def test_a_lost_connection_is_told_when_the_tournament_has_begun(
    harness: RunnerHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "The server cannot be reached (a test); trying again ...\n"
    harness.connect()
    harness.disconnect()
    assert text not in capsys.readouterr().out
    harness.create_tournament()
    harness.disconnect()
    assert capsys.readouterr().out.endswith(text)


# How many processes.


def test_at_first_there_are_as_many_as_are_surely_of_use(harness: RunnerHarness) -> None:
    harness.create_tournament()
    harness.poll(5)
    assert harness.counts == dict.fromkeys(NAMES, 1)
    harness.receive(fixture(1, "Ann", "Bob"))
    harness.poll(5)
    assert harness.counts == dict.fromkeys(NAMES, 2)


def test_an_entrant_all_of_whose_processes_play_gets_one_more(
    harness: RunnerHarness,
) -> None:
    harness.create_tournament()
    harness.poll()
    harness.receive(fixture(1, "Ann", "Bob"), fixture(2, "Ann", "Cem"))
    harness.poll(5)
    assert harness.counts == {"Ann": 3, "Bob": 2, "Cem": 2, "Dee": 2}
    harness.receive(fixture(3, "Dee", "Ann"))
    harness.poll(5)
    assert harness.counts == {"Ann": 4, "Bob": 2, "Cem": 2, "Dee": 2}


def test_no_entrant_has_more_processes_than_matches_are_played_at_once(
    harness: RunnerHarness,
) -> None:
    harness.create_tournament()
    harness.poll()
    for number, name in enumerate(("Bob", "Cem", "Dee", "Bob"), start=1):
        harness.receive(fixture(number, "Ann", name))
        harness.poll(5)
    assert harness.counts["Ann"] == SPEC.concurrency


def test_for_the_last_matches_no_process_is_added(harness: RunnerHarness) -> None:
    harness.create_tournament()
    harness.poll()
    ended: dict[str, Any] = {"winner": 1, "reason": Reason.RULES}
    for number in range(1, 23):  # of 24
        harness.receive(fixture(number, "Ann", "Bob"), fixture(number, "Ann", "Bob", **ended))
    harness.receive(fixture(23, "Ann", "Bob"), fixture(24, "Ann", "Bob"))
    harness.poll(5)
    assert harness.counts == dict.fromkeys(NAMES, 2)


def test_it_ends_when_the_luck_of_enough_pairs_is_known(logs: LogFolder) -> None:
    request = RunRequest(SPEC, is_enough=lambda ledger: bool(ledger.luck))
    harness = RunnerHarness(logs, request)
    harness.create_tournament()
    first = fixture(1, "Ann", "Bob", winner=1, reason=Reason.RULES)
    both = first, structs.replace(first, match="m2", leg=2, players=("Bob", "Ann"))
    harness.receive(*both, structs.replace(both[0], luck=0.5))
    assert harness.runner.code == 1  # it goes on
    harness.receive(structs.replace(both[1], luck=0.25))
    assert harness.runner.code == 0
    stop((process for _, process in harness.processes), 0.0)


# Reconnecting.


def test_it_follows_the_tournament_again_and_hears_nothing_twice(
    harness: RunnerHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    harness.create_tournament()
    ended = fixture(1, "Ann", "Bob", winner=1, reason=Reason.RULES, plies=5)
    harness.receive(ended)
    harness.disconnect()
    harness.connect()
    assert harness.sent_of(WatchTournament) == [
        WatchTournament(id="watch_tournament", tournament="t")
    ]
    assert not harness.sent_of(CreateTournament)
    meanwhile = fixture(2, "Cem", "Dee", winner=-1, reason=Reason.RULES, plies=9)
    harness.receive(Tournament(re="watch_tournament", tournament="t", spec=SPEC), ended, meanwhile)
    output = capsys.readouterr().out
    assert output.count("Ann beat Bob") == 1
    assert output.count("Cem and Dee tied") == 1
    assert harness.runner.progress
    assert harness.runner.progress.ledger.ended == 2
    harness.poll()
    assert harness.counts == dict.fromkeys(NAMES, 1), "no process is started a second time"


@pytest.mark.parametrize(("created", "asks"), [("t", WatchTournament), (None, CreateTournament)])
def test_a_lost_answer_starts_no_second_tournament(
    logs: LogFolder, created: str | None, asks: type[Request]
) -> None:
    harness = RunnerHarness(logs, RunRequest(SPEC, created=lambda: created))
    harness.connect()
    assert harness.sent_of(CreateTournament)
    harness.disconnect()
    harness.connect()
    assert [type(each) for each in harness.sent] == [asks]


def test_a_tournament_with_other_code_is_not_resumed_unless_the_user_wants_it(
    logs: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server has it: its versions are compared with those of the given file."""
    others = tuple(replace(each, version="2") for each in SPEC.entrants)
    began = Tournament(re="watch_tournament", tournament="t", spec=replace(SPEC, entrants=others))
    for anyway in (False, True):
        harness = RunnerHarness(logs, RunRequest(SPEC, "t", anyway=anyway))
        harness.connect()
        harness.receive(began)
        assert (harness.runner.progress is not None) == anyway
        harness.runner._entrants = None
    assert "Ann, Bob, Cem, Dee: not the version" in capsys.readouterr().out


def test_programs_are_started_as_the_file_says_and_with_the_versions_of_the_server(
    logs: LogFolder,
) -> None:
    """The server's answer has no commands, folders and sandbox paths: they are private."""
    entrants = tuple(replace(each, folder="/home/ada") for each in SPEC.entrants)
    sandbox = SandboxSettings(reads=("/home/ada/nets",))
    own = replace(SPEC, entrants=entrants, sandbox=sandbox)
    harness = RunnerHarness(logs, RunRequest(own, "t"))
    harness.connect()
    harness.receive(Tournament(re="watch_tournament", tournament="t", spec=public(own)))
    assert harness.runner.progress
    spec = harness.runner.progress.ledger.spec
    harness.runner._entrants = None
    assert spec == own
    assert public(own).entrants[0].command is None


def test_on_a_remote_server_it_is_unknown_whether_the_tournament_was_created(
    harness: RunnerHarness,
) -> None:
    harness.connect()
    harness.disconnect()
    harness.sent.clear()
    harness.connect()
    assert not harness.sent
    assert harness.runner.code == 1


def test_a_refusal_and_a_lost_connection_lead_to_one_request(harness: RunnerHarness) -> None:
    harness.connect()
    assert len(harness.sent_of(CreateTournament)) == 1
    harness.receive(Error(re="create_tournament", code=Code.CLOSING, text="the server will stop"))
    harness.disconnect()
    harness.connect()
    assert len(harness.sent_of(CreateTournament)) == 1
    harness.clock.advance(2)
    assert not harness.sent_of(CreateTournament), "there is an answer to come already"


@pytest.mark.parametrize("waits", [None, 3.0])
def test_a_request_that_is_refused_for_now_is_repeated(
    harness: RunnerHarness, waits: float | None
) -> None:
    harness.connect()
    assert harness.sent_of(CreateTournament)
    error = Error(re="create_tournament", code=Code.RATE_LIMITED, text="not so fast", seconds=waits)
    harness.receive(error)
    harness.clock.advance(0.9 + (waits or 0))
    assert not harness.sent_of(CreateTournament)
    harness.clock.advance(0.2)
    assert harness.sent_of(CreateTournament)


def test_the_end_is_noticed_although_the_server_was_asked_too_often(harness: RunnerHarness) -> None:
    harness.create_tournament()
    harness.receive(Tournament(tournament="t", spec=SPEC, over=True))
    assert harness.sent_of(Ping) == [Ping(id="ping")]
    harness.receive(Error(re="ping", code=Code.RATE_LIMITED, text="not so fast", seconds=1.0))
    harness.clock.advance(2.1)
    assert harness.sent_of(Ping) == [Ping(id="ping")]
    harness.receive(Pong(re="ping"))
    harness.clock.advance(0.1)
    assert harness.clock.stopped
    assert harness.runner.code == 0


def test_a_tournament_without_matches_because_of_withdrawals_has_failed(
    harness: RunnerHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    harness.create_tournament()
    over = Tournament(tournament="t", spec=SPEC, withdrawn=(0, 1, 3), over=True)
    harness.receive(over, Pong(re="ping"), Pong(re="ping"))
    harness.clock.advance(0.1)
    assert harness.clock.stopped
    assert harness.runner.code == 1
    said = capsys.readouterr().out
    assert said.count("no match was played to its end, because of withdrawals: Ann, Bob, Dee") == 1


def test_a_tournament_with_matches_has_not_failed_if_entrants_were_withdrawn(
    harness: RunnerHarness,
) -> None:
    harness.create_tournament()
    over = Tournament(tournament="t", spec=SPEC, withdrawn=(0, 1, 3), over=True)
    harness.receive(fixture(1, "Ann", "Bob", winner=1, reason=Reason.RULES), over, Pong(re="ping"))
    harness.clock.advance(0.1)
    assert harness.runner.code == 0


def test_the_withdrawal_of_an_entrant_that_keeps_crashing_is_repeated_until_confirmed(
    logs: LogFolder,
) -> None:
    harness = RunnerHarness(logs, RunRequest(SPEC), command=FAILS)
    harness.create_tournament()
    for _ in range(40 * CRASHES):
        harness.poll()
    asked = Withdraw(id="withdraw", tournament="t", entrant="Ann")
    assert harness.sent_of(Withdraw).count(asked) == 1
    harness.receive(Error(re="withdraw", code=Code.RATE_LIMITED, text="not so fast"))
    harness.clock.advance(1.1)
    assert asked in harness.sent_of(Withdraw)
    harness.receive(Tournament(tournament="t", spec=SPEC, withdrawn=(0, 1, 2, 3)))
    assert not harness.sent_of(Withdraw)
