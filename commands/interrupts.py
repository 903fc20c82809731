"""Ctrl-C in a command without a handler of its own: prints one line, and exits with code 130.

A KeyboardInterrupt would show a traceback or be lost in a callback while modules are imported and
rules are compiled, which takes seconds.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

from playout.commands import progress

_CODE = 128 + signal.SIGINT
#: The folder of Playout's own code.
_OWN = Path(__file__).parents[1]


def install() -> None:
    """Handle SIGINT from now on, unless the parent process ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit_at_once)


@contextlib.contextmanager
def with_cleanup() -> Iterator[None]:
    """Within the block Ctrl-C raises SystemExit, so that files and the terminal are restored.

    A second Ctrl-C exits at once. A handler of SIGINT that `install` did not set is kept.
    """
    with _handled_by(_raise_exit):
        yield


@contextlib.contextmanager
def as_exception() -> Iterator[None]:
    """Within the block Ctrl-C raises KeyboardInterrupt, as without `install`."""
    with _handled_by(signal.default_int_handler):
        yield


@contextlib.contextmanager
def delayed() -> Iterator[None]:
    """Handle Ctrl-C only after the block, so that what it does and what is said of it agree."""
    found: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: found.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if found and callable(handler):
            handler(*found[0])


@contextlib.contextmanager
def with_text(text: str) -> Iterator[None]:
    """Within the block Ctrl-C prints a text, after files and processes were closed, and exits."""
    try:
        with as_exception():
            yield
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{text}\n")
        raise SystemExit(_CODE) from None


@contextlib.contextmanager
def exit_as(error: Callable[[str], Exception]) -> Iterator[None]:
    """Within the block, code of a user that calls `sys.exit` raises `error` of a text instead.

    The exits of Playout itself, such as those of Ctrl-C, are not changed.
    """
    try:
        yield
    except SystemExit as found:
        trace = found.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        if trace and Path(trace.tb_frame.f_code.co_filename).is_relative_to(_OWN):
            raise
        said = "" if found.code is None else repr(found.code)
        raise error(f"it ends the program by sys.exit({said})") from found


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
    """Write without Python's streams, which the signal may have interrupted."""
    progress.stop()
    line = b"Interrupted.\n"
    with contextlib.suppress(OSError):
        os.write(2, b"\n" + line if os.isatty(2) else line)  # after the terminal's ^C
