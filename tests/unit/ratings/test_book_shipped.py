"""The shipped openings: each game has some, which can be played and are near even by their file."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from playout import games
from playout.games import Position, SpecError
from playout.players.comparison.openings_command import first_image
from playout.ratings.book import shipped
from support.scale import sample

#: The games that need a parameter, and so have no default to write a book for.
WITHOUT_DEFAULTS = {"open_spiel", "original"}
#: Of 25 positions of Nim, all are won for one side; tic-tac-toe has so few positions.
FEWEST = {"nim": 10, "tic_tac_toe": 100}
LARGEST_BYTES = 16_000


@pytest.mark.parametrize("name", sorted(set(games.names()) - WITHOUT_DEFAULTS))
def test_a_game_has_a_book_of_different_positions(name: str) -> None:
    game = games.load(name)
    book = shipped(str(game))
    assert len(book) >= FEWEST.get(name, 200), f"write one: playout-tournament openings {name}"
    images = set()
    for opening in (checked := sample(book, short=15)):
        position = Position(game, opening)
        assert not position.winner
        images.add(first_image(game, opening))
    assert len(images) == len(checked)
    text = (files("playout.ratings") / "books" / f"{game}.txt").read_text()
    assert len(text) < LARGEST_BYTES
    assert name == "nim" or re.search(r"at most 0\.15 \(\w+, [15]000 simulations\)", text)


def test_every_book_is_of_a_game() -> None:
    for file in (files("playout.ratings") / "books").iterdir():
        assert shipped(str(games.load(file.name.removesuffix(".txt"))))


def test_other_games_and_parameters_have_none() -> None:
    assert shipped("othello(size=6)") == shipped("no_such_game") == shipped("../x") == ()
    with pytest.raises(SpecError):
        games.load("open_spiel")
