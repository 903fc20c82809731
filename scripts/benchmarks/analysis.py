"""Players' latency while fifty people have positions analysed by the server's bots.

A hundred matches are played with the clock `1/move`, with half a second from a move to the next;
all is stored in SQLite. Fifty people ask the server's bot about positions of Connect Four, each
again as soon as its analysis is over. The server analyses in one process of the lowest priority
(`--analyses 1`); while others wait, each analysis has two seconds. The people's process yields the
processor to all others, as if it ran elsewhere. Rounds without and with them alternate on the same
server. Latency is the time from sending a move to the mover's own copy of its update.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import socket
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import NamedTuple

import click

from testbed.bench import Bench, Column, ResultTable, Target
from testbed.machine import piped_process
from testbed.measure import Sample, percentile
from testbed.paced_matches import PacedLoad, PairedDialogue, pace
from testbed.server_process import UNLIMITED, ServerProcess, allow_connections, serving, stored
from testbed.traffic import SILENCE_S, Message, TrafficPlayer

# People who ask a server's bots about positions all the time, in a process of their own.
#
# Each asks about another position as soon as its analysis is over.


GAME = "connect_four"
#: The people yield the processor to all others, as if they were elsewhere.
NICE = 19


@dataclass
class AskedReport:
    """What the people were told: reports of bots, and analyses to their end; `fault` or empty."""

    reports: int = 0
    analyses: int = 0
    waiting: int = 0
    fault: str = ""


@contextlib.contextmanager
def asking(served: ServerProcess, count: int) -> Iterator[Askers]:
    """Let `count` people ask until the end of the block, from when a bot has answered the first."""
    with piped_process(_run, served.port, count) as pipe:
        askers = Askers(pipe)
        askers.answer()
        yield askers


class Askers:
    """A handle to the process of the people who ask."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def finish(self) -> AskedReport:
        """Let them ask nothing more, and return the report. Raises ClickException for a fault."""
        self._pipe.send("finish")
        return self.answer()

    def answer(self) -> AskedReport:
        """Wait for the next report. Raises ClickException for a fault, or without an answer."""
        if not self._pipe.poll(3 * SILENCE_S):
            raise click.ClickException("the people who ask do not answer")
        report: AskedReport = self._pipe.recv()
        if report.fault:
            raise click.ClickException(f"people who ask: {report.fault}")
        return report


def _run(port: int, count: int, pipe: Connection) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    try:
        with contextlib.ExitStack() as stack:
            pipe.send(_ask_on(_connect(port, count, stack), pipe))
    except Exception:
        pipe.send(AskedReport(fault=traceback.format_exc()))


def _connect(port: int, count: int, stack: contextlib.ExitStack) -> list[TrafficPlayer]:
    people = []
    for number in range(count):
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        person = TrafficPlayer(number, f"asker {number}", connection)
        hello = {"protocol_min": 1, "protocol_max": 1, "guest": True, "role": "spectator"}
        person.send({"type": "hello", "name": person.name, **hello}, 0.0)
        person.receive_one()
        people.append(person)
    return people


def _ask_on(people: list[TrafficPlayer], pipe: Connection) -> AskedReport:
    """Ask until the request to finish; say so when the first report of a bot has come."""
    report, numbers = AskedReport(), itertools.count()

    def ask(person: TrafficPlayer) -> None:
        number = next(numbers)
        moves = [number % 7, number // 7 % 7, number // 49 % 7]
        person.send({"type": "analyse", "game": GAME, "moves": moves}, 0.0)

    def receive(person: TrafficPlayer, message: Message) -> None:
        if message["type"] == "error":
            raise ValueError(message["text"])
        report.waiting = max(report.waiting, message.get("place", 0))
        if message["type"] != "analysis_update":
            return
        if not report.reports:
            pipe.send(AskedReport())
        report.reports += "info" in message
        if message.get("over"):
            report.analyses += 1
            ask(person)

    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        for person in people:
            selector.register(person.connection, selectors.EVENT_READ, person)
            ask(person)
        while True:
            for key, _ in selector.select():
                if key.data is None:
                    pipe.recv()
                    return report
                for message in key.data.received():
                    receive(key.data, message)


CLOCK, MOVE_S = "1/move", 0.5
MATCHES, PEOPLE = 100, 50
BOT = "Max:strong=uct"

#: Ratio to the latency without analyses.
TARGET = Target("ratio", at_most=1.5)

COLUMNS = (
    Column("latency", "latency"),
    Column("without_ms", "without, ms", ".2f"),
    Column("within_ms", "with, ms", ".2f"),
    Column("ratio", "ratio", ".2f"),
    Column("moves", "moves per round"),
    Column("late", "too late"),
    Column("analyses", "analyses per round"),
    Column("reports", "reports"),
    Column("waiting", "longest queue"),
)


class _ClockedLoad(NamedTuple):
    """A round: what was measured, and how many moves came too late, so that matches were lost."""

    paced: PacedLoad
    late: int


class _ClockedDialogue(PairedDialogue):
    """A paired dialogue in which a busy machine may let a player's time run out."""

    late = 0

    def answer(self, player: TrafficPlayer, message: Message) -> Message | None:
        """Return the answer to a message; a move that came too late has none."""
        if message["type"] == "error" and message["code"] in ("match_over", "unknown_match"):
            self.late += 1
            return None
        return super().answer(player, message)


def run(bench: Bench) -> list[ResultTable]:
    """Return one table: the latency of moves without and with analyses."""
    allow_connections(2 * MATCHES + PEOPLE)
    rounds, seconds = bench.pick(9, 2), bench.pick(12.0, 6.0)
    options = [f"--default-clock={CLOCK}", f"--bot={BOT}", "--analyses-per-hour=0"]
    without, within, asked = list[_ClockedLoad](), list[_ClockedLoad](), list[AskedReport]()
    with stored() as database, serving([*UNLIMITED, *options, database]) as served:
        for _ in bench.track(range(rounds)):
            without.append(_pace(served, seconds))
            with asking(served, PEOPLE) as people:
                within.append(_pace(served, seconds))
                asked.append(people.finish())
    table = ResultTable("Players' latency without and with analyses", COLUMNS)
    for percent in (50, 99):
        bare, busy = _latency_ms(without, percent), _latency_ms(within, percent)
        table.add(
            TARGET if percent == 99 else None,
            latency=f"{percent} %",
            without_ms=bare,
            within_ms=busy,
            ratio=busy.over(bare),
            moves=Sample(load.paced.moves for load in within),
            late=Sample(load.late for load in within),
            analyses=Sample(each.analyses for each in asked),
            reports=Sample(each.reports for each in asked),
            waiting=Sample(each.waiting for each in asked),
        )
    return [table]


def _pace(served: ServerProcess, seconds: float) -> _ClockedLoad:
    dialogue = _ClockedDialogue(GAME)
    paced = pace(served, GAME, MATCHES, seconds, move_s=MOVE_S, dialogue=dialogue)
    return _ClockedLoad(paced, dialogue.late)


def _latency_ms(loads: list[_ClockedLoad], percent: float) -> Sample:
    return Sample(percentile(load.paced.latencies_s, percent) * 1e3 for load in loads)
