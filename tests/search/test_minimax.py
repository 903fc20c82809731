"""Minimax: its proofs against independent searches; and greedy, the baseline."""

from __future__ import annotations

import functools
import random
import threading

import numpy as np
import pyspiel
import pytest

from playout import games, players
from playout.games import Game, KernelGame, Position, State
from playout.players import Info, Limit, SpecError
from playout.players.core.rules import board_key, rules_of
from playout.players.depth_first import null_window
from playout.players.depth_first import null_window as search
from playout.players.depth_first.null_window import NEVER, WIN, new_table
from support.interpreted import Interpreted, after
from support.scale import repetitions, sample

#: A time limit that no test reaches.
LONG = Limit(seconds=60)


def searched(game: Game, state: State, options: str = "seed=1,memory_mb=1") -> Info:
    info = players.load(f"minimax({options})", game).choose(Position(game, start=state), LONG).info
    assert info is not None
    return info


def value_of(game: Game, state: State, values: dict[State, int]) -> int:
    """Return the value for the player to move: 1, 0 or -1; `values` gets those of all positions."""
    if state not in values:
        winner = game.winner(state)
        if winner:
            values[state] = 0 if winner < 0 else 1 if winner == state[0] else -1
        else:
            nexts = [game.next_state(state, action) for action in game.legal_actions(state)]
            values[state] = max(-value_of(game, each, values) for each in nexts)
    return values[state]


def distance(game: Game, state: State, values: dict[State, int]) -> int:
    """Return the plies to the end, if the winner plays for speed and the loser for delay."""
    if game.winner(state):
        return 0
    nexts = [game.next_state(state, action) for action in game.legal_actions(state)]
    equal = [each for each in nexts if -values[each] == values[state]]
    plies = [distance(game, each, values) for each in equal]
    return 1 + (min(plies) if values[state] > 0 else max(plies))


def test_every_position_of_tic_tac_toe() -> None:
    """The value, and an action that preserves it: the fastest win, the slowest loss."""
    game = games.load("tic_tac_toe")
    values: dict[State, int] = {}
    value_of(game, game.initial_state(), values)
    assert len(values) == 5478
    player = players.load("minimax(seed=1,memory_mb=1)", game)
    plies = functools.cache(lambda state: distance(game, state, values))
    for state, value in sample(list(values.items()), short=200):
        if game.winner(state):
            continue
        choice = player.choose(Position(game, start=state), LONG)
        assert choice.info
        assert choice.info.proven == value
        assert choice.info.win_rate == (1 + value) / 2
        reached = game.next_state(state, choice.action)
        assert -values[reached] == value
        if value:
            assert plies(reached) == plies(state) - 1


def test_a_search_over_plain_python_makes_the_boards_that_it_uses() -> None:
    """Chess has 2.8 million slots; to fill them took 10 s for each of four searches."""
    game = games.load("open_spiel(game=chess)")
    rules = rules_of(game)
    stack = search.new_search(game, rules, new_table(1), search.new_history(game))
    assert len(stack.frames) * game.num_actions > 2_000_000
    assert len(stack.boards) == 0
    search.start(stack, rules.board(game.initial_state()), 1, 1, max_width=4)
    search.interpreted()(stack, 3, 100, search.kernels_of(rules))
    assert 1 < len(stack.boards) < 300


@pytest.mark.parametrize("max_take", [2, 3, 7])
def test_nim_is_lost_with_a_multiple_of_one_more_than_may_be_taken(max_take: int) -> None:
    game = games.load(f"nim(chips=40,max_take={max_take})")
    for chips in sample(range(1, 41), short=12):
        info = searched(game, (1, 0, chips))
        rest = chips % (max_take + 1)
        assert info.proven == (1 if rest else -1)
        assert not rest or info.pv[0] == rest - 1


def alpha_beta(state: pyspiel.State, alpha: float = -1, beta: float = 1) -> float:
    """Return the value for the player to move, by textbook alpha-beta over OpenSpiel's rules."""
    mover = state.current_player()
    for action in state.legal_actions():
        child = state.child(action)
        value = child.returns()[mover] if child.is_terminal() else -alpha_beta(child, -beta, -alpha)
        alpha = max(alpha, (value > 0) - (value < 0))
        if alpha >= beta:
            break
    return alpha


@pytest.mark.parametrize(
    ("spec", "plies", "positions"),
    [
        ("othello", 52, 80),
        ("connect_four", 30, 80),
        ("mnk(m=4,n=4,k=3)", 7, 60),
    ],
)
def test_the_end_of_random_matches(spec: str, plies: int, positions: int) -> None:
    """The values agree with an independent search over OpenSpiel's states."""
    game = games.load(spec)
    player = players.load("minimax(seed=1,memory_mb=4)", game)
    choose = random.Random(spec)
    seen = []
    while len(seen) < repetitions(positions, short=20):
        state, other = game.initial_state(), pyspiel.load_game(spec).new_initial_state()
        for _ in range(plies):
            if not game.legal_actions(state):
                break
            action = choose.choice(game.legal_actions(state))
            state = game.next_state(state, action)
            other.apply_action(action)
        if game.winner(state):
            continue
        choice = player.choose(Position(game, start=state), LONG)
        assert choice.info
        assert choice.info.proven == alpha_beta(other), state
        if choice.info.proven >= 0:  # and the action preserves it
            after_it = other.child(choice.action)
            mover = other.current_player()
            value = after_it.returns()[mover] if after_it.is_terminal() else -alpha_beta(after_it)
            assert value == choice.info.proven
        seen.append(choice.info.proven)
    assert len(set(seen)) >= 2


def test_othello_with_twelve_empty_cells_is_proven() -> None:
    game = games.load("othello")
    player = players.load("minimax(seed=1)", game)
    choose = random.Random(12)
    proven = 0
    while proven < 20:
        state = game.initial_state()
        while state[2:].count(0) > 12 and not game.winner(state):
            state = game.next_state(state, choose.choice(game.legal_actions(state)))
        if not game.winner(state):
            info = player.choose(Position(game, start=state), LONG).info
            assert info
            assert info.proven is not None
            proven += 1


def test_a_win_beyond_the_depth_is_unknown_and_one_within_is_proven() -> None:
    game = games.load("nim(chips=12)")
    state = (1, 0, 10)  # a win in five plies
    assert searched(game, state, "depth=4").proven is None
    assert searched(game, state, "depth=4").win_rate == 0.5
    assert searched(game, state, "depth=5").proven == 1
    assert searched(game, (1, 0, 8), "depth=3").proven is None
    assert searched(game, (1, 0, 8), "depth=4").proven == -1


@pytest.mark.parametrize(
    ("spec", "moves", "best"),
    [
        ("connect_four", "1 4 1 4 2 4", "4"),  # prevent a loss
        ("connect_four", "4 1 4 1 4 1", "4"),  # win
        ("mnk(m=5,n=5,k=4)", "b2 a1 c2 a2 d2 a3", "e2 a2 a4"),
        ("gomoku(size=9)", "e5 a1 e4 a2 e6 a3 e7 a4", "e8 e3"),
        ("ultimate_tic_tac_toe", "", ""),
    ],
)
@pytest.mark.parametrize("player", ["minimax(seed=1)", "greedy(seed=1)"])
def test_both_win_at_once_and_prevent_a_loss(player: str, spec: str, moves: str, best: str) -> None:
    game, state = after(spec, moves)
    choice = players.load(player, game).choose(Position(game, start=state), Limit(simulations=5000))
    assert not best or game.action_name(state, choice.action) in best.split()
    assert choice.action in game.legal_actions(state)


def test_a_proof_is_reported_and_consistent() -> None:
    game, state = after("connect_four", "3 1 4 1 5")  # open at both ends
    info = searched(game, state)
    assert info.proven == -1
    assert info.win_rate == 0
    assert info.simulations > 0
    assert info.depth > 0
    assert info.actions[0].action == info.pv[0]
    assert sorted(each.action for each in info.actions) == list(game.legal_actions(state))
    assert all(0 <= each.wins <= each.visits for each in info.actions)
    for action in info.pv:
        state = game.next_state(state, action)


@pytest.mark.parametrize("spec", ["tic_tac_toe", "nim(chips=21)", "mnk(m=3,n=3,k=3)"])
def test_plain_python_is_searched_by_the_same_source(spec: str) -> None:
    game = games.load(spec)
    choose = random.Random(3)
    state = game.initial_state()
    for _ in range(2):
        state = game.next_state(state, choose.choice(game.legal_actions(state)))
    results = [searched(each, state) for each in (game, Interpreted(game))]
    assert results[0].proven == results[1].proven
    assert results[0].pv[0] == results[1].pv[0]


class Twice(Game):
    """Nim in which each player takes twice in turn: 1 or 2 chips; the last chip wins."""

    num_actions, max_plies = 2, 30

    def initial_state(self) -> State:
        return (1, 0, 12, 0)

    def legal_actions(self, state: State) -> tuple[int, ...]:
        return tuple(range(min(2, state[2])))

    def next_state(self, state: State, action: int) -> State:
        mover, _, chips, second = state
        chips -= action + 1
        return (3 - mover if second else mover, 0 if chips else mover, chips, 1 - second)


def twice_value(game: Game, state: State) -> int:
    """Return 1 or -1 for the player to move; a player may move twice."""
    values = []
    for action in game.legal_actions(state):
        child = game.next_state(state, action)
        same = child[0] == state[0]
        winner = game.winner(child)
        if winner:
            values.append(1 if winner == state[0] else -1)
        else:
            values.append(twice_value(game, child) * (1 if same else -1))
    return max(values)


def test_players_need_not_take_turns() -> None:
    game = Twice()
    for chips in range(1, 13):
        for second in (0, 1):
            state = (2, 0, chips, second)
            assert searched(game, state).proven == twice_value(game, state)


def test_equal_moves_are_chosen_at_random_and_equal_seeds_alike() -> None:
    game = games.load("gomoku(size=9)")
    state = game.initial_state()

    def action(seed: int) -> int:
        player = players.load(f"minimax(seed={seed},memory_mb=1)", game)
        return player.choose(Position(game, start=state), Limit(simulations=2000)).action

    assert len({action(seed) for seed in range(10)}) > 5
    assert action(7) == action(7)


@pytest.mark.parametrize("limit", [Limit(simulations=1), Limit(seconds=0.0), Limit(simulations=0)])
def test_the_tightest_limit_still_gives_a_move(limit: Limit) -> None:
    game = games.load("connect_four")
    choice = players.load("minimax(seed=1)", game).choose(Position(game), limit)
    assert choice.action in range(7)
    assert choice.info
    assert choice.info.proven is None


@pytest.mark.parametrize("name", ["minimax", "greedy"])
def test_a_finished_game_has_no_choice(name: str) -> None:
    game, state = after("nim(chips=1)", "1")
    with pytest.raises(ValueError, match="the game is over"):
        players.load(name, game).choose(Position(game, start=state), Limit())


def test_cancelling_ends_a_search_that_would_take_an_hour() -> None:
    game = games.load("gomoku")
    player = players.load("minimax(time=3600)", game)
    threading.Timer(0.05, player.cancel).start()
    for _ in range(2):  # the second one does not search before `ready`
        assert player.choose(Position(game), Limit()).action in range(225)
    player.ready()
    assert player.choose(Position(game), Limit(simulations=10)).info


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("minimax(time=0)", "time must be above 0"),
        ("minimax(depth=-1)", "depth must be 0 or more"),
        ("minimax(memory_mb=0)", "memory_mb must be 1 or more"),
        ("minimax(memory_mb=100000000000)", "cannot allocate memory_mb=100000000000"),
        ("minimax(dept=5)", "did you mean 'depth'"),
        ("greedy(playouts=0)", "playouts must be 1 or more, not 0"),
    ],
)
def test_invalid_options_say_what_is_allowed(spec: str, told: str) -> None:
    with pytest.raises(SpecError) as caught:
        players.load(spec, games.load("tic_tac_toe"))
    assert told in str(caught.value)


def test_the_table_keeps_results_and_confuses_no_positions() -> None:
    rows = null_window.new_table(1)
    null_window.store(rows, 77, 1, 5, 3, 1, 1000)
    null_window.store(rows, 77, 2, NEVER, -1, 1, 10)
    null_window.store(rows, 77, 1, 4, 6, 1, 10)
    word = null_window.find(rows, 77)
    assert (null_window.known_result(word, 1), null_window.known_result(word, 2)) == (5, NEVER)
    assert (null_window.winner(word), null_window.move(word), null_window.effort(word)) == (
        0,
        6,
        512,
    )
    null_window.store(rows, 77, 1, WIN, 2, 1, 10)
    word = null_window.find(rows, 77)
    assert (null_window.known_result(word, 1), null_window.known_result(word, 2)) == (
        WIN,
        NEVER,
    )
    assert null_window.winner(word) == 1
    for other in range(1, 200):  # in the same bucket, and cheaper
        key = 77 + other * len(rows)
        null_window.store(rows, key, 1, 7, 0, 1, 1)
        assert null_window.known_result(null_window.find(rows, key), 1) == 7
    assert null_window.find(rows, 77) == word
    assert null_window.find(rows, 78) == 0


def test_keys_differ_where_boards_do() -> None:
    game = games.load("othello")
    assert isinstance(game, KernelGame)
    board = game.board()
    keys = {board_key(board)}
    for word in range(len(board)):
        for bit in range(64):
            changed = board.copy()
            changed[word] ^= np.int64(np.uint64(1 << bit))
            keys.add(board_key(changed))
    assert len(keys) == 1 + 64 * len(board)


def test_greedy_beats_random() -> None:
    game = games.load("connect_four")
    greedy, opponent = players.load("greedy(seed=1)", game), players.load("random(seed=1)", game)
    won = 0
    for match in range(10):
        position = Position(game)
        while not position.winner:
            player = opponent if (position.ply + match) % 2 else greedy
            position = position.play(player.choose(position, Limit()).action)
        won += position.winner == 1 + match % 2
    assert won >= 9
