"""Adjudicates matches whose result is proven: passes proofs of a prover process to the server.

The prover, `playout.players.prover`, gets positions as lines of JSON, and answers each with a line
of JSON.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import msgspec
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.process import reapAllProcesses
from twisted.internet.protocol import ProcessProtocol

from playout.commands.restarts import BackOff, Restarts
from playout.commands.subprocesses import LogFolder, own_environment
from playout.protocol.messages import Adjudicate, Event, Fixture, Request, Started, Update, Watch
from playout.protocol.proofs import ProofAnswer, ProofRequest

#: Seconds for which the prover searches a position.
_SECONDS = 0.05
PROVER = (
    sys.executable,
    "-P",
    "-m",
    "playout.players.prover.prover_process",
    "--seconds",
    str(_SECONDS),
)
_BACK_OFF = BackOff(first_s=0.5, longest_s=30.0)
_LOG = "prover"
_WATCH, _ADJUDICATE = "watch", "adjudicate"


class OpenMatches:
    """The latest position of each running match."""

    def __init__(self) -> None:
        self.positions: dict[str, ProofRequest] = {}

    def update(self, event: Event) -> Watch | ProofRequest | None:
        """Handle an event of the server; return the request that follows from it, or None.

        A `Watch` is for the server, a `ProofRequest` for the prover.
        """
        match event:
            case Fixture(winner=None):
                return Watch(id=_WATCH, match=event.match)
            case Fixture():
                self.positions.pop(event.match, None)
            case Started():
                return self._reached(event.match, event.game, event.moves, event.to_move)
            case Update(match=match_id) if known := self.positions.get(match_id):
                if event.ply == len(known.actions):
                    actions = (*known.actions, event.action)
                    return self._reached(match_id, known.game, actions, event.to_move)
        return None

    def adjudication(self, answer: ProofAnswer) -> Adjudicate | None:
        """Return the request to the server if an answer is a proof of the latest position."""
        position = self.positions.get(answer.match or "")
        if position is None or answer.winner is None or answer.ply != len(position.actions):
            return None
        return Adjudicate(
            id=_ADJUDICATE, match=position.match, ply=answer.ply, winner=answer.winner
        )

    def _reached(
        self, match_id: str, game: str, actions: tuple[int, ...], to_move: int
    ) -> ProofRequest | None:
        if to_move == 0:
            self.positions.pop(match_id, None)
            return None
        position = self.positions[match_id] = ProofRequest(match_id, game, actions)
        return position


class Adjudicator:
    """Keeps a prover process running, and passes messages between it and the server."""

    def __init__(
        self,
        reactor: Any,
        send: Callable[[Request], None],
        show: Callable[[str], None],
        logs: LogFolder,
    ) -> None:
        """`send` sends a request to the server; `show` shows a line to the user."""
        self._reactor = reactor
        self._send = send
        self._show = show
        self._logs = logs
        self._open_matches = OpenMatches()
        self._prover: Any = None
        self._restarts = Restarts(_BACK_OFF)
        self._shown: set[str] = set()

    def received(self, event: Event) -> None:
        """Handle an event of the server."""
        match self._open_matches.update(event):
            case Watch() as request:
                self._send(request)
            case ProofRequest() as position:
                self._ask(position)

    def poll(self, now: float) -> None:
        """Start the prover if it is not running and a start is due."""
        reapAllProcesses()  # the reactor does so only if it handles signals
        if self._prover is None and self._restarts.is_due(now):
            self._prover = self._start()
            for position in self._open_matches.positions.values():
                self._ask(position)

    def stop(self) -> None:
        """Kill the prover process, and start no other."""
        prover, self._prover = self._prover, None
        if prover:
            with contextlib.suppress(ProcessExitedAlready):
                prover.signalProcess("KILL")

    # Called by the protocol.

    def answered(self, line: bytes) -> None:
        """Handle a line of the prover."""
        try:
            answer = msgspec.json.decode(line, type=ProofAnswer)
        except msgspec.DecodeError as error:
            self._complain(f"its answer cannot be read: {error}")
            return
        self._restarts.succeeded()
        if answer.error:
            self._complain(answer.error)
        elif request := self._open_matches.adjudication(answer):
            self._send(request)

    def exited(self) -> None:
        """Note that the prover exited, so that `poll` starts it again; unless it was stopped."""
        if self._prover is None:
            return
        self._prover = None
        self._logs.wanted = True
        wait_s = self._restarts.failed(self._reactor.seconds())
        self._show(f"The prover has exited; it is started again in {wait_s:g} s. "
                   f"Its output: {self._logs.of(_LOG)}")  # fmt: skip

    def _start(self) -> Any:
        with self._logs.of(_LOG).open("ab") as log:
            return self._reactor.spawnProcess(
                _Protocol(self),
                PROVER[0],
                PROVER,
                env=own_environment(),
                childFDs={0: "w", 1: "r", 2: log.fileno()},
            )

    def _ask(self, position: ProofRequest) -> None:
        if self._prover:
            self._prover.write(msgspec.json.encode(position) + b"\n")

    def _complain(self, text: str) -> None:
        """Show an error of the prover once: it may repeat for every position."""
        if text not in self._shown:
            self._shown.add(text)
            self._show(f"The prover reports: {text}")


class _Protocol(ProcessProtocol):
    """Reads a prover's output. The prover exits when its input ends, also with this process."""

    def __init__(self, adjudicator: Adjudicator) -> None:
        self._adjudicator = adjudicator
        self._rest = b""

    def outReceived(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._adjudicator.answered(line)

    def outConnectionLost(self) -> None:
        self._adjudicator.exited()
