"""Matches and their images under the symmetries of a game."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from playout.games import Game, State, Symmetry


def moved(values: Sequence[int], places: Sequence[int]) -> tuple[int, ...]:
    """Returns the values, each at the place to which its own place is moved."""
    result = [0] * len(values)
    for value, place in zip(values, places, strict=True):
        result[place] = value
    return tuple(result)


def image_of_start(game: Game, symmetry: Symmetry) -> State:
    """Returns the moved first position.

    Unless that is the first position itself, its cells must be the first words after the outcome.
    """
    state = game.initial_state()
    end = 2 + len(symmetry.cells)
    cells = game.view(state).cells
    if moved(cells, symmetry.cells) == cells:
        return state
    # Kinds of pieces may have numbers of their own.
    assert [each != 0 for each in state[2:end]] == [owner != 0 for owner in cells]
    return state[:2] + moved(state[2:end], symmetry.cells) + state[end:]


def match_and_image(
    game: Game, symmetry: Symmetry, seed: int
) -> Iterator[tuple[State, State, int, int]]:
    """Yields the positions of a random match, their images, and the last action of both."""
    choose = random.Random(seed)
    state, image, last, last_image = game.initial_state(), image_of_start(game, symmetry), -1, -1
    yield state, image, last, last_image
    while actions := game.legal_actions(state):
        last = choose.choice(actions)
        last_image = symmetry.actions[last]
        state, image = game.next_state(state, last), game.next_state(image, last_image)
        yield state, image, last, last_image
