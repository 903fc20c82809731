"""The time of the server's work for a move, step by step, without sockets."""

from __future__ import annotations

import itertools
import random
import statistics
import time

import msgspec

from server.core.assembly import make_hub
from server.core.effects import Effect, Send, Store
from server.core.policy import Policy
from server.model.codec import decode_request, encode
from server.model.messages import Hello, Move, Request, Seek, Started

#: The steps of a move, in order; then the codec alone, for the same move and the same answers.
STEPS = ("decode_us", "hub_us", "encode_us", "total_us", "codec_us")


class HubTiming:
    """Times a hub with two players, called as `server.net.driver` calls it."""

    def __init__(self, game: str, *, full: bool) -> None:
        """With `full`, the players request legal actions and their moves have ids."""
        self._game = game
        self._full = full
        self._hub = make_hub(Policy(messages_per_s=0), random.Random(1))
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
