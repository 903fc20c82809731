"""Servers, processes and sandboxes are killed at random while submissions are handled."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from playout.competition.submissions import STAGES, Stage, Submissions
from playout.server.tournament.competition_file import read
from support.commands import run
from support.competitions import KEPT, Cup, require_sandbox
from support.scale import repetitions
from support.waiting import PATIENCE_S, wait_until
from testbed.handed_in import FIRST, bot

KILLS = repetitions(30, short=2)
SUBMISSIONS = repetitions(200, short=8)
#: So many wait at most when something is killed.
WAITING = SUBMISSIONS // KILLS
TEAMS = repetitions(10, short=2)
#: Bots that are handed in, one after the other, and whether they work.
BOTS = (
    (bot(), True),
    ({"x.txt": ""}, False),
    (bot(build="exit 3"), False),
    (bot(FIRST.replace("[0]", "[-1]")), True),
    (bot("1 / 0"), False),
    (bot(build="sleep 600"), False),
    ({"../x": ""}, False),
)
#: What is killed, in turn.
KINDS = ("process", "program", "server", "program")
#: The longest time of a build here, and of other programs, also while the machine is busy.
BUILD_S, OTHERS_S = 5, 240
LIMITS = {"unpack": OTHERS_S, "build": BUILD_S, "check": OTHERS_S}
TICKS = os.sysconf("SC_CLK_TCK")


class Watcher:
    """Reads the states of all submissions, and the ages of their programs, until it is stopped."""

    def __init__(self, cup: Cup) -> None:
        self._cup = cup
        #: The ends of each submission that were seen: states, and when they were reached.
        self.ends: dict[int, set[tuple[str, float]]] = defaultdict(set)
        #: The oldest program of a build, and the oldest other one.
        self.oldest_s = {"build": 0.0, "others": 0.0}
        self._stopped = threading.Event()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(0.1):
            for each in Submissions(read(self._cup.file)):
                if each.ended_at is not None:
                    self.ends[each.id].add((each.state, each.ended_at))
            for process in self._cup.processes():
                kind = "build" if "/tmp/build" in words(process) else "others"
                self.oldest_s[kind] = max(self.oldest_s[kind], age_s(process))


def words(process: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace")
    return ""


def age_s(process: int) -> float:
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{process}/stat").read_text()
        began_s = int(stat.rpartition(")")[2].split()[19]) / TICKS
        return time.clock_gettime(time.CLOCK_BOOTTIME) - began_s
    return 0.0


def is_at(cup: Cup, stage: Stage) -> bool:
    """Return whether a submission is at a stage while few wait, or none is left."""
    left = queued(cup)
    running = (each for each in Submissions(read(cup.file)) if each.state == "running")
    return left == 0 or (0 < left <= WAITING and any(each.stage == stage for each in running))


def hand_in(cup: Cup, number: int) -> tuple[int, bool]:
    """Hand a bot in, whatever is killed meanwhile; return its number, and whether it works."""
    files, works = BOTS[number % len(BOTS)]
    team, name = f"Team {number % TEAMS}", f"bot{number}.tar.gz"

    def stored() -> int | None:
        with contextlib.suppress(OSError, AssertionError):
            mine = cup.ask("GET", "submissions", team)[1]
            found = [each["id"] for each in mine if each["file"] == name]
            return found[0] if found else cup.hand_in(team, files, name)
        return None

    return wait_until(stored, f"an answer about {name}"), works


@pytest.mark.timeout(5400)  # with --slow
@pytest.mark.long
def test_each_submission_ends_once_whatever_is_killed(tmp_path: Path) -> None:
    require_sandbox()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    changed = {"playout.bots.builder.LONGEST_S": LIMITS}
    cup = Cup(tmp_path, changed=changed, environment={"TMPDIR": str(temporary)})
    cup.file.write_text(cup.file.read_text().replace("pause_s = 3", "pause_s = 20"))
    for number in range(TEAMS):
        cup.account(f"Team {number}")
    chance = random.Random(1)
    watcher, works = Watcher(cup), dict[int, bool]()
    with Victims(cup, chance) as victims, watcher.running():
        for turn in range(KILLS):
            last = (turn + 1) * SUBMISSIONS // KILLS
            works |= dict(hand_in(cup, number) for number in range(len(works), last))
            wait_until(partial(is_at, cup, chance.choice(STAGES)), "a stage", seconds=600)
            victims.kill_one()
        wait_until(lambda: queued(cup) == 0, "the end of the queue", seconds=600)
        wait_until(lambda: len(watcher.ends) == SUBMISSIONS, "their ends")
    wait_until(lambda: not cup.processes(), "the end of all that was started")
    print(f"killed: {victims.killed}; oldest: {watcher.oldest_s}; sandboxes of {victims.hit}")

    assert sorted(works) == list(range(1, SUBMISSIONS + 1))
    submissions = Submissions(read(cup.file))
    for each in submissions:
        assert watcher.ends[each.id] == {(each.state, each.ended_at)}
        assert submissions.log_of(each).count(f"\n== {each.state}") <= 1
        if each.id not in victims.hit:
            assert each.state == ("accepted" if works[each.id] else "refused"), each
        code = {"code"} if each.state == "accepted" else set()
        assert {path.name for path in submissions.place(each).iterdir()} <= KEPT | code
    assert watcher.oldest_s["build"] < BUILD_S + PATIENCE_S
    assert watcher.oldest_s["others"] < OTHERS_S
    assert run("playout-competition", "close", str(cup.file))[0] == 0
    finals = [cup.final() for _ in (1, 2)]
    assert finals[0] == finals[1]
    assert len({fixture for fixture, *_ in finals[0]}) >= TEAMS * (TEAMS + 1)
    assert not list(temporary.iterdir())
    assert not list((cup.folder / "cup" / "incoming").iterdir())


def queued(cup: Cup) -> int:
    """Return how many submissions have not ended, -1 if the page does not answer."""
    with contextlib.suppress(OSError):
        return int(cup.ask("GET", "state")[1]["queued"])
    return -1


class Victims:
    """A competition, of which something is killed: its server, its process, or a program."""

    def __init__(self, cup: Cup, chance: random.Random) -> None:
        self._cup = cup
        self._chance = chance
        self._server = contextlib.ExitStack()
        self.killed: Counter[str] = Counter()
        #: The submissions of the programs that were killed.
        self.hit: set[int] = set()

    def __enter__(self) -> Victims:
        self._server.enter_context(self._cup.running())
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def kill_one(self) -> None:
        kind = KINDS[self.killed.total() % len(KINDS)]
        self.killed[kind] += 1
        if kind == "program":
            self._kill_program()
            return
        started = self._cup.processes()
        if kind == "process":
            os.kill(self._cup.host(), signal.SIGKILL)
        else:
            self._server.close()
            self._server.enter_context(self._cup.running())
        wait_until(lambda: not set(started) & set(self._cup.processes()), "the end of programs")
        self._cup.wait_until_ready()

    def _kill_program(self) -> None:
        """Kill a guard, a watcher, a sandbox, or what runs in it."""
        victim = self._chance.choice(wait_until(self._cup.processes, "a program"))
        self.hit |= {int(number) for number in re.findall(r"/submissions/(\d+)", words(victim))}
        with contextlib.suppress(OSError):  # or where it runs
            place = os.readlink(f"/proc/{victim}/cwd")
            self.hit |= {int(number) for number in re.findall(r"/submissions/(\d+)", place)}
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
