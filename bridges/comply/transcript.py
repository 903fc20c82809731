"""What was said in a situation, for the author of the bot."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

from bridges.comply.frames import Frame

#: The last lines that are kept: a bot may send messages without end.
_LINES = 10_000


@dataclass
class Transcript:
    """The messages between bot and server, and what the referee did, with seconds since the start.

    `C` is the client, that is the bot, `S` the server, and `--` a remark of the referee.
    """

    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    _began: float = field(default_factory=time.monotonic)

    def client(self, frame: Frame) -> None:
        """Add a message of the bot."""
        self._add(f"C: {frame}")

    def server(self, frame: Frame) -> None:
        """Add a message that the bot was sent."""
        self._add(f"S: {frame}")

    def remark(self, text: str) -> None:
        """Add what the referee did or saw."""
        self._add(f"-- {text}")

    def _add(self, text: str) -> None:
        self.lines.append(f"{time.monotonic() - self._began:7.3f} {text}")
