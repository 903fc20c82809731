"""A storing server under load: latency, moves per second, memory, many idle connections.

The server, its storage process, and this process with all players share the machine's cores as the
system schedules them. *Steady* is many matches at once with one move per second each. *As fast as
possible* is compared with a Twisted process that unpacks, packs and forwards each frame to both
players, under the same traffic, in turns within a round. *Memory* is the growth of the server's
memory. *Idle connections* have sent `hello` and nothing more, while others play; rounds with and
without them alternate.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator

from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import Sample, median_interval, percentile
from testbed.paced_matches import PacedLoad, kib_a_match, kib_a_session, pace
from testbed.server_process import (
    NOTHING_STORED,
    REPACKING_RELAY,
    UNLIMITED,
    ServerProcess,
    allow_connections,
    serving,
    stored,
)
from testbed.traffic import Dialogue, Load, RelayDialogue, connected, drive

STEADY_GAME = "connect_four"
FAST_GAMES = ("connect_four", "tic_tac_toe")
#: Enough matches to keep the server busy during transactions.
FAST_MATCHES = 256

#: For a steady load, with storage.
LATENCY = Target("p99_ms", at_most=25.0)
#: Share of the relay's moves per second, with storage.
SHARE = Target("ratio", at_least=0.5)
#: There is no effect if the confidence interval contains 1.
AS_MANY = Target("high", at_least=1.0)
AS_SOON = Target("low", at_most=1.0)

STEADY = (
    Column("stores", "stores"),
    Column("matches", "matches"),
    Column("moves", "moves"),
    Column("empty", "missed"),
    Column("p50_ms", "latency, ms", ".2f"),
    Column("p99_ms", "99 %", ".2f"),
    Column("max_ms", "most", ".2f"),
    Column("fsync_ms", "fsync", ".2f"),
    Column("late_p99_ms", "late, ms: 99 %", ".2f"),
    Column("late_max_ms", "most", ".2f"),
    Column("loop_busy", "its loop", ".0%"),
    Column("storage_busy", "its storage", ".0%"),
    Column("players_busy", "players", ".0%"),
)
FAST = (
    Column("game", "game"),
    Column("process", "process"),
    Column("moves", "moves/s"),
    Column("ratio", "of relay's", ".0%"),
    Column("cpu_us", "its CPU, µs per move", ".0f"),
    Column("loop_busy", "its loop", ".0%"),
    Column("storage_busy", "its storage", ".0%"),
    Column("players_busy", "players", ".0%"),
    Column("p50_ms", "latency, ms", ".2f"),
    Column("p99_ms", "99 %", ".2f"),
)
MEMORY = (
    Column("what", "what"),
    Column("count", "how many"),
    Column("kib", "KiB each", ".1f"),
)
IDLE = (
    Column("what", "while matches run"),
    Column("without", "without", ",.2f"),
    Column("within", "with idle connections", ",.2f"),
    Column("ratio", "ratio", ".3f"),
    Column("low", "95 %: from", ".3f"),
    Column("high", "to", ".3f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return four tables: steady, as fast as possible, memory, idle connections."""
    allow_connections(bench.pick(6000, 1500))
    parts: dict[str, Callable[[Bench], ResultTable]] = {
        "steady": _steady,
        "as fast as possible": _fast,
        "memory": _memory,
        "idle connections": _idle_connections,
    }
    return [parts[name](bench) for name in bench.track(list(parts))]


@contextlib.contextmanager
def _stores() -> Iterator[dict[str, ServerProcess]]:
    """Run two servers, by the name of their database."""
    with (
        stored() as database,
        serving([*UNLIMITED, database]) as sqlite,
        serving([*UNLIMITED, NOTHING_STORED]) as nothing,
    ):
        yield {"SQLite": sqlite, "nothing": nothing}


def _steady(bench: Bench) -> ResultTable:
    matches, seconds = bench.pick(1000, 200), bench.pick(30.0, 4.0)
    table = ResultTable("One move per second in each match, from a move to its update", STEADY)
    with _stores() as servers:
        for stores, server in servers.items():
            paced = pace(server, STEADY_GAME, matches, seconds)
            keeps = stores != "nothing"
            table.add(
                LATENCY if keeps else None,
                stores=stores,
                fsync_ms=_fsync_ms(200) if keeps else None,
                matches=matches,
                moves=paced.moves,
                **_punctual(paced),
                **_busy([paced]),
            )
    return table


def _fsync_ms(times: int) -> float:
    """Return the median time of writing a page to the disk of the database, with fsync."""
    taken = []
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(times):
            started = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            taken.append((time.perf_counter() - started) * 1e3)
    return Sample(taken).median


def _punctual(paced: PacedLoad) -> dict[str, float]:
    return {
        "empty": paced.empty,
        "p50_ms": percentile(paced.latencies_s, 50) * 1e3,
        "p99_ms": percentile(paced.latencies_s, 99) * 1e3,
        "max_ms": max(paced.latencies_s) * 1e3,
        "late_p99_ms": percentile(paced.late_s, 99) * 1e3,
        "late_max_ms": max(paced.late_s) * 1e3,
    }


def _fast(bench: Bench) -> ResultTable:
    rounds, seconds = bench.pick(5, 2), bench.pick(3.0, 0.8)
    table = ResultTable(f"Moves per second, {FAST_MATCHES} matches at once", FAST)
    with _stores() as servers, serving(REPACKING_RELAY) as relay:
        for game in FAST_GAMES:
            taken: dict[str, list[Load]] = {process: [] for process in (*servers, "relay")}
            for _ in range(rounds):
                for stores, server in servers.items():
                    taken[stores].append(_driven(server, Dialogue(game), seconds))
                taken["relay"].append(_driven(relay, RelayDialogue(game), seconds))
            bare = _rates(taken["relay"])
            for stores in servers:
                target = SHARE if stores != "nothing" else None
                ratio = _rates(taken[stores]).over(bare)
                process = f"server, {stores}"
                table.add(target, game=game, process=process, ratio=ratio, **_speed(taken[stores]))
            table.add(game=game, process="relay", **_speed(taken["relay"]))
    return table


def _driven(served: ServerProcess, dialogue: Dialogue, seconds: float) -> Load:
    """Drive a server without pinning processes to cores: the system schedules them."""
    return drive(served, dialogue, FAST_MATCHES, seconds, apart=False)


def _memory(bench: Bench) -> ResultTable:
    table = ResultTable("Resident memory of the server", MEMORY)
    for what, kib_each, count in (
        ("a session", kib_a_session, bench.pick(5000, 500)),
        ("a match", kib_a_match, bench.pick(2000, 500)),
    ):
        # New servers for each: reused memory would hide the growth.
        with _stores() as servers:
            for stores, server in servers.items():
                kib = kib_each(server, count)
                table.add(what=f"{what}, {stores} stored", count=count, kib=kib)
    return table


def _idle_connections(bench: Bench) -> ResultTable:
    rounds, seconds, idle = bench.pick(9, 3), bench.pick(3.0, 0.5), bench.pick(5000, 500)
    table = ResultTable(f"{idle:,} idle connections", IDLE)
    without, within = list[Load](), list[Load]()
    with _stores() as servers:
        server = servers["SQLite"]
        for _ in range(rounds):
            without.append(_driven(server, Dialogue(STEADY_GAME), seconds))
            with connected(server, Dialogue(STEADY_GAME), idle):
                within.append(_driven(server, Dialogue(STEADY_GAME), seconds))
    for what, of, target in (
        ("moves/s", _rates, AS_MANY),
        ("server's CPU, µs per move", _cpu_us, AS_SOON),
        ("latency, ms", _latency_ms(50), AS_SOON),
        ("99 %", _latency_ms(99), AS_SOON),
    ):
        ratio = of(within).over(of(without))
        low, high = median_interval(ratio)
        table.add(
            target,
            what=what,
            without=of(without),
            within=of(within),
            ratio=ratio,
            low=low,
            high=high,
        )
    return table


def _speed(loads: list[Load]) -> dict[str, Sample]:
    return {
        "moves": _rates(loads),
        "cpu_us": _cpu_us(loads),
        **_busy(loads),
        "p50_ms": _latency_ms(50)(loads),
        "p99_ms": _latency_ms(99)(loads),
    }


def _busy(loads: list[Load] | list[PacedLoad]) -> dict[str, Sample]:
    return {
        "loop_busy": Sample(load.loop_s / load.seconds for load in loads),
        "storage_busy": Sample(load.storage_s / load.seconds for load in loads),
        "players_busy": Sample(load.client_s / load.seconds for load in loads),
    }


def _rates(loads: list[Load]) -> Sample:
    return Sample(load.moves / load.seconds for load in loads)


def _cpu_us(loads: list[Load]) -> Sample:
    return Sample(load.server_s / load.moves * 1e6 for load in loads)


def _latency_ms(percent: float) -> Callable[[list[Load]], Sample]:
    return lambda loads: Sample(percentile(load.latencies_s, percent) * 1e3 for load in loads)
