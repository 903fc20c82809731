"""The net of games with chance: its inputs, its output, its learning and its files."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from playout import games
from playout.games import KernelGame, Position, State
from playout.players.core.rules import rules_of
from playout.players.evaluations import files
from playout.players.evaluations.perceptron import (
    Perceptron,
    expected_by,
    kernels_of,
    logistic,
    new_activations,
    new_perceptron,
    sum_of,
)
from playout.players.training.chance_learner import ChanceLearner, step
from support.variants import CHANCE

every_chance_game = pytest.mark.parametrize("spec", CHANCE)


def kernel_game(spec: str) -> KernelGame:
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    return game


def inputs_of(game: KernelGame, state: State) -> list[int]:
    """Return the player who sees the position, and the inputs that count."""
    found = np.zeros(game.most_inputs + 1, np.int64)
    assert game.kernels.inputs is not None
    return found[: game.kernels.inputs(game.board(state), found)].tolist()


def played(game: KernelGame, seed: int) -> tuple[State, ...]:
    """Return the states of a random match."""
    draw = random.Random(seed)
    position = Position(game)
    while not position.winner:
        if position.to_move == 0:
            position = position.rolled(draw.randrange)
        else:
            position = position.play(draw.choice(position.legal_actions))
    return tuple(position.states)


@every_chance_game
def test_inputs_are_within_their_bounds(spec: str) -> None:
    game = kernel_game(spec)
    met = set[int]()
    for state in played(game, 1):
        viewer, *found = inputs_of(game, state)
        assert viewer in (1, 2)
        assert len(found) <= game.most_inputs
        assert all(0 <= each < game.num_inputs for each in found)
        met.update(found)
    assert len(met) > 20


def backgammon_exchanged(state: State) -> State:
    mover, outcome, roller, high, low, second, *points = state[:30]
    other = [-each for each in reversed(points)]
    bars, off = (state[31], state[30]), (state[33], state[32])
    first = (3 - mover if mover else 0, outcome, 3 - roller, high, low, second)
    return (*first, *other, *bars, *off, state[34])


def einstein_exchanged(state: State) -> State:
    mover, outcome, roller, die, *cells = state
    other = [0 if cell == 0 else (cell + 5) % 12 + 1 for cell in reversed(cells)]
    return (3 - mover if mover else 0, outcome, 3 - roller, die, *other)


def pig_exchanged(state: State) -> State:
    mover, outcome, roller, first, second, turn, moves = state
    return (3 - mover if mover else 0, outcome, 3 - roller, second, first, turn, moves)


@pytest.mark.parametrize(
    ("spec", "exchanged"),
    [
        ("backgammon", backgammon_exchanged),
        ("einstein_wurfelt_nicht", einstein_exchanged),
        ("pig", pig_exchanged),
    ],
)
def test_one_net_serves_both_players(spec: str, exchanged: Callable[[State], State]) -> None:
    """Its inputs are the same after an exchange of the players, and seen by the other one."""
    game = kernel_game(spec)
    states = [state for state in played(game, 2)[3:] if not game.winner(state)]
    assert {each[0] for each in states} == {0, 1, 2}
    for state in states:
        viewer, *found = inputs_of(game, state)
        assert inputs_of(game, exchanged(state)) == [3 - viewer, *found]


def test_checkers_count_in_backgammon_with_and_without_contact() -> None:
    game = kernel_game("backgammon")
    seen = {}
    for state in played(game, 3):
        _, *found = inputs_of(game, state)
        assert len(found) == 30
        furthest = [
            max(at for at, n in enumerate(game.checkers(state, player)) if n or at == 0)
            for player in (1, 2)
        ]
        half = game.num_inputs // 2
        assert {each >= half for each in found} == {sum(furthest) > 25}
        seen[sum(furthest) > 25] = True
    assert len(seen) == 2


@every_chance_game
def test_the_output_is_that_of_the_net(spec: str) -> None:
    game = kernel_game(spec)
    net, rules = new_perceptron(game, 4), rules_of(game)
    memory, kernels = new_activations(game, net), kernels_of(game, rules)
    for state in played(game, 4)[:30]:
        viewer, *found = inputs_of(game, state)
        hidden = np.maximum(0, net.hidden + net.inputs[found].sum(axis=0))
        total = float(hidden @ net.output[:-1] + net.output[-1])
        expected = math.tanh(total / 2) * (3 - 2 * viewer)
        assert expected_by(kernels, net, memory, game.board(state)) == pytest.approx(
            expected, abs=1e-5
        )


def test_a_step_follows_the_gradient_of_the_cross_entropy() -> None:
    game = kernel_game("einstein_wurfelt_nicht")
    net = new_perceptron(game, 5)
    memory = new_activations(game, net)
    found = np.array(inputs_of(game, played(game, 5)[8]))
    wanted = 0.8
    share = 0.5 + 0.5 * wanted * (3 - 2 * found[0])

    def loss(changed: Perceptron) -> float:
        value = logistic(sum_of(changed, memory, found, len(found)))
        return -share * math.log(value) - (1 - share) * math.log(1 - value)

    before = Perceptron(*(each.copy() for each in net))
    step(net, memory, found, len(found), wanted, float(len(found)))
    for name in Perceptron._fields:
        change = getattr(net, name) - getattr(before, name)
        for at in np.argwhere(change)[:5]:
            place, numbers = tuple(at), []
            for sign in (1, -1):
                moved = Perceptron(*(each.copy() for each in before))
                getattr(moved, name)[place] += sign * 0.01
                numbers.append(loss(moved))
            assert change[place] == pytest.approx((numbers[1] - numbers[0]) / 0.02, abs=2e-3)
    assert loss(net) < loss(before)


def test_learning_is_repeated_by_its_seed() -> None:
    game = kernel_game("pig(winscore=10)")

    def learned(seed: int) -> tuple[float, int]:
        learner = ChanceLearner(game, new_perceptron(game, 1), seed)
        for number in range(20):
            learner.play(number / 20)
        assert learner.games == 20
        assert 0 < learner.learned()[0] < 1
        return float(learner.net.output.sum()), learner.positions

    assert learned(1) == learned(1) != learned(2)


def test_a_net_is_written_and_read(tmp_path: Path) -> None:
    game = kernel_game("pig")
    net, path = new_perceptron(game, 6), tmp_path / "pig.npz"
    files.write(path, net, files.Card(game="pig", games=3))
    read, card = files.read_net(path, game)
    assert card.games == 3
    for one, other in zip(net, read, strict=True):
        assert np.allclose(one, other, atol=1e-3)
    with pytest.raises(files.EvaluationError, match="is for pig, not for backgammon"):
        files.read_net(path, games.load("backgammon"))


def broken(net: Perceptron, fault: str) -> Perceptron:
    if fault == "sizes":
        return net._replace(inputs=net.inputs[1:])
    if fault == "power of two":
        return Perceptron(net.inputs[:, :3].copy(), net.hidden[:3], net.output[:4])
    if fault == "not a number":
        net.hidden[0] = math.nan
    return net._replace(output=net.output.astype(np.int64)) if fault == "type" else net


@pytest.mark.parametrize("fault", ["sizes", "power of two", "not a number", "type"])
def test_a_file_that_is_no_net_of_the_game_is_refused(fault: str, tmp_path: Path) -> None:
    game = kernel_game("pig")
    path = tmp_path / "pig.npz"
    files.write(path, broken(new_perceptron(game, 7), fault), files.Card(game="pig"))
    with pytest.raises(files.EvaluationError, match=fault):
        files.read_net(path, game)


def test_tables_are_no_net(tmp_path: Path) -> None:
    path = files.shipped(games.load("othello"))
    assert path is not None
    with pytest.raises(files.EvaluationError, match="cannot be read"):
        files.read_net(path, games.load("pig"))
