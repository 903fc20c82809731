"""Requirements for every game; a game is tested as soon as it can be loaded."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playout import games
from playout.games import TIE, Game, IllegalAction, KernelGame, Position, State
from playout.games.core.description import described
from playout.games.core.random import seeded
from support.scale import repetitions, sample
from support.variants import every_compiled_game, every_game


def random_match(game: Game, seed: int) -> tuple[list[State], list[int]]:
    """Return all states and moves of a random match."""
    choose = random.Random(seed)
    states, moves = [game.initial_state()], []
    while actions := game.legal_actions(states[-1]):
        moves.append(choose.choice(actions))
        states.append(game.next_state(states[-1], moves[-1]))
    return states, moves


@every_game
def test_a_match_keeps_to_the_interface(spec: str) -> None:
    game = games.load(spec)
    for seed in range(repetitions(20, short=2)):
        states, moves = random_match(game, seed)
        assert len(moves) <= game.max_plies
        for state in states:
            assert all(type(number) is int for number in state)
            assert game.current_player(state) == state[0]
            assert game.winner(state) == state[1]
        assert {state[0] for state in states} <= ({0, 1, 2} if game.has_chance else {1, 2})
        assert states[-1][0]
        for state in states[:-1]:
            assert game.winner(state) == 0
            assert game.returns(state) == (0.0, 0.0)
            actions = game.legal_actions(state)
            assert list(actions) == sorted(set(actions))
            assert actions[0] >= 0
            assert actions[-1] < game.num_actions
        assert game.winner(states[-1]) in (1, 2, TIE)
        assert sum(game.returns(states[-1])) == 1


@every_game
def test_only_legal_actions_are_played(spec: str) -> None:
    game = games.load(spec)
    for state in sample(random_match(game, 1)[0], short=30):
        legal = game.legal_actions(state)
        for action in {-1, 0, game.num_actions // 2, game.num_actions, 2**40} - set(legal):
            with pytest.raises(IllegalAction, match="legal"):
                game.next_state(state, action)


@every_game
def test_notation_names_each_move_and_is_read_back(spec: str) -> None:
    game = games.load(spec)
    for state in sample(random_match(game, 2)[0], short=10):
        names = {game.action_name(state, action): action for action in game.legal_actions(state)}
        assert len(names) == len(game.legal_actions(state))
        for name, action in sample(list(names.items()), short=20):
            assert game.parse_action(state, f" {name} ") == action
            if sum(each.lower() == name.lower() for each in names) == 1:
                assert game.parse_action(state, name.upper()) == action
        with pytest.raises(IllegalAction, match="nonsense"):
            game.parse_action(state, "nonsense")


@every_game
def test_a_view_shows_every_cell_and_move(spec: str) -> None:
    game = games.load(spec)
    for state in sample(random_match(game, 3)[0], short=10):
        view = game.view(state)
        assert len(view.cells) == view.rows * view.columns
        assert tuple(view.clicks) == game.legal_actions(state)
        assert not game.material or {*view.kinds} <= {"", "king", *game.material}
        for cell in itertools.chain(*view.clicks.values()):
            assert 0 <= cell < len(view.cells)
        assert json.dumps(dataclasses.asdict(view))
        for label in view.column_labels:
            assert label in game.show(state)
        long = [each.cells for each in game.long_moves(state)]
        assert len({*long, *view.clicks.values()}) == len(long) + len({*view.clicks.values()})


@pytest.mark.parametrize("name", games.names())
def test_every_game_describes_its_rules_and_parameters(name: str) -> None:
    told = games.describe(name)
    assert told.name == name
    assert bool(told.groups) is (told.example == name)  # those of another system have none
    assert {*told.groups} <= {*games.GROUPS}
    assert len(told.about) > 100
    assert len(told.first_steps) > 50
    assert all(each.about and each.kind for each in told.parameters)
    given = [each for each in told.parameters if each.default is not None]
    text = ",".join(f"{each.name}={str(each.default).lower()}" for each in given)
    required = told.example.removeprefix(name).strip("()")
    options = ",".join(filter(None, (required, text)))
    assert str(games.load(f"{name}({options})")) == told.example


@pytest.mark.parametrize("name", games.names())
def test_variants_are_spelled_as_the_game_spells_itself(name: str) -> None:
    for variant in games.describe(name).variants:
        assert str(games.load(variant.game)) == variant.game
        assert variant.about


def test_a_game_that_says_nothing_is_described_by_its_docstring() -> None:
    class Silent(games.load("nim").__class__):  # type: ignore[misc]
        about = ""

    class Documented(Silent):
        """Take some;
        who takes the last wins.

        Not for people.
        """

    assert described("silent", Silent).about == ""
    assert described("documented", Documented).about == "Take some; who takes the last wins."


@every_compiled_game
def test_a_state_determines_the_board(spec: str) -> None:
    """The same state gives the same board, on every path to the position."""
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    choose = random.Random(4)
    reached = [(game.initial_state(), game.board())]
    for state, board in reached:
        assert np.array_equal(board, game.board(state))
        actions = game.legal_actions(state)
        for action in choose.sample(actions, min(3, len(actions))):
            if len(reached) < repetitions(300, short=60):
                after = board.copy()
                game.kernels.play(after, action)
                reached.append((game.next_state(state, action), after))
    assert len(reached) > 1


@every_compiled_game
@settings(max_examples=repetitions(100, short=10))
@given(data=st.data())
def test_invalid_states_cause_no_access_outside_the_board(spec: str, data: st.DataObject) -> None:
    """An invalid state gives a wrong answer or an error, but no access outside the board."""
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    size = len(game.initial_state())
    # Bytes are drawn at once, and a list number by number, which takes seconds for large boards.
    words = np.frombuffer(data.draw(st.binary(min_size=8 * size, max_size=8 * size)), np.int64)
    kinds = np.frombuffer(data.draw(st.binary(min_size=size, max_size=size)), np.int8)
    state = tuple(np.where(kinds < 0, words, kinds % 16 - 3).tolist())
    with contextlib.suppress(ValueError):
        for action in game.legal_actions((1, 0, *state[2:])):
            assert 0 <= action < game.num_actions
            game.next_state((1, 0, *state[2:]), action)
        game.legal_actions(state)


@pytest.mark.parametrize(
    ("spec", "one", "other"),
    [
        ("tic_tac_toe", (0, 4, 8), (8, 4, 0)),
        ("connect_four", (0, 3, 6, 3), (6, 3, 0, 3)),
        ("nim", (0, 1, 2), (2, 1, 0)),
        ("nim(piles=3;4)", (0, 3, 1), (1, 0, 3)),
        ("gomoku", (0, 100, 1, 101), (1, 101, 0, 100)),
        ("ultimate_tic_tac_toe", (0, 1, 9, 4, 36), (0, 4, 36, 1, 9)),
        ("hex", (0, 1, 2, 13), (2, 13, 0, 1)),
    ],
)
def test_a_transposition_is_the_same_state(
    spec: str, one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    game = games.load(spec)

    def after(path: tuple[int, ...]) -> State:
        state = Position(game, path).state
        return state

    assert after(one) == after(other)
    assert hash(after(one)) == hash(after(other))


@every_compiled_game
def test_kernels_and_tuples_agree_from_any_position(spec: str) -> None:
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    states, moves = random_match(game, 5)
    board, actions = game.board(), np.empty(game.num_actions, dtype=np.int64)
    for state, move in zip(states, [*moves, None], strict=True):
        assert np.array_equal(board, game.board(state))
        assert game.state(board) == state
        count = game.kernels.legal(board, actions)
        assert tuple(actions[:count]) == game.legal_actions(state)
        if move is not None:
            game.kernels.play(board, move)


@every_compiled_game
def test_a_playout_is_a_match_that_ends_as_it_says(spec: str) -> None:
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    rng, trace = seeded(6), np.empty(game.max_plies + game.num_actions, dtype=np.int64)
    for state in sample(random_match(game, 6)[0], short=30):
        board = game.board(state)
        plies = game.kernels.playout(board, rng, trace)
        for action in trace[:plies].tolist():
            state = game.next_state(state, action)
        assert game.winner(state) == board[1] != 0
        assert game.state(board) == state


@every_compiled_game
def test_playouts_choose_evenly(spec: str) -> None:
    choose_evenly(spec, [])


@pytest.mark.parametrize(
    ("spec", "moves"),
    [
        ("amazons", [93]),
        ("amazons(size=6)", [24, 12]),
        ("kalah", [3, 1]),
        ("oware", [0, 5, 3]),
        ("pentago", [8, 9]),
    ],
)
def test_playouts_choose_evenly_after_some_moves(spec: str, moves: list[int]) -> None:
    choose_evenly(spec, moves)


def choose_evenly(spec: str, moves: list[int]) -> None:
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    state = Position(game, moves).state
    rng, trace = seeded(7), np.empty(game.max_plies + game.num_actions, dtype=np.int64)
    clicks = game.view(state).clicks
    legal = [action for action, cells in clicks.items() if cells] or [*clicks]  # it may never pass
    seen = dict.fromkeys(legal, 0)
    mean = repetitions(200, short=50)
    for _ in range(mean * len(legal)):
        game.kernels.playout(game.board(state), rng, trace)
        seen[int(trace[0])] += 1
    # Five standard deviations of a binomial with that mean.
    assert max(abs(count - mean) for count in seen.values()) <= 5 * mean**0.5


@every_game
def test_the_spelling_of_a_game_loads_it_again(spec: str) -> None:
    game = games.load(spec)
    assert str(games.load(str(game))) == str(game)
    assert eval(repr(game)).initial_state() == game.initial_state()


def test_defaults_are_not_spelled_out() -> None:
    assert str(games.load(" mnk( m = 15 , k=4 ) ")) == "mnk(k=4)"
    assert str(games.load("othello(passes=true)")) == "othello"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("othello(size=7)", "an even number"),
        ("othello(size=18)", "from 4 to 16"),
        ("mnk(k=9,m=3,n=3)", "from 1 to 3"),
        ("mnk(m=21)", "from 1 to 20"),
        ("gomoku(size=4)", "from 1 to 4"),
        ("nim(max_take=0)", "from 1 to 100"),
        ("nim(chips=0)", "from 1 to 1000"),
        ("nim(piles=3)", "2 to 10 numbers, as in 1;3;5;7"),
        ("nim(piles=1;x)", "2 to 10 numbers"),
        ("nim(piles=1;21)", "from 1 to 20"),
        ("nim(piles=1;3,max_take=2)", "cannot be combined"),
        ("kalah(houses=7)", "from 1 to 6"),
        ("ataxx(size=9)", "from 3 to 8"),
        ("dots_and_boxes(rows=8)", "from 1 to 7"),
        ("amazons(size=7)", "6, 8 or 10"),
        ("havannah(size=1)", "from 2 to 10"),
        ("y(size=20)", "from 1 to 19"),
        ("oware(seeds=0)", "from 1 to 6"),
        ("go(size=20)", "from 2 to 19"),
        ("go(komi=362)", "from -361 to 361"),
        ("go(komi=0.25)", "a multiple of 0.5"),
        ("hex(size=20)", "from 1 to 19"),
        ("breakthrough(columns=1)", "from 2 to 8"),
        ("clobber(rows=11)", "from 1 to 10"),
        ("conect_four", "did you mean 'connect_four'"),
        ("chest", "(there are: "),
        ("othello(sise=6)", "did you mean 'size'"),
        ("othello(size=six)", "whole number"),
        ("othello(passes=maybe)", "true or false"),
        ("mnk(m=3,m=4)", "given twice"),
        ("mnk(m)", "key=value"),
        ("mnk(m=3", "cannot read"),
        ("", "cannot read"),
        ("core", "unknown game"),
        ("x" * 1000, "at most 500"),
    ],
)
def test_an_invalid_specification_lists_what_is_allowed(spec: str, told: str) -> None:
    with pytest.raises(games.SpecError) as caught:
        games.load(spec)
    assert told in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_a_game_or_a_clear_error(text: str) -> None:
    with contextlib.suppress(games.SpecError):
        assert isinstance(games.load(text), Game)


def test_a_state_of_another_game_is_refused() -> None:
    with pytest.raises(ValueError, match="44 whole numbers"):
        games.load("connect_four").legal_actions((1, 0, 0))
