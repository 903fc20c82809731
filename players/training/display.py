"""Shows a running training: a line for each round, and below it the current phase."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import click
from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from playout.players.training.run_folder import EvaluationRound, NetRound, RoundRecord, duration

#: Seconds without output after which the phase is printed where there is no terminal, before the
#: first round and later.
_FIRST_SILENCE_S, _SILENCE_S = 2.0, 10.0
_HEAD_INTERVAL = 20

#: A column of a round: title, width, and the text from the record and the seconds left.
Column = tuple[str, int, Callable[[Any, float | None], str]]
_BEGIN: tuple[Column, ...] = (
    ("round", 5, lambda one, left: str(one.round)),
    ("time", 8, lambda one, left: duration(one.seconds)),
    ("games", 9, lambda one, left: f"{one.games:,}"),
    ("positions", 11, lambda one, left: f"{one.positions:,}"),
)
_RESULTS: tuple[Column, ...] = (
    ("1st wins", 8, lambda one, left: f"{one.first_player_wins:.0%}"),
    ("ties", 5, lambda one, left: f"{one.ties:.0%}"),
)
_END: tuple[Column, ...] = (
    ("empty", 6, lambda one, left: f"{one.value_of_start:+.2f}"),
    ("left", 8, lambda one, left: "" if left is None else duration(left)),
)
_COLUMNS: Mapping[type[RoundRecord], tuple[Column, ...]] = {
    NetRound: (
        *_BEGIN,
        ("evals", 7, lambda one, left: f"{one.evaluations / 1e6:.2f}M"),
        ("evals/s", 9, lambda one, left: f"{one.evaluations_per_s:,.0f}"),
        ("in net", 6, lambda one, left: f"{one.net_share:.0%}"),
        ("policy", 7, lambda one, left: f"{one.policy_loss:.3f}"),
        ("value", 6, lambda one, left: f"{one.value_loss:.3f}"),
        *_RESULTS,
        ("plies", 6, lambda one, left: f"{one.plies:.1f}"),
        *_END,
    ),
    EvaluationRound: (
        *_BEGIN,
        ("games/s", 9, lambda one, left: f"{one.games_per_s:,.0f}"),
        ("pos/s", 9, lambda one, left: f"{one.positions_per_s:,.0f}"),
        ("met", 5, lambda one, left: f"{one.weights_met:.0%}"),
        ("step", 5, lambda one, left: f"{one.step_size:.2f}"),
        *_RESULTS,
        *_END,
    ),
}


class TrainingDisplay(ABC):
    """Shows the user a running training."""

    def __init__(self) -> None:
        self._phase = _Phase()
        self._rounds = 0

    @abstractmethod
    def say(self, text: str) -> None:
        """Print a line of text."""

    def phase(self, text: str) -> None:
        """Set the current activity, which is shown with its duration until the next phase."""
        self._phase = self._phase.replaced_by(text)

    def round(self, record: RoundRecord, remaining_s: float | None) -> None:
        """Print a complete round and the estimated time to the end, sometimes below titles."""
        for line in round_lines(record, remaining_s, self._rounds % _HEAD_INTERVAL == 0):
            self.say(line)
        self._rounds += 1

    @abstractmethod
    def close(self) -> None:
        """End the display, and leave the terminal as it was."""


def display() -> TrainingDisplay:
    """Return the display for standard output: a live line on a terminal, otherwise lines only."""
    console = Console()
    return LivePhase(console) if console.is_terminal else PlainLines()


@contextlib.contextmanager
def showing(advice: str = "") -> Iterator[TrainingDisplay]:
    """Yield a display until the end of the block.

    In the block, Ctrl-C and SIGTERM close the display, print one line with the advice, and end the
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
    """The present activity, and its start."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._began = time.monotonic()

    def replaced_by(self, text: str) -> _Phase:
        """Return this phase with another text if both are equal up to a colon, else a new one."""
        if text.partition(":")[0] == self.text.partition(":")[0]:
            self.text = text
            return self
        return _Phase(text)

    def __str__(self) -> str:
        return f"{self.text}, {time.monotonic() - self._began:.0f} s"


class LivePhase(TrainingDisplay):
    """Lines of text above a line that a thread draws again and again."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._spinner = Spinner("dots")
        self._live = Live(
            console=console, get_renderable=self._drawn, refresh_per_second=8, transient=True
        )
        self._live.start()

    def say(self, text: str) -> None:
        self._live.console.print(Text(text), soft_wrap=True)

    def close(self) -> None:
        self._live.stop()

    def _drawn(self) -> RenderableType:
        self._spinner.update(text=Text(str(self._phase)))
        return self._spinner


class PlainLines(TrainingDisplay):
    """Lines of text only; a long phase gets a line now and then."""

    def __init__(self) -> None:
        super().__init__()
        self._printed_at = time.monotonic()
        self._closed = threading.Event()
        threading.Thread(target=self._show_long_phases, daemon=True).start()

    def say(self, text: str) -> None:
        """Print a line. If the pipe is closed, as by `| head`, the training is interrupted."""
        self._printed_at = time.monotonic()
        try:
            click.echo(text)
        except BrokenPipeError:
            with open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), sys.stdout.fileno())
            signal.raise_signal(signal.SIGTERM)

    def close(self) -> None:
        self._closed.set()

    def _show_long_phases(self) -> None:
        while not self._closed.wait(0.5):
            silence_s = _SILENCE_S if self._rounds else _FIRST_SILENCE_S
            if self._phase.text and time.monotonic() > self._printed_at + silence_s:
                self.say(str(self._phase))


def round_lines(record: RoundRecord, remaining_s: float | None, has_head: bool) -> list[str]:
    """Return the line of a round, below a line of titles if it `has_head`."""
    columns = _COLUMNS[type(record)]
    values = (text(record, remaining_s).rjust(width) for _, width, text in columns)
    titles = (title.rjust(width) for title, width, _ in columns)
    stale = ""
    if isinstance(record, NetRound) and record.stale:
        stale = f"  {record.stale} of {len(record.shards)} shards stale"
    line = " ".join(values).rstrip() + stale
    return ([" ".join(titles)] if has_head else []) + [line]
