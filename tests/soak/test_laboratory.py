"""`playout-lab`: a race of candidates whose processes are killed at random moments."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from playout.laboratory.journal import Journal, VersionTest
from playout.protocol.messages import Reason
from playout.server.model.records import StoredMatch
from playout.server.storage import Database
from support import scale
from support.commands import PATIENCE_S, Command, RunningServer, finish, run, start
from support.competitions import processes_of
from support.lab_queues import QueueServer
from support.processes import children_of
from support.repositories import LINES_TOML, BotRepository
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(
    not scale.slow or shutil.which("git") is None, reason="it plays races for minutes: --slow"
)
KILLS = 20
#: Its moves follow from the position and a number; in some of the positions it wins or blocks.
BOT = """\
import json, sys, zlib
LINES = [{{0, 1, 2}}, {{3, 4, 5}}, {{6, 7, 8}}, {{0, 3, 6}}, {{1, 4, 7}}, {{2, 5, 8}}, {{0, 4, 8}},
         {{2, 4, 6}}]
for line in sys.stdin:
    position = json.loads(line)
    moves, legal = position["moves"], position["legal_actions"]
    drawn = zlib.crc32(repr(({number}, moves)).encode())
    ends = []
    for mine in (moves[len(moves) % 2 :: 2], moves[1 - len(moves) % 2 :: 2]):
        ends = ends or [c for c in legal if any(c in e and e <= {{*mine, c}} for e in LINES)]
    good = ends if drawn % 100 < {share} else []
    print((good or legal)[drawn // 100 % len(good or legal)], flush=True)
"""
LAB = """\
games = ["tic_tac_toe"]
clock = "60/move"
elo1 = 20
pairs = 400
openings = { plies = 3 }
isolate = "never"
concurrency = 2
"""
#: The share of positions, in per cent, in which each version wins or blocks; the base is first.
SHARES = {"base": 40, "same": 40, "worse": 30, "better": 55}


@pytest.fixture
def made(tmp_path: Path) -> BotRepository:
    made = BotRepository(tmp_path / "bot")
    (tmp_path / "lab.toml").write_text(LAB)
    for number, (name, share) in enumerate(SHARES.items()):
        made.commit({"bot.toml": LINES_TOML, "bot.py": BOT.format(number=number, share=share)})
        made.git("branch", name)
    return made


def words(made: BotRepository, laboratories: str) -> tuple[str, ...]:
    conditions = ("--file", str(made.top.parent / "lab.toml"), "--http", "none")
    homes = ("--laboratories", str(made.top.parent / laboratories))
    return ("playout-lab", "test", *SHARES, "--folder", str(made.top), *conditions, *homes)


def begun(folder: Path) -> int:
    """Return how many matches of the only test in a folder of laboratories have begun."""
    with contextlib.suppress(StopIteration, sqlite3.Error):  # it is being made
        path = next(folder.glob("*/tests/000001/matches.db"))
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM matches").fetchone()[0])
    return 0


def matches(folder: Path) -> list[StoredMatch]:
    """Return the matches of the only test in a folder of laboratories."""
    path = next(folder.glob("*/tests/000001/matches.db"))
    with closing(Database(f"sqlite:///{path}", only_read=True)) as stored:
        (found,) = stored.tournaments()
        whole = stored.tournament(found.created.tournament)
        assert whole
        return list(whole.matches)


def decided(folder: Path) -> VersionTest:
    """Return the only test in a folder of laboratories."""
    (journal,) = folder.glob("*/journal.jsonl")
    (test,) = Journal(journal.parent)
    return test


def verdict(output: str) -> list[str]:
    """Return the lines with the Elo, the pairs and the evidence of each candidate, and the end."""
    return re.findall(r"^.* evidence [^\[]*$|^.* stronger than .*$", output, re.MULTILINE)


def wait_for(count: int, process: Command, folder: Path) -> None:
    """Wait until a command has begun that many matches, or has ended."""
    wait_until(lambda: begun(folder) >= count or process.poll() is not None, seconds=PATIENCE_S)


def command_line(pid: int) -> str:
    """Return the words of a process; "" if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return ""


def kill(process: Command, folder: Path, drawn: random.Random) -> str:
    """Kill the command, one of the processes that it has started, or all; return which.

    A bot that is killed has crashed, and loses its match: bots end with their players.
    """
    others = set(processes_of(folder)) - {process.pid}
    others -= {pid for pid in others if "bot.py" in command_line(pid)}
    which = drawn.choice(["command", "one", "all"])
    victims = {"command": [], "one": [drawn.choice([*others, process.pid])], "all": [*others]}
    for pid in [*victims[which], *([] if which == "one" else [process.pid])]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return which


@pytest.mark.timeout(3600)
def test_kills_at_random_change_no_decision_of_a_race(made: BotRepository, tmp_path: Path) -> None:
    code, output = run(*words(made, "calm"))
    calm = decided(tmp_path / "calm")
    folder, drawn, killed = tmp_path / "killed", random.Random(7), Counter[str]()
    process = start(*words(made, "killed"))
    while killed.total() < KILLS:
        more = begun(folder) + drawn.randrange(16)
        wait_for(more, process, folder)
        if process.poll() is None:
            killed[kill(process, tmp_path, drawn)] += 1
        if drawn.random() < 0.5 or process.poll() is not None:
            process.send_signal(signal.SIGKILL)
            found = finish(process)
            assert found[0] not in (0, 1), "the race was over before the last kill"
            wait_until(lambda: not processes_of(tmp_path), "the end of all that was started")
            process = start(*words(made, "killed"))
    process.send_signal(signal.SIGKILL)
    finish(process)
    again, told = run(*words(made, "killed"))
    assert (again, verdict(told)) == (code, verdict(output)), f"{output}\n{told}"
    test = decided(folder)
    assert (test.state, test.winner, test.pairs) == (calm.state, calm.winner, calm.pairs)
    slots = Counter(each.started.fixture for each in matches(folder) if counts(each))
    assert set(slots.values()) == {1}
    assert len(slots) >= 2 * test.pairs
    assert {each.ended.reason for each in matches(folder) if each.ended and counts(each)} == {
        Reason.RULES
    }
    print(killed, test.summary, f"{len(slots)} matches of {len(matches(folder))} count")


def counts(match: StoredMatch) -> bool:
    """Return whether a match was played to its end."""
    return match.ended is not None and match.ended.winner != 0


# A queue of tests.

AUTHORS, TESTS = ("Ada", "Bob", "Cyd"), 30
QUEUE = """\
games = ["tic_tac_toe"]
clock = "60/move"
elo1 = 100
pairs = 40
openings = { plies = 3 }
isolate = "never"
"""
LIMITS = "[queue]\ncores = 2\nturn_s = 4\n"


def hand_in_all(queue: QueueServer) -> None:
    """Hand in the tests of all authors: a base against one or two versions."""
    drawn = random.Random(51)
    for number in range(TESTS):
        author = AUTHORS[number % len(AUTHORS)]
        names = ("base", "new", "other")[: 3 if number % 5 == 0 else 2]
        shares = [40, *(drawn.choice([0, 40, 90]) for _ in names[1:])]
        files = {}
        for place, (name, share) in enumerate(zip(names, shares, strict=True)):
            key = AUTHORS.index(author) if name == "base" else 100 * number + place
            files[f"{name}/bot.toml"] = f'protocol = "lines"\ncommand = "{sys.executable} bot.py"\n'
            files[f"{name}/bot.py"] = BOT.format(number=key, share=share)
        queue.hand_in(author, files)


def results_at_the_end(queue: QueueServer) -> list[dict[str, Any]]:
    """Wait for the end of all tests; return the verdict and the numbers of each."""
    wait_until(lambda: not unfinished(queue), "all verdicts", seconds=1500)
    keys = ("state", "tried", "pairs", "candidates", "winner", "verdict", "reason")
    told = [queue.told(number) for number in range(1, TESTS + 1)]
    return [{key: each[key] for key in keys} for each in told]


def unfinished(queue: QueueServer) -> int:
    """Return the number of tests without a verdict; all of them while the pages do not answer."""
    try:
        told = [queue.told(number) for number in range(1, TESTS + 1)]
    except (OSError, HTTPException):
        return TESTS
    return sum(each["ended_at"] is None for each in told)


def is_building(queue: QueueServer) -> bool:
    """Return whether a version is being built, or no test is left."""
    with contextlib.suppress(OSError, HTTPException):
        states = {queue.told(number)["state"] for number in range(1, TESTS + 1)}
        return "building" in states or not states & {"waiting", "running"}
    return False


def begun_in_queue(queue: QueueServer) -> int:
    """Return how many matches of all tests have begun."""
    found = 0
    for path in queue.folder.glob("lab/authors/*/tests/*/matches.db"):
        with (
            contextlib.suppress(sqlite3.Error),  # it is being made
            closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database,
        ):
            found += int(database.execute("SELECT count(*) FROM matches").fetchone()[0])
    return found


def wait_for_matches(queue: QueueServer, server: RunningServer, more: int) -> None:
    """Wait until that many more matches have begun, or all tests or the server have ended."""
    wanted = begun_in_queue(queue) + more
    wait_until(
        lambda: (
            begun_in_queue(queue) >= wanted
            or server.process.poll() is not None
            or not unfinished(queue)
        ),
        "more matches",
        seconds=1500,
    )


def wait_for_build(queue: QueueServer, server: RunningServer) -> None:
    """Wait until a version is being built, or all tests or the server have ended."""
    wait_until(
        lambda: is_building(queue) or server.process.poll() is not None, "a build", seconds=1500
    )


def started_by(process: int, depth: int = 0) -> Iterator[tuple[int, str]]:
    """Yield a process and all that were started by it, with their depths and names."""
    with contextlib.suppress(OSError):  # it has just ended
        yield process, f"{depth} {Path(f'/proc/{process}/comm').read_text().strip()}"
    for child in children_of(process):
        yield from started_by(child, depth + 1)


def kill_in_queue(server: int, drawn: random.Random) -> str:
    """Kill one of the processes of a queue, of any depth, or all; return which.

    A bot that is killed has crashed, and loses its match.
    """
    kinds: dict[str, list[int]] = {"all": []}
    for pid, kind in started_by(server):
        if "bot.py" not in command_line(pid):
            kinds.setdefault(kind, []).append(pid)
            kinds["all"].append(pid)
    which = drawn.choice(sorted(kinds))
    victims = kinds[which] if which == "all" else [drawn.choice(kinds[which])]
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return which


@pytest.mark.timeout(3600)
def test_kills_at_random_change_no_verdict_of_a_queue(tmp_path: Path) -> None:
    found = {}
    for name in ("calm", "killed"):
        (tmp_path / name).mkdir()
        queue = QueueServer(tmp_path / name, LIMITS, QUEUE)
        for author in AUTHORS:
            queue.account(author)
        with queue.running():
            hand_in_all(queue)
            if name == "calm":
                found[name] = results_at_the_end(queue)
    drawn, killed = random.Random(51), Counter[str]()
    while killed.total() < KILLS:
        with queue.running() as server:
            while server.process.poll() is None and killed.total() < KILLS:
                wait_for_matches(queue, server, drawn.randrange(40))
                if drawn.random() < 0.3:
                    wait_for_build(queue, server)
                killed[kill_in_queue(server.process.pid, drawn)] += 1
            left = unfinished(queue)
            if killed.total() == KILLS:
                server.process.send_signal(signal.SIGKILL)
    assert left, "all tests were over before the last kill"
    with queue.running():
        found["killed"] = results_at_the_end(queue)
    print(killed, Counter(each["state"] for each in found["calm"]))
    for number, (calm, after) in enumerate(zip(*found.values(), strict=True), 1):
        assert after == calm, f"test {number}"
    for slots in queue.fixtures():
        assert len(slots) == len(set(slots))
