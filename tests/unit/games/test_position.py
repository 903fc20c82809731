"""playout.games.core.position: the positions of matches, as values."""

from __future__ import annotations

import pickle
import random

import pytest

from playout import games
from playout.games import Game, IllegalAction, Position, State
from playout.games.core.position import PackedStates
from playout.games.tic_tac_toe import TicTacToe
from support.variants import every_game

#: Names that a text of a position needs to be read.
READERS = {"Position": Position, "games": games}


def random_position(game: Game, seed: int, most: int = 40) -> Position:
    """The position after random moves, at most `most`."""
    draw, position = random.Random(seed), Position(game)
    while position.legal_actions and position.ply < most:
        position = position.play(draw.choice(position.legal_actions))
    return position


@every_game
def test_a_position_has_what_the_game_says_of_its_states(spec: str) -> None:
    game = games.load(spec)
    position = random_position(game, seed=1)
    assert position.states[0] == game.initial_state()
    for ply, action in enumerate(position.moves):
        assert position.states[ply + 1] == game.next_state(position.states[ply], action)
        assert position.move_name(ply) == game.action_name(position.states[ply], action)
    assert position.state == position.states[-1]
    assert position.ply == len(position.moves) == len(position.states) - 1
    assert position.legal_actions == game.legal_actions(position.state)
    assert position.to_move == game.current_player(position.state)
    assert position.winner == game.winner(position.state)
    assert position.last_move == position.moves[-1]


@every_game
def test_a_position_is_read_back_from_its_text_and_its_pickle(spec: str) -> None:
    game = games.load(spec)
    position = random_position(game, seed=2, most=12)
    for again in (eval(repr(position), READERS), pickle.loads(pickle.dumps(position))):
        assert again == position
        assert hash(again) == hash(position)
        assert (str(again.game), again.states) == (str(game), position.states)
        assert again.legal_actions == position.legal_actions


@every_game
def test_names_lead_to_the_same_position(spec: str) -> None:
    game = games.load(spec)
    position = random_position(game, seed=3, most=8)
    names = Position(game).names(position.moves)
    assert list(names) == [position.move_name(ply) for ply in range(position.ply)]
    # Two actions may have one name, if they lead to the same position.
    assert Position.from_names(game, names).states == position.states


def test_earlier_positions_and_continuations_are_other_values() -> None:
    position = Position(games.load("tic_tac_toe"), [4, 0, 8])
    assert position.at(2) == Position(position.game, [4, 0])
    assert position.at(3) is position
    assert position.at(0).last_move is None
    assert position.play(1).at(3) == position
    assert position.play(1) != position.play(2)
    assert len({position, position.at(2), Position(position.game, [4, 0, 8])}) == 2
    with pytest.raises(IndexError):
        position.at(4)


def test_a_position_cannot_be_changed() -> None:
    position = Position(games.load("nim"))
    with pytest.raises(AttributeError, match="cannot be changed"):
        position.moves = (1,)
    assert position.play(0) is not position
    assert position.moves == ()


def test_illegal_moves_are_refused_with_the_legal_ones() -> None:
    game = games.load("tic_tac_toe")
    with pytest.raises(IllegalAction, match="legal are"):
        Position(game, [4, 4])
    with pytest.raises(IllegalAction, match="legal are"):
        Position.from_names(game, ["b2", "b2"])
    assert Position(game).names([4, 4, 0]) == ("b2",)


def test_a_first_state_is_part_of_the_value() -> None:
    game = games.load("tic_tac_toe")
    start = game.next_state(game.initial_state(), 4)
    position = Position(game, [0], start=start)
    assert position.state == Position(game, [4, 0]).state
    assert position != Position(game, [4, 0])
    assert eval(repr(position), READERS) == position


def test_other_values_are_never_equal() -> None:
    nim, small = games.load("nim"), games.load("nim(chips=5)")
    assert Position(nim) != Position(small)
    assert Position(nim) != nim.initial_state()


class Counting(TicTacToe):
    """Counts how often legal actions are computed."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def legal_actions(self, state: State) -> tuple[int, ...]:
        self.calls += 1
        return super().legal_actions(state)


def test_legal_actions_are_computed_once_for_each_position() -> None:
    game = Counting()
    position = Position(game)
    assert position.legal_actions == position.legal_actions == tuple(range(9))
    assert game.calls == 1
    assert 4 not in position.play(4).legal_actions
    assert game.calls == 1  # a game with kernels computes them with the move


def test_a_line_is_played_up_to_a_move_that_is_not_legal() -> None:
    position = Position(games.load("tic_tac_toe"), [4])
    assert position.extended([0, 8]) == position.play(0).play(8)
    assert position.extended([0, 4, 8]) == position.play(0)
    assert position.extended([4]) is position


@pytest.mark.parametrize("spec", ["tic_tac_toe", "go", "chess"])
def test_packed_states_are_those_of_the_position(spec: str) -> None:
    choose, plain = random.Random(1).choice, Position(games.load(spec))
    packed = plain.packed()
    while plain.ply < 41 and plain.legal_actions:
        action = choose(plain.legal_actions)
        earlier = packed
        plain, packed = plain.play(action), packed.play(action)
        assert len(earlier.states) == plain.ply  # it is unchanged
    assert tuple(packed.states) == plain.states
    assert packed == plain
    assert packed.states[-1] == packed.state == plain.state
    assert tuple(packed.states[1:4]) == plain.states[1:4]
    assert plain.packed().states[0] == plain.states[0]
    for ply in range(plain.ply + 1):
        back = packed.at(ply)
        assert tuple(back.states) == plain.states[: ply + 1]
        if ply < plain.ply:
            assert back.play(plain.moves[ply]).state == plain.states[ply + 1]


def test_packed_states_of_a_long_match_are_small() -> None:
    choose, position = random.Random(1).choice, Position(games.load("go(size=19)")).packed()
    while position.ply < 80:
        position = position.play(choose(position.legal_actions[:-1]))
    states = position.states
    assert isinstance(states, PackedStates)
    assert states.packed_bytes < 400 * position.ply
