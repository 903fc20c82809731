"""The most instructive lost matches of a version: those in which one move cost the most."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import click
import msgspec
from msgspec import structs
from sqlalchemy.exc import SQLAlchemyError

from playout.commands.options import registered
from playout.commands.text import counted
from playout.games import IllegalAction, SpecError
from playout.laboratory.journal import Journal, VersionTest
from playout.players.analyst.costly_moves import MOST_SEARCHED, Loss, instructive
from playout.protocol.messages import Reason
from playout.server.export.replay import Contradiction, replay
from playout.server.model.records import StoredMatch
from playout.server.storage import Database

#: The ends of a match that its moves explain.
_BY_MOVES = (Reason.RULES, Reason.RESIGNATION, Reason.ADJUDICATION, Reason.AGREEMENT)


class VersionLosses(msgspec.Struct, frozen=True):
    """The losses of a version in a test, in words, and some of the lost matches.

    Before a search, these are the shortest ones that differ and were lost by their moves.
    """

    test: int
    version: str
    summary: str
    matches: tuple[Loss, ...]


def losses_of(
    journal: Journal,
    folder: Path,
    number: int | None,
    version: str | None,
    matches: int,
    seconds: float,
    searching: Callable[[str], object],
) -> VersionLosses:
    """Return the losses of a version, with its most instructive matches.

    For `number` and `version` see `stored_losses`. At most `matches` are returned, after a search
    of `seconds`. A game may be a module:Class in the `folder` of the bot. `searching` receives
    lines about the progress. Raises UsageError.
    """
    found = stored_losses(journal, number, version, lambda game: registered(game, folder))
    try:
        chosen = instructive(found.matches, matches, seconds, searching)
    except (SpecError, IllegalAction) as error:
        raise click.UsageError(str(error)) from error
    return structs.replace(found, matches=tuple(chosen))


def stored_losses(
    journal: Journal,
    number: int | None,
    version: str | None,
    register: Callable[[str], object] = lambda game: None,
) -> VersionLosses:
    """Return the losses of a version, one of the names of a test: by default its first candidate.

    `number` is the number of the test, by default the last one. `register` is called with each game
    before it is loaded. Raises UsageError.
    """
    test = journal.chosen(number)
    name = _named(test, version)
    if journal.lacks_matches(test):
        raise click.UsageError("the matches of this test were removed")
    url = journal.database(test)
    try:
        with contextlib.closing(Database(url, only_read=True)) as stored:
            lost = lost_matches(stored.matches(player=name, read_analysis=None), name)
    except SQLAlchemyError as error:
        raise click.UsageError("the matches of this test cannot be read") from error
    for game in {each.started.game for each in lost}:
        register(game)
    try:
        shortest = tuple(unsearched(each, name) for each in shortest_by_moves(lost))
    except Contradiction as error:
        raise click.UsageError(str(error)) from error
    return VersionLosses(test.number, name, reasons(lost), shortest)


def _named(test: VersionTest, version: str | None) -> str:
    """Return the name of a version that begins with a text. Raises UsageError."""
    wanted = test.names[1] if version is None else version
    found = [each for each in test.names if each.startswith(wanted)]
    if wanted in test.names or len(found) == 1:
        return wanted if wanted in test.names else found[0]
    raise click.UsageError(f"this test has no version {wanted!r}, but: {', '.join(test.names)}")


def lost_matches(matches: Iterable[StoredMatch], name: str) -> list[StoredMatch]:
    """Return the matches that the player of that name has lost, as they are stored."""
    return [
        each
        for each in matches
        if name in each.started.players
        and each.ended
        and each.ended.winner == 2 - each.started.players.index(name)
    ]


def reasons(lost: Iterable[StoredMatch]) -> str:
    """Return in words how often matches were lost for each reason, the most frequent first."""
    found = Counter(str(each.ended.reason) for each in lost if each.ended)
    total = counted(found.total(), "lost match")
    return f"{total}: " + ", ".join(f"{number} by {each}" for each, number in found.most_common())


def shortest_by_moves(lost: Iterable[StoredMatch]) -> list[StoredMatch]:
    """Return the shortest matches that differ and were lost by their moves, as many as searched."""
    by_moves = {
        (each.started.game, *(move.action for move in each.moves)): each
        for each in lost
        if each.ended and each.ended.reason in _BY_MOVES and each.moves
    }
    return sorted(by_moves.values(), key=lambda each: len(each.moves))[:MOST_SEARCHED]


def unsearched(stored: StoredMatch, name: str) -> Loss:
    """Return a lost match before a search. Raises Contradiction."""
    started, last = stored.started, replay(stored).position
    seat = 1 + started.players.index(name)
    assert stored.ended
    return Loss(
        started.match,
        started.game,
        started.players[2 - seat],
        seat,
        stored.ended.text,
        started.opening,
        tuple(map(last.move_name, range(last.ply))),
    )
