"""`playout-server puzzles`, which finds puzzles in matches and stores them for the page /puzzles.

A process searches, `playout.players.analyst.puzzles`: it gets matches as messages, and answers
each with a message. It has the lowest priority, so that a server may run beside it.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click

from playout import games
from playout.commands import interrupts, progress
from playout.commands.child import Program, stop
from playout.commands.options import FiniteRange, registered
from playout.commands.subprocesses import LOWEST_NICENESS, own_environment
from playout.commands.text import counted
from playout.protocol.analyst import Puzzle, PuzzleAnswer, PuzzleOrder
from playout.server.cli.database_commands import opened, stored_game
from playout.server.cli.server_options import its_database_option
from playout.server.storage import Database

EPILOG = """
\b
Examples:
  playout-server puzzles                    in all stored matches
  playout-server puzzles --since 2026-11-24 in those that started on that day or later
  playout-server puzzles --random 100 --game connect_four
                                            in 100 matches that it plays itself
"""
_FINDER = "playout.players.analyst.puzzles:main"
#: Seconds between two lines about the progress.
_PROGRESS_S = 1.8


class _TimeIsUp(Exception):
    """The time of the command is over before an answer came."""


@click.command(epilog=EPILOG)
@its_database_option
@click.option(
    "--game",
    "chosen",
    metavar="GAME",
    multiple=True,
    help="Only this game; without parameters, stored matches with any.  Repeatable.",
)
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    help="Only stored matches that started on this day (UTC) or later.",
)
@click.option(
    "--random",
    "played",
    metavar="N",
    type=click.IntRange(1),
    help="Search N matches of each game that the command plays, with mistakes, instead of stored "
    "ones.",
)
@click.option("--count", type=click.IntRange(1), help="Stop after this many new puzzles.")
@click.option("--seconds", type=FiniteRange(0, min_open=True), help="Stop after this many seconds.")
def puzzles(
    database: str,
    chosen: tuple[str, ...],
    since: datetime | None,
    played: int | None,
    count: int | None,
    seconds: float | None,
) -> None:
    """Find puzzles in stored matches, and store them for the page /puzzles.

    A puzzle is a position in which one move wins and no other does, as minimax proves, and the win
    takes at least two turns. Without such a position, it is one in which one move wins within two
    or three turns and no other does within as many. A match has at most one. Ctrl-C ends the
    search; the puzzles that were found are stored.
    """
    if played and since:
        raise click.UsageError("--since is for stored matches: not with --random")
    chosen = tuple(map(stored_game, map(registered, chosen)))
    until = time.monotonic() + (seconds or math.inf)
    with opened(database, create=True) as stored, _Finder(until, chosen) as finder:
        if played:
            orders = _new_matches(chosen or tuple(games.names()), played)
        else:
            start = since.replace(tzinfo=UTC).timestamp() if since else None
            orders = _stored_matches(stored, chosen, start)
        try:
            for order in orders:
                if puzzle := finder.find(order):
                    with interrupts.delayed():
                        finder.new[puzzle.game] += stored.add_puzzles([puzzle])
                if count and finder.new.total() >= count:
                    break
        except _TimeIsUp:
            pass
        finally:
            click.echo(finder.summary)


def _stored_matches(
    stored: Database, chosen: tuple[str, ...], since: float | None
) -> Iterator[PuzzleOrder]:
    for game in chosen or (None,):
        for each in stored.matches(game=game, since=since, read_analysis=None):
            if each.ended:
                actions = tuple(move.action for move in each.moves)
                yield PuzzleOrder(game=each.started.game, actions=actions, match=each.started.match)


def _new_matches(chosen: tuple[str, ...], count: int) -> Iterator[PuzzleOrder]:
    for _ in range(count):
        for game in chosen:
            yield PuzzleOrder(game=game, seed=random.getrandbits(31))


class _Finder:
    """The process that finds puzzles, and the numbers of what it has found."""

    def __init__(self, until: float, chosen: Sequence[str]) -> None:
        """`until`: the time.monotonic() at which the search ends; `chosen`: the games, if any.

        Games with chance have no puzzles: that is told of those which were chosen.
        """
        self._until = until
        self._chosen = {each.partition("(")[0] for each in chosen}
        self._printed_at = time.monotonic()
        self._faults: set[str] = set()
        self._searched = 0
        #: The number of new puzzles by game.
        self.new: Counter[str] = Counter()
        environment = own_environment()
        program = Program.own(_FINDER, environment=environment, niceness=LOWEST_NICENESS)
        self._child = program.start(talks=True)

    def __enter__(self) -> _Finder:
        return self

    def __exit__(self, *_: object) -> None:
        stop([self._child], 0.0)

    @property
    def summary(self) -> str:
        """The numbers of matches and new puzzles."""
        found = ", ".join(f"{game} {count}" for game, count in sorted(self.new.items()) if count)
        text = f"{counted(self.new.total(), 'new puzzle')} in {counted(self._searched, 'match')}"
        return f"{text}: {found}" if found else text

    def find(self, order: PuzzleOrder) -> Puzzle | None:
        """Return the puzzle of a match. Raises _TimeIsUp."""
        answer = self._answer(order)
        self._searched += not answer.has_chance
        fault = f"{order.game} cannot be searched: {answer.error}" if answer.error else ""
        is_told = not answer.has_chance or order.game.partition("(")[0] in self._chosen
        if fault and is_told and fault not in self._faults:
            self._faults.add(fault)
            progress.say(fault)
        return answer.puzzle

    def _answer(self, order: PuzzleOrder) -> PuzzleAnswer:
        self._child.say(order)
        while (now := time.monotonic()) < self._until:
            if now >= self._printed_at + _PROGRESS_S:
                self._printed_at = now
                progress.say(f"{self.summary}; searching {order.game} ...")
            wait_s = min(self._printed_at + _PROGRESS_S, self._until) - now
            try:
                answer = self._child.reply(PuzzleAnswer, wait_s)
            except EOFError:
                text = f"the process that finds puzzles {self._child.why()}"
                raise click.ClickException(text) from None
            if answer:
                return answer
        raise _TimeIsUp
