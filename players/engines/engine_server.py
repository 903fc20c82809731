"""The base of our GTP, UCI and Gomocup sides, which read commands and let a player answer them.

The lines of the other program are read in a thread, so that some take effect while the player
thinks.
"""

from __future__ import annotations

import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, ClassVar

from playout.games.core import spec
from playout.players.core.player import (
    Cancelled,
    Limit,
    PlayResult,
    Report,
    Resigned,
)
from playout.players.engines.local_match import LocalMatch

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

    def wait(self, seconds: float | None = None) -> bool:
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


class EngineServer(ABC):
    """Answers the commands of one program, until it quits or its input ends.

    A subclass is a protocol. It has the match of the player in `match`, once there is one.
    """

    #: The end of each line that is written.
    line_end = "\n"
    #: The errors whose text is the answer: those of commands, and PlayerError.
    refusals: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, wanted: spec.Spec, lines: LineInput) -> None:
        """`wanted` is the player, and `lines` the input."""
        self.wanted, self.lines = wanted, lines
        self.match: LocalMatch | None = None
        self._writing = threading.Lock()

    def run(self) -> None:
        """Answer commands until the program quits, or until the end of the input."""
        try:
            while (line := self.lines.next()) is not None and not self.answer(line):
                pass
        except Cancelled:  # the program quit while the player was thinking
            pass
        finally:
            self.close()

    @abstractmethod
    def answer(self, line: str) -> bool:
        """Carry out a line, and return whether it was the last one."""

    def close(self) -> None:
        """Release the memory and the threads of the player."""
        if self.match:
            self.match.close()

    def attempt(self, carry_out: Callable[[], str | None]) -> tuple[str | None, bool]:
        """Return the text of an answer, and whether it is about an error.

        Raises Cancelled, Resigned and BrokenPipeError.
        """
        try:
            return carry_out(), False
        except self.refusals as error:
            return str(error), True
        except (Cancelled, Resigned, BrokenPipeError):
            raise
        except Exception as error:  # the player may be any program
            traceback.print_exc()
            return f"the player failed: {error!r}", True

    def choose(
        self, match: LocalMatch, limit: Limit, stops: Stops, report: Report | None = None
    ) -> PlayResult:
        """Let the player choose; lines for which `stops` is true cancel it.

        Raises Cancelled, Resigned and PlayerError.
        """
        match.player.ready()
        with self.lines.watched(match.player.cancel, stops):
            return match.choose(limit, report)

    def write(self, text: str) -> None:
        """Write a line; safe from any thread."""
        with self._writing:
            sys.stdout.write(f"{text}{self.line_end}")
            sys.stdout.flush()
