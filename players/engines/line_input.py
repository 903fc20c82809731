"""Reads lines from another program, also while the player thinks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

#: The length at which a line is cut, so that input without line ends does not fill the memory.
LONGEST_LINE = 65536

#: Returns whether the waiting lines stop the player; None is the end of the input.
Stops = Callable[[Sequence[str | None]], bool]


class LineInput:
    """Reads lines in a thread of its own, and can call a function when certain lines arrive."""

    def __init__(self, stream: BinaryIO) -> None:
        """Start to read `stream`, which must be unbuffered, as its thread may never end."""
        self._stream = stream
        self._lines: deque[str | None] = deque()
        self._changed = threading.Condition()
        self._watch: tuple[Callable[[], None], Stops] | None = None
        threading.Thread(target=self._read, name="input", daemon=True).start()

    def next(self) -> str | None:
        """Wait for the next line, and return it without its end; None at the end of the input."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines)
            line = self._lines[0]
            if line is not None:  # the end stays
                self._lines.popleft()
            return line

    @contextmanager
    def watched(self, stop: Callable[[], None], stops: Stops) -> Iterator[None]:
        """Within the block, call `stop` as soon as `stops` returns true for the waiting lines.

        It is called at the beginning and after each further line. The lines stay, so that `next`
        returns them later.
        """
        with self._changed:
            self._watch = stop, stops
            if stops(self._lines):
                stop()
        try:
            yield
        finally:
            with self._changed:
                self._watch = None

    def wait(self, seconds: float) -> bool:
        """Wait for a line or the end of the input; return whether one has arrived."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._lines), seconds)

    def _read(self) -> None:
        rest, cut = b"", False  # whether `rest` begins with the end of a cut line
        while data := self._stream.read(LONGEST_LINE):
            *complete, rest = (rest + data).split(b"\n")
            for line in complete:
                if not cut:
                    self._add(line)
                cut = False
            if len(rest) >= LONGEST_LINE:
                if not cut:
                    self._add(rest)
                rest, cut = b"", True
        if rest and not cut:
            self._add(rest)
        self._put(None)

    def _add(self, line: bytes) -> None:
        self._put(line.decode(errors="replace").rstrip("\r"))

    def _put(self, line: str | None) -> None:
        with self._changed:
            self._lines.append(line)
            self._changed.notify_all()
            if self._watch:
                stop, stops = self._watch
                if stops(self._lines):
                    stop()
