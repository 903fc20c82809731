"""`playout-lab`: a race of candidates whose processes are killed at random moments."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from playout.laboratory.journal import Journal, VersionTest
from playout.protocol.messages import Reason
from playout.server.model.records import StoredMatch
from playout.server.storage import Database
from support import scale
from support.commands import PATIENCE_S, Command, finish, run, start
from support.competitions import processes_of
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
