"""UCT: what it finds, that it keeps to its limits, and that it can be repeated."""

from __future__ import annotations

import threading

import pytest

import games
import players
from games import Game, KernelGame, State
from players import Cancelled, Limit, SpecError
from players.search.rules import rules_of
from players.uct import UCT


def after(spec: str, moves: str) -> tuple[Game, State]:
    game = games.load(spec)
    state = game.initial_state()
    for name in moves.split():
        state = game.next_state(state, game.parse_action(state, name))
    return game, state


def chosen(spec: str, moves: str, options: str = "seed=1,simulations=20000") -> str:
    game, state = after(spec, moves)
    choice = players.load(f"uct({options})", game).choose([state], Limit())
    return game.action_name(state, choice.action)


@pytest.mark.parametrize(
    ("spec", "moves", "best"),
    [
        ("tic_tac_toe", "a1 b2 a2 c1", "a3"),  # win
        ("tic_tac_toe", "a1 b2 b1", "c1"),  # prevent a loss
        ("connect_four", "1 4 1 4 2 4", "4"),  # prevent a loss
        ("connect_four", "4 1 4 1 4 1", "4"),  # win, on top of one's own three
        ("mnk(m=5,n=5,k=4)", "b2 a1 c2 a2 d2 a3", "e2 a2 a4"),
        ("gomoku(size=9)", "e5 a1 e4 a2 e6 a3 e7 a4", "e8 e3"),
        ("nim(chips=10)", "", "2"),  # leaves eight
        ("nim(chips=21)", "3", "2"),  # leaves sixteen
    ],
)
def test_it_finds_the_move(spec: str, moves: str, best: str) -> None:
    assert chosen(spec, moves) in best.split()


def test_the_same_seed_searches_the_same_and_another_does_not() -> None:
    game = games.load("mnk(m=6,n=6,k=4)")
    state = game.initial_state()

    def actions(seed: int) -> object:
        player = players.load(f"uct(seed={seed},simulations=3000)", game)
        return player.choose([state], Limit()).info.actions  # type: ignore[union-attr]

    assert actions(7) == actions(7)
    assert actions(7) != actions(8)


class Interpreted(Game):
    """A built-in game with nothing but its tuple methods, as somebody else would write it."""

    def __init__(self, inner: Game) -> None:
        self.inner = inner
        self.num_actions, self.max_plies = inner.num_actions, inner.max_plies

    def initial_state(self) -> State:
        return self.inner.initial_state()

    def legal_actions(self, state: State) -> tuple[int, ...]:
        return self.inner.legal_actions(state)

    def next_state(self, state: State, action: int) -> State:
        return self.inner.next_state(state, action)


@pytest.mark.parametrize("spec", ["nim(chips=9)", "connect_four"])
def test_plain_python_is_searched_by_the_same_source(spec: str) -> None:
    """With playouts of no length, both searches draw the same numbers for the same purposes."""
    compiled = games.load(spec)
    results = []
    for game in (compiled, Interpreted(compiled)):
        assert rules_of(game).compiled is (game is compiled)
        player = players.load("uct(seed=3,simulations=300,max_plies=3)", game)
        results.append(player.choose([game.initial_state()], Limit()).info)
    assert results[0].actions == results[1].actions
    assert results[0].line == results[1].line


def test_what_it_says_adds_up() -> None:
    game, state = after("connect_four", "4 4")
    info = players.load("uct(seed=1)", game).choose([state], Limit(simulations=5000)).info
    assert info is not None
    assert info.simulations == 5000
    assert sum(each.visits for each in info.actions) == 5000
    assert sorted(each.action for each in info.actions) == list(game.legal_actions(state))
    assert all(0 <= each.wins <= each.visits for each in info.actions)
    assert info.line[0] == info.actions[0].action
    assert 1 <= len(info.line) <= info.depth
    assert info.seconds > 0


def test_a_full_tree_goes_on_with_what_it_has() -> None:
    game = games.load("gomoku")
    player = players.load("uct(seed=1,memory_mb=1)", game)
    info = player.choose([game.initial_state()], Limit(simulations=30_000)).info
    assert info is not None
    assert info.simulations == 30_000
    tree = player._workers[0].tree  # type: ignore[attr-defined]
    assert tree.used[0] <= len(tree.nodes)


def test_the_tighter_limit_holds() -> None:
    game = games.load("tic_tac_toe")
    state = game.initial_state()
    player = players.load("uct(simulations=100,time=60)", game)
    for limit in (Limit(), Limit(simulations=1000), Limit(seconds=60)):
        info = player.choose([state], limit).info
        assert info is not None
        assert info.simulations == 100


@pytest.mark.parametrize("limit", [Limit(simulations=1), Limit(seconds=0.0), Limit(simulations=0)])
def test_the_tightest_limit_still_gives_a_move(limit: Limit) -> None:
    game = games.load("connect_four")
    choice = players.load("uct(seed=1)", game).choose([game.initial_state()], limit)
    assert choice.action in range(7)
    assert choice.info
    assert choice.info.simulations == 1


def test_there_is_nothing_to_choose_when_the_game_is_over() -> None:
    game, state = after("nim(chips=1)", "1")
    with pytest.raises(ValueError, match="the game is over"):
        players.load("uct", game).choose([state], Limit())


def test_cancelling_ends_a_search_that_would_take_an_hour() -> None:
    game = games.load("connect_four")
    player = players.load("uct(time=3600)", game)
    threading.Timer(0.05, player.cancel).start()
    with pytest.raises(Cancelled):
        player.choose([game.initial_state()], Limit())
    with pytest.raises(Cancelled):  # nor does one begin, until it is wanted again
        player.choose([game.initial_state()], Limit())
    player.ready()
    assert player.choose([game.initial_state()], Limit(simulations=10)).info


def test_the_interpreter_goes_on_while_it_thinks() -> None:
    """One long call of the compiled search, without the GIL: this thread runs on beside it."""
    game = games.load("othello")
    player = players.load("uct", game)
    assert isinstance(player, UCT)
    assert isinstance(game, KernelGame)
    worker = player._workers[0]
    worker.begin(game.initial_state())
    thread = threading.Thread(target=worker._simulate, args=(100_000,))
    thread.start()
    steps = 0
    while thread.is_alive():
        steps += 1
    assert steps > 1000


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("time=0", "time must be above 0"),
        ("simulations=0", "simulations must be above 0"),
        ("c=-1", "must not be negative"),
        ("max_plies=-1", "must not be negative"),
        ("memory_mb=0", "memory_mb must be above 0"),
        ("simulation=5", "did you mean 'simulations'"),
        ("c=much", "c must be a number"),
    ],
)
def test_bad_options_say_what_is_allowed(options: str, told: str) -> None:
    with pytest.raises(SpecError) as caught:
        players.load(f"uct({options})", games.load("tic_tac_toe"))
    assert told in str(caught.value)


def test_an_unknown_player_says_who_there_is() -> None:
    with pytest.raises(SpecError, match="flat, human, random, rave, uct"):
    with pytest.raises(SpecError, match=r"human.*random.*uct"):
        players.load("utc2", games.load("tic_tac_toe"))
    assert {"flat", "human", "random", "rave", "uct"} <= set(players.names())


def test_every_player_but_the_human_plays_a_whole_match() -> None:
    game = games.load("nim")
    for name in players.names():
        if players.find(name).human:
            continue
        player = players.load(name, game)
        states = [game.initial_state()]
        while game.legal_actions(states[-1]):
            choice = player.choose(tuple(states), Limit(seconds=0.01))
            states.append(game.next_state(states[-1], choice.action))
        player.close()
        assert game.winner(states[-1])
