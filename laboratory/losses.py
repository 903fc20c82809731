"""The most instructive lost matches of a version: those in which one move cost the most."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
import msgspec
from sqlalchemy.exc import SQLAlchemyError

from playout.commands.options import registered
from playout.commands.text import counted
from playout.games import Position
from playout.laboratory.journal import MATCHES, Journal, VersionTest
from playout.players import Info, Limit, Player
from playout.players.best import Best
from playout.protocol.messages import Reason
from playout.server.export.replay import Contradiction, replay
from playout.server.model.records import StoredMatch
from playout.server.storage import Database

#: The maximum number of lost matches that are searched for costly moves: the shortest ones.
_SEARCHED = 12
#: The costly moves shown of a match, and the win rate that a move has to cost.
_MOVES, _COST = 3, 0.1
#: The win rate of each proven result.
_PROVEN = {1: 1.0, 0: 0.5, -1: 0.0}
#: The ends of a match that its moves explain.
_BY_MOVES = (Reason.RULES, Reason.RESIGNATION, Reason.ADJUDICATION, Reason.AGREEMENT)


class CostlyMove(msgspec.Struct, frozen=True):
    """A move of the loser, with the move that was better by the search.

    `ply` counts the moves of the match from 1. `win_rate` and `left` are the loser's win rates
    before and after the move.
    """

    ply: int
    move: str
    better: str
    win_rate: float
    left: float

    @property
    def cost(self) -> float:
        """The win rate that the move has lost."""
        return self.win_rate - self.left


class Loss(msgspec.Struct, frozen=True):
    """A lost match: the seat of the loser, its end, all moves, and those that cost the most.

    The first `opening` of the moves were made for the players.
    """

    match: str
    game: str
    opponent: str
    seat: int
    reason: str
    opening: int
    moves: tuple[str, ...]
    costly: tuple[CostlyMove, ...]

    def lines(self) -> Iterator[str]:
        """Yield the match for people: a heading, its moves, and a line for each costly move."""
        yield (
            f"Match {self.match}, {self.game}, player {self.seat} against {self.opponent}, lost: "
            f"{self.reason}"
        )
        made, played = self.moves[: self.opening], self.moves[self.opening :]
        yield "  " + " ".join([*made, "|", *played] if made else played)
        if not self.costly:
            yield "  no move cost a tenth of the win rate: the position before was lost, or unclear"
        for each in self.costly:
            yield (
                f"  move {each.ply}, {each.move}: win rate {each.win_rate:.0%} -> {each.left:.0%}; "
                f"better: {each.better}"
            )


class VersionLosses(msgspec.Struct, frozen=True):
    """The losses of a version in a test, in words, and the most instructive matches of them."""

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
    """Return the losses of a version, one of the names of a test: by default its first candidate.

    `number` is that of the test, by default the last one. At most `matches` are returned, after a
    search of `seconds`. A game may be a module:Class in the `folder` of the bot. `searching`
    receives lines about the progress. Raises UsageError.
    """
    test = _chosen(journal, number)
    name = _named(test, version)
    url = f"sqlite:///{(journal.place(test) / MATCHES).absolute()}"
    try:
        with contextlib.closing(Database(url, only_read=True)) as stored:
            lost = lost_matches(stored.matches(player=name, read_analysis=None), name)
    except SQLAlchemyError as error:
        raise click.UsageError(f"the matches of test {test.number} cannot be read") from error
    for game in {each.started.game for each in lost}:
        registered(game, folder)
    try:
        found = instructive(lost, name, matches, seconds, searching)
    except Contradiction as error:
        raise click.UsageError(str(error)) from error
    return VersionLosses(test.number, name, reasons(lost), tuple(found))


def _chosen(journal: Journal, number: int | None) -> VersionTest:
    """Return the test of a number, or the last one. Raises UsageError."""
    known = {each.number: each for each in journal}
    if not known:
        raise click.UsageError("there is no test yet: playout-lab test")
    if number is not None and number not in known:
        raise click.UsageError(f"there is no test {number}: see playout-lab list")
    return known[max(known) if number is None else number]


def _named(test: VersionTest, version: str | None) -> str:
    """Return the name of a version that begins with a text. Raises UsageError."""
    wanted = test.names[1] if version is None else version
    found = [each for each in test.names if each.startswith(wanted)]
    if wanted in test.names or len(found) == 1:
        return wanted if wanted in test.names else found[0]
    raise click.UsageError(
        f"test {test.number} has no version {wanted!r}, but: {', '.join(test.names)}"
    )


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


def instructive(
    lost: Iterable[StoredMatch],
    name: str,
    number: int,
    seconds: float,
    searching: Callable[[str], object],
) -> list[Loss]:
    """Return up to `number` lost matches, ordered by the cost of their costliest move.

    The shortest twelve that differ and were lost by their moves are searched, in `seconds` in all.
    `searching` receives a line before each. Raises Contradiction for a match that cannot be read.
    """
    by_moves = {
        tuple(move.action for move in each.moves): each
        for each in lost
        if each.ended and each.ended.reason in _BY_MOVES and each.moves
    }
    chosen = sorted(by_moves.values(), key=lambda each: len(each.moves))[:_SEARCHED]
    plies = sum(len(each.moves) - each.started.opening for each in chosen)
    limit = Limit(seconds=seconds / max(1, plies))
    found, players = [], dict[str, Player]()
    try:
        for place, each in enumerate(chosen, 1):
            searching(f"Searching lost match {place} of {len(chosen)}")
            found.append(_loss(each, name, limit, players))
    finally:
        for player in players.values():
            player.close()
    found.sort(key=lambda loss: loss.costly[0].cost if loss.costly else 0.0, reverse=True)
    return found[:number]


def _loss(stored: StoredMatch, name: str, limit: Limit, players: dict[str, Player]) -> Loss:
    """Return a lost match with its costly moves; `players` keeps the search of each game."""
    started = stored.started
    last = replay(stored).position
    if last.game.has_chance:
        raise Contradiction("game", f"{started.game} has chance: a move is not to blame for a roll")
    if (player := players.get(started.game)) is None:
        player = players[started.game] = Best(last.game, seed=1)
    seat = 1 + started.players.index(name)
    plies = range(started.opening, last.ply + 1)
    searched = [_searched(player, last.at(ply), seat, limit) for ply in plies]
    costly = []
    for ply, ((rate, best), (left, _)) in zip(plies, itertools.pairwise(searched), strict=False):
        before = last.at(ply)
        if before.to_move == seat and rate - left >= _COST and last.moves[ply] != best:
            move = last.move_name(ply)
            costly.append(CostlyMove(ply + 1, move, before.name(best), rate, left))
    assert stored.ended
    return Loss(
        started.match,
        started.game,
        started.players[2 - seat],
        seat,
        stored.ended.text,
        started.opening,
        tuple(map(last.move_name, range(last.ply))),
        tuple(sorted(costly, key=lambda each: each.cost, reverse=True)[:_MOVES]),
    )


def _searched(player: Player, position: Position, seat: int, limit: Limit) -> tuple[float, int]:
    """Return the win rate of a seat by a search, or by the result, and the best action."""
    if winner := position.winner:
        return (0.5 if winner not in (1, 2) else float(winner == seat)), -1
    result = player.choose(position, limit)
    info = result.info or Info()
    rate = info.win_rate if info.proven is None else _PROVEN[info.proven]
    return (rate if position.to_move == seat else 1.0 - rate), result.action
