"""`/games`: the rules of each game, its parameters, and what it looks like."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass

import msgspec
from twisted.logger import Logger

import games
from games import Description, Game, State
from server.core.view import board_of, position_view_of
from server.web.http import Handler, HttpRequest, HttpResponse
from server.web.pages.source import PageSource, page, shown

#: A position with about so many pieces looks like the game.
_PLIES = 14
#: Of all moves, this share of those that are nearest to the middle is played.
_NEAR = 0.3

_log = Logger(namespace="server")


@dataclass(frozen=True)
class _Shown:
    """A game; its board and a position to be drawn, and as text where there are no scripts."""

    description: Description
    drawing: object
    text: str


def index(source: PageSource) -> Handler:
    """All of them."""

    async def show(asked: HttpRequest) -> HttpResponse:
        return page("games.html", games=await source.archive.aside(_all))

    return shown(show)


@functools.cache
def _all() -> list[_Shown]:
    return [each for name in games.names() if (each := _shown(name))]


def _shown(name: str) -> _Shown | None:
    """None for a game of somebody else's that does not work."""
    try:
        game = games.load(name)
        states, moves = _example(game)
        drawing = {
            "board": board_of(game),
            "view": position_view_of(game, states, moves, len(moves)),
        }
        return _Shown(games.describe(name), msgspec.to_builtins(drawing), game.show(states[-1]))
    except Exception as fault:  # whatever it is, the others are shown
        _log.warn("the game {name} cannot be shown: {fault!r}", name=name, fault=fault)
        return None


def _example(game: Game) -> tuple[list[State], list[int]]:
    """Some moves in the midst of the board, the same each time, that do not end the game."""
    choose = random.Random(4)
    states, moves = [game.initial_state()], list[int]()
    while len(moves) < min(_PLIES, game.max_plies // 3):
        actions = _in_the_midst(game, states[-1])
        action = choose.choice(actions)
        after = game.next_state(states[-1], action)
        if game.winner(after):
            break
        states.append(after)
        moves.append(action)
    return states, moves


def _in_the_midst(game: Game, state: State) -> list[int]:
    view = game.view(state)
    middle = (view.rows - 1) / 2, (view.columns - 1) / 2

    def distance(action: int) -> float:
        places = [divmod(cell, view.columns) for cell in view.clicks.get(action, ())]
        return sum(abs(r - middle[0]) + abs(c - middle[1]) for r, c in places)

    actions = sorted(game.legal_actions(state), key=distance)
    return actions[: max(2, round(_NEAR * len(actions)))]
