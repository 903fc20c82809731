"""Hostile peers at a live server: its answers, faults and memory, and the effect on honest players.

Inputs are messages of every type about existing matches, names and tokens, with mutated bytes, and
bytes that are no frames. They arrive over many connections at once, in pieces, from guests,
players, spectators and peers without `hello`. A *fault* is the answer `internal`, a traceback in
the log, or no answer to a last `ping`; the inputs before it are written to a file. Meanwhile two
honest players in a process of their own play match after match, and check every message. Most
inputs go to a server without limits, so that it processes them; the others go to a server with its
default limits. Both store in SQLite. The memory is that of the server and its storage process: the
analyst, which ends a minute after its last analysis, loads games and fills its trees meanwhile.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter

import click

from testbed.bench import Bench, Column, ResultTable, Target
from testbed.fuzzer import Fuzzer
from testbed.honest_players import NAMES, HonestPlayersReport, playing
from testbed.machine import resident_kib
from testbed.measure import percentile
from testbed.server_process import PLAYOUT, UNLIMITED, serving, stored

SEED = 1
#: By name: the server's options, and the share of the inputs.
SERVERS = {"without limits": (UNLIMITED, 0.9), "with its default limits": (PLAYOUT, 0.1)}
#: Seconds that the server waits for the reconnection of a player in a match.
RECONNECT_S = 1
ANALYST = "analyst_process"
#: The share of the inputs after which memory is measured: tables and caches are full by then.
WARM_UP = 0.25

NONE = Target("value", at_most=0)
ONE = Target("value", at_least=1)
FLAT_MIB = Target("value", at_most=4.0)

FACTS = (Column("what", "what"), Column("value", "", ",.10g"))
ANSWERS = (Column("what", "answer"), Column("count", "count"))


def run(bench: Bench) -> list[ResultTable]:
    """Return a table per server, then the number of answers by type."""
    inputs = bench.pick(200_000, 10_000)
    counts: Counter[str] = Counter()
    tables = [_attacked(name, inputs, counts) for name in bench.track(list(SERVERS))]
    answers = ResultTable("Answers and errors, by type and code", ANSWERS)
    for what, count in counts.most_common():
        answers.add(what=what, count=count)
    return [*tables, answers]


def _attacked(name: str, inputs: int, counts: Counter[str]) -> ResultTable:
    options, share = SERVERS[name]
    first = round(inputs * share * WARM_UP)
    with (
        stored() as database,
        serving([*options, database, f"--reconnect-s={RECONNECT_S}"]) as server,
        playing(server.port) as honest_players,
    ):
        fuzzer = Fuzzer(server, SEED, list(NAMES))
        fuzzer.run(first)
        before_kib = _settled_kib(fuzzer, server.pid)
        fuzzer.run(round(inputs * share) - first)
        after_kib = _settled_kib(fuzzer, server.pid)
        left = fuzzer.connections_left()
        seen = honest_players.finish()
    _show(fuzzer, seen)
    counts += fuzzer.answers
    table = ResultTable(f"{fuzzer.inputs.total():,} inputs to a server {name}", FACTS)
    table.add(what="connections", value=fuzzer.peers)
    table.add(NONE, what="of them still open at the end", value=left)
    table.add(what="answers and other messages", value=fuzzer.answers.total())
    table.add(what="of them rate_limited", value=fuzzer.answers["rate_limited"])
    table.add(NONE, what="faults", value=len(fuzzer.faults))
    table.add(what="resident after a quarter, MiB", value=round(before_kib / 1024, 1))
    table.add(
        FLAT_MIB, what="growth at the end, MiB", value=round((after_kib - before_kib) / 1024, 1)
    )
    table.add(NONE, what="honest players: wrong messages", value=int(bool(seen.fault)))
    table.add(ONE, what="honest players: matches finished", value=seen.matches)
    table.add(what="honest players: moves", value=len(seen.latencies_s))
    for title, percent in (("median", 50), ("99 %", 99), ("worst", 100)):
        latency_ms = percentile(seen.latencies_s, percent) * 1e3
        table.add(what=f"honest players: latency, {title}, ms", value=round(latency_ms, 2))
    return table


def _settled_kib(fuzzer: Fuzzer, pid: int) -> int:
    """Return the server's memory when no peer is connected or may still reconnect."""
    fuzzer.connections_left()
    time.sleep(RECONNECT_S + 0.5)
    return resident_kib(pid, without=ANALYST)


def _show(fuzzer: Fuzzer, seen: HonestPlayersReport) -> None:
    """Print the faults on standard error, and write their inputs, which may be long, to files."""
    if seen.fault:
        click.echo(f"The honest players: {seen.fault}", err=True)
    for fault in fuzzer.faults:
        with tempfile.NamedTemporaryFile("w", prefix="playout-fuzz-", delete=False) as file:
            file.write(str(fault))
        last = fault.inputs[0]
        click.echo(
            f"{fault.what}\nThe last input was: {last.kind}, {last.data[:200]!r}\n"
            f"All inputs before it are in {file.name}.",
            err=True,
        )
