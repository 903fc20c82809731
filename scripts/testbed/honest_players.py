"""Two honest players in a process of their own, which report faults and latencies of the server."""

from __future__ import annotations

import contextlib
import random
import socket
import ssl
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection

from playout import games
from playout.games import Game
from testbed.machine import Helper, HelperReport, helper
from testbed.traffic import Message, TrafficPlayer

NAMES = ("Honest first", "Honest second")
CLOCK = "60+1"
#: Seconds before each move, until the word to finish.
THINK_S = 0.02
SILENCE_S = 20.0
#: Longest time from the word to finish to the end of the match.
FINISH_S = 120.0
IGNORED = ("seeking", "notice", "ping")


@dataclass
class HonestPlayersReport(HelperReport):
    """Matches that both players have finished, and the latencies of their moves."""

    matches: int = 0
    latencies_s: list[float] = field(default_factory=list)


@contextlib.contextmanager
def playing(
    port: int, size: int = 19, *, tls: bool = False
) -> Iterator[Helper[HonestPlayersReport]]:
    """Run two players that play match after match until they are sent the word "finish".

    They fill a board of `size` rows and columns at random; a full row wins. They finish their match
    without delay, and report; a wrong message of the server is a fault. With `tls` they accept any
    certificate.
    """
    run = partial(helper, "the honest players", _run, answer_s=FINISH_S, method="forkserver")
    with run(port, size, tls) as players:
        players.answer()  # their first match has started
        yield players


def _run(port: int, size: int, tls: bool, pipe: Connection) -> None:
    report = HonestPlayersReport()
    game = games.load(f"mnk(m={size},n={size},k={size})")
    try:
        with contextlib.ExitStack() as stack:
            honest = [_HonestPlayer(port, number, tls, stack) for number in range(2)]
            while not pipe.poll():
                _play(honest, game, pipe, report)
    except Exception:  # the earlier measurements are reported, too
        if not report.latencies_s:
            raise
        report.fault = traceback.format_exc()
    pipe.recv()
    pipe.send(report)


class _HonestPlayer:
    """One of the two players, with its connection."""

    def __init__(self, port: int, number: int, tls: bool, stack: contextlib.ExitStack) -> None:
        connection = socket.create_connection(("127.0.0.1", port), SILENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            connection = ssl._create_unverified_context().wrap_socket(connection)
        stack.enter_context(connection)
        self.player = TrafficPlayer(number, NAMES[number], connection)
        self._received = self._messages()
        hello = {"type": "hello", "protocol_min": 1, "protocol_max": 1, "name": NAMES[number]}
        self.player.send(hello, 0.0)
        self.receive("welcome")

    def receive(self, kind: str) -> Message:
        """Return the next message of that type; skip seeks and notices of other peers."""
        for message in self._received:
            if message["type"] == kind:
                return message
            if message["type"] not in IGNORED:
                raise ValueError(f"{NAMES[self.player.number]} received {message}, not {kind!r}")
        raise AssertionError

    def _messages(self) -> Iterator[Message]:
        while True:
            yield from self.player.received()


def _play(
    honest: Sequence[_HonestPlayer], game: Game, pipe: Connection, report: HonestPlayersReport
) -> None:
    """Play one random match to its end; raise ValueError if a message contradicts the rules."""
    for number, each in enumerate(honest):
        terms = {"game": str(game), "clock": CLOCK, "seat": number + 1}
        each.player.send({"type": "seek", "opponent": NAMES[1 - number], **terms}, 0.0)
    (match,) = {each.receive("started")["match"] for each in honest}
    if not report.matches:
        pipe.send(HonestPlayersReport())
    choose = random.Random(match).choice
    state, ply = game.initial_state(), 0
    while not game.winner(state):
        pipe.poll(THINK_S)
        action = choose(game.legal_actions(state))
        state = game.next_state(state, action)
        mover = honest[ply % 2]
        started = time.perf_counter()
        mover.player.send({"type": "move", "match": match, "ply": ply, "action": action}, started)
        updates = [mover.receive("update")]
        report.latencies_s.append(time.perf_counter() - started)
        updates.append(honest[1 - ply % 2].receive("update"))
        received = [(each["match"], each["ply"], tuple(each["state"])) for each in updates]
        if received != [(match, ply, state)] * 2:
            raise ValueError(f"action {action} as move {ply} of {match} was announced as {updates}")
        ply += 1
    for each in honest:
        ended = each.receive("ended")
        if (ended["match"], tuple(ended["state"]), ended["reason"]) != (match, state, "rules"):
            raise ValueError(f"a match that stands at {state} ended so: {ended}")
    report.matches += 1
