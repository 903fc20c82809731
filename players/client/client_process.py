"""Runs a connected player in this process, and ends the process if the player's code never returns.

A player may be any program. Python cannot end a thread from outside, so that only the process can
be ended:

* `ExitTimer` is a thread. It prints a sentence, and exits. It runs while other threads run Python
  code, and compiled code that releases Python's global lock.
* `StallAlarm` is a timer of the system. It also ends a process in which compiled code keeps that
  lock, so that no other thread of Python runs, and no handler of a signal.
* `signal_guard` is a process that kills this one if it does not react to a signal. Players that
  Playout has started need none: they are killed anyway.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from playout.commands import signals
from playout.commands.connect_options import ServerAddress
from playout.commands.identity import SESSION_FD, Identity
from playout.players.client import signal_guard
from playout.players.client.active_match import ResultCounts
from playout.players.client.agent import Agent, PlayerCache, PlayRequest
from playout.players.client.player_console import PlayerConsole

#: Seconds after a signal in which the event loop must handle it.
REACT_S = 2.0
#: Seconds in which threads must end when the process is to exit.
EXIT_S = 1.0
#: Seconds after a signal until the guard kills a process that has not exited by itself.
_KILL_S = REACT_S + EXIT_S
#: Seconds between two renewals of the alarm.
_RENEW_S = 5.0
#: The variable that a tournament sets for the processes of entrants.
_OF_ENTRANTS = "PLAYOUT_PROCESS"
_TEXT = b"The code of the player does not return: the process ends without it.\n"


def play(
    server: ServerAddress,
    cache: PlayerCache,
    request: PlayRequest,
    identity: Identity,
    console: PlayerConsole,
    retry_s: float,
) -> tuple[ResultCounts, int]:
    """Play until done, interrupted or refused; return the results and the exit code.

    Exits instead if the player's code does not return.
    """
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    codes: list[int] = []
    exit_timer, stalls = ExitTimer(), StallAlarm(reactor)

    def finished(code: int) -> None:
        codes.append(code)
        exit_timer.start(EXIT_S, code)  # the reactor waits for its threads
        reactor.callLater(0.05, reactor.stop)

    def on_signal(number: int, call: Callable[..., None], *arguments: int) -> None:
        def react() -> None:
            if not codes:
                exit_timer.stop()
                call(*arguments)

        def handle(*_: object) -> None:
            exit_timer.start(REACT_S, codes[0] if codes else 128 + number)
            reactor.callFromThread(react)

        signal.signal(number, handle)

    agent = Agent(reactor, cache, request, identity, console, finished, stalls.allow)
    connection = server.connection(
        reactor, agent, retry_s, measures_round_trip=True, repeats_requests=True
    )
    agent.use(connection)
    reactor.callWhenRunning(connection.open)
    on_signal(signal.SIGINT, agent.interrupt)
    on_signal(signal.SIGTERM, agent.leave, 143)
    with _woken_by_signals(reactor):
        reactor.run(installSignalHandlers=False)
    exit_timer.stop()
    stalls.allow(math.inf)
    cache.close()
    return agent.counts, codes[0] if codes else 1


@contextlib.contextmanager
def _woken_by_signals(reactor: Any) -> Iterator[None]:
    """Wake the event loop at each signal; within the block the process is guarded if needed."""
    if _OF_ENTRANTS in os.environ or SESSION_FD in os.environ:
        with signals.handled(reactor, {}):
            yield
        return
    (reading, writing), (echoes, echoing) = os.pipe(), os.pipe()
    os.set_blocking(writing, False)
    numbers = map(str, (reading, os.getpid(), _KILL_S))
    words = [sys.executable, "-I", "-S", signal_guard.__file__, *numbers]
    null = subprocess.DEVNULL
    guard = subprocess.Popen(
        words, stdin=null, stdout=echoing, process_group=0, pass_fds=(reading,)
    )
    guard.returncode = 0  # it ends after this process, which need not wait for it
    os.close(reading)
    os.close(echoing)

    def acknowledge() -> None:
        # After the functions that the handlers have passed to the event loop: until these return,
        # the player's code may take Python's global lock.
        reactor.callFromThread(os.write, writing, b"\0")

    waker = signals.PipeWaker(reactor, echoes, acknowledge)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        waker.close()


@dataclass(frozen=True)
class _Order:
    due_at: float
    code: int


class ExitTimer:
    """Exits after some seconds, unless it is stopped; one for a process."""

    def __init__(self) -> None:
        # Handlers of signals may use this queue, which needs no lock that they could have
        # interrupted.
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="exit timer", daemon=True).start()

    def start(self, seconds: float, code: int) -> None:
        """Exit with this code after some seconds, unless an earlier order is due before."""
        self._orders.put(_Order(time.monotonic() + seconds, code))

    def stop(self) -> None:
        """Forget all orders, so that it does not exit."""
        self._orders.put(None)

    def _run(self) -> None:
        order: _Order | None = None
        while True:
            left_s = max(0.0, order.due_at - time.monotonic()) if order else None
            try:
                new = self._orders.get(timeout=left_s)
            except queue.Empty:
                assert order
                with contextlib.suppress(OSError):
                    os.write(2, _TEXT)
                os._exit(order.code)
            if order is None or new is None or new.due_at < order.due_at:
                order = new


class StallAlarm:
    """Ends the process by SIGALRM if its event loop stands still for too long.

    Before, Python's fault handler prints where each thread is. While the loop runs, it renews the
    alarm.
    """

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._longest_s = math.inf
        self._renewal: Any = None
        faulthandler.register(signal.SIGALRM, file=2, all_threads=True, chain=True)

    def allow(self, seconds: float) -> None:
        """Let the loop stand still for at most this time from now on; infinity is no limit."""
        self._longest_s = seconds
        self._set()
        if self._renewal is None and seconds < math.inf:
            self._renewal = self._reactor.callLater(_RENEW_S, self._renew)

    def _renew(self) -> None:
        self._renewal = None
        self.allow(self._longest_s)

    def _set(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._longest_s if self._longest_s < math.inf else 0.0)
