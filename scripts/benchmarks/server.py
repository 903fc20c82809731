"""The server's work per move, and moves per second over TCP against a bare relay.

In process: the frame of a move is decoded, the hub checks and applies the move, and its messages to
both players are encoded; microseconds, the median over the moves of random matches. Both players
have requested legal actions, and the moves have ids, which is the most work; `plain` is without
either. The lower bound is the codec alone: unpack the move, pack the same answers.

Over TCP: a `playout-server` process, and many matches at once that this process plays at random.
The lower bound is a Twisted process that forwards each frame to both players, under the same
traffic. With many matches, latency is mostly queueing; with one, it is the latency of a move.
"""

from __future__ import annotations

import itertools

from testbed.bench import Bench
from testbed.hub_timing import STEPS, HubTiming
from testbed.measure import GAMES, Sample, percentile
from testbed.result_table import Column, ResultTable, Target
from testbed.server_process import NOTHING_STORED, RELAY, UNLIMITED, serving
from testbed.traffic import Dialogue, Load, RelayDialogue, drive

TARGET = Target("total_us", at_most=100.0)
LOADS = tuple(itertools.product(("connect_four", "tic_tac_toe"), (64, 1)))

IN_PROCESS = (
    Column("game", "game"),
    Column("decode_us", "decode", ".1f"),
    Column("hub_us", "hub", ".1f"),
    Column("encode_us", "encode", ".1f"),
    Column("total_us", "total", ".1f"),
    Column("codec_us", "codec alone", ".1f"),
    Column("ratio", "total / codec", ".1f"),
    Column("plain_us", "plain", ".1f"),
)
OVER_TCP = (
    Column("game", "game"),
    Column("matches", "matches"),
    Column("process", "process"),
    Column("moves", "moves/s"),
    Column("ratio", "of relay's", ".0%"),
    Column("cpu_us", "its CPU, µs per move", ".0f"),
    Column("busy", "its CPU", ".0%"),
    Column("players_busy", "players' CPU", ".0%"),
    Column("p50_ms", "latency, ms", ".2f"),
    Column("p99_ms", "99 %", ".2f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return a row per game in process; over TCP rows for the server and the relay per load."""
    return [_in_process(bench), _over_tcp(bench)]


def _in_process(bench: Bench) -> ResultTable:
    table = ResultTable("Microseconds of work per move, in process", IN_PROCESS)
    rounds, moves = bench.pick(7, 3), bench.pick(2000, 300)
    for game in bench.track(GAMES):
        full, plain = HubTiming(game, full=True), HubTiming(game, full=False)
        taken = [(full.medians(moves), plain.medians(moves)) for _ in range(rounds)]
        steps = {step: Sample(each[step] for each, _ in taken) for step in STEPS}
        table.add(
            TARGET,
            game=game,
            **steps,
            ratio=steps["total_us"].over(steps["codec_us"]),
            plain_us=Sample(each["total_us"] for _, each in taken),
        )
    return table


def _over_tcp(bench: Bench) -> ResultTable:
    table = ResultTable("Moves per second over TCP, many matches at once and one", OVER_TCP)
    rounds, seconds = bench.pick(5, 2), bench.pick(4.0, 0.6)
    command = [*UNLIMITED, NOTHING_STORED]
    with serving(command) as server, serving(RELAY) as relay:
        for game, matches in bench.track(LOADS):
            measured = [
                (
                    drive(server, Dialogue(game), matches, seconds),
                    drive(relay, RelayDialogue(game), matches, seconds),
                )
                for _ in range(rounds)
            ]
            ours, bare = (list(loads) for loads in zip(*measured, strict=True))
            ratio = _rates(ours).over(_rates(bare))
            table.add(game=game, matches=matches, process="server", **_cells(ours), ratio=ratio)
            table.add(game=game, matches=matches, process="relay", **_cells(bare))
    return table


def _rates(loads: list[Load]) -> Sample:
    return Sample(load.moves / load.seconds for load in loads)


def _cells(loads: list[Load]) -> dict[str, Sample]:
    return {
        "moves": _rates(loads),
        "cpu_us": Sample(load.server_s / load.moves * 1e6 for load in loads),
        "busy": Sample(load.server_s / load.seconds for load in loads),
        "players_busy": Sample(load.client_s / load.seconds for load in loads),
        "p50_ms": Sample(percentile(load.latencies_s, 50) * 1e3 for load in loads),
        "p99_ms": Sample(percentile(load.latencies_s, 99) * 1e3 for load in loads),
    }
