"""Competitions: time to the first rated match, the cost of the sandbox, and a full queue.

*A class* hands in bots, one after the other: Python players and scripts. Measured are the seconds
until a bot is accepted, and until its first match on the ladder has ended, on which all bots before
it play.

*A class of thirty* hands in at once: bots that work, and each kind of bad one. Counted are those
that do not end as they should, faults of the working ones in matches on the ladder, and processes
that remain.

*Matches*: scripts that compute for 50 ms a move play at connect four, two matches at once, each
program started for its match, outside and inside the sandbox. Memory is that of all processes of
one program (PSS).

*A full queue*: bots are handed in at once, by 32 accounts. Meanwhile a client of the server sends
pings; the time until the answer is the longest work of its event loop, plus what other work on the
machine adds.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import tomli_w

from playout import games
from playout.bots.packing import packed
from playout.commands.subprocesses import own, own_environment
from playout.competition.submit_command import Client
from playout.games import Position
from playout.players.core.player import Limit
from playout.players.engine import Engine
from playout.sandbox import machine
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.handed_in import HandedIn, bad, good
from testbed.machine import children, processor_seconds, reserve_port
from testbed.measure import Sample, alternate, percentile
from testbed.server_process import KillableServer, killable_server
from testbed.traffic import HELLO, connect

GAME = "connect_four"
SUBMISSIONS, QUEUED, ACCOUNTS = (30, 6), (500, 40), 32
#: Rounds of matches, each with so many, two at once.
ROUNDS, MATCHES, AT_ONCE = (5, 1), 8, 2
MOVE_S = 0.05
#: Seconds between two pings: a client may send 50 messages a second.
PING_S = 0.025
PATIENCE_S = 300.0
DOCUMENTED = Target("unexpected", at_most=0.0)
SLOWDOWN, LOOP = Target("ratio", at_least=0.95), Target("worst_ms", at_most=20.0)

CLASS = (
    Column("bot", "bot"),
    Column("submissions", "submissions"),
    Column("accepted_s", "accepted: median, s", ".1f"),
    Column("accepted_worst_s", "worst, s", ".1f"),
    Column("rated_s", "first rated match: median, s", ".1f"),
    Column("rated_worst_s", "worst, s", ".1f"),
)
THIRTY = (
    Column("bots", "bots"),
    Column("seconds", "last end, s", ".0f"),
    Column("unexpected", "other ends than documented"),
    Column("matches", "matches on the ladder"),
    Column("faults", "faults there"),
    Column("remain", "processes that remain"),
)
COSTS = (
    Column("where", "where"),
    Column("matches", "matches"),
    Column("per_hour", "matches an hour"),
    Column("ratio", "ratio", ".3f"),
    Column("memory_mib", "memory of a match, MiB", ".1f"),
)
QUEUE = (
    Column("state", "state"),
    Column("seconds", "s", ".1f"),
    Column("loop_ms", "loop: processor ms a second", ".0f"),
    Column("pings", "pings"),
    Column("p99_ms", "99 % answered, ms", ".1f"),
    Column("worst_ms", "worst, ms", ".1f"),
)
_PLAYER = """\
from playout.players import Player, PlayResult

class Last(Player):
    def choose(self, position, limit, report=None):
        return PlayResult(position.legal_actions[-1])
"""
_SCRIPT = """\
import json, sys, time
for line in sys.stdin:
    until = time.perf_counter() + {seconds}
    told = json.loads(line)
    legal, ply = told["legal_actions"], len(told["moves"])
    while time.perf_counter() < until: pass
    print(legal[3 * ply % len(legal)], flush=True)
"""
_BOT_FILE = 'protocol = "lines"\ncommand = "python3 bot.py"\n'


def run(bench: Bench) -> list[ResultTable]:
    """Return four tables: two classes, the cost of the sandbox, and a full queue."""
    lacking = machine.missing()
    if "bubblewrap" in lacking:
        raise click.ClickException(f"a competition needs bubblewrap: {lacking['bubblewrap']}")
    return bench.tables(class_=_class, thirty=_thirty, matches=_matches, queue=_queue)


class ServedCompetition:
    """A server with a competition whose roster has some accounts."""

    def __init__(self, folder: Path, accounts: int) -> None:
        """Make the accounts; their tokens are those of the command `accounts`."""
        self.file = folder / "bench.toml"
        url = f"sqlite:///{folder / 'playout.db'}"
        self.http = reserve_port()
        _run("new", str(self.file), "--game", GAME)
        text = self.file.read_text().replace("# roster", "roster")
        self.file.write_text(text.replace("submissions_per_day = 20", "submissions_per_day = 1000"))
        names = [f"Student {number}" for number in range(accounts)]
        (folder / "class.csv").write_text("\n".join(["account", *names]))
        made = _run("accounts", str(self.file), "--database", url)
        rows = list(csv.DictReader(made.splitlines()))
        self._site = f"http://127.0.0.1:{self.http}/bench"
        self.clients = [
            Client(f"{self._site}/submissions", each["account"], each["token"]) for each in rows
        ]
        self.options = (
            *("--database", url, "--http=none", "--competition", str(self.file)),
            *(f"--competition-http=127.0.0.1:{self.http}", f"--ladder-matches={AT_ONCE}"),
        )

    def standings(self) -> list[dict[str, Any]]:
        """Return the present standings. Raises OSError if the page does not answer."""
        with urllib.request.urlopen(f"{self._site}/state", timeout=PATIENCE_S) as answer:
            found: list[dict[str, Any]] = json.load(answer)["standings"]
            return found

    def wait(self) -> None:
        """Wait until the page answers."""

        def answers() -> bool:
            with contextlib.suppress(OSError):
                self.standings()
                return True
            return False

        _wait_until(answers)


def _run(*words: str) -> str:
    command = own("playout.competition.competition_command:main", *words)
    return subprocess.run(
        command, env=own_environment(), check=True, stdout=subprocess.PIPE, text=True
    ).stdout


@contextlib.contextmanager
def _served(accounts: int) -> Iterator[tuple[ServedCompetition, KillableServer]]:
    """Serve a competition until the end of the block; yield it and its server."""
    with tempfile.TemporaryDirectory() as name:
        served = ServedCompetition(Path(name), accounts)
        with killable_server(served.options, Path(name) / "server.log") as server:
            try:
                served.wait()
                yield served, server
            finally:
                server.stop()


def _wait_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            raise click.ClickException(f"nothing has happened in {PATIENCE_S:g} s")
        time.sleep(0.1)


# A class.


def _class(bench: Bench) -> ResultTable:
    count = bench.pick(*SUBMISSIONS)
    table = ResultTable("Seconds after handing in", CLASS)
    sent = {
        "Python player": ("bot.py", _PLAYER.encode()),
        "script": _packed(_SCRIPT.format(seconds=0)),
    }
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in sent}
    with _served(count) as (served, _):
        for number, kind in zip(range(count), itertools.cycle(sent), strict=False):
            found[kind].append(_handed_in(served, number, *sent[kind]))
    for kind, times in found.items():
        accepted, rated = map(Sample, zip(*times, strict=True))
        table.add(
            bot=kind,
            submissions=len(times),
            accepted_s=accepted,
            accepted_worst_s=max(accepted),
            rated_s=rated,
            rated_worst_s=max(rated),
        )
    return table


def _packed(script: str) -> tuple[str, bytes]:
    """Return the name and the content of an archive with a script."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bot.py").write_text(script)
        Path(folder, "bot.toml").write_text(_BOT_FILE)
        return packed(Path(folder))


def _handed_in(
    served: ServedCompetition, number: int, name: str, content: bytes
) -> tuple[float, float]:
    """Hand in a bot; return the seconds until it is accepted, and until its first rated match."""
    client = served.clients[number]
    began = time.monotonic()
    for _ in client.followed(client.put(name, content)["id"]):
        pass
    if client.last["state"] != "accepted":
        raise click.ClickException(f"a bot is {client.last['state']}: {client.last['reason']}")
    accepted_s = time.monotonic() - began
    team = f"Student {number}"
    _wait_until(lambda: any(e["name"] == team and e["matches"] for e in served.standings()))
    return accepted_s, time.monotonic() - began


# A class of thirty.


def _thirty(bench: Bench) -> ResultTable:
    table = ResultTable("A class of thirty hands in at once", THIRTY)
    works, fails = list(good().values()), [each for _, each in bad()]
    bots = [*works, *bench.pick(fails, fails[:4])]
    with _served(len(bots)) as (served, server), ThreadPoolExecutor(len(bots)) as students:
        began = time.monotonic()
        unexpected = sum(students.map(_ends_otherwise, served.clients, bots))
        seconds = time.monotonic() - began
        teams = [f"Student {number}" for number in range(len(works))]
        rows: list[dict[str, Any]] = []

        def all_play() -> bool:
            rows[:] = [each for each in served.standings() if each["name"] in teams]
            return len(rows) == len(teams) and all(each["matches"] for each in rows)

        _wait_until(all_play)
        logs = [
            "\n".join(client.followed(client.last["id"])) for client in served.clients[: len(works)]
        ]
        server.stop()
        table.add(
            DOCUMENTED,
            bots=f"{len(works)} work, {len(bots) - len(works)} do not",
            seconds=seconds,
            unexpected=unexpected,
            matches=sum(each["matches"] for each in rows),
            faults=sum(not each.endswith("== accepted") for each in logs),
            remain=len(_started_in(served.file.parent)),
        )
    return table


def _ends_otherwise(client: Client, one: HandedIn) -> bool:
    """Hand in a bot; return whether its end is another one than expected."""
    log = "\n".join(client.followed(client.put(one.name, one.content)["id"]))
    last = client.last
    if not one.reason:
        return bool(last["state"] != "accepted")
    told = last["reason"] + log
    return (last["state"], last["stage"]) != ("refused", one.stage) or not re.search(
        one.reason, told
    )


def _started_in(folder: Path) -> list[Path]:
    """Return the processes whose words name a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in path.read_bytes():
                found.append(path)
    return found


# Matches.


def _matches(bench: Bench) -> ResultTable:
    table = ResultTable("Matches outside and inside", COSTS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bot.py").write_text(_SCRIPT.format(seconds=MOVE_S))
        sandbox = {"sandbox": {"without": list(machine.missing())}}
        files = {"outside": _engines(folder, {}), "inside": _engines(folder, sandbox)}
        taken = alternate(
            bench.pick(*ROUNDS),
            **{where: lambda file=file: _played_s(file) for where, file in files.items()},
        )
        memory = {where: _memory_mib(file) for where, file in files.items()}
    for where, seconds in taken.items():
        ratio = taken["outside"].over(seconds)
        table.add(
            SLOWDOWN if where == "inside" else None,
            where=where,
            matches=MATCHES * len(seconds),
            per_hour=MATCHES * 3600 / seconds.median,
            ratio=ratio,
            memory_mib=2 * memory[where],
        )
    return table


def _engines(folder: Path, more: Mapping[str, object]) -> str:
    """Write a file with an engine; return its path."""
    path = folder / f"engines{len(more)}.toml"
    # The python3 in the path outside may be that of a virtual environment, which starts slowly.
    table = {"command": "/usr/bin/python3 bot.py", "protocol": "lines", "folder": str(folder)}
    path.write_text(tomli_w.dumps({"program": {**table, **more}}))
    return str(path)


def _played_s(file: str) -> float:
    """Return the seconds of some matches, two at once."""
    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(_play, [file] * MATCHES))
    return time.monotonic() - began


def _play(file: str) -> None:
    """Play a match between two programs, which are started for it."""
    game = games.load(GAME)
    seats = [Engine(game, "program", file) for _ in (1, 2)]
    position = Position(game)
    while not position.winner:
        mover = seats[position.to_move - 1]
        position = position.play(mover.choose(position, Limit(seconds=10.0)).action)
    for each in seats:
        each.close()


def _memory_mib(file: str) -> float:
    """Return the memory of all processes of a program that has played a move."""
    game = games.load(GAME)
    engine = Engine(game, "program", file)
    before = set(children(os.getpid()))
    engine.choose(Position(game), Limit(seconds=10.0))
    found, kib = [each for each in before if _is_guard(each)], 0
    for process in found:
        found.extend(children(process))
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        kib += int(rollup.partition("\nPss:")[2].split()[0])
    engine.close()
    return kib / 1024


def _is_guard(process: int) -> bool:
    return b"guard.py" in Path(f"/proc/{process}/cmdline").read_bytes()


# A full queue.


def _queue(bench: Bench) -> ResultTable:
    table = ResultTable("Answers of the server while bots are handed in", QUEUE)
    count = bench.pick(*QUEUED)
    name, content = _packed(_SCRIPT.format(seconds=0))
    with _served(ACCOUNTS) as (served, server), ThreadPoolExecutor(ACCOUNTS) as students:

        def hand_in(student: int) -> None:
            for _ in range(student, count, ACCOUNTS):
                served.clients[student].put(name, content)

        def all_hand_in() -> None:
            list(students.map(hand_in, range(ACCOUNTS)))

        for state, during in (("idle", lambda: time.sleep(5)), (f"{count} at once", all_hand_in)):
            before = processor_seconds(server.pid, loop=True)
            seconds, waits_ms = _pinged(server.port, during)
            used_s = processor_seconds(server.pid, loop=True) - before
            table.add(
                LOOP if during is all_hand_in else None,
                state=state,
                seconds=seconds,
                loop_ms=1000 * used_s / seconds,
                pings=len(waits_ms),
                p99_ms=percentile(waits_ms, 99),
                worst_ms=max(waits_ms),
            )
    return table


def _pinged(port: int, during: Callable[[], object]) -> tuple[float, list[float]]:
    """Return the seconds of a call, and the milliseconds of the answers to pings meanwhile."""
    over, waits_ms = threading.Event(), []

    def ping() -> None:
        with contextlib.ExitStack() as stack:
            client = connect(port, 0, "pings", stack)
            client.send(HELLO | {"name": client.name})
            client.receive("welcome")
            while not over.wait(PING_S):
                began = time.perf_counter()
                client.send({"type": "ping"})
                client.receive("pong")
                waits_ms.append(1000 * (time.perf_counter() - began))

    pings = threading.Thread(target=ping)
    pings.start()
    began = time.monotonic()
    during()
    seconds = time.monotonic() - began
    over.set()
    pings.join()
    return seconds, waits_ms
