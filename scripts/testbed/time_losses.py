"""Two real players at a real server: how many of their matches are lost on time."""

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

from testbed.serving import NOTHING_STORED, PLAYOUT, serving

PLAYER = str(Path(sys.executable).with_name("playout-player"))

#: What a player says of a move of its own, and of the end of a match.
MOVED = re.compile(r"[\d,]+ simulations in ")
ENDED = re.compile(r"Match (\w+): .*\((\w+)\)\.$")
#: The reasons that are looked for.
ON_TIME, RESIGNED = "time", "resignation"

#: No move for so long, and something is wrong.
SILENCE_S = 20.0
#: What a player has to leave in, after it was asked to.
PATIENCE_S = 10.0


@dataclass
class LossCounts:
    """What both players have said so far, heard by a thread for each."""

    wanted: int
    moves: int = 0
    #: Why each match ended; both players say it.
    reasons: dict[str, str] = field(default_factory=dict)
    last_words: list[str] = field(default_factory=list)
    _heard: threading.Condition = field(default_factory=threading.Condition)

    @property
    def matches(self) -> int:
        """How many ended, but for the one that was resigned when both were asked to leave."""
        return len(self.reasons) - self._count(RESIGNED)

    @property
    def lost_on_time(self) -> int:
        """How many of them ended so."""
        return self._count(ON_TIME)

    def hear(self, process: subprocess.Popen[str]) -> None:
        """Listen to a player until it has said all."""
        assert process.stdout is not None
        for line in process.stdout:
            with self._heard:
                self.last_words = [*self.last_words[-20:], line]
                if MOVED.match(line):
                    self.moves += 1
                    self._heard.notify()
                elif ended := ENDED.match(line.strip()):
                    self.reasons[ended[1]] = ended[2]

    def wait(self) -> None:
        """Until enough moves were made. Raises ClickException when there are no more."""
        with self._heard:
            while self.moves < self.wanted:
                if not self._heard.wait(SILENCE_S):
                    said = "".join(self.last_words)
                    raise click.ClickException(f"the players make no moves; they said:\n{said}")

    def _count(self, reason: str) -> int:
        return list(self.reasons.values()).count(reason)


def play(game: str, clock: str, moves: int) -> LossCounts:
    """Let two `uct` play matches with that clock, over TCP, until they have made so many moves."""
    tally = LossCounts(moves)
    with serving([*PLAYOUT, NOTHING_STORED]) as server, contextlib.ExitStack() as stack:
        for name in ("first", "second"):
            command = [PLAYER, game, "uct", f"--port={server.port}", f"--clock={clock}"]
            stack.enter_context(_player([*command, f"--name={name}", "--matches=1000000"], tally))
        tally.wait()
    return tally


@contextlib.contextmanager
def _player(command: list[str], tally: LossCounts) -> Iterator[None]:
    """Run a player and hear what it says; at the end of the block it is asked to leave."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"COLUMNS": "200"},  # a line of text is a line of output
        start_new_session=True,
    ) as process:
        listener = threading.Thread(target=tally.hear, args=(process,))
        listener.start()
        try:
            yield
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S)
            process.kill()
            listener.join()
