"""Two honest players, in a process of their own, and what they notice of all others."""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import socket
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import click

import games
from games import Game
from testbed.traffic import Message, TrafficPlayer

NAMES = ("Bystander first", "Bystander second")
CLOCK = "60+1"
#: What the player to move takes for it, until there is no hurry to wait for.
THOUGHT_S = 0.02
SILENCE_S = 20.0
PASSED_OVER = ("seeking", "notice", "ping")


@dataclass
class BystanderReport:
    """What the two have to say; `fault` is what should not have been, or empty."""

    matches: int = 0
    latencies_s: list[float] = field(default_factory=list)
    fault: str = ""


@contextlib.contextmanager
def playing(port: int, size: int = 19) -> Iterator[Bystanders]:
    """Two who play one match after the other, until they are asked to finish.

    They fill a board of `size` rows and columns at random; who gets a whole row wins.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_live, args=(port, size, there), daemon=True)
    process.start()
    there.close()
    try:
        here.recv()  # their first match has begun
        yield Bystanders(here)
    finally:
        process.terminate()
        process.join()
        here.close()


class Bystanders:
    """The other end of the line to them."""

    def __init__(self, line: Connection) -> None:
        self._line = line

    def finish(self) -> BystanderReport:
        """End the match that runs, without further thought, and say what was seen."""
        self._line.send("finish")
        try:
            seen = self._line.recv()
        except EOFError:
            raise click.ClickException("the bystanders' process ended") from None
        assert isinstance(seen, BystanderReport)
        return seen


def _live(port: int, size: int, line: Connection) -> None:
    seen = BystanderReport()
    game = games.load(f"mnk(m={size},n={size},k={size})")
    try:
        with contextlib.ExitStack() as stack:
            honest = [_Honest(port, number, stack) for number in range(2)]
            while not line.poll():
                _play(honest, game, line, seen)
    except Exception:  # whatever it is, who asked will say it
        seen.fault = traceback.format_exc()
        if not seen.matches:
            line.send("in vain")
    line.recv()
    line.send(seen)


class _Honest:
    """One of the two."""

    def __init__(self, port: int, number: int, stack: contextlib.ExitStack) -> None:
        lane = stack.enter_context(socket.create_connection(("127.0.0.1", port), SILENCE_S))
        lane.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.player = TrafficPlayer(number, NAMES[number], lane)
        self._said = self._messages()
        hello = {"type": "hello", "protocol_min": 1, "protocol_max": 1, "name": NAMES[number]}
        self.player.send(hello, 0.0)
        self.hear("welcome")

    def hear(self, kind: str) -> Message:
        """The next message of that kind; others may challenge, which is no concern of ours."""
        for message in self._said:
            if message["type"] == kind:
                return message
            if message["type"] not in PASSED_OVER:
                raise ValueError(f"{NAMES[self.player.number]} heard {message}, not {kind!r}")
        raise AssertionError

    def _messages(self) -> Iterator[Message]:
        while True:
            yield from self.player.received()


def _play(honest: Sequence[_Honest], game: Game, line: Connection, seen: BystanderReport) -> None:
    """One match, to its end, at random; both are told what the rules say."""
    for number, each in enumerate(honest):
        terms = {"game": str(game), "clock": CLOCK, "seat": number + 1}
        each.player.send({"type": "seek", "opponent": NAMES[1 - number], **terms}, 0.0)
    (match,) = {each.hear("started")["match"] for each in honest}
    if not seen.matches:
        line.send("begun")
    choose = random.Random(match).choice
    state, ply = game.initial_state(), 0
    while not game.winner(state):
        line.poll(THOUGHT_S)
        action = choose(game.legal_actions(state))
        state = game.next_state(state, action)
        mover = honest[ply % 2]
        started = time.perf_counter()
        mover.player.send({"type": "move", "match": match, "ply": ply, "action": action}, started)
        updates = [mover.hear("update")]
        seen.latencies_s.append(time.perf_counter() - started)
        updates.append(honest[1 - ply % 2].hear("update"))
        told = [(each["match"], each["ply"], tuple(each["state"])) for each in updates]
        if told != [(match, ply, state)] * 2:
            raise ValueError(f"action {action} as move {ply} of {match} was told as {updates}")
        ply += 1
    for each in honest:
        ended = each.hear("ended")
        if (ended["match"], tuple(ended["state"]), ended["reason"]) != (match, state, "rules"):
            raise ValueError(f"a match that stands at {state} ended so: {ended}")
    seen.matches += 1
