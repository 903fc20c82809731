"""What Ctrl-C does to a command that does not handle it otherwise: one line, and exit code 130.

A KeyboardInterrupt would not do: while modules are imported and rules are compiled, which takes
seconds, it shows a traceback or is lost in a callback.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

_CODE = 128 + signal.SIGINT


def install() -> None:
    """Handle SIGINT from now on, unless the parent process had it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit_at_once)


@contextlib.contextmanager
def with_cleanup() -> Iterator[None]:
    """Within the block Ctrl-C raises SystemExit, so that files and the terminal are left in order.

    A second Ctrl-C exits at once. Another handler of SIGINT than that of `install` stays.
    """
    with _handled_by(_raise_exit):
        yield


@contextlib.contextmanager
def as_exception() -> Iterator[None]:
    """Within the block Ctrl-C raises KeyboardInterrupt, as it does without `install`."""
    with _handled_by(signal.default_int_handler):
        yield


@contextlib.contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    if signal.getsignal(signal.SIGINT) is not _exit_at_once:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _exit_at_once)


def _exit_at_once(*_: object) -> NoReturn:
    _say()
    os._exit(_CODE)


def _raise_exit(*_: object) -> NoReturn:
    signal.signal(signal.SIGINT, _exit_at_once)
    _say()
    raise SystemExit(_CODE)


def _say() -> None:
    """Write past Python's streams, which the signal may have interrupted."""
    line = b"Interrupted.\n"
    with contextlib.suppress(OSError):
        os.write(2, b"\n" + line if os.isatty(2) else line)  # after the terminal's ^C
