"""The ladder of a competition on a Dask cluster whose processes are on this machine."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Container, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trustme
from msgspec import structs

from playout import games
from playout.bots.bot_file import BotFile
from playout.commands.restarts import BackOff
from playout.competition.submissions import Submissions, read_uses
from playout.server.tournament.competition_file import read
from support.competitions import Cup, handed_in, processes_of, require_sandbox
from support.dask_cluster import DaskCluster
from support.requirements import need_packages
from support.waiting import wait_until
from testbed.handed_in import bot
from testbed.machine import reserve_port

need_packages("distributed")

#: A bot that crashes if it sees one of some places. If its match has an opening, as on a ladder, it
#: waits before its first move.
PROGRAM = """\
import json, os, sys, time
wait_s = {wait_s}
assert not any(map(os.path.exists, {places}))
for line in sys.stdin:
    told = json.loads(line)
    if len(told["moves"]) > 1: time.sleep(wait_s)
    wait_s = 0
    print(told["legal_actions"][{choice}], flush=True)
"""
_CLUSTER = 'cluster = {{ dask = "{dask}", server = "127.0.0.1:{port}", ca = "ca.pem" }}'
_CHANGED = {"playout.cluster.cluster._BACK_OFF": BackOff(0.1, 0.2)}


class Row(NamedTuple):
    id: str
    players: tuple[str, str]
    versions: tuple[str, str]
    opening: int
    winner: int | None
    reason: str | None
    text: str | None


class LadderCup(Cup):
    """A competition whose server has TLS, and whose ladder is for a cluster."""

    def __init__(self, folder: Path, cluster: DaskCluster) -> None:
        authority, port = trustme.CA(), reserve_port()
        authority.cert_pem.write_to_path(str(folder / "ca.pem"))
        pem = folder / "own.pem"
        issued = authority.issue_cert("127.0.0.1")
        issued.private_key_and_cert_chain_pem.write_to_path(str(pem))
        super().__init__(
            folder,
            more=_CLUSTER.format(dask=cluster.address, port=port),
            changed=_CHANGED,
            options=("--host=127.0.0.1", f"--tls-cert={pem}", f"--tls-key={pem}"),
            server_port=port,
            clock="1000+1",
        )

    def store(self, name: str, choice: int, wait_s: float = 0.0) -> str:
        """Store an accepted bot, before the server is started; return its version."""
        submissions = Submissions(read(self.file))
        submissions.lock()
        made = handed_in(submissions, name)
        submissions.code(made).mkdir()
        for file, text in self.bot(choice, wait_s).items():
            (submissions.code(made) / file).write_text(text)
        how = BotFile("lines", "python3 bot.py")
        made = structs.replace(made, state="accepted", digest=name * 20, bot=how)
        submissions.close()
        return submissions.put(made).version

    def bot(self, choice: int, wait_s: float = 0.0) -> dict[str, str]:
        """Return the files of a bot that takes the legal action at an index."""
        places = [str(self.file), str(self.folder / "dask.log")]
        return bot(PROGRAM.format(wait_s=wait_s, places=places, choice=choice))

    def ladder(self) -> list[Row]:
        """Return the matches of the ladder."""
        names = "id, first, second, first_version, second_version, opening, winner, reason, text"
        with self._database() as database:
            rows = database.execute(f"SELECT {names} FROM matches WHERE ladder_pair IS NOT NULL")
            return [Row(each[0], each[1:3], each[3:5], *each[5:]) for each in rows]

    def choices(self, row: Row, seat: int) -> set[int]:
        """Return the possible indices of all actions of a player among the legal ones."""
        with self._database() as database:
            query = "SELECT action FROM moves WHERE match = ? ORDER BY ply"
            actions = [action for (action,) in database.execute(query, (row.id,))]
        game = games.load("nim")
        state = game.initial_state()
        found = {0, -1}
        for ply, action in enumerate(actions):
            legal = list(game.legal_actions(state))
            if ply >= row.opening and game.current_player(state) == seat:
                found = {each for each in found if legal[each] == action}
            state = game.next_state(state, action)
        return found

    def _database(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self.database.removeprefix("sqlite:///")))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    """A cluster whose scheduler does not run yet, without workers."""
    require_sandbox()
    cluster = DaskCluster(tmp_path, 0)
    cluster.kill_scheduler()
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.long
def test_workers_play_the_ladder_of_a_competition(cluster: DaskCluster, tmp_path: Path) -> None:
    cup = LadderCup(tmp_path, cluster)
    cup.account("Bob")
    cup.account("Tea", administrator=True)
    ada, slow = cup.store("Ada", 0), cup.store("Bob", 0, wait_s=1000)
    with cup.running():
        cluster.start_scheduler()
        for _ in range(2):
            cluster.start_worker()
        cluster.start_worker(env=os.environ | {"PATH": "/nowhere"})
        lost = until(cup, lambda row: slow in row.versions)
        good, other, bad = wait_until(lambda: workers(cup, 3), "three workers")
        assert (good["cores"], good["fault"], other["cores"], bad["cores"]) == (1, "", 1, 0)
        assert "bwrap is not installed" in bad["fault"]
        wait_until(lambda: programs(cluster, tmp_path), "the program of a bot")
        for _ in range(2):
            cluster.kill_worker(0)
        text = "the worker with a player was lost"
        until(cup, lambda row: row.id == lost.id and row.text == text)
        wait_until(lambda: not programs(cluster, tmp_path), "the end of all programs")
        cluster.kill_scheduler()
        before = {row.id for row in cup.ladder()}
        done = cup.ended("Bob", cup.hand_in("Bob", cup.bot(-1)))
        bob = done["version"]
        cluster.start_scheduler()
        for _ in range(2):
            cluster.start_worker()
        for version in (ada, bob):
            until(cup, partial(ended, version, before))
        wait_until(lambda: used(cup, done["id"]), "the use of resources")
        rows = cup.ladder()
    wait_until(lambda: not programs(cluster, tmp_path), "the end of all programs")
    for row in rows:
        if row.winner:
            assert row.reason == "rules"
            for seat, version in enumerate(row.versions, 1):
                if version in (ada, bob):
                    assert (0 if version == ada else -1) in cup.choices(row, seat)


def workers(cup: LadderCup, number: int) -> list[dict[str, Any]]:
    """Return the workers on the page of administrators, when there are that many."""
    found: list[dict[str, Any]] = cup.ask("GET", "staff", "Tea")[1]["workers"]
    return found if len(found) == number else []


def until(cup: LadderCup, condition: Callable[[Row], bool]) -> Row:
    """Wait for a match on the ladder, and return it."""
    return wait_until(lambda: next(filter(condition, cup.ladder()), None), "a match")


def ended(version: str, before: Container[str], row: Row) -> bool:
    """Return whether a version has played in a later match, which has a result."""
    return version in row.versions and bool(row.winner) and row.id not in before


def used(cup: Cup, number: int) -> set[str]:
    """Return the matches of a submission whose use of resources is stored."""
    path = cup.folder / "cup" / "submissions" / f"{number:06}" / "matches.jsonl"
    return {each.match for each in read_uses(path)}


def programs(cluster: DaskCluster, folder: Path) -> list[int]:
    """Return the processes of bots on workers, with the programs in their sandboxes."""
    return cluster.entrants_left() + processes_of(folder / "dask-scratch-space")
