"""A storing server under load: latency, moves per second, memory, many idle connections.

The system schedules the server, its storage process, and this process with all players on the
cores of the machine. *Steady* is many matches at once with one move per second each. *As fast as
possible* is compared with a Twisted process that unpacks, packs and forwards each frame to both
players: both get the same traffic, in turns within a round. *Memory* is the growth of the server's
memory. *Idle connections* have sent `hello` and nothing more, while other clients play; rounds with
and without them alternate.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from functools import partial

from testbed.bench import Bench, Column, ResultTable, Target
from testbed.machine import resident_kib
from testbed.measure import Sample, median_interval, percentile
from testbed.server_process import (
    NOTHING_STORED,
    REPACKING_RELAY,
    UNLIMITED,
    ServerProcess,
    allow_connections,
    serving,
    stored,
)
from testbed.traffic import (
    Dialogue,
    Load,
    Message,
    PacedLoad,
    PairedDialogue,
    RelayDialogue,
    TrafficPlayer,
    busy,
    connected,
    cpu_us,
    drive,
    latency_ms,
    pace,
    playing,
    rates,
    replies,
    speed,
)

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
    Column("count", "count"),
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
    return bench.tables(
        steady=_steady, fast=_fast, memory=_memory, idle_connections=_idle_connections
    )


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
                fsync_ms=_fsync_ms() if keeps else None,
                matches=matches,
                moves=paced.moves,
                **_punctual(paced),
                **busy([paced]),
            )
    return table


def _fsync_ms() -> float:
    """Return the median time of writing a page to the disk of the database, with fsync."""
    taken = []
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(200):
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
            bare = rates(taken["relay"])
            for stores in servers:
                target = SHARE if stores != "nothing" else None
                ratio = rates(taken[stores]).over(bare)
                process = f"server, {stores}"
                table.add(target, game=game, process=process, ratio=ratio, **speed(taken[stores]))
            table.add(game=game, process="relay", **speed(taken["relay"]))
    return table


def _driven(served: ServerProcess, dialogue: Dialogue, seconds: float) -> Load:
    """Drive a server without pinning processes to cores: the system schedules them."""
    return drive(served, dialogue, FAST_MATCHES, seconds, apart=False)


def _memory(bench: Bench) -> ResultTable:
    table = ResultTable("Resident memory of the server", MEMORY)
    for what, kib_each, count in (
        ("a session", _kib_a_session, bench.pick(5000, 500)),
        ("a match", _kib_a_match, bench.pick(2000, 500)),
    ):
        # Each is measured on new servers: reused memory would hide the growth.
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
        ("moves/s", rates, AS_MANY),
        ("server's CPU, µs per move", cpu_us, AS_SOON),
        ("latency, ms", partial(latency_ms, percent=50), AS_SOON),
        ("99 %", partial(latency_ms, percent=99), AS_SOON),
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


# The growth of the server's memory by sessions and by matches.


#: Greatest number of matches that two sessions may play at once.
TOGETHER = 100
#: Moves per match, after which the players wait: no match of the game can be over by then.
PLIES = 6
#: After this many seconds without a message, all messages have arrived.
QUIET_S = 0.5


class StoppingDialogue(PairedDialogue):
    """The dialogue of two players that play many matches, and stop at a ply."""

    def seek(self, player: TrafficPlayer) -> Message:
        """Seek the neighbour, for all matches at once."""
        return super().seek(player) | {"matches": TOGETHER}

    def answer(self, player: TrafficPlayer, message: Message) -> Message | None:
        """Answer with moves up to ply PLIES."""
        reply = super().answer(player, message)
        return reply if reply and reply["ply"] < PLIES else None


def _kib_a_session(served: ServerProcess, sessions: int) -> float:
    """Return the KiB per idle session, its connection included."""
    # The first ones, with which the server allocates what it needs once, do not count.
    with connected(served, Dialogue(STEADY_GAME), TOGETHER):
        before = resident_kib(served.pid)
        with connected(served, Dialogue(STEADY_GAME), sessions):
            return (resident_kib(served.pid) - before) / sessions


def _kib_a_match(served: ServerProcess, matches: int) -> float:
    """Return the KiB per match with a few moves; the few sessions do not matter."""
    with _resident_kib(served, TOGETHER) as before, _resident_kib(served, matches) as after:
        return (after - before) / matches


@contextlib.contextmanager
def _resident_kib(served: ServerProcess, matches: int) -> Iterator[int]:
    """Yield the memory of the server while that many more matches run."""
    dialogue = StoppingDialogue(STEADY_GAME)
    with playing(served, dialogue, 2 * matches // TOGETHER) as selector:
        while selector.select(QUIET_S):
            for player, reply, now in replies(selector, dialogue, 0.0, lambda latency_s: None):
                player.send(reply, now)
        yield resident_kib(served.pid)
