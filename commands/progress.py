"""Says on standard error what a command is doing while it shows nothing else.

Imports, compilations and the start of processes take seconds, and minutes on a busy machine:

    with doing("Loading the games"):
        ...

prints nothing if the block ends soon; otherwise `Loading the games ...` after a second, and then
every two seconds how long it has lasted. Of nested blocks, the text of the innermost is printed. If
a block follows another within a second, the next line is due when it would be without the change.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

#: Seconds until the first line about a block, and between two lines.
FIRST_S, INTERVAL_S = 1.0, 1.8


def doing(text: str, *, at_once: bool = False) -> contextlib.AbstractContextManager[None]:
    """Print the text and the elapsed seconds until the end of the block, from any thread.

    With `at_once`, the first line is printed at the beginning of the block. Blocks with the same
    text that follow each other count as one.
    """
    return _speaker.block(text, at_once)


def say(line: str) -> None:
    """Print a line at once; the next one about a block is then due later."""
    _speaker.print(line)


def say_by(say: Callable[[str], object]) -> None:
    """Call `say` with each line from now on, instead of printing it."""
    _speaker.say = say


def stop() -> None:
    """Print no further line about blocks; takes no lock, for handlers of signals."""
    _speaker.is_stopped = True


def _print(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # it may be closed
        sys.stderr.write(f"{line}\n")  # `print` writes the end of the line by itself
        sys.stderr.flush()


class _Speaker:
    """The blocks that have not ended, and when the next line about the last of them is due."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.say: Callable[[str], object] = _print
        self.is_stopped = False
        self._lock = threading.Lock()
        self._running: list[str] = []
        self._began_at: dict[str, float] = {}
        self._due_at = self._ended_at = -math.inf  # the clock may have begun a moment ago

    @contextlib.contextmanager
    def block(self, text: str, at_once: bool) -> Iterator[None]:
        ended = threading.Event()
        with self._lock:
            self._begin(text, at_once)
        self._speak()
        threading.Thread(target=self._repeat, args=(ended,), daemon=True).start()
        try:
            yield
        finally:
            ended.set()
            with self._lock:
                self._running.remove(text)
                self._ended_at = time.monotonic()

    def print(self, line: str) -> None:
        with self._lock:
            self._due_at = time.monotonic() + INTERVAL_S
            self.say(line)

    def _begin(self, text: str, at_once: bool) -> None:
        now = time.monotonic()
        is_new = text not in self._began_at
        if is_new and not self._running:
            self._began_at.clear()
            if now > self._ended_at + FIRST_S:
                self._due_at = now + FIRST_S
        if is_new and at_once:
            self._due_at = now
        self._began_at.setdefault(text, now)
        self._running.append(text)

    def _repeat(self, ended: threading.Event) -> None:
        while not ended.wait(max(0.01, self._due_at - time.monotonic())):
            self._speak()

    def _speak(self) -> None:
        with self._lock:
            now = time.monotonic()
            if self._running and now >= self._due_at and not self.is_stopped:
                self._due_at = now + INTERVAL_S
                text = self._running[-1]
                elapsed_s = round(now - self._began_at[text])
                self.say(f"{text} ..." + (f" {elapsed_s} s" if elapsed_s else ""))


_speaker = _Speaker()
os.register_at_fork(after_in_child=_speaker.reset)  # a copy of a process has none of its threads
