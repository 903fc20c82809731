"""Signals in a process that runs Twisted's event loop.

The system may give a signal to any thread of a process. Python's handler then runs when the main
thread does something, but the signal has not interrupted the main thread's wait for events. Bytes
in a pipe end this wait.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from twisted.internet.abstract import FileDescriptor


@contextlib.contextmanager
def handled(
    reactor: Any, handlers: Mapping[signal.Signals, Callable[[], object]]
) -> Iterator[None]:
    """Within the block each of these signals calls its function in the event loop."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    waker = PipeWaker(reactor, reading)
    earlier_fd = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def handle(number: int, _: object) -> None:
        reactor.callFromThread(handlers[signal.Signals(number)])

    earlier = {number: signal.signal(number, handle) for number in handlers}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(earlier_fd)
        os.close(writing)
        waker.close()


class PipeWaker(FileDescriptor):
    """Wakes the event loop for the bytes that arrive in a pipe, and may call a function then."""

    def __init__(
        self, reactor: Any, reading: int, call: Callable[[], object] = lambda: None
    ) -> None:
        """Read from the descriptor `reading` until `close`, which closes it."""
        super().__init__(reactor)
        self._reactor = reactor
        self._reading = reading
        self._call = call
        reactor.addReader(self)

    def fileno(self) -> int:
        """Return the reading end of the pipe."""
        return self._reading

    def doRead(self) -> None:
        """Read and forget what has arrived."""
        if os.read(self._reading, 4096):
            self._call()
        else:
            self._reactor.removeReader(self)

    def close(self) -> None:
        """Stop, and close the reading end of the pipe."""
        self._reactor.removeReader(self)
        os.close(self._reading)
