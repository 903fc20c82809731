"""Openings: random ones that leave both sides a chance, and given ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from playout import games
from playout.games import Game, Position, State
from playout.protocol.tournament_spec import Openings
from playout.ratings.book import Book
from playout.ratings.opening_generator import attempts, is_open
from playout.ratings.pairs import Opening, OpeningError

GAMES = ["connect_four", "gomoku", "mnk(m=8,n=8,k=5)", "nim", "othello", "ultimate_tic_tac_toe"]


def generated(game: Game, plies: int, seed: int, near: int = 0) -> Iterator[Opening]:
    return (each for each in attempts(game, plies, seed, near) if each is not None)


def generate(game: Game, plies: int, count: int, seed: int) -> list[Opening]:
    """The first `count` generated openings, or all if there are fewer."""
    return list(itertools.islice(generated(game, plies, seed), count))


def reached(game: Game, opening: tuple[int, ...]) -> State:
    state = Position(game, opening).state
    return state


def wins_at_once(game: Game, state: State) -> bool:
    mover = game.current_player(state)
    after = [game.next_state(state, action) for action in game.legal_actions(state)]
    return any(game.winner(each) == mover for each in after)


class Parity(Game):
    """A game in plain Python: nine moves of 0 or 1; the first player wins with an odd sum."""

    num_actions = 2
    max_plies = 9

    def initial_state(self) -> State:
        return (1, 0)

    def legal_actions(self, state: State) -> tuple[int, ...]:
        return () if state[1] else (0, 1)

    def next_state(self, state: State, action: int) -> State:
        moves = (*state[2:], action)
        over = len(moves) == self.max_plies
        return (3 - state[0], (2 - sum(moves) % 2) if over else 0, *moves)


# Generated.


@pytest.mark.parametrize("spec", GAMES)
def test_openings_are_legal_and_lead_to_different_positions(spec: str) -> None:
    game = games.load(spec)
    openings = generate(game, 3, 40, seed=1)
    assert {len(opening) for opening in openings} == {3}
    states = {reached(game, opening) for opening in openings}
    assert len(states) == len(openings) == (40 if spec != "nim" else 4)


@pytest.mark.parametrize("spec", GAMES)
def test_a_longer_list_begins_with_the_shorter(spec: str) -> None:
    game = games.load(spec)
    openings = generate(game, 2, 20, seed=1)
    for count in (0, 1, 7):
        assert generate(game, 2, count, seed=1) == openings[:count]
    if spec != "nim":
        assert generate(game, 2, 20, seed=2) != openings


def test_the_same_seed_gives_the_same_openings_everywhere() -> None:
    """A tournament that is resumed by another version depends on it."""
    assert generate(games.load("connect_four"), 4, 4, seed=7) == [
        (2, 0, 6, 4), (0, 2, 0, 6), (6, 6, 6, 3), (6, 2, 4, 5)
    ]  # fmt: skip


def test_there_are_as_many_as_there_are_positions() -> None:
    assert len(generate(games.load("othello"), 3, 1000, seed=1)) == 54
    assert len(generate(games.load("connect_four"), 1, 1000, seed=1)) == 7


def test_a_lopsided_position_is_left_out() -> None:
    """In tic-tac-toe, beginning in the centre wins three quarters of the points in random play."""
    openings = generate(games.load("tic_tac_toe"), 1, 1000, seed=1)
    assert set(openings) < {(action,) for action in range(9)} - {(4,)}


@pytest.mark.parametrize(("spec", "plies"), [("connect_four", 8), ("tic_tac_toe", 4)])
def test_nobody_wins_at_once_or_after_any_reply(spec: str, plies: int) -> None:
    game = games.load(spec)
    for opening in generate(game, plies, 60, seed=3):
        state = reached(game, opening)
        assert game.winner(state) == 0
        assert not wins_at_once(game, state)
        replies = [game.next_state(state, action) for action in game.legal_actions(state)]
        assert not all(wins_at_once(game, reply) for reply in replies)


def test_a_decided_position_is_none_to_start_from() -> None:
    game = games.load("connect_four")
    assert is_open(game, game.initial_state(), 1)
    for lost in [
        (3, 0, 3, 0, 3, 0),  # the first player wins at once
        (2, 2, 3, 3, 4),  # with two ends open, the second cannot prevent it
        (2, 2, 3, 3),  # nor here
    ]:
        assert not is_open(game, reached(game, lost), 1)


def test_without_plies_there_is_one_opening_without_moves() -> None:
    assert generate(games.load("nim"), 0, 10, seed=1) == [()]


def test_a_decided_game_has_no_openings() -> None:
    with pytest.raises(OpeningError, match="nim: after 12 random plies"):
        generate(games.load("nim"), 12, 10, seed=1)


def test_a_game_in_plain_python_has_openings_too() -> None:
    assert sorted(generate(Parity(), 2, 100, seed=1)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    with pytest.raises(OpeningError, match="Parity: after 6 random plies"):
        generate(Parity(), 6, 100, seed=1)


# Near the centre.


@pytest.mark.parametrize(("spec", "side"), [("gomoku(exact=true)", 7), ("gomoku(size=20)", 6)])
def test_stones_near_the_centre_are_drawn_from_all_of_its_cells(spec: str, side: int) -> None:
    """Three rows and columns from the centre are seven of 15, and six of 20."""
    game = games.load(spec)
    openings = list(itertools.islice(generated(game, 3, seed=1, near=3), 150))
    width = game.view(game.initial_state()).columns
    first = (width - side) // 2
    drawn = {divmod(action, width) for opening in openings for action in opening}
    region = range(first, first + side)
    assert drawn == {(row, column) for row in region for column in region}
    assert len({reached(game, opening) for opening in openings}) == 150
    assert all(game.current_player(reached(game, opening)) == 2 for opening in openings)


def test_near_the_centre_of_a_small_board_openings_end() -> None:
    game = games.load("mnk(m=5,n=5,k=5)")
    openings = list(generated(game, 1, seed=1, near=1))
    assert sorted(openings) == [(cell,) for cell in (6, 7, 8, 11, 12, 13, 16, 17, 18)]


def test_a_book_draws_near_the_centre() -> None:
    book = Book("gomoku", Openings(plies=3, near=1), seed=3)
    assert {divmod(action, 15)[0] for number in range(20) for action in book[number]} == {6, 7, 8}


# In a tournament.


def test_a_book_has_what_is_generated_and_begins_again() -> None:
    book = Book("nim", Openings(plies=2), seed=5)
    openings = generate(games.load("nim"), 2, 100, seed=5)
    assert [book[number] for number in (3, 0, 12)] == [openings[3], openings[0], openings[2]]
    assert [book[number] for number in range(10)] == openings * 2


def test_a_book_without_plies_has_the_first_position() -> None:
    book = Book("othello", Openings(), seed=5)
    assert [book[number] for number in range(3)] == [(), (), ()]


def test_a_book_has_the_lines_of_a_file_in_an_order_by_the_seed() -> None:
    lines = tuple((action,) for action in range(7))
    openings = Openings(lines={"connect_four": lines})
    one, other = (Book("connect_four", openings, seed) for seed in (1, 2))
    assert sorted(one[number] for number in range(7)) == list(lines)
    assert one[8] == one[1]
    assert [one[number] for number in range(7)] != [other[number] for number in range(7)]


def test_a_book_without_any_opening_says_so() -> None:
    with pytest.raises(OpeningError, match="nim"):
        Book("nim(chips=3)", Openings(plies=1), seed=1)[0]
