"""Players' latency while fifty people have positions analysed by the server's bots.

A hundred matches are played with the clock `1/move`, with half a second from a move to the next;
all is stored in SQLite. Fifty users ask a bot of the server about positions of Connect Four, each
again as soon as its analysis is over. The server analyses in one process of the lowest priority
(`--analyses 1`); while other analyses wait, each has two seconds. The process of the users yields
the processor to all others, as if it ran elsewhere. Rounds without and with the users alternate on
the same server. Latency is the time from sending a move to the mover's own copy of its update.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

from testbed.bench import Bench, Column, ResultTable, Target
from testbed.machine import Helper, HelperReport, helper
from testbed.measure import Sample
from testbed.server_process import UNLIMITED, ServerProcess, allow_connections, serving, stored
from testbed.traffic import (
    EFFECTS,
    HELLO,
    SILENCE_S,
    Message,
    PacedLoad,
    PairedDialogue,
    TrafficPlayer,
    connect,
    effects,
    pace,
)

GAME, CLOCK, MOVE_S = "connect_four", "1/move", 0.5
MATCHES, USERS = 100, 50
BOT = "Max:strong=uct"

#: Ratio to the latency without analyses.
TARGET = Target("ratio", at_most=1.5)

COLUMNS = (
    *EFFECTS,
    Column("moves", "moves per round"),
    Column("late", "too late"),
    Column("analyses", "analyses per round"),
    Column("reports", "reports"),
    Column("waiting", "longest queue"),
)


class _ClockedDialogue(PairedDialogue):
    """A paired dialogue in which a busy machine may let a player's time run out."""

    #: Moves that came too late, so that matches were lost.
    late = 0

    def answer(self, player: TrafficPlayer, message: Message) -> Message | None:
        """Return the answer to a message; a move that came too late has none."""
        if message["type"] == "error" and message["code"] in ("match_over", "unknown_match"):
            self.late += 1
            return None
        return super().answer(player, message)


def run(bench: Bench) -> list[ResultTable]:
    """Return one table: the latency of moves without and with analyses."""
    allow_connections(2 * MATCHES + USERS)
    rounds, seconds = bench.pick(9, 2), bench.pick(12.0, 6.0)
    options = [f"--default-clock={CLOCK}", f"--bot={BOT}", "--analyses-per-hour=0"]
    without, within = list[PacedLoad](), list[PacedLoad]()
    late, received = list[int](), list[UsersReport]()
    with stored() as database, serving([*UNLIMITED, *options, database]) as served:
        for _ in bench.track(range(rounds)):
            without.append(_pace(served, seconds, _ClockedDialogue(GAME)))
            with analysing_users(served, USERS) as users:
                dialogue = _ClockedDialogue(GAME)
                within.append(_pace(served, seconds, dialogue))
                late.append(dialogue.late)
                users.ask("finish")
                received.append(users.answer())
    table = ResultTable("Players' latency without and with analyses", COLUMNS)
    for percent, cells in effects(without, within).items():
        table.add(
            TARGET if percent == 99 else None,
            **cells,
            moves=Sample(load.moves for load in within),
            late=Sample(late),
            analyses=Sample(each.analyses for each in received),
            reports=Sample(each.reports for each in received),
            waiting=Sample(each.waiting for each in received),
        )
    return [table]


def _pace(served: ServerProcess, seconds: float, dialogue: _ClockedDialogue) -> PacedLoad:
    return pace(served, GAME, MATCHES, seconds, move_s=MOVE_S, dialogue=dialogue)


# Users who ask bots of the server about positions all the time, in a process of their own.


#: The users yield the processor to all other processes, as if they were elsewhere.
NICE = 19


@dataclass
class UsersReport(HelperReport):
    """Messages that the users received: reports of bots, ends of analyses, the longest queue."""

    reports: int = 0
    analyses: int = 0
    waiting: int = 0


@contextlib.contextmanager
def analysing_users(served: ServerProcess, count: int) -> Iterator[Helper[UsersReport]]:
    """Let `count` users ask until the end of the block, which begins after the first report."""
    with helper("the users", _run, served.port, count, answer_s=3 * SILENCE_S) as users:
        users.answer()
        yield users


def _run(port: int, count: int, pipe: Connection) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    with contextlib.ExitStack() as stack:
        pipe.send(_ask_on(_connect(port, count, stack), pipe))


def _connect(port: int, count: int, stack: contextlib.ExitStack) -> list[TrafficPlayer]:
    users = [connect(port, number, f"user {number}", stack) for number in range(count)]
    for user in users:
        user.send(HELLO | {"name": user.name, "role": "spectator", "legal_actions": False})
        user.receive("welcome")
    return users


def _ask_on(users: list[TrafficPlayer], pipe: Connection) -> UsersReport:
    """Ask until the request to finish; send an empty report after the first report of a bot."""
    report, numbers = UsersReport(), itertools.count()

    def ask(user: TrafficPlayer) -> None:
        number = next(numbers)
        moves = [number % 7, number // 7 % 7, number // 49 % 7]
        user.send({"type": "analyse", "game": GAME, "moves": moves})

    def receive(user: TrafficPlayer, message: Message) -> None:
        if message["type"] == "error":
            raise ValueError(message["text"])
        report.waiting = max(report.waiting, message.get("place", 0))
        if message["type"] != "analysis_update":
            return
        if "info" in message:
            report.reports += 1
            if report.reports == 1:
                pipe.send(UsersReport())
        if message.get("over"):
            report.analyses += 1
            ask(user)

    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        for user in users:
            selector.register(user.connection, selectors.EVENT_READ, user)
            ask(user)
        while True:
            for key, _ in selector.select():
                if key.data is None:
                    pipe.recv()
                    return report
                for message in key.data.received():
                    receive(key.data, message)
