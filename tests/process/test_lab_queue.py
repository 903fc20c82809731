"""`playout-server --lab`: tests of several authors, from the submission to the verdict."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from playout.laboratory.worker_results import WorkerResults
from playout.players.analyst.costly_moves import Loss, instructive
from support import scale
from support.agents import tools_of
from support.commands import run
from support.competitions import processes_of
from support.dask_cluster import DaskCluster, wait_for_workers
from support.lab_queues import BASE, STRONGER, QueueServer
from support.posts import receiving
from support.processes import is_gone
from support.raw_client import TIMEOUT_S
from support.repositories import CENTRAL, LAB, LINES_TOML, RANDOM
from support.requirements import need_packages
from support.waiting import wait_until
from testbed.handed_in import LATER, packed


@pytest.mark.long
def test_authors_take_turns_and_a_kill_of_everything_loses_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    with receiving(204) as program:
        hooks = ("--webhooks", str(tmp_path / "hooks"), "--webhook", f"{program.origin}/told")
        queue = QueueServer(tmp_path, options=hooks)
        for name in ("Ada", "Bob"):
            queue.account(name)
        equal = {"new/bot.toml": LINES_TOML, "new/bot.py": f"# the same\n{RANDOM}"}
        with queue.running() as server:
            queue.hand_in("Ada", BASE | equal, "?pairs=12")
            queue.hand_in("Ada", BASE | STRONGER)
            queue.hand_in("Bob", BASE | STRONGER, "?priority=1")
            wait_until(lambda: queue.told(1)["pairs"] > 1, "pairs of the first test", seconds=280)
            killed = processes_of(tmp_path)
            server.process.send_signal(signal.SIGKILL)
            wait_until(lambda: all(map(is_gone, killed)), "the end of all processes")
        with queue.running():
            ended = [queue.ended(number) for number in (1, 2, 3)]
            lost = [
                queue.ask("GET", f"api/tests/2/losses{q}", "Ada") for q in ("", "?version=base")
            ]
            others = [queue.ask("GET", "api/tests/2/losses", name)[0] for name in ("Bob", "")]
            posts: list[Any] = []
            while len({each["data"]["test"] for each in posts}) < 3:  # a post may come twice
                posts.append(json.loads(program.posts.get(timeout=TIMEOUT_S).body))
    assert [each["state"] for each in ended[1:]] == ["stronger", "stronger"]
    assert ended[0]["state"] in ("undecided", "not stronger")
    assert [told["version"].partition(" ")[0] for _, told in lost] == ["new", "base"], lost
    found = instructive(msgspec.convert(lost[1][1]["matches"], list[Loss]), 3, 1.0, str)
    assert [each.game for each in found] == ["tic_tac_toe"] * 3
    assert others == [403, 401]
    # The second candidate of Ada against this base is held to a sixth of alpha, Bob's to a half.
    assert [each["tried"] for each in ended] == [0, 1, 0]
    assert [each["candidates"][0]["bound"] for each in ended] == pytest.approx([40, 120, 40])
    for slots in queue.fixtures():
        assert len(slots) == len(set(slots))
    assert {each["type"] for each in posts} == {"test.ended"}


@pytest.mark.long
def test_hostile_archives_and_bots_stop_their_test_with_a_reason(tmp_path: Path) -> None:
    # It passes the check of its build, whose moves have less time.
    crashing = {"new/bot.toml": LINES_TOML, "new/bot.py": LATER.format("sys.exit('out of luck')")}
    cases = [
        (packed(BASE), "the archive must have a folder base and 1 to 8 others, not base"),
        (packed({"bot.py": RANDOM}), "'bot.py' is in no folder"),
        (packed(BASE | {"new/../../evil": "x"}), "leads out of the folder"),
        (b"no archive", "test.tar.gz is damaged, or no archive of this kind"),
        (packed(BASE | {"new/bot.toml": "", "new/bot.py": "x"}), "cannot be built: "),
        (packed(BASE | crashing), "by crashes or illegal moves"),
    ]
    queue = QueueServer(tmp_path)
    token = queue.account("Eve")
    with queue.running() as server:
        for body, _ in cases:
            status, told = queue.ask("PUT", "api/tests/test.tar.gz?elo1=20", "Eve", body)
            assert status == 201, told
        ended = [queue.ended(number) for number in range(1, len(cases) + 1)]
        log = queue.ask("GET", f"api/tests/{len(cases)}/log", "Eve")[1]
        summary = queue.ask("GET", f"api/tests/{len(cases)}/summary")[1]
        words = ("mcp", *server.address, "--name", "Eve", "--token-file", str(token))
        asyncio.run(
            an_agent_tests_a_bot((*words, "--laboratory", queue.site), len(cases), tmp_path)
        )
    assert any("out of luck" in each for each in log["outputs"].values())
    # What is told has neither the command of an author nor places of this machine.
    assert "a program" in summary
    assert "python3 bot.py" not in summary
    assert not re.search(r"(?<![\w.])/\w+/\w", json.dumps(log))
    for each, (_, reason) in zip(ended, cases, strict=True):
        assert each["state"] == "stopped", each
        assert reason in each["reason"]
        assert str(tmp_path) not in each["reason"] + log["log"]
    assert not list(tmp_path.rglob("evil"))


async def an_agent_tests_a_bot(words: Sequence[str], before: int, home: Path) -> None:
    """Hand in a candidate that cannot be built, over MCP, and read why; stop another one."""
    base = {"bot.toml": LINES_TOML, "bot.py": RANDOM}
    broken = base | {"bot.toml": LINES_TOML + 'build = "echo compiling; exit 3"\n'}
    async with tools_of("playout-bridge", words, home) as call:
        listed = await call("laboratory")
        assert listed["conditions"]["games"] == ["tic_tac_toe"]
        assert len(listed["items"]) == before
        given = {"versions": {"base": base, "new": broken}, "pairs": 20}
        told = await call("submit_candidate", **given, wait_s=300)
        assert (told["test"], told["state"]) == (before + 1, "stopped")
        assert "exit code 3" in told["reason"]
        logs = (await call("read_log", test=told["test"]))["builds"]
        assert ["compiling" in log for log in logs.values()] == [False, True], logs
        told = await call("submit_candidate", versions={"base": base, "new": base}, wait_s=0)
        assert (await call("stop_test", test=told["test"]))["state"] == "stopped"
        assert "has no matches: it is stopped" in await call.error("losses", test=told["test"])
        crashed = await call("losses", test=before)
        assert crashed["version"].startswith("new ")
        assert crashed["matches"] == []
        assert "by crash" in crashed["summary"]
        text = await call.error("losses", test=before, version="old")
        assert "has no version 'old', but: base " in text
        assert (await call("test_status", test=told["test"]))["reason"] == "by Eve"
        assert "has ended already" in await call.error("stop_test", test=told["test"])
        text = await call.error("submit_candidate", versions={"base": base}, games=["nim"])
        assert "nim" in text
        if scale.slow:
            stronger = {"base": base, "new": base | {"bot.py": CENTRAL}}
            told = await call("submit_candidate", versions=stronger, wait_s=300)
            lost = await call("losses", test=told["test"], version="base", seconds=1)
            assert [each["game"] for each in lost["matches"]] == ["tic_tac_toe"] * 3
            assert lost["matches"][0]["costly"], lost


def test_a_server_refuses_the_wrong_file_of_a_queue(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text('games = ["nim"]\nelo1 = "much"\n')
    words = ("--lab", str(tmp_path / "lab.toml"), "--database", f"sqlite:///{tmp_path}/a.db")
    code, output = run("playout-server", "--port", "0", "--http", "none", *words)
    assert code == 2
    assert f"--lab: {tmp_path}/lab.toml:" in output
    assert f"{tmp_path}/lab.toml:2: elo1: must be a number from 1 to 1000" in output


#: Conditions in which many matches are played before a verdict.
EQUAL = LAB.replace("elo1 = 300", "elo1 = 5").replace("20/move", "3600/move")
#: It plays at random, on one worker well. On workers, it begins when it runs on all three.
ELSEWHERE = f"""\
import os, pathlib, time
if number := os.environ.get("WORKER"):
    folder = pathlib.Path(os.environ["BEGUN"])
    (folder / number).touch()
    while len(list(folder.iterdir())) < 3:
        time.sleep(0.01)
if number == "2":
    exec({CENTRAL!r})
else:
    exec({RANDOM!r})
"""


@pytest.mark.skipif(not scale.slow, reason="it plays hundreds of matches on a cluster: --slow")
def test_the_results_of_a_worker_that_disagrees_are_played_again(tmp_path: Path) -> None:
    need_packages("distributed")
    (tmp_path / "begun").mkdir()
    cluster = DaskCluster(tmp_path, 0)
    try:
        for number in range(3):
            variables = {"WORKER": f"{number}", "BEGUN": str(tmp_path / "begun")}
            cluster.start_worker(env=os.environ | variables)
        wait_for_workers(cluster, 3)
        limits = f'[queue]\ncores = 3\ndask = "{cluster.address}"\n'
        queue = QueueServer(tmp_path, limits, EQUAL)
        queue.account("Ada")
        with queue.running():
            versions = {"new/bot.toml": LINES_TOML, "new/bot.py": ELSEWHERE}
            queue.hand_in("Ada", BASE | versions)
            ended = queue.ended(1)
            log = queue.ask("GET", "api/tests/1/log", "Ada")[1]["log"]
    finally:
        cluster.stop()
    assert ended["state"] in ("undecided", "not stronger"), ended
    (worker,) = set(re.findall(r"the results on worker (\S+) disagree", log))
    (places,) = tmp_path.glob("lab/authors/*/tests/*/workers.jsonl")
    played = WorkerResults(places)
    with closing(sqlite3.connect(places.with_name("matches.db"))) as database:
        rows = database.execute("SELECT id, text FROM matches WHERE winner = 0").fetchall()
        counted = {match for (match,) in database.execute("SELECT id FROM matches WHERE winner")}
    taken = {match for match, text in rows if "disagree" in text}
    assert len(taken) >= 10
    assert taken <= set(played.matches_on(worker))
    assert not counted & set(played.matches_on(worker))
    for slots in queue.fixtures():
        assert len(slots) == len(set(slots))
