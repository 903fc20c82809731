"""The processes of entrants: started, started again, withdrawn, ended."""

from __future__ import annotations

import os
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from playout.commands.child import Child, LogFolder, Program
from playout.protocol.tournament_spec import Entrant, SandboxSettings
from playout.server.organizer.supervisor import (
    BACK_OFF,
    CRASHES,
    Supervisor,
    engine_table,
    starter,
)
from support.fixtures import spec
from support.processes import is_gone
from support.waiting import wait_until

FAILS, STAYS = "false", "sleep 60"


class FakeEntrants:
    """Entrants that are commands, and what is said of them."""

    def __init__(self, logs: LogFolder, **commands: str) -> None:
        self.said: list[str] = []
        self.withdrawn: list[str] = []
        self.started = 0
        self._commands = commands
        entrants = [Entrant(name, "", command=command) for name, command in commands.items()]
        start = starter(spec(), Path.cwd(), ("127.0.0.1", 4242), "t1", {"Ann": "secret"})

        def counted(entrant: Entrant, number: int, log: Path) -> Any:
            self.started += 1
            return start(entrant, number, log)

        self.supervisor = Supervisor(
            entrants, counted, logs, self.said.append, self.withdrawn.append
        )
        for name in commands:
            self.supervisor.add(name)

    def poll(self, now: float, *, reachable: bool = True) -> None:
        """After those that end have ended."""
        for name, command in self._commands.items():
            process = self.supervisor.process(name, 1)
            if process and command != STAYS:
                process.wait(10)
        self.supervisor.poll(now, reachable=reachable)


def test_a_process_that_exits_is_started_again_after_longer_and_longer(logs: LogFolder) -> None:
    entrants = FakeEntrants(logs, Ann=FAILS)
    now = 0.0
    entrants.poll(now)
    for crashes in range(1, CRASHES):
        entrants.poll(now)
        wait_s = BACK_OFF.wait_s(crashes)
        assert f"it is started again in {wait_s:g} s" in entrants.said[-1]
        entrants.poll(now + wait_s - 0.01)
        assert entrants.started == crashes
        now += wait_s
        entrants.poll(now)
        assert entrants.started == crashes + 1
    assert not entrants.withdrawn
    assert logs.wanted


def test_an_entrant_that_keeps_crashing_is_withdrawn_and_the_others_play_on(
    logs: LogFolder,
) -> None:
    entrants = FakeEntrants(logs, Ann=FAILS, Bob=STAYS)
    for step in range(2 * CRASHES):
        entrants.poll(step * BACK_OFF.longest_s)
    assert entrants.withdrawn == ["Ann"]
    assert f"{CRASHES} times without playing a match: Ann is withdrawn" in entrants.said[-1]
    (process,) = entrants.supervisor.processes
    assert process.code is None
    entrants.supervisor.stop()
    assert process.code is not None


def test_the_last_line_of_a_process_that_exits_is_shown(logs: LogFolder) -> None:
    said: list[str] = []
    named = [Entrant(name, "", command="cat") for name in ("мир", "мік")]

    def start(entrant: Entrant, number: int, log: Path) -> Child:
        says = f"echo Starting ...; echo {entrant.name}: no such book; exit 1"
        child = Program(["sh", "-c", says if number == 1 else "exit 1"], os.environ).start(log)
        child.wait()
        return child

    supervisor = Supervisor(named, start, logs, said.append, lambda name: None)
    for entrant in named:
        supervisor.add(entrant.name)
    supervisor.poll(0.0, reachable=True)
    supervisor.poll(0.0, reachable=True)
    assert said[0].endswith(": мир: no such book")
    assert said[1].endswith(": мік: no such book")
    supervisor.add("мир")
    supervisor.poll(0.1, reachable=True)
    supervisor.poll(0.1, reachable=True)
    assert said[2].endswith("It has written no output")


def test_a_match_that_was_played_makes_up_for_crashes(logs: LogFolder) -> None:
    entrants = FakeEntrants(logs, Ann=FAILS)
    for step in range(4 * CRASHES):
        entrants.poll(step * BACK_OFF.longest_s)
        if step % CRASHES == 0:
            entrants.supervisor.match_played("Ann")
    assert not entrants.withdrawn


def test_to_end_while_the_server_is_away_is_no_fault(logs: LogFolder) -> None:
    entrants = FakeEntrants(logs, Ann=FAILS)
    for step in range(4 * CRASHES):
        entrants.poll(step * BACK_OFF.longest_s, reachable=False)
    assert entrants.started > CRASHES
    assert not entrants.said
    assert not logs.wanted


def test_a_program_that_is_gone_is_a_crash(logs: LogFolder) -> None:
    entrants = FakeEntrants(logs, Ann="no_such_program")
    for step in range(CRASHES):
        entrants.poll(step * BACK_OFF.longest_s)
    assert "cannot be started: [Errno 2]" in entrants.said[0]
    assert entrants.withdrawn == ["Ann"]


def test_commands_are_told_where_to_play_and_nobody_elses_token(
    logs: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYOUT_TOKEN", "the organizer's")
    monkeypatch.setenv("PLAYOUT_TOKEN_BOB", "Bob's")
    shown = """sh -c 'env; tr "\\0" "\\n" < /proc/$$/environ; read token; echo "read $token"'"""
    entrants = FakeEntrants(logs, Ann=shown, Bob=shown)
    entrants.poll(0)
    entrants.poll(0)
    names = enumerate(("Ann", "Bob"), start=1)
    told = {name: logs.of(f"{n}-{name}-1").read_text().splitlines() for n, name in names}
    ours = sorted({line for line in told["Ann"] if line.startswith("PLAYOUT_")})
    assert ours == [
        "PLAYOUT_HOST=127.0.0.1",
        "PLAYOUT_NAME=Ann",
        "PLAYOUT_PORT=4242",
        "PLAYOUT_PROCESS=1",
        "PLAYOUT_TOKEN_FD=0",
        "PLAYOUT_TOURNAMENT=t1",
    ]
    assert [line for line in told["Ann"] if "secret" in line] == ["read secret"]
    assert told["Bob"][-1] == "read "
    assert not [line for line in told["Bob"] if "TOKEN" in line]


def test_children_of_an_entrant_end_with_it(logs: LogFolder) -> None:
    entrants = FakeEntrants(logs, Ann="sh -c 'sleep 60 & echo $!; exit 1'")
    entrants.poll(0)
    entrants.poll(0)
    wait_until(partial(is_gone, int(logs.of("1-Ann-1").read_text())))


def test_the_table_of_a_program_is_toml_whatever_its_folder_is_called() -> None:
    entrant = Entrant("a", "", command='run "é"', protocol="gtp", sandbox=True, folder='\x7f"\\é')
    text = engine_table(entrant, SandboxSettings(reads=("x\x7f",)), Path("/t"))
    program = tomllib.loads(text)["program"]
    assert program["command"] == 'run "é"'
    assert program["folder"] == '/t/\x7f"\\é'
    assert program["sandbox"]["reads"] == ["/t/x\x7f"]
    assert "uses" not in program["sandbox"]
