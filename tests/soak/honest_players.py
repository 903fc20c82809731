"""Two honest players in a process of their own, which report faults and latencies of the server."""

from __future__ import annotations

import contextlib
import random
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection

from playout import games
from playout.games import Game
from testbed.machine import Helper, HelperReport, helper, own_processor_seconds
from testbed.traffic import Message, TrafficPlayer, connect

NAMES = ("Honest first", "Honest second")
CLOCK = "60+1"
#: Seconds before each move, until the word to finish.
THINK_S = 0.02
#: Longest time from the word to finish to the end of the match.
FINISH_S = 120.0
IGNORED = ("seeking", "notice", "ping")


@dataclass
class HonestPlayersReport(HelperReport):
    """Matches that both players have finished, and the latencies of their moves.

    `work_s`: the processor time of the server during each of them, if its process is known.
    """

    matches: int = 0
    latencies_s: list[float] = field(default_factory=list)
    work_s: list[float] = field(default_factory=list)


@contextlib.contextmanager
def playing(
    port: int, size: int = 19, *, tls: bool = False, server: int | None = None
) -> Iterator[Helper[HonestPlayersReport]]:
    """Run two players that play match after match until they are sent the word "finish".

    They fill a board of `size` rows and columns at random; a full row wins. They finish their match
    without delay, and report; a wrong message of the server is a fault. With `tls` they accept any
    certificate. `server` is the process of the server, whose work during each move is measured.
    """
    run = partial(helper, "the honest players", _run, answer_s=FINISH_S, method="forkserver")
    with run(port, size, tls, server) as players:
        players.answer()  # their first match has started
        yield players


def _run(port: int, size: int, tls: bool, server: int | None, pipe: Connection) -> None:
    report = HonestPlayersReport()
    game = games.load(f"mnk(m={size},n={size},k={size})")
    try:
        with contextlib.ExitStack() as stack:
            honest = [_log_in(port, number, tls, stack) for number in range(2)]
            while not pipe.poll():
                _play(honest, game, pipe, report, server)
    except Exception:  # the earlier measurements are reported, too
        if not report.latencies_s:
            raise
        report.fault = traceback.format_exc()
    pipe.recv()
    pipe.send(report)


def _work_s(server: int | None) -> float:
    return 0.0 if server is None else own_processor_seconds(server)


def _log_in(port: int, number: int, tls: bool, stack: contextlib.ExitStack) -> TrafficPlayer:
    player = connect(port, number, NAMES[number], stack, tls=tls)
    player.send({"type": "hello", "protocol_min": 1, "protocol_max": 1, "name": NAMES[number]})
    player.receive("welcome")
    return player


def _require_ignored(message: Message) -> None:
    """Raise ValueError for a message that is none of those that other peers cause."""
    if message["type"] not in IGNORED:
        raise ValueError(f"unexpected: {message}")


def _play(
    honest: Sequence[TrafficPlayer],
    game: Game,
    pipe: Connection,
    report: HonestPlayersReport,
    server: int | None,
) -> None:
    """Play one random match to its end; raise ValueError if a message contradicts the rules."""
    for number, each in enumerate(honest):
        terms = {"game": str(game), "clock": CLOCK, "seat": number + 1}
        each.send({"type": "seek", "opponent": NAMES[1 - number], **terms})
    (match,) = {each.receive("started", _require_ignored)["match"] for each in honest}
    if not report.matches:
        pipe.send(HonestPlayersReport())
    choose = random.Random(match).choice
    state, ply = game.initial_state(), 0
    while not game.winner(state):
        pipe.poll(THINK_S)
        action = choose(game.legal_actions(state))
        state = game.next_state(state, action)
        mover = honest[ply % 2]
        started, work_s = time.perf_counter(), _work_s(server)
        mover.send({"type": "move", "match": match, "ply": ply, "action": action})
        updates = [mover.receive("update", _require_ignored)]
        report.latencies_s.append(time.perf_counter() - started)
        report.work_s.append(_work_s(server) - work_s)
        updates.append(honest[1 - ply % 2].receive("update", _require_ignored))
        received = [(each["match"], each["ply"], tuple(each["state"])) for each in updates]
        if received != [(match, ply, state)] * 2:
            raise ValueError(f"action {action} as move {ply} of {match} was announced as {updates}")
        ply += 1
    for each in honest:
        ended = each.receive("ended", _require_ignored)
        if (ended["match"], tuple(ended["state"]), ended["reason"]) != (match, state, "rules"):
            raise ValueError(f"a match that stands at {state} ended so: {ended}")
    report.matches += 1
