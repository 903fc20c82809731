"""Havannah and Y of every size, against a slow implementation of their rules."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Set

import pytest

from playout import games
from playout.games.havannah import Havannah
from playout.games.y import Y
from support.scale import repetitions

Cell = tuple[int, int, int]  # the coordinates of `triples`, whose neighbours differ by one in two

SPECS = (
    *(f"havannah(size={size})" for size in (2, 3, 4, 5, 6, 8, 10)),
    "havannah(size=4,swap=true)",
    *(f"y(size={size})" for size in (1, 2, 3, 5, 8, 9, 11, 16, 19)),
)


def neighbours(cell: Cell) -> Iterator[Cell]:
    x, y, z = cell
    for step in (1, -1):
        yield from ((x + step, y - step, z), (x + step, y, z - step), (x, y + step, z - step))


def areas(cells: Set[Cell]) -> list[set[Cell]]:
    """Return the connected parts of a set of cells."""
    rest, found = set(cells), list[set[Cell]]()
    while rest:
        area = {rest.pop()}
        edge = list(area)
        while edge:
            new = rest.intersection(neighbours(edge.pop()))
            rest -= new
            area |= new
            edge += new
        found.append(area)
    return found


def has_won(game: Havannah, stones: Set[Cell]) -> bool:
    """Return whether a player's stones win, by the rules as they are written."""
    board = set(game.triples.values())
    if isinstance(game, Y):
        return any(all(0 in side for side in zip(*area, strict=True)) for area in areas(stones))
    last = game.size - 1
    for area in areas(stones):
        sides = [
            {(axis, each > 0) for axis, each in enumerate(cell) if abs(each) == last}
            for cell in area
        ]
        corners = sum(len(each) == 2 for each in sides)
        if corners >= 2 or len(set().union(*(each for each in sides if len(each) == 1))) >= 3:
            return True
    inside = any(stones.issuperset(neighbours(cell)) for cell in stones)
    border = {cell for cell in board if not board.issuperset(neighbours(cell))}
    return inside or any(area.isdisjoint(border) for area in areas(board - stones))


def anywhere(game: Havannah, choose: random.Random) -> Callable[[int], float]:
    return lambda action: choose.random()


def around_a_cell(game: Havannah, choose: random.Random) -> Callable[[int], float]:
    """Prefer cells that are near to one: the stones of a player become rings without a hole."""
    centre = choose.choice(list(game.triples.values()))

    def distance(action: int) -> float:
        away = zip(game.triples[action], centre, strict=True)
        return max(abs(one - other) for one, other in away) // 2 + choose.random()

    return distance


@pytest.mark.parametrize("prefer", [anywhere, around_a_cell])
@pytest.mark.parametrize("spec", SPECS)
def test_a_player_wins_as_soon_as_the_rules_say(
    spec: str, prefer: Callable[[Havannah, random.Random], Callable[[int], float]]
) -> None:
    game, choose = games.load(spec), random.Random(spec)
    assert isinstance(game, Havannah)
    for _ in range(repetitions(50, short=3)):
        state, rank = game.initial_state(), prefer(game, choose)
        while actions := game.legal_actions(state):
            player = game.current_player(state)
            action = (min if player == 1 else max)(actions, key=rank)
            state = game.next_state(state, action)
            stones = {cell for at, cell in game.triples.items() if state[2 + at] == player}
            full = sum(map(bool, state[2:])) == len(game.triples)
            assert game.winner(state) == (player if has_won(game, stones) else -1 if full else 0)
