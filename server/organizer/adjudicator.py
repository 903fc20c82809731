"""Matches that are as good as over: a process proves how they end, and the server is told."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.process import reapAllProcesses
from twisted.internet.protocol import ProcessProtocol

from server.model.messages import Adjudicate, Event, Fixture, Request, Started, Update, Watch
from server.runtime.subprocesses import LogFolder, own_environment

#: How long the prover looks at a position.
SECONDS = 0.05
PROVER = (sys.executable, "-P", "-m", "players.prover", "--seconds", str(SECONDS))
#: How long it waits before the prover is started again, first and at most.
_BACK_OFF_S, _LONGEST_BACK_OFF_S = 0.5, 30.0
_LOG = "prover"
_WATCH, _ADJUDICATE = "watch", "adjudicate"


class ProofRequest(Struct, frozen=True):
    """What the prover is asked: a match as far as it has come."""

    match: str
    game: str
    actions: tuple[int, ...]


class ProofAnswer(Struct, frozen=True):
    """What it says: who wins after `ply` actions, None if that is not proven; or an error."""

    match: str | None
    ply: int = 0
    winner: Literal[1, 2, -1] | None = None
    error: str | None = None


class OpenMatches:
    """The matches that are played, as far as they have come."""

    def __init__(self) -> None:
        self.positions: dict[str, ProofRequest] = {}

    def take(self, event: Event) -> Watch | ProofRequest | None:
        """What to ask, the server or the prover, when the server has said this."""
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

    def verdict(self, answer: ProofAnswer) -> Adjudicate | None:
        """What to tell the server, if something is proven and the match still stands so."""
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
    """Keeps a prover, and passes between it and the server."""

    def __init__(
        self,
        reactor: Any,
        send: Callable[[Request], None],
        say: Callable[[str], None],
        logs: LogFolder,
    ) -> None:
        """`send` is to the server, `say` to the user."""
        self._reactor = reactor
        self._send = send
        self._say = say
        self._logs = logs
        self._docket = OpenMatches()
        self._prover: Any = None
        self._again_at = 0.0
        self._failures = 0
        self._said: set[str] = set()

    def received(self, event: Event) -> None:
        """The server says something."""
        match self._docket.take(event):
            case Watch() as request:
                self._send(request)
            case ProofRequest() as position:
                self._ask(position)

    def look(self, now: float) -> None:
        """Start the prover, if there is none and it is time to."""
        reapAllProcesses()  # the reactor does so only where signals are its own
        if self._prover is None and now >= self._again_at:
            self._prover = self._start()
            for position in self._docket.positions.values():
                self._ask(position)

    def stop(self) -> None:
        """End the prover."""
        prover, self._prover = self._prover, None
        if prover:
            with contextlib.suppress(ProcessExitedAlready):
                prover.signalProcess("KILL")

    # What the prover tells.

    def answered(self, line: bytes) -> None:
        """It has looked at a position."""
        try:
            answer = msgspec.json.decode(line, type=ProofAnswer)
        except msgspec.DecodeError as error:
            self._complain(f"its answer makes no sense: {error}")
            return
        self._failures = 0
        if answer.error:
            self._complain(answer.error)
        elif request := self._docket.verdict(answer):
            self._send(request)

    def ended(self) -> None:
        """It is gone."""
        if self._prover is None:
            return
        self._prover = None
        self._logs.wanted = True
        wait_s = min(_LONGEST_BACK_OFF_S, _BACK_OFF_S * 2**self._failures)
        self._failures += 1
        self._again_at = self._reactor.seconds() + wait_s
        self._say(f"The prover has ended; it is started again in {wait_s:g} s. "
                  f"Its output: {self._logs.of(_LOG)}")  # fmt: skip

    # The rest.

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
        """Once of each: it may be so for every position."""
        if text not in self._said:
            self._said.add(text)
            self._say(f"The prover says: {text}")


class _Protocol(ProcessProtocol):
    """One prover; it ends with its input, so that it does not outlive this process."""

    def __init__(self, adjudicator: Adjudicator) -> None:
        self._adjudicator = adjudicator
        self._rest = b""

    def outReceived(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._adjudicator.answered(line)

    def outConnectionLost(self) -> None:
        self._adjudicator.ended()
