"""Shows a running training: a line for each round, and below it what is done at the moment."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn, Protocol

import click
from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from playout.players.training.record import RoundRecord, duration

#: Seconds without a line after which one is printed where there is no terminal: before the first
#: round, and later.
_FIRST_SILENCE_S, _SILENCE_S = 2.0, 10.0
_HEAD_INTERVAL = 20

#: The columns of a round: title, width, and the text from the record and the seconds left.
_COLUMNS: tuple[tuple[str, int, Callable[[RoundRecord, float | None], str]], ...] = (
    ("round", 5, lambda one, left: str(one.round)),
    ("time", 8, lambda one, left: duration(one.seconds)),
    ("games", 9, lambda one, left: f"{one.games:,}"),
    ("positions", 11, lambda one, left: f"{one.positions:,}"),
    ("evals", 7, lambda one, left: f"{one.evaluations / 1e6:.2f}M"),
    ("evals/s", 9, lambda one, left: f"{one.evaluations_per_s:,.0f}"),
    ("in net", 6, lambda one, left: f"{one.net_share:.0%}"),
    ("policy", 7, lambda one, left: f"{one.policy_loss:.3f}"),
    ("value", 6, lambda one, left: f"{one.value_loss:.3f}"),
    ("1st wins", 8, lambda one, left: f"{one.first_player_wins:.0%}"),
    ("ties", 5, lambda one, left: f"{one.ties:.0%}"),
    ("plies", 6, lambda one, left: f"{one.plies:.1f}"),
    ("empty", 6, lambda one, left: f"{one.value_of_start:+.2f}"),
    ("left", 8, lambda one, left: "" if left is None else duration(left)),
)


class TrainingDisplay(Protocol):
    """Shows the user what happens in a training."""

    def say(self, text: str) -> None:
        """Show a line of text."""

    def phase(self, text: str) -> None:
        """Show what is done from now on, with the time that it has taken, until the next phase."""

    def round(self, record: RoundRecord, remaining_s: float | None) -> None:
        """Show a round that is complete, and the estimated time to the end."""

    def close(self) -> None:
        """Show nothing more, and leave the terminal as it was."""


def display() -> TrainingDisplay:
    """The display that suits standard output: a live line on a terminal, otherwise lines."""
    console = Console()
    return LivePhase(console) if console.is_terminal else PlainLines()


@contextlib.contextmanager
def showing(advice: str = "") -> Iterator[TrainingDisplay]:
    """A display until the end of the block.

    Ctrl-C and SIGTERM then leave the terminal in order, print one line with the advice, and end the
    process at once: all files are complete or absent at any time, and workers end by themselves.
    """
    shown = display()

    def interrupted(number: int, _: object) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)
        shown.close()
        click.echo(f"Interrupted. {advice}".rstrip(), err=True)
        os._exit(128 + number)

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    try:
        yield shown
    finally:
        shown.close()


class _Phase:
    """What is done at the moment, and since when."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._began = time.monotonic()

    def replaced_by(self, text: str) -> _Phase:
        """The same phase with another text if they begin alike, up to a colon, otherwise anew."""
        if text.partition(":")[0] == self.text.partition(":")[0]:
            self.text = text
            return self
        return _Phase(text)

    def __str__(self) -> str:
        return f"{self.text}, {time.monotonic() - self._began:.0f} s"


class LivePhase:
    """Lines of text above a line that is drawn again and again by a thread."""

    def __init__(self, console: Console) -> None:
        self._phase = _Phase()
        self._spinner = Spinner("dots")
        self._rounds = 0
        self._live = Live(
            console=console, get_renderable=self._drawn, refresh_per_second=8, transient=True
        )
        self._live.start()

    def say(self, text: str) -> None:
        """Print a line above the live one."""
        self._live.console.print(Text(text), soft_wrap=True)

    def phase(self, text: str) -> None:
        """Change the text of the live line."""
        self._phase = self._phase.replaced_by(text)

    def round(self, record: RoundRecord, remaining_s: float | None) -> None:
        """Print the line of a round, with a head now and then."""
        for line in round_lines(record, remaining_s, self._rounds % _HEAD_INTERVAL == 0):
            self.say(line)
        self._rounds += 1

    def close(self) -> None:
        """Remove the live line from the terminal."""
        self._live.stop()

    def _drawn(self) -> RenderableType:
        self._spinner.update(text=Text(str(self._phase)))
        return self._spinner


class PlainLines:
    """Lines of text only; if a phase takes long, a line tells of it now and then."""

    def __init__(self) -> None:
        self._phase = _Phase()
        self._rounds = 0
        self._printed_at = time.monotonic()
        self._closed = threading.Event()
        threading.Thread(target=self._tell_of_phases, daemon=True).start()

    def say(self, text: str) -> None:
        """Print a line. If the pipe is closed, as by `| head`, the training is interrupted."""
        self._printed_at = time.monotonic()
        try:
            click.echo(text)
        except BrokenPipeError:
            with open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), sys.stdout.fileno())
            signal.raise_signal(signal.SIGTERM)

    def phase(self, text: str) -> None:
        """Change what is told if it takes long."""
        self._phase = self._phase.replaced_by(text)

    def round(self, record: RoundRecord, remaining_s: float | None) -> None:
        """Print the line of a round, with a head now and then."""
        for line in round_lines(record, remaining_s, self._rounds % _HEAD_INTERVAL == 0):
            self.say(line)
        self._rounds += 1

    def close(self) -> None:
        """Tell of no further phase."""
        self._closed.set()

    def _tell_of_phases(self) -> None:
        while not self._closed.wait(0.5):
            silence_s = _SILENCE_S if self._rounds else _FIRST_SILENCE_S
            if self._phase.text and time.monotonic() > self._printed_at + silence_s:
                self.say(str(self._phase))


def round_lines(record: RoundRecord, remaining_s: float | None, has_head: bool) -> list[str]:
    """Return the line of a round, below a line of titles if it `has_head`."""
    values = (text(record, remaining_s).rjust(width) for _, width, text in _COLUMNS)
    titles = (title.rjust(width) for title, width, _ in _COLUMNS)
    stale = f"  {record.stale} of {len(record.shards)} shards stale" if record.stale else ""
    line = " ".join(values).rstrip() + stale
    return ([" ".join(titles)] if has_head else []) + [line]
