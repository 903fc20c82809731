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
import random
import statistics
import time

import msgspec

from playout.protocol.codec import decode_request, encode
from playout.protocol.messages import Hello, Move, Request, Seek, Started
from playout.server.core.effects import Effect, Send, Store
from playout.server.core.hub import Hub
from playout.server.core.policy import Policy
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import GAMES, Sample, percentile
from testbed.server_process import NOTHING_STORED, RELAY, UNLIMITED, serving
from testbed.traffic import Dialogue, Load, RelayDialogue, drive

# The time of the server's work for a move, step by step, without sockets.


#: The steps of a move, in order; then the codec alone, for the same move and the same answers.
STEPS = ("decode_us", "hub_us", "encode_us", "total_us", "codec_us")


class HubTiming:
    """Times a hub with two players, called as `playout.server.net.driver` calls it."""

    def __init__(self, game: str, *, full: bool) -> None:
        """With `full`, the players request legal actions and their moves have ids."""
        self._game = game
        self._full = full
        self._hub = Hub(Policy(messages_per_s=0), random.Random(1))
        self._now = itertools.count(1.0, 0.001)
        self._choose = random.Random(1).choice
        for number in (1, 2):
            self._hub.connect(number, "127.0.0.1", 0.0)
            name = f"player {number}"
            hello = Hello(protocol_min=1, protocol_max=1, name=name, guest=True, legal_actions=full)
            self._ask(number, hello)

    def medians(self, moves: int) -> dict[str, float]:
        """Return the median microseconds of each step, over random matches of `moves` moves."""
        taken: list[tuple[float, ...]] = []
        while len(taken) < moves:
            taken += self._match()
        columns = zip(*taken, strict=True)
        return {step: statistics.median(us) for step, us in zip(STEPS, columns, strict=True)}

    def _match(self) -> list[tuple[float, ...]]:
        self._ask(1, Seek(game=self._game, seat=1))
        started = self._ask(2, Seek(game=self._game, seat=2))
        messages = [effect.message for effect in started if isinstance(effect, Send)]
        match_id = next(each.match for each in messages if isinstance(each, Started))
        match, taken = self._hub.rooms[match_id].match, []
        while match.to_move:
            action = self._choose(match.game.legal_actions(match.state))
            request_id = match.ply if self._full else None
            move = Move(id=request_id, match=match_id, ply=match.ply, action=action)
            taken.append(self._move(match.to_move, encode(move)))
        return taken

    def _move(self, seat: int, frame: bytes) -> tuple[float, ...]:
        clock, now = time.perf_counter, next(self._now)
        began = clock()
        request = decode_request(frame)
        decoded = clock()
        effects = self._stored(self._hub.receive(seat, request, now), now)
        refereed = clock()
        for effect in effects:
            if isinstance(effect, Send):
                encode(effect.message)
        encoded = clock()
        answers = [msgspec.to_builtins(e.message) for e in effects if isinstance(e, Send)]
        bare = clock()
        msgspec.msgpack.decode(frame)
        for answer in answers:
            msgspec.msgpack.encode(answer)
        packed = clock()
        steps = (decoded - began, refereed - decoded, encoded - refereed, encoded - began)
        return tuple(seconds * 1e6 for seconds in (*steps, packed - bare))

    def _ask(self, number: int, request: Request) -> list[Effect]:
        now = next(self._now)
        return self._stored(self._hub.receive(number, request, now), now)

    def _stored(self, effects: list[Effect], now: float) -> list[Effect]:
        """Return all effects, as if the requested storage were done at once."""
        numbers = [effect.number for effect in effects if isinstance(effect, Store)]
        return effects + self._hub.committed(numbers[-1], now) if numbers else effects


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
