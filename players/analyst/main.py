"""The analyst as a process: a thread reads orders, the main thread works on them."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue

import msgspec

from games import SpecError
from players.analyst.search import Analyst, CannotAnalyse
from players.core.player import Cancelled, PlayerError, Resigned
from server.model.analyst import AnalysisOrder, AnalysisReport, AnalystOrder, StopOrder

_decode = msgspec.json.Decoder(AnalystOrder).decode


class _Orders:
    """The orders of the server, read in a thread of their own: a stop takes effect at once."""

    def __init__(self, connection: socket.socket, analyst: Analyst) -> None:
        self._lines = connection.makefile("rb")
        self._analyst = analyst
        self._lock = threading.Lock()
        #: The analysis that is worked on.
        self._current: str | None = None
        #: The last analysis that was to be ended.
        self._stopped: str | None = None
        self._queue: SimpleQueue[AnalysisOrder | None] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> AnalysisOrder | None:
        """Wait for the next order; None at the end of the input."""
        order = self._queue.get()
        if order:
            with self._lock:
                self._current = order.analysis
                self._analyst.ready()
                if self._stopped == order.analysis:
                    self._analyst.cancel()
        return order

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            for line in self._lines:
                match _decode(line):
                    case StopOrder(analysis):
                        self._stop(analysis)
                    case AnalysisOrder() as order:
                        self._queue.put(order)
        self._queue.put(None)
        self._analyst.cancel()

    def _stop(self, analysis: str) -> None:
        with self._lock:
            self._stopped = analysis
            if analysis == self._current:
                self._analyst.cancel()


def main() -> None:
    """Work on orders until the input ends: a socket, which takes the reports, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    connection = socket.socket(fileno=sys.stdin.fileno())
    analyst = Analyst()
    orders = _Orders(connection, analyst)

    def send(report: AnalysisReport) -> None:
        connection.sendall(msgspec.json.encode(report) + b"\n")

    with contextlib.suppress(OSError):  # the server has ended
        while order := orders.next():
            _analyse(order, analyst, send)


def _analyse(
    order: AnalysisOrder, analyst: Analyst, send: Callable[[AnalysisReport], None]
) -> None:
    """Send what becomes known of a position, and at last that its analysis is over."""
    error = ""
    try:
        for info in analyst.analyse(order):
            send(AnalysisReport(order.analysis, info))
    except Cancelled:
        pass
    except (CannotAnalyse, PlayerError, SpecError) as fault:
        error = str(fault)
    except Resigned:
        error = "the bot resigns in this position"
    except OSError:
        raise
    except Exception as fault:  # the player, or the game, may be any program
        error = f"the bot has failed: {type(fault).__name__}: {fault}"
    send(AnalysisReport(order.analysis, over=True, error=error))
