"""The server's work per move, and moves per second over TCP against a bare relay.

In process: the frame of a move is decoded, the hub checks and applies the move, and its messages to
both players are encoded; microseconds, the median over the moves of random matches. Both players
request legal actions, and the moves have ids, which is the most work; `plain` is without either.
The lower bound is the codec alone: unpack the move, pack the same answers.

Over TCP: a `playout-server` process, and many matches at once that this process plays at random.
The lower bound is a Twisted process that forwards each frame to both players, with the same
traffic. With many matches, latency is mostly queueing; with one, it is the latency of a move.
"""

from __future__ import annotations

import itertools
import random
import statistics
import time

import msgspec

from playout.protocol.codec import decode_request, encode
from playout.protocol.messages import Move, Seek, Started
from playout.server.core.effects import Effect, Send, Store
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import GAMES, Sample
from testbed.server_process import NOTHING_STORED, RELAY, UNLIMITED, serving
from testbed.timed_hub import TimedHub
from testbed.traffic import Dialogue, RelayDialogue, drive, rates, speed

# The time of the server's work for a move, step by step, without sockets.


#: The steps of a move, in order; then the codec alone, for the same move and the same answers.
STEPS = ("decode_us", "hub_us", "encode_us", "total_us", "codec_us")


class HubTiming:
    """Times a hub with two players, which is called as `playout.server.net.driver` calls it."""

    def __init__(self, game: str, *, full: bool) -> None:
        """With `full`, the players request legal actions and their moves have ids."""
        self._game = game
        self._full = full
        self._timed = TimedHub()
        self._choose = random.Random(1).choice
        for number in (1, 2):  # each sits in the seat with the number of its connection
            self._timed.client(f"player {number}", legal_actions=full)

    def medians(self, moves: int) -> dict[str, float]:
        """Return the median microseconds of each step, over random matches of `moves` moves."""
        taken: list[tuple[float, ...]] = []
        while len(taken) < moves:
            taken += self._match()
        columns = zip(*taken, strict=True)
        return {step: statistics.median(us) for step, us in zip(STEPS, columns, strict=True)}

    def _match(self) -> list[tuple[float, ...]]:
        self._timed.ask(1, Seek(game=self._game, seat=1))
        events = self._timed.ask(2, Seek(game=self._game, seat=2))
        match_id = next(each.match for each in events if isinstance(each, Started))
        match, taken = self._timed.hub.rooms[match_id].match, []
        while match.to_move:
            action = self._choose(match.game.legal_actions(match.state))
            request_id = match.ply if self._full else None
            move = Move(id=request_id, match=match_id, ply=match.ply, action=action)
            taken.append(self._move(match.to_move, encode(move)))
        return taken

    def _move(self, seat: int, frame: bytes) -> tuple[float, ...]:
        clock = time.perf_counter
        self._timed.now += 0.001
        began = clock()
        request = decode_request(frame)
        decoded = clock()
        effects = self._stored(self._timed.hub.receive(seat, request, self._timed.now))
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

    def _stored(self, effects: list[Effect]) -> list[Effect]:
        """Return all effects, as if the requested storage were done at once."""
        numbers = [effect.number for effect in effects if isinstance(effect, Store)]
        if not numbers:
            return effects
        return effects + self._timed.hub.committed(numbers[-1], self._timed.now)


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
            ratio = rates(ours).over(rates(bare))
            table.add(game=game, matches=matches, process="server", **speed(ours), ratio=ratio)
            table.add(game=game, matches=matches, process="relay", **speed(bare))
    return table
