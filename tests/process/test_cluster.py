"""Tournaments on a Dask cluster whose scheduler and workers are processes of this machine."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from playout import games
from playout.bots.bot_file import BotFile
from playout.competition.submissions import Submissions
from playout.server.model.records import StoredMatch
from playout.server.tournament.competition_file import read
from support.commands import PATIENCE_S, finish, start
from support.commands import run as run_command
from support.competitions import PAST, Cup, handed_in, require_sandbox
from support.dask_cluster import (
    DaskCluster,
    an_hour_behind,
    environment_without_playout,
    wait_for_workers,
)
from support.forked import ForkedCommand
from support.requirements import need_packages
from support.waiting import wait_until
from testbed.handed_in import FIRST, bot
from testbed.killed_tournament import stored, violations
from testbed.machine import reserve_port

need_packages("distributed")

WORKERS = 3
PAIRS = 100
#: The action follows from the position, so that a match is the same wherever it is played.
STEADY = '''
import zlib
from playout.players.core.player import Player, PlayResult

def choice(salt, ply, legal):
    return legal[zlib.crc32(f"{salt} {ply} {legal}".encode()) % len(legal)]

class Steady(Player):
    """Plays the action that a digest of the position selects."""

    def __init__(self, game, salt: int = 0):
        super().__init__(game)
        self.salt = salt

    def choose(self, position, limit, report=None):
        legal = list(position.legal_actions)
        return PlayResult(choice(self.salt, position.ply, legal))

    def longest_s(self, limit):
        return 0.0
'''
SPEC = """
name = "on a cluster"
games = ["nim"]
format = "match"
rounds = {rounds}
clock = "60/move"
seed = 5
openings = {{ plies = 2 }}
[cluster]
dask = "{address}"
[[entrants]]
name = "one"
player = "steady:Steady(salt=1)"
[[entrants]]
name = "two"
player = "steady:Steady(salt=2)"
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    """A scheduler and three workers."""
    cluster = DaskCluster(tmp_path, WORKERS)
    try:
        wait_for_workers(cluster, WORKERS)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def run(cluster: DaskCluster, tmp_path: Path) -> Iterator[ClusterRun]:
    """A tournament on the cluster."""
    run = ClusterRun(cluster, tmp_path, PAIRS)
    try:
        yield run
    finally:
        run.kill()


class ClusterRun:
    """A runner of the tournament, which can be killed and resumed."""

    def __init__(self, cluster: DaskCluster, folder: Path, rounds: int) -> None:
        self._cluster = cluster
        self._log = folder / "runner.log"
        self.url = f"sqlite:///{folder}/tournament.db"
        self._spec = folder / "spec.toml"
        self._spec.write_text(SPEC.format(rounds=rounds, address=cluster.address))
        (folder / "steady.py").write_text(STEADY)
        self.process = self._start("run", str(self._spec))

    def kill(self) -> None:
        self._cluster.see_entrants()
        self.process.kill()
        self.process.communicate()

    def resume(self) -> None:
        self.process = self._start("resume", "--spec", str(self._spec))

    def until(self, ended: int) -> None:
        """Wait until that many matches have ended."""
        wait_until(lambda: self.process.poll() is not None or self.ended() >= ended,
                   f"{ended} matches", PATIENCE_S)  # fmt: skip
        assert self.process.poll() is None, self.log

    def ended(self) -> int:
        lines = [line.split(" of ", 1)[0] for line in self.log.splitlines() if " of " in line]
        return max((int(each) for each in lines if each.isdecimal()), default=0)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def _start(self, *words: str) -> ForkedCommand:
        with self._log.open("ab") as log:
            usual = ("--http", "none", "--database", self.url)
            return start("playout-tournament", *words, *usual, stdout=log)


def test_kills_on_a_cluster_leave_the_pairs_of_one_machine(
    cluster: DaskCluster, run: ClusterRun
) -> None:
    draw = random.Random(11)

    def another_worker() -> None:
        cluster.kill_worker(draw.randrange(len(cluster.workers)))
        cluster.start_worker()

    def another_runner() -> None:
        run.kill()
        run.resume()

    disturbances: list[Callable[[], None]] = [
        another_worker,
        cluster.restart,
        another_worker,
        another_runner,
        another_worker,
    ]
    draw.shuffle(disturbances)
    for number, disturb in enumerate(disturbances, start=1):
        run.until(2 * PAIRS * number // (len(disturbances) + 1))
        disturb()
    code, _ = finish(run.process)
    assert code == 0, run.log
    tournament = stored(run.url)
    assert violations(tournament) == []
    counted = [each for each in tournament.matches if each.ended and each.ended.winner]
    assert [each.started.fixture for each in counted if not _is_steady(each)] == []
    wait_until(lambda: not cluster.entrants_left(), "the end of all entrants")


def test_each_worker_that_cannot_run_the_entrants_is_reported_before_the_first_match(
    tmp_path: Path,
) -> None:
    older = tmp_path / "older" / "playout-0.0.1.dist-info"
    older.mkdir(parents=True)
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: playout\nVersion: 0.0.1\n")
    faults: list[dict[str, Any]] = [
        {},
        {"env": os.environ | {"PATH": str(tmp_path)}},
        {"changed": {"platform.python_version": partial(str, "3.9.1")}},
        {"env": os.environ | {"PYTHONPATH": str(older.parent)}},
        {"changed": {"time.time": an_hour_behind}},
    ]
    cluster = DaskCluster(tmp_path, 0)
    try:
        cluster.start_installed_worker(environment_without_playout(tmp_path / "other"))
        for fault in faults:
            cluster.start_worker(**fault)
        wait_for_workers(cluster, 1 + len(faults))
        spec = tmp_path / "spec.toml"
        text = SPEC.format(rounds=1, address=cluster.address)
        spec.write_text(text.replace('player = "steady:Steady(salt=1)"', 'command = "cat -"'))
        (tmp_path / "steady.py").write_text(STEADY)
        server = ("--server", f"127.0.0.1:{reserve_port()}", "--name", "Olga")
        environment = os.environ | {"PLAYOUT_TOKEN": "of Olga"}
        code, output = run_command("playout-tournament", "run", str(spec), *server, env=environment)
    finally:
        cluster.stop()
    assert code == 1
    assert "it runs Python 3.9.1, and the runner" in output
    assert 'Playout is not installed there: pip install ".[cluster]" in a checkout' in output
    assert "it has Playout 0.0.1, and the runner" in output
    assert "there is no program 'cat' that can be run: install it there" in output
    assert "its clock is 60 minutes behind: set it" in output
    assert output.count("(Connection refused): use a server that it can reach") == 3
    assert "no worker of the cluster can run the entrants" in output
    assert "Tournament" not in output


def _is_steady(match: StoredMatch) -> bool:
    """Return whether all moves after the opening are those of the player on one machine."""
    game = games.load(match.started.game)
    scope: dict[str, Any] = {}
    exec(STEADY, scope)
    state = game.initial_state()
    for ply, move in enumerate(match.moves):
        if ply >= match.started.opening:
            name = match.started.players[move.seat - 1]
            legal = list(game.legal_actions(state))
            if move.action != scope["choice"](1 if name == "one" else 2, ply, legal):
                return False
        state = game.next_state(state, move.action)
    return match.ended is not None


@pytest.mark.long
def test_the_final_of_a_competition_on_a_cluster(cluster: DaskCluster, tmp_path: Path) -> None:
    """The workers get the bots, which play the same matches as on this machine."""
    require_sandbox()
    cup = Cup(tmp_path, deadline=PAST)
    submissions = Submissions(read(cup.file))
    submissions.lock()
    for team, program in (("Ada", FIRST), ("Bob", FIRST.replace("[0]", "[-1]"))):
        made = handed_in(submissions, team)
        submissions.code(made).mkdir()
        for name, text in bot(program).items():
            (submissions.code(made) / name).write_text(text)
        how = BotFile("lines", "python3 bot.py")
        submissions.put(structs.replace(made, state="accepted", digest=team * 20, bot=how))
    submissions.close()
    assert cup.final() == cup.final("--", "--dask", cluster.address) != []
    report = (tmp_path / "cup" / "final.html").read_text(encoding="utf-8")
    assert "Dask" in report
