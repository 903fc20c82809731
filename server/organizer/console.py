"""What one sees while a tournament runs: tables that change on a terminal, lines elsewhere."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Protocol

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from server.export.text import plain
from server.model.messages import Fixture
from server.model.time_control import decimal
from server.organizer.progress import TournamentProgress
from server.tournament.report import words

#: How often the standings are said where they cannot be kept in sight.
_STANDINGS_EVERY_S = 60.0
#: How often they are drawn; a fraction of the time at most is spent on it.
_DRAWN_EVERY_S, _SHARE = 0.5, 0.05
#: So many matches that are being played are shown.
_MATCHES = 12


class TournamentDisplay(Protocol):
    """Who is told what happens."""

    def say(self, text: str) -> None:
        """Something worth a line."""

    def ended(self, progress: TournamentProgress, fixture: Fixture) -> None:
        """A match has ended."""

    def look(self, progress: TournamentProgress, now: float) -> None:
        """Time has passed."""

    def close(self) -> None:
        """There is no more to show."""


def screen() -> TournamentDisplay:
    """The one for standard output as it is."""
    console = Console()
    return LiveDisplay(console) if console.is_terminal else LineDisplay()


class LineDisplay:
    """Plain lines: what has happened and, now and then, the standings."""

    def __init__(self) -> None:
        self._said_at: float | None = None
        self._said = 0

    def say(self, text: str) -> None:
        """A line. If nobody reads any more, as behind `| head`, the tournament is interrupted."""
        try:
            click.echo(_visible(text))
        except BrokenPipeError:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), sys.stdout.fileno())
            signal.raise_signal(signal.SIGTERM)

    def ended(self, progress: TournamentProgress, fixture: Fixture) -> None:
        """Who has won, and how."""
        self.say(f"{_count(progress)}  {result(fixture)}")

    def look(self, progress: TournamentProgress, now: float) -> None:
        """The standings, if they have changed and it is time."""
        if self._said_at is None:
            self._said_at = now
        if now < self._said_at + _STANDINGS_EVERY_S or progress.ended == self._said:
            return
        self._said_at, self._said = now, progress.ended
        self.say(" · ".join(summary(progress, now)))
        for row in _rows(progress):
            self.say("  " + "  ".join(row))

    def close(self) -> None:
        """Nothing to do."""


class LiveDisplay:
    """A terminal: the standings and what is played, always in sight."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._next_at = 0.0

    def say(self, text: str) -> None:
        """A line above the tables."""
        self._live.console.print(escape(_visible(text)), highlight=False)

    def ended(self, progress: TournamentProgress, fixture: Fixture) -> None:
        """It shows in the tables."""

    def look(self, progress: TournamentProgress, now: float) -> None:
        """Draw them, if it is time."""
        if now < self._next_at:
            return
        began_s = time.perf_counter()
        self._live.start()
        self._live.update(drawn(progress, now), refresh=True)
        took_s = time.perf_counter() - began_s
        self._next_at = now + max(_DRAWN_EVERY_S, took_s / _SHARE)

    def close(self) -> None:
        """Take them away."""
        self._live.stop()


def summary(progress: TournamentProgress, now: float) -> Iterator[str]:
    """How far it has come, how long that took and how long it will take; of a test its LLR."""
    yield f"{_count(progress)} matches"
    yield f"{_clock(now - progress.began_at)} so far"
    if left_s := progress.left_s(now):
        yield f"about {_clock(left_s)} left"
    if test := progress.gathered.test():
        yield f"LLR {test.llr:.2f} ({test.lower:.2f} to {test.upper:.2f})"


def result(fixture: Fixture) -> str:
    """How a match ended, on a line."""
    first, second = fixture.players
    reason = fixture.reason.value.replace("_", " ") if fixture.reason else ""
    how = f"({reason}), {words.counted(fixture.plies, 'ply').replace('plys', 'plies')}"
    if fixture.winner in (1, 2):
        winner, loser = (first, second) if fixture.winner == 1 else (second, first)
        said = f"{winner} beat {loser} {how}"
    else:
        said = f"{first} and {second} {'tied' if fixture.winner else 'have no result'} {how}"
    return f"{fixture.game}: {said}{', as before' if fixture.repeated else ''}"


def drawn(progress: TournamentProgress, now: float) -> RenderableType:
    """All of it, for a terminal."""
    spec = progress.spec
    title = f"[bold]{escape(spec.name)}[/]: {spec.format.replace('_', ' ')} of "
    return Group(
        title + escape(", ".join(spec.games)),
        escape(" · ".join(summary(progress, now))),
        _standings(progress),
        _playing(progress),
    )


def _standings(progress: TournamentProgress) -> Table:
    table = Table("#", "name", box=None, pad_edge=False)
    for head in ("points", "matches", "won", "tied", "lost", "score"):
        table.add_column(head, justify="right")
    for row in _rows(progress):
        table.add_row(*map(escape, row))
    return table


def _rows(progress: TournamentProgress) -> Iterator[tuple[str, ...]]:
    for each in progress.gathered.standings():
        counts = each.counts
        score = words.percent(counts.points / counts.matches if counts.matches else None)
        name = progress.spec.entrants[each.entrant].name
        if each.entrant in progress.out:
            name += " (withdrawn)"
        played = map(str, (counts.matches, counts.won, counts.tied, counts.lost))
        yield (str(each.place), name, decimal(each.points), *played, score)


def _playing(progress: TournamentProgress) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    running = list(progress.running.values())
    for each in running[:_MATCHES]:
        first, second = map(escape, each.players)
        table.add_row(f"round {each.round}", escape(each.game), f"{first} against {second}")
    if len(running) > _MATCHES:
        table.add_row("", f"and {len(running) - _MATCHES} more")
    return table


def _count(progress: TournamentProgress) -> str:
    total = progress.matches
    return str(progress.ended) if total is None else f"{progress.ended} of {total}"


def _visible(text: str) -> str:
    """Lines without control characters, whoever wrote them."""
    return "\n".join(map(plain, text.splitlines()))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
