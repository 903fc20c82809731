"""The processes that analyse positions and prove results; messages are lines of JSON."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from playout.commands.child import Child, Program, stop
from playout.commands.subprocesses import FEW_THREADS, LOWEST_NICENESS, own_environment
from playout.protocol.analyst import (
    AnalysisOrder,
    AnalysisReport,
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


class Analysts:
    """Gives each order to an idle process of its niceness, and starts one if none is idle."""

    def __init__(self, reactor: Any, reported: Callable[[AnalysisReport], None]) -> None:
        """`reported` is called with each report; the last one of an order has `over` set."""
        self._reactor = reactor
        self._reported = reported
        self._processes: set[_Analyst] = set()

    def start(self, effect: StartAnalysis) -> None:
        """Have an order worked on; its last report follows in any case."""
        order = effect.order
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
        stop([each.child for each in self._processes], 0.0)

    # Called by an analyst.

    def received(self, report: AnalysisReport) -> None:
        """Pass on a report of an analyst."""
        self._reported(report)

    def exited(self, analyst: _Analyst) -> None:
        """Report that the order of a process that has exited is over."""
        self._processes.remove(analyst)
        if analyst.order:
            text = f"the analysis has failed: the process {analyst.child.why()}"
            self._reported(AnalysisReport(analyst.order.analysis, over=True, error=text))

    def _new(self, niceness: int) -> _Analyst:
        environment = own_environment() | FEW_THREADS
        child = Program.own(_ANALYST, environment=environment, niceness=niceness).start(talks=True)
        analyst = _Analyst(self, self._reactor, child, niceness)
        self._processes.add(analyst)
        return analyst


class _Analyst:
    """A process, and its order."""

    def __init__(self, analysts: Analysts, reactor: Any, child: Child, niceness: int) -> None:
        self.child = child
        self.niceness = niceness
        #: The order that it works on; None while it is idle.
        self.order: AnalysisOrder | ProofOrder | None = None
        self._analysts = analysts
        self._reactor = reactor
        #: Kills the process if it is idle or does not end an analysis.
        self._kill_timer: Any = None
        self._check_timer: Any = None
        child.listen(reactor, AnalysisReport, self._received)
        child.when_exited(reactor, self._exited)

    def give(self, order: AnalysisOrder | ProofOrder) -> None:
        """Give it an order; it must be idle."""
        self.order = order
        self._kill_after(None)
        self.child.say(order)
        if not (self._check_timer and self._check_timer.active()):
            self._check()

    def stop(self, analysis: str) -> None:
        """Ask it to end an analysis, and kill it if it does not within seconds."""
        self.child.say(StopOrder(analysis))
        self._kill_after(_STOP_S)

    def _received(self, report: AnalysisReport) -> None:
        if report.over:
            self.order = None
            self._kill_after(IDLE_S)
        self._analysts.received(report)

    def _exited(self) -> None:
        self._kill_after(None)
        if self._check_timer and self._check_timer.active():
            self._check_timer.cancel()
        self._analysts.exited(self)

    def _check(self) -> None:
        """Kill the process if it is stopped while it has an order: it would never report again."""
        if self.order is None:
            return
        if self.child.is_stopped:
            self.child.send(signal.SIGKILL)
        else:
            self._check_timer = self._reactor.callLater(_CHECK_S, self._check)

    def _kill_after(self, seconds: float | None) -> None:
        if self._kill_timer and self._kill_timer.active():
            self._kill_timer.cancel()
        if seconds is not None:
            self._kill_timer = self._reactor.callLater(seconds, self.child.send, signal.SIGKILL)
