"""The runner of a tournament, without a server: what it says to one, and which processes it has."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from twisted.internet.task import Clock

from server.client.connection import ServerConnection
from server.model.messages import (
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
from server.model.tournament_spec import Entrant, TournamentSpec
from server.organizer.console import LineDisplay
from server.organizer.login import organizer_hello
from server.organizer.run_request import RunRequest
from server.organizer.runner import Runner
from server.organizer.supervisor import CRASHES
from server.runtime.subprocesses import LogFolder, Process

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


class Time(Clock):
    """A reactor that is asked for nothing else."""

    stopped = False

    def stop(self) -> None:
        self.stopped = True


class RunnerHarness:
    """A runner that has a line to nobody; time passes when it is told to."""

    def __init__(self, logs: LogFolder, wish: RunRequest, command: str = STAYS) -> None:
        self.is_open = False
        self.sent: list[Request] = []
        self.processes: list[tuple[str, Process]] = []
        self.clock = Time()
        self._command = command
        self.runner = Runner(self.clock, wish, lambda *_: self.start, None, LineDisplay(), logs)
        self.runner.use(cast(ServerConnection, self), organizer_hello("Zoe", "secret"))

    def start(self, entrant: Entrant, number: int, log: Path) -> Process:
        log.touch()
        process = subprocess.Popen(self._command.split(), process_group=0)
        self.processes.append((entrant.name, process))
        return process

    @property
    def counts(self) -> Counter[str]:
        return Counter(name for name, _ in self.processes)

    # What the runner does with its line.

    def send(self, request: Request) -> None:
        self.sent.append(request)

    def open(self) -> None:
        """The line is made when `connect` is called."""

    def close(self) -> None:
        self.is_open = False

    # What happens.

    def connect(self) -> None:
        self.runner.connected()
        assert self.said(Hello)
        self.is_open = True
        self.hear(Welcome(protocol=1, session="s", name="Zoe", software="", games=()))

    def lose_the_line(self) -> None:
        self.is_open = False
        self.runner.disconnected("a test")

    def hear(self, *events: Event) -> None:
        for event in events:
            self.runner.received(event)

    def said(self, kind: type[Request]) -> list[Request]:
        """Of that kind, since this was asked last."""
        found = [each for each in self.sent if isinstance(each, kind)]
        self.sent = [each for each in self.sent if each not in found]
        return found

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            for _, process in self.processes:
                if process.args == [FAILS]:
                    process.wait(10)
            self.clock.advance(0.2)
            self.runner._poll()

    def begin(self) -> None:
        """The tournament is held, and there is nothing yet to be told of it."""
        self.connect()
        self.hear(Tournament(re="create_tournament", tournament="t", spec=SPEC), Pong(re="ping"))
        self.sent.clear()


def fixture(number: int, first: str, second: str, **fields: Any) -> Fixture:
    return Fixture(
        tournament="t", round=number, board=1, number=1, leg=1, match=f"m{number}",
        game="tic_tac_toe", players=(first, second), **fields,
    )  # fmt: skip


@pytest.fixture
def logs() -> Iterator[LogFolder]:
    logs = LogFolder()
    yield logs
    logs.wanted = False
    logs.close()


@pytest.fixture
def evening(logs: LogFolder) -> Iterator[RunnerHarness]:
    evening = RunnerHarness(logs, RunRequest(SPEC))
    yield evening
    for _, process in evening.processes:
        process.kill()
        process.wait()


# How many processes.


def test_at_first_there_are_as_many_as_are_surely_of_use(evening: RunnerHarness) -> None:
    evening.begin()
    evening.look(5)
    assert evening.counts == dict.fromkeys(NAMES, 2)


def test_who_plays_with_all_that_it_has_gets_one_more_if_more_could_be_played(
    evening: RunnerHarness,
) -> None:
    evening.begin()
    evening.look()
    evening.hear(fixture(1, "Ann", "Bob"), fixture(2, "Ann", "Cem"))
    evening.look(5)
    assert evening.counts == {"Ann": 3, "Bob": 2, "Cem": 2, "Dee": 2}
    evening.hear(fixture(3, "Dee", "Ann"))
    evening.look(5)
    assert evening.counts == {"Ann": 4, "Bob": 2, "Cem": 2, "Dee": 2}


def test_nobody_has_more_than_are_played_at_once(evening: RunnerHarness) -> None:
    evening.begin()
    evening.look()
    for number, name in enumerate(("Bob", "Cem", "Dee", "Bob"), start=1):
        evening.hear(fixture(number, "Ann", name))
        evening.look(5)
    assert evening.counts["Ann"] == SPEC.concurrency


def test_for_the_last_matches_nobody_gets_one_more(evening: RunnerHarness) -> None:
    evening.begin()
    evening.look()
    ended: dict[str, Any] = {"winner": 1, "reason": Reason.RULES}
    for number in range(1, 23):  # of 24
        evening.hear(fixture(number, "Ann", "Bob"), fixture(number, "Ann", "Bob", **ended))
    evening.hear(fixture(23, "Ann", "Bob"), fixture(24, "Ann", "Bob"))
    evening.look(5)
    assert evening.counts == dict.fromkeys(NAMES, 2)


# Reconnecting.


def test_it_follows_the_tournament_again_and_hears_nothing_twice(
    evening: RunnerHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    evening.begin()
    ended = fixture(1, "Ann", "Bob", winner=1, reason=Reason.RULES, plies=5)
    evening.hear(ended)
    evening.lose_the_line()
    evening.connect()
    assert evening.said(WatchTournament) == [WatchTournament(id="watch_tournament", tournament="t")]
    assert not evening.said(CreateTournament)
    meanwhile = fixture(2, "Cem", "Dee", winner=-1, reason=Reason.RULES, plies=9)
    evening.hear(Tournament(re="watch_tournament", tournament="t", spec=SPEC), ended, meanwhile)
    output = capsys.readouterr().out
    assert output.count("Ann beat Bob") == 1
    assert output.count("Cem and Dee tied") == 1
    assert evening.runner.progress
    assert evening.runner.progress.ended == 2
    evening.look()
    assert evening.counts == dict.fromkeys(NAMES, 2), "nobody is started a second time"


@pytest.mark.parametrize(("begun", "asks"), [("t", WatchTournament), (None, CreateTournament)])
def test_if_the_answer_was_lost_no_second_tournament_is_held(
    logs: LogFolder, begun: str | None, asks: type[Request]
) -> None:
    evening = RunnerHarness(logs, RunRequest(SPEC, created=lambda: begun))
    evening.connect()
    assert evening.said(CreateTournament)
    evening.lose_the_line()
    evening.connect()
    assert [type(each) for each in evening.sent] == [asks]


def test_on_a_server_elsewhere_nobody_knows_whether_it_was_held(evening: RunnerHarness) -> None:
    evening.connect()
    evening.lose_the_line()
    evening.sent.clear()
    evening.connect()
    assert not evening.sent
    assert evening.runner.code == 1


def test_who_is_put_off_and_cut_off_asks_for_one_tournament(evening: RunnerHarness) -> None:
    evening.connect()
    assert len(evening.said(CreateTournament)) == 1
    evening.hear(Error(re="create_tournament", code=Code.CLOSING, text="the server will stop"))
    evening.lose_the_line()
    evening.connect()
    assert len(evening.said(CreateTournament)) == 1
    evening.clock.advance(2)
    assert not evening.said(CreateTournament), "there is an answer to come already"


@pytest.mark.parametrize("waits", [None, 3.0])
def test_who_is_put_off_asks_again(evening: RunnerHarness, waits: float | None) -> None:
    evening.connect()
    assert evening.said(CreateTournament)
    error = Error(re="create_tournament", code=Code.RATE_LIMITED, text="not so fast", seconds=waits)
    evening.hear(error)
    evening.clock.advance(0.9 + (waits or 0))
    assert not evening.said(CreateTournament)
    evening.clock.advance(0.2)
    assert evening.said(CreateTournament)


def test_the_end_is_noticed_although_the_server_was_asked_too_often(evening: RunnerHarness) -> None:
    evening.begin()
    evening.hear(Tournament(tournament="t", spec=SPEC, over=True))
    assert evening.said(Ping) == [Ping(id="ping")]
    evening.hear(Error(re="ping", code=Code.RATE_LIMITED, text="not so fast", seconds=1.0))
    evening.clock.advance(2.1)
    assert evening.said(Ping) == [Ping(id="ping")]
    evening.hear(Pong(re="ping"))
    evening.clock.advance(0.1)
    assert evening.clock.stopped
    assert evening.runner.code == 0


def test_who_keeps_crashing_is_suspended_however_often_that_must_be_said(logs: LogFolder) -> None:
    evening = RunnerHarness(logs, RunRequest(SPEC), command=FAILS)
    evening.begin()
    for _ in range(40 * CRASHES):
        evening.look()
    asked = Withdraw(id="withdraw", tournament="t", entrant="Ann")
    assert evening.said(Withdraw).count(asked) == 1
    evening.hear(Error(re="withdraw", code=Code.RATE_LIMITED, text="not so fast"))
    evening.clock.advance(1.1)
    assert asked in evening.said(Withdraw)
    evening.hear(Tournament(tournament="t", spec=SPEC, withdrawn=(0, 1, 2, 3)))
    assert not evening.said(Withdraw)
