"""`/games`: the rules, parameters and variants of each game, with an example position of each.

`/games/NAME`: those of one game; `/games/positions.json`: the example positions.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from twisted.logger import Logger
from twisted.web import http

from playout import games
from playout.games import BoardView, Description, Game, Position
from playout.games.core.description import Variant
from playout.server.core.view import board_of, position_view_of
from playout.server.runtime.game_compilation import described_games
from playout.server.web.http import (
    JSON,
    HttpError,
    HttpRequest,
    HttpResponse,
    cacheable_response,
)
from playout.server.web.pages.source import PageSource

#: Maximum number of moves before the example position.
_PLIES = 14
#: The share of the legal moves, nearest to the middle, of which the example takes random ones.
_NEAR = 0.3

#: The last segment of the address of the example positions.
_POSITIONS = "positions.json"

_log = Logger(namespace="server")


@dataclass(frozen=True)
class _ExamplePosition:
    """A position after some moves, as a drawing, and as text for browsers without scripts."""

    drawing: object
    text: str


@dataclass(frozen=True)
class _GameEntry:
    """A game and its variants, each with an example position."""

    description: Description
    example: _ExamplePosition
    variants: list[tuple[Variant, _ExamplePosition]]


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The games, each with its variants."""
    entries, missing = await source.archive.run_in_thread(_entries)
    return await _render(source, request, entries, missing)


async def item(source: PageSource, request: HttpRequest) -> HttpResponse:
    """One game, or the example positions in JSON, by the names of the games."""
    entries, missing = await source.archive.run_in_thread(_entries)
    if request.path == (_POSITIONS,):
        drawings = {each.description.name: each.example.drawing for each in entries}
        return await source.archive.run_in_thread(
            lambda: cacheable_response(msgspec.json.encode(drawings), JSON)
        )
    (name, *below) = request.path
    if name in missing and not below:
        text = "this game is being compiled for this machine; try again in a moment"
        raise HttpError(http.SERVICE_UNAVAILABLE, text)
    found = [each for each in entries if each.description.name == name and not below]
    if not found:
        raise HttpError(http.NOT_FOUND, f"there is no game {name!r} here")
    return await _render(source, request, found, [], alone=True)


async def _render(
    source: PageSource,
    request: HttpRequest,
    entries: Sequence[_GameEntry],
    missing: Sequence[str],
    *,
    alone: bool = False,
) -> HttpResponse:
    known = {each.description.name: each for each in entries}
    by_group = games.by_group(each.description for each in entries)
    groups = {title: [known[each.name] for each in group] for title, group in by_group.items()}
    return await source.render(
        "games.html",
        request.language,
        groups=groups,
        ready=len(entries),
        missing=missing,
        alone=alone,
    )


def _entries() -> tuple[list[_GameEntry], list[str]]:
    """The games that are ready, and the names of those that are being compiled."""
    described, missing = described_games()
    return [entry for each in described if (entry := _entry(each.name))], missing


@functools.cache
def _entry(name: str) -> _GameEntry | None:
    """A game with its examples; None for a plug-in game that fails."""
    try:
        description = games.describe(name)
        variants = [(each, _example(games.load(each.game))) for each in description.variants]
        return _GameEntry(description, _example(games.load(description.example)), variants)
    except Exception as error:  # a plug-in may raise anything; the other games are shown
        _log.warn("the game {name} cannot be shown: {error!r}", name=name, error=error)
        return None


def _example(game: Game) -> _ExamplePosition:
    position = _after_example_moves(game)
    drawing = {"board": board_of(game), "view": position_view_of(position)}
    return _ExamplePosition(msgspec.to_builtins(drawing), game.show(position.state))


def _after_example_moves(game: Game) -> Position:
    """The position after random moves near the middle, the same in each call; not the end.

    Dice are rolled for the next move.
    """
    rng = random.Random(4)
    position = Position(game)
    distances = _distances(game.view(position.state))
    while position.ply < min(_PLIES, game.max_plies // 3):
        after = position.play(rng.choice(_central_actions(position, distances)))
        if after.winner:
            break
        position = after
    return position.rolled(rng.randrange)


def _central_actions(position: Position, distances: Sequence[float]) -> list[int]:
    clicks = position.game.view(position.state).clicks

    def distance(action: int) -> float:
        return sum(map(distances.__getitem__, clicks.get(action, ())))

    actions = sorted(position.legal_actions, key=distance)
    return actions[: max(2, round(_NEAR * len(actions)))]


def _distances(view: BoardView) -> list[float]:
    """The distance of each cell from the middle of the board, in rows and columns."""
    row, column = (view.rows - 1) / 2, (view.columns - 1) / 2
    return [abs(r - row) + abs(c - column) for r in range(view.rows) for c in range(view.columns)]
