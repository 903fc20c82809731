"""What games declare of their cells is what random positions show."""

from __future__ import annotations

import numpy as np
import pytest

from playout import games
from playout.games import GridGame
from playout.players.core.cells import cells_of, clicks_of
from support.plain import Plain
from support.variants import COMPILED, VARIANTS


class Undeclared(Plain):
    """A game in plain Python that declares nothing."""

    def __init__(self, game: games.Game) -> None:
        super().__init__(game)
        self.action_cells, self.falls = (), False


GRIDS = [spec for spec in COMPILED + VARIANTS if isinstance(games.load(spec), GridGame)]


@pytest.mark.parametrize("spec", GRIDS)
def test_declared_words_and_pieces_are_those_of_random_positions(spec: str) -> None:
    game = games.load(spec)
    declared, found = cells_of(game), cells_of(Undeclared(game))
    if found.is_shown:
        assert (declared.rows, declared.columns) == (found.rows, found.columns)
        pairs = zip(declared.words, found.words, strict=True)
        assert [pair for pair in pairs if -1 not in pair and len({*pair}) > 1] == []
        assert any(word >= 0 for word in found.words)
    if declared.pieces:
        assert found.pieces.items() <= declared.pieces.items()


@pytest.mark.parametrize("spec", GRIDS)
def test_declared_clicks_are_those_of_random_positions(spec: str) -> None:
    game = games.load(spec)
    declared, found = clicks_of(game), clicks_of(Undeclared(game))
    assert (declared.table is None) == (found.table is None)
    if declared.table is not None and found.table is not None:
        assert declared.falls == found.falls
        seen = np.flatnonzero((found.table >= 0).any(axis=1))
        width = found.table.shape[1]
        assert len(seen) > 0
        assert np.array_equal(declared.table[seen, :width], found.table[seen])


def test_a_state_without_cells_has_its_small_words_in_a_row() -> None:
    found = cells_of(games.load("nim"))
    assert (found.rows, found.columns, found.words) == (1, 1, (2,))
    assert not found.is_shown
