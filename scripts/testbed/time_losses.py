"""Two player processes at a server process: how many of their matches are lost on time."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from testbed.server_process import NOTHING_STORED, PLAYOUT, serving

PLAYER = str(Path(sys.executable).with_name("playout-player"))

#: The output of a player about its own move, and about the end of a match.
MOVED = re.compile(r"[\d,]+ simulations in ")
ENDED = re.compile(r"Match (\w+): .*\((\w+)\)\.$")
#: The reasons that are counted.
ON_TIME, RESIGNED = "time", "resignation"

#: Longest time without a move before the run fails.
SILENCE_S = 20.0
#: Time that a player has to exit after SIGTERM.
PATIENCE_S = 10.0


@dataclass
class LossCounts:
    """Counts from the output of both players, each read by its own thread."""

    wanted: int
    moves: int = 0
    #: The reason of the end of each match; both players print it.
    reasons: dict[str, str] = field(default_factory=dict)
    last_words: list[str] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def matches(self) -> int:
        """Number of ended matches, without the one resigned when the players had to exit."""
        return len(self.reasons) - self._count(RESIGNED)

    @property
    def lost_on_time(self) -> int:
        """Number of matches lost on time."""
        return self._count(ON_TIME)

    def read(self, process: subprocess.Popen[str]) -> None:
        """Read the output of a player to its end."""
        assert process.stdout is not None
        for line in process.stdout:
            with self._changed:
                self.last_words = [*self.last_words[-20:], line]
                if MOVED.match(line):
                    self.moves += 1
                    self._changed.notify()
                elif ended := ENDED.match(line.strip()):
                    self.reasons[ended[1]] = ended[2]

    def wait(self) -> None:
        """Wait until enough moves were made. Raises ClickException after SILENCE_S without one."""
        with self._changed:
            while self.moves < self.wanted:
                if not self._changed.wait(SILENCE_S):
                    said = "".join(self.last_words)
                    raise click.ClickException(f"the players make no moves; their output:\n{said}")

    def _count(self, reason: str) -> int:
        return list(self.reasons.values()).count(reason)


def play(game: str, clock: str, moves: int) -> LossCounts:
    """Let two `uct` players play over TCP with that clock until they have made `moves` moves."""
    tally = LossCounts(moves)
    with serving([*PLAYOUT, NOTHING_STORED]) as server, contextlib.ExitStack() as stack:
        for name in ("first", "second"):
            command = [PLAYER, game, "uct", f"--port={server.port}", f"--clock={clock}"]
            stack.enter_context(_player([*command, f"--name={name}", "--matches=1000000"], tally))
        tally.wait()
    return tally


@contextlib.contextmanager
def _player(command: list[str], tally: LossCounts) -> Iterator[None]:
    """Run a player and read its output; at the end of the block it gets SIGTERM."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"COLUMNS": "200"},  # so that no line of output wraps
        start_new_session=True,
    ) as process:
        listener = threading.Thread(target=tally.read, args=(process,))
        listener.start()
        try:
            yield
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S)
            process.kill()
            listener.join()
