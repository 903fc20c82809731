"""Ladders of Go, compared with a second reading by sets of stones, and in known positions."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from playout import games
from playout.games.goban import chains, playouts
from playout.games.goban.position import point_of

Point = tuple[int, int]
Stones = dict[Point, int]

SIDE = 7
STONES = ".XO"
#: White's move at C5 captures the stone of Black at C4, which no stone at F6 helps.
LADDER = "....... ....... ....... .OX.... ..OO... ....... ......."


def board_of(stones: Stones, player: int = 1, side: int = SIDE) -> np.ndarray:
    game = games.load(f"go(size={side})")
    initial = game.initial_state()
    cells = [stones.get(each, 0) for each in itertools.product(range(side), repeat=2)]
    return game.board((player, *initial[1:5], *cells, *initial[5 + len(cells) :]))


def stones_of(picture: str) -> Stones:
    """Return the stones of a picture, whose rows are from the top."""
    rows = list(reversed(picture.split()))
    side = range(len(rows))
    cells = {(row, column): STONES.index(rows[row][column]) for row in side for column in side}
    return {point: colour for point, colour in cells.items() if colour}


def around(point: Point, side: int = SIDE) -> list[Point]:
    row, column = point
    near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return [each for each in near if min(each) >= 0 and max(each) < side]


def chain(stones: Stones, point: Point) -> tuple[set[Point], set[Point]]:
    """Return the stones of a chain, and its liberties."""
    found, left = {point}, [point]
    while left:
        for near in around(left.pop()):
            if stones.get(near) == stones[point] and near not in found:
                found.add(near)
                left.append(near)
    return found, {near for each in found for near in around(each) if near not in stones}


def catches(stones: Stones, point: Point, attack: Point) -> bool:
    """Say whether a ladder captures the chain of a point, from rules alone."""
    player = stones[point]
    after = {**stones, attack: 3 - player}
    if not chain(after, attack)[1]:
        return False
    members, (extension, *_) = chain(after, point)
    beside = {near for each in members for near in around(each) if after.get(near) == 3 - player}
    if any(len(chain(after, each)[1]) == 1 for each in beside):
        return False
    after[extension] = player
    liberties = chain(after, point)[1]
    if len(liberties) == 2:
        return any(catches(after, point, each) for each in liberties)
    return len(liberties) < 2


@given(st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=SIDE**2, max_size=SIDE**2))
def test_ladders_are_read_as_by_sets_of_stones(cells: list[int]) -> None:
    points = itertools.product(range(SIDE), repeat=2)
    stones = {point: colour for point, colour in zip(points, cells, strict=True) if colour}
    board = board_of(stones)
    before = board.copy()
    for stone in stones:
        liberties = chain(stones, stone)[1]
        if len(liberties) == 2:
            place = point_of(board, stone[0] * SIDE + stone[1])
            for attack in liberties:
                at = point_of(board, attack[0] * SIDE + attack[1])
                assert chains.catches(board, place, at) == catches(stones, stone, attack)
    assert (board == before).all()


def test_a_ladder_runs_to_the_border_unless_a_stone_breaks_it() -> None:
    ladder = board_of(stones_of(LADDER))
    broken = board_of({**stones_of(LADDER), (5, 5): 1})
    stone, attack = point_of(ladder, 3 * SIDE + 2), point_of(ladder, 4 * SIDE + 2)
    assert chains.catching_point(ladder, stone) == attack
    assert chains.catching_point(broken, stone) == 0


def test_assumed_results_favour_what_begins_or_prevents_a_ladder() -> None:
    game = games.load(f"go(size={SIDE})")
    attack, elsewhere = 4 * SIDE + 2, 5 * SIDE + 5
    for player in (1, 2):
        results = np.zeros(2 * game.num_actions, dtype=np.int64)
        game.kernels.prior(board_of(stones_of(LADDER), player), results)  # type: ignore[attr-defined]
        won = results[::2] / 2
        assert won[attack] >= playouts.EVEN / 2 + playouts.LADDER
        assert won[elsewhere] < playouts.EVEN
