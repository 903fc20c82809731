"""Shows a running tournament: tables that are redrawn on a terminal, lines of text elsewhere."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Protocol

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from playout.commands.progress import doing
from playout.commands.text import UNKNOWN, counted, percent, printable
from playout.protocol.messages import Fixture, Reason
from playout.protocol.time_control import decimal
from playout.server.organizer.progress import TournamentProgress
from playout.server.tournament.report import words

#: The text for `busy` while commands check a specification.
CHECKING = "Checking that the entrants can be started"
#: Seconds between two standings as lines of text, and between two lines about a wait.
_STANDINGS_INTERVAL_S, _WAITING_INTERVAL_S = 60.0, 2.0
#: Shortest time between two drawings of the tables, and the largest share of the time for drawing.
_DRAWING_INTERVAL_S, _DRAWING_SHARE = 0.5, 0.05
#: Maximum number of running matches shown.
_MATCHES = 12
#: Maximum number of entrants with ratings: more take too long to compute after each match.
_RATED = 32


class TournamentDisplay(Protocol):
    """Shows a running tournament to the user."""

    def show(self, text: str) -> None:
        """Show a line of text."""

    def match_ended(self, progress: TournamentProgress, fixture: Fixture) -> None:
        """Show the result of a match."""

    def wait(self, text: str, now: float) -> None:
        """Show the reason for a wait before the tournament begins; to be called often."""

    def refresh(self, progress: TournamentProgress, now: float, place: str = "") -> None:
        """Show the standings if they are due; to be called often.

        `place` is a line about the machines on which the entrants run; it may be empty.
        """

    def close(self) -> None:
        """End the display, and restore the terminal."""


def display() -> TournamentDisplay:
    """Return the display for standard output: tables on a terminal, otherwise lines."""
    console = Console()
    return LiveDisplay(console) if console.is_terminal else LineDisplay()


@contextlib.contextmanager
def busy(text: str) -> Iterator[None]:
    """Show a text and the elapsed time on a terminal, until the end of the block."""
    console = Console(stderr=True)
    if not console.is_terminal:
        with doing(text):
            yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        shown.add_task(text, total=None)
        yield


class LineDisplay:
    """Prints lines of text: each event and, once a minute, the standings."""

    def __init__(self) -> None:
        self._shown_at: float | None = None
        self._ended_then = 0
        self._waits_for = ""
        self._waits_since = self._next_at = 0.0

    def show(self, text: str) -> None:
        """Print a line. A closed pipe, as after `| head`, interrupts the tournament."""
        try:
            click.echo(printable(text))
        except BrokenPipeError:
            with open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), sys.stdout.fileno())
            signal.raise_signal(signal.SIGTERM)

    def match_ended(self, progress: TournamentProgress, fixture: Fixture) -> None:
        """Print the result of a match."""
        self.show(f"{_count(progress)}  {result(fixture)}")

    def wait(self, text: str, now: float) -> None:
        """Print a new text, and then how long it has lasted: after a minute less often."""
        if text != self._waits_for:
            self._waits_for, self._waits_since = text, now
            self.show(text)
        elif now >= self._next_at:
            self.show(f"{text} {now - self._waits_since:.0f} s")
        else:
            return
        is_new = now < self._waits_since + _STANDINGS_INTERVAL_S
        self._next_at = now + (_WAITING_INTERVAL_S if is_new else _STANDINGS_INTERVAL_S)

    def refresh(self, progress: TournamentProgress, now: float, place: str = "") -> None:
        """Print the standings if they have changed and are due."""
        if self._shown_at is None:
            self._shown_at = now
        if not (progress.ledger.ended or progress.ledger.running):
            self.wait("Waiting for the entrants ...", now)
        is_due = now >= self._shown_at + _STANDINGS_INTERVAL_S
        if not is_due or progress.ledger.ended == self._ended_then:
            return
        self._shown_at, self._ended_then = now, progress.ledger.ended
        self.show(" · ".join(summary(progress, now)))
        if place:
            self.show(place)
        for row in _rows(progress):
            self.show("  " + "  ".join(row))

    def close(self) -> None:
        """Do nothing: all lines are printed."""


class LiveDisplay:
    """Draws tables of the standings and the running matches below the lines of text."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._next_at = 0.0
        self._waits_since: float | None = None

    def show(self, text: str) -> None:
        """Print a line above the tables."""
        self._live.console.print(escape(printable(text)), highlight=False)

    def match_ended(self, progress: TournamentProgress, fixture: Fixture) -> None:
        """Show a match that is played again; the tables show the other results."""
        if fixture.reason is Reason.VOID:
            self.show(result(fixture))

    def wait(self, text: str, now: float) -> None:
        """Draw a text with the time since the first call."""
        if self._waits_since is None:
            self._waits_since = now
        since = self._waits_since
        self._draw(lambda: f"{text} {duration(now - since)}", now)

    def refresh(self, progress: TournamentProgress, now: float, place: str = "") -> None:
        """Draw the tables if they are due."""
        self._draw(lambda: tables(progress, now, place), now)

    def _draw(self, content: Callable[[], RenderableType], now: float) -> None:
        if now < self._next_at:
            return
        began_s = time.perf_counter()
        self._live.start()
        self._live.update(content(), refresh=True)
        took_s = time.perf_counter() - began_s
        self._next_at = now + max(_DRAWING_INTERVAL_S, took_s / _DRAWING_SHARE)

    def close(self) -> None:
        """Remove the tables from the terminal."""
        self._live.stop()


def summary(progress: TournamentProgress, now: float) -> Iterator[str]:
    """Yield the numbers of matches and the times; for two entrants, the Elo and a test's LLR."""
    yield f"{_count(progress)} matches"
    yield f"{duration(now - progress.started_at)} so far"
    if remaining_s := progress.remaining_s(now):
        yield f"about {duration(remaining_s)} left"
    both = progress.results.head_to_heads() if len(progress.ledger.spec.entrants) == 2 else ()
    for each in both:
        if each.pairs.count:
            yield f"{progress.ledger.spec.entrants[each.first].name} Elo {words.elo(each.elo)}"
        if test := each.test:
            yield f"LLR {test.llr:.2f} ({test.lower:.2f} to {test.upper:.2f})"


def result(fixture: Fixture) -> str:
    """Return the result of an ended match as a line of text."""
    first, second = fixture.players
    if fixture.reason is Reason.VOID:
        return (
            f"{fixture.game}: {first} or {second} made no first move in time; their pair is "
            "played once again"
        )
    reason = fixture.reason.value.replace("_", " ") if fixture.reason else ""
    how = f"({reason}), {counted(fixture.plies, 'ply')}"
    if fixture.winner in (1, 2):
        winner, loser = (first, second) if fixture.winner == 1 else (second, first)
        outcome = f"{winner} beat {loser} {how}"
        if fixture.error:
            outcome += f": {fixture.error}"
    else:
        outcome = f"{first} and {second} {'tied' if fixture.winner else 'have no result'} {how}"
    return f"{fixture.game}: {outcome}{', as before' if fixture.repeated else ''}"


def tables(progress: TournamentProgress, now: float, place: str = "") -> RenderableType:
    """Return the summary, the standings and the running matches, for a terminal.

    `place` is a line about the machines on which the entrants run; it may be empty.
    """
    spec = progress.ledger.spec
    title = f"[bold]{escape(spec.name)}[/]: {spec.format.replace('_', ' ')} of "
    return Group(
        title + escape(", ".join(spec.games)),
        escape(" · ".join(summary(progress, now))),
        *([escape(place)] if place else []),
        _standings(progress),
        _running(progress),
    )


def _standings(progress: TournamentProgress) -> Table:
    table = Table("#", "name", box=None, pad_edge=False)
    elo = ("Elo",) if _is_rated(progress) else ()
    for head in (*elo, "points", "matches", "won", "tied", "lost", "score"):
        table.add_column(head, justify="right")
    for row in _rows(progress):
        table.add_row(*map(escape, row))
    return table


def _is_rated(progress: TournamentProgress) -> bool:
    """Return whether the standings have ratings: for two entrants, the summary has more."""
    return 2 < len(progress.ledger.spec.entrants) <= _RATED


def _rows(progress: TournamentProgress) -> Iterator[tuple[str, ...]]:
    ratings = progress.results.elo() if _is_rated(progress) else ()
    for each in progress.results.standings():
        counts = each.counts
        score = percent(counts.points / counts.matches if counts.matches else None)
        name = progress.ledger.spec.entrants[each.entrant].name
        if each.entrant in progress.ledger.withdrawn:
            name += " (withdrawn)"
        played = map(str, (counts.matches, counts.won, counts.tied, counts.lost))
        rated = (words.elo(ratings[each.entrant]) if ratings else UNKNOWN,)
        elo = rated if _is_rated(progress) else ()
        yield (str(each.place), name, *elo, decimal(each.points), *played, score)


def _running(progress: TournamentProgress) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    running = list(progress.ledger.running.values())
    for each in running[:_MATCHES]:
        first, second = map(escape, each.players)
        table.add_row(f"round {each.round}", escape(each.game), f"{first} against {second}")
    if len(running) > _MATCHES:
        table.add_row("", f"and {len(running) - _MATCHES} more")
    return table


def _count(progress: TournamentProgress) -> str:
    total = progress.matches
    return str(progress.ledger.ended) if total is None else f"{progress.ledger.ended} of {total}"


def duration(seconds: float) -> str:
    """Return hours, minutes and seconds: `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
