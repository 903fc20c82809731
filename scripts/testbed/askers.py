"""People who ask a server's bots about positions all the time, in a process of their own.

Each asks about another position as soon as its analysis is over.
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

import click

from testbed.piped_process import piped_process
from testbed.server_process import ServerProcess
from testbed.traffic import SILENCE_S, Message, TrafficPlayer

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
