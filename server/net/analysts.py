"""The processes that analyse positions and prove results; messages are lines of JSON."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from typing import IO, Any

import msgspec
from twisted.internet.protocol import Factory
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

from playout.commands.subprocesses import (
    FEW_THREADS,
    LOWEST_NICENESS,
    Process,
    how_it_ended,
    last_lines,
    own_environment,
    send,
    start_own,
    stop,
)
from playout.protocol.analyst import (
    AnalysisOrder,
    AnalysisReport,
    AnalystOrder,
    ProofOrder,
    StopOrder,
)
from playout.server.core.effects import EndAnalysis, StartAnalysis

_ANALYST = "playout.players.analyst.analyst_process:main"
#: Players have priority. Proofs save time of a tournament, and have priority over analyses.
ANALYST_NICENESS, PROVER_NICENESS = LOWEST_NICENESS, 10
#: Seconds without an order after which a process is killed, because its trees take memory.
IDLE_S = 60.0
#: Seconds in which a process must end an analysis when it is asked to.
_STOP_S = 5.0
#: Seconds between two checks whether a process that analyses is stopped, as by SIGSTOP.
_CHECK_S = 0.5
_LONGEST_LINE = 2**20


class Analysts:
    """Gives each order to an idle process of its niceness, and starts one if none is idle."""

    def __init__(self, reactor: Any, reported: Callable[[AnalysisReport], None]) -> None:
        """`reported` is called with each report; the last one of an order has `over` set."""
        self._reactor = reactor
        self._reported = reported
        self._processes: set[_Analyst] = set()
        #: Processes that were killed and may not have exited yet.
        self._killed: list[Process] = []

    def start(self, effect: StartAnalysis) -> None:
        """Have an order worked on; its last report follows in any case."""
        order = effect.order
        self._killed = [each for each in self._killed if each.poll() is None]
        niceness = PROVER_NICENESS if isinstance(order, ProofOrder) else ANALYST_NICENESS
        idle = (each for each in self._processes if each.order is None)
        analyst = next((each for each in idle if each.niceness == niceness), None)
        if analyst is None:
            try:
                analyst = self._new(niceness)
            except OSError as error:
                text = f"the analysis cannot be started: {error}"
                failed = AnalysisReport(order.analysis, over=True, error=text)
                self._reactor.callLater(0, self._reported, failed)
                return
        analyst.give(order)

    def end(self, effect: EndAnalysis) -> None:
        """End an analysis, whose last report follows."""
        for each in self._processes:
            if each.order and each.order.analysis == effect.analysis:
                each.stop(effect.analysis)

    def close(self) -> None:
        """Kill all processes, which have nothing to save, and wait until they have exited."""
        processes, self._processes = self._processes, set()
        stop([*(each.process for each in processes), *self._killed], 0.0)

    # Called by an analyst.

    def received(self, report: AnalysisReport) -> None:
        """Pass on a report of an analyst."""
        self._reported(report)

    def exited(self, analyst: _Analyst) -> None:
        """Report that the order of a process that has exited is over."""
        if analyst not in self._processes:
            return
        self._processes.remove(analyst)
        self._killed.append(analyst.process)
        if analyst.order:
            text = f"the analysis has failed: {analyst.why()}"
            self._reported(AnalysisReport(analyst.order.analysis, over=True, error=text))

    def _new(self, niceness: int) -> _Analyst:
        ours, its = socket.socketpair()
        with its, ours:
            output = tempfile.TemporaryFile()  # noqa: SIM115 - until the process has exited
            process = start_own(
                _ANALYST,
                environment=own_environment() | FEW_THREADS,
                niceness=niceness,
                log=output,
                input_=its.fileno(),
            )
            analyst = _Analyst(self, self._reactor, process, output, niceness)
            ours.setblocking(False)
            factory = Factory.forProtocol(lambda: analyst)
            self._reactor.adoptStreamConnection(ours.fileno(), socket.AF_UNIX, factory)
        self._processes.add(analyst)
        return analyst


class _Analyst(LineOnlyReceiver):
    """A process, and the connection to it."""

    delimiter = b"\n"
    MAX_LENGTH = _LONGEST_LINE

    def __init__(
        self,
        analysts: Analysts,
        reactor: Any,
        process: Process,
        output: IO[bytes],
        niceness: int,
    ) -> None:
        self.process = process
        self.niceness = niceness
        #: The order that it works on; None while it is idle.
        self.order: AnalysisOrder | ProofOrder | None = None
        self._analysts = analysts
        self._reactor = reactor
        self._output = output
        #: Kills the process if it is idle or does not end an analysis.
        self._kill_timer: Any = None
        self._check_timer: Any = None

    def give(self, order: AnalysisOrder | ProofOrder) -> None:
        """Give it an order; it must be idle."""
        self.order = order
        self._kill_after(None)
        self._say(order)
        if not (self._check_timer and self._check_timer.active()):
            self._check()

    def stop(self, analysis: str) -> None:
        """Ask it to end an analysis, and kill it if it does not within seconds."""
        self._say(StopOrder(analysis))
        self._kill_after(_STOP_S)

    def why(self) -> str:
        """The reason of its exit, with the last line of its output."""
        self.process.wait()
        with self._output as output:
            return ": ".join([f"the process {how_it_ended(self.process)}", *last_lines(output, 1)])

    def lineReceived(self, line: bytes) -> None:
        """Called by Twisted: a report has arrived."""
        report = msgspec.json.decode(line, type=AnalysisReport)
        if report.over:
            self.order = None
            self._kill_after(IDLE_S)
        self._analysts.received(report)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """Called by Twisted: the process has exited, or has closed its end and is killed."""
        self._kill_after(None)
        if self._check_timer and self._check_timer.active():
            self._check_timer.cancel()
        send(self.process, signal.SIGKILL)
        self._analysts.exited(self)

    def _say(self, order: AnalystOrder) -> None:
        with contextlib.suppress(AttributeError):  # the connection is being closed
            self.sendLine(msgspec.json.encode(order))  # type: ignore[no-untyped-call]

    def _check(self) -> None:
        """Kill the process if it is stopped while it has an order: it would never report again."""
        if self.order is None:
            return
        if _is_stopped(self.process):
            send(self.process, signal.SIGKILL)
        else:
            self._check_timer = self._reactor.callLater(_CHECK_S, self._check)

    def _kill_after(self, seconds: float | None) -> None:
        if self._kill_timer and self._kill_timer.active():
            self._kill_timer.cancel()
        if seconds is not None:
            self._kill_timer = self._reactor.callLater(seconds, send, self.process, signal.SIGKILL)


def _is_stopped(process: Process) -> bool:
    """Whether a process is stopped by a signal; one that has exited is left to `Process.poll`."""
    try:
        return bool(os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT))
    except ChildProcessError:
        return False
