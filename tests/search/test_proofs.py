"""Proofs of the searches are correct, and their moves preserve the value of a position."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from playout import games, players
from playout.agents.solved_positions import SolvedPosition
from playout.games import Game, Position, State
from playout.players import Info, Limit, Node, Player
from support.scale import repetitions, sample
from testbed.positions import solved

Values = Mapping[State, int]


def valued(game: Game) -> dict[State, int]:
    """Return the value of each reachable position for the player to move: 1, 0 or -1."""
    values: dict[State, int] = {}

    def value(state: State) -> int:
        if state not in values:
            mover, winner = game.current_player(state), game.winner(state)
            if winner:
                values[state] = 0 if winner < 0 else (1 if winner == mover else -1)
            else:
                values[state] = max(after(game, state, action, value) for action in actions(state))
        return values[state]

    def actions(state: State) -> tuple[int, ...]:
        return game.legal_actions(state)

    value(game.initial_state())
    return values


def after(game: Game, state: State, action: int, value: Callable[[State], int]) -> int:
    """Return the value of `action` for the player to move."""
    following = game.next_state(state, action)
    same = game.current_player(following) == game.current_player(state)
    return value(following) if same else -value(following)


def values_of_actions(game: Game, state: State, values: Values) -> dict[int, int]:
    return {
        action: after(game, state, action, values.__getitem__)
        for action in game.legal_actions(state)
    }


def searched(player: Player, state: State, simulations: int) -> Info:
    info = player.choose(Position(player.game, start=state), Limit(simulations=simulations)).info
    assert info is not None
    return info


def check_claims(info: Info, value: int, values: Mapping[int, int]) -> None:
    """Check the proofs of the position and of each action."""
    assert info.proven in (None, value)
    for each in info.actions:
        assert each.proven in (None, values[each.action])


def check_play(player: Player, values: Values, state: State, simulations: int) -> Info:
    """Check that the move preserves the value, and that all proofs are correct."""
    game = player.game
    of = values_of_actions(game, state, values)
    info = searched(player, state, simulations)
    check_claims(info, values[state], of)
    assert of[info.actions[0].action] == values[state], game.show(state)
    return info


def test_no_position_of_tic_tac_toe_is_given_away() -> None:
    game = games.load("tic_tac_toe")
    values = valued(game)
    assert len(values) == 5478
    player = players.load("uct(seed=1)", game)
    for state in sample(list(values), short=200):
        if not game.winner(state):
            check_play(player, values, state, 2000)


@pytest.mark.parametrize("max_take", [3, 5])
@pytest.mark.parametrize("player", ["uct(seed=1)", "uct(seed=1,tuned=true)", "rave(seed=1)"])
def test_a_won_heap_is_won(player: str, max_take: int) -> None:
    """Random playouts evaluate large heaps badly; shared proofs solve them."""
    for chips in sample(range(1, 41), short=8):
        game = games.load(f"nim(chips={chips},max_take={max_take})")
        state, values = game.initial_state(), valued(game)
        assert values[state] == (1 if chips % (max_take + 1) else -1)
        info = check_play(players.load(player, game), values, state, 60_000)
        if chips <= 2 * max_take:
            assert info.proven == values[state]


class Again(Game):
    """Nim with 1 to 3 chips per move; taking two gives another move, taking the last chip wins.

    It is in plain Python, and players do not always take turns.
    """

    num_actions = 3

    def __init__(self, chips: int = 10) -> None:
        self.chips = self.max_plies = chips

    def initial_state(self) -> State:
        return 1, 0, self.chips

    def legal_actions(self, state: State) -> tuple[int, ...]:
        return tuple(range(min(3, state[2])))

    def next_state(self, state: State, action: int) -> State:
        player, _, chips = state
        left = chips - action - 1
        following = player if action == 1 else 3 - player
        return following, 0 if left else player, left


@pytest.mark.parametrize("chips", range(1, 13))
def test_a_second_move_of_a_player_is_not_taken_for_the_opponents(chips: int) -> None:
    game = Again(chips)
    state, values = game.initial_state(), valued(game)
    info = check_play(players.load("uct(seed=1)", game), values, state, 1000)
    assert info.proven == values[state]


def check_tree(game: Game, state: State, node: Node, values: Values) -> int:
    """Check all proofs in the tree; return their number."""
    known = 0
    for child in node.children:
        assert child.action is not None
        if child.proven is not None:
            known += 1
            assert child.proven == after(game, state, child.action, values.__getitem__)
        known += check_tree(game, game.next_state(state, child.action), child, values)
    return known


@pytest.mark.parametrize("spec", ["tic_tac_toe", "nim(chips=21)", "nim(chips=16,max_take=4)"])
@pytest.mark.parametrize(
    "text",
    [
        "uct(seed=2)",
        "uct(seed=2,tuned=true)",
        "uct(seed=2,fpu=0.6)",
        "rave(seed=2)",
        "flat(seed=2)",
    ],
)
def test_every_proof_in_a_tree_is_right(spec: str, text: str) -> None:
    game = games.load(spec)
    values = valued(game)
    position, known = Position(game), 0
    player = players.load(text, game)
    while position.legal_actions:
        action = player.choose(position, Limit(simulations=3000)).action
        tree = player.tree()
        assert tree is not None
        known += check_tree(game, position.state, tree, values)
        position = position.play(action)
    assert known > 0


HARD, EASY = solved("hard"), solved("easy")


def test_the_values_of_the_solved_positions_are_correct() -> None:
    assert (len(HARD), len(EASY)) == (200, 400)
    for each in HARD + EASY:
        assert 12 <= each.position.ply <= 18
        assert tuple(each.values) == each.position.legal_actions
        assert each.value == max(each.values.values())
        for action, value in each.values.items():
            if each.position.play(action).winner:
                assert value == 1


def rate_kept(text: str, positions: list[SolvedPosition], simulations: int) -> float:
    """Return the share of moves that preserve the value, and check all proofs."""
    player = players.load(text, games.load("connect_four"))
    kept = 0
    for each in positions:
        info = searched(player, each.position.state, simulations)
        check_claims(info, each.value, each.values)
        kept += each.kept_by(info.actions[0].action)
    player.close()
    return kept / len(positions)


@pytest.mark.parametrize(
    "text",
    [
        "uct(seed=3)",
        "uct(seed=3,threads=2)",
        "uct(seed=3,tuned=true)",
        "uct(seed=3,decisive=false)",
        "uct(seed=3,fpu=0.5)",
        "uct(seed=3,memory_mb=1)",
        "rave(seed=3)",
        "rave(seed=3,schedule=mse,memory_mb=1)",
        "flat(seed=3)",
    ],
)
def test_no_proof_in_connect_four_is_wrong(text: str) -> None:
    rate_kept(text, sample(HARD[:40] + EASY[:40], short=5), simulations=20_000)


def test_a_tree_that_is_pruned_again_and_again_proves_nothing_wrong() -> None:
    rate_kept(
        "uct(seed=4,memory_mb=1,c=1)", sample(HARD[:5] + EASY[:5], short=2), simulations=300_000
    )


def test_a_tie_is_not_proven_lost() -> None:
    """Playouts once ended in two plies because they avoided a playable cell."""
    rate_kept("uct(seed=1)", HARD[12:13], simulations=repetitions(600_000, short=200_000))


def test_easy_positions_are_kept() -> None:
    assert rate_kept("uct(seed=5)", sample(EASY[:150], short=30), simulations=20_000) >= 0.97


def test_an_immediate_win_is_played() -> None:
    """With an open four, a stone anywhere wins too, but later."""
    game = games.load("gomoku")
    position = Position(game)
    for name in ["e5", "a1", "e6", "c1", "e7", "f1", "e8", "h1"]:
        position = position.play(game.parse_action(position.state, name))
    for seed in range(20):
        choice = players.load(f"uct(seed={seed})", game).choose(position, Limit(seconds=0.02))
        assert position.name(choice.action) in ("e4", "e9")
        assert choice.info is not None
        assert (choice.info.proven, choice.info.pv) == (1, (choice.action,))
