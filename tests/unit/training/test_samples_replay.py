from __future__ import annotations

import numpy as np
import pytest

from playout import games
from playout.games import Game, Position
from playout.players.nets.encoding import Encoding
from playout.players.training.samples import ReplayBuffer, Samples, legal_actions, window
from playout.players.training.settings import LearningSettings

GAME = games.load("mnk(m=3,n=4,k=3)")


def played(game: Game, actions: tuple[int, ...], n: int = 1, outcome: float = 1) -> Samples:
    """One position, n times, whose policy is sure of one action."""
    state = Position(game, actions).state
    policy = np.zeros((n, game.num_actions), np.float32)
    policy[:, game.legal_actions(state)[0]] = 1
    return Samples(
        np.array([state] * n, np.int64),
        np.full(n, actions[-1], np.int16),
        policy,
        np.full(n, outcome, np.float32),
        np.full(n, 0.5, np.float32),
    )


def test_the_window_grows_with_the_rounds_within_its_bounds() -> None:
    settings = LearningSettings(least_rounds=4, most_rounds=25)
    assert [window(settings, number) for number in (1, 9, 20, 1000)] == [4, 4, 10, 25]


def test_rounds_before_the_window_are_forgotten() -> None:
    replay = ReplayBuffer(GAME, LearningSettings(least_rounds=2, most_rounds=2))
    for number in (1, 2, 3):
        replay.add_round(number, played(GAME, (0, 1), n=number))
    assert replay.positions == 5


def test_the_value_to_learn_is_a_mean_of_result_and_search() -> None:
    replay = ReplayBuffer(GAME, LearningSettings(outcome_weight=0.75, batch=2))
    replay.add_round(1, played(GAME, (0, 1), outcome=-1))
    batch = replay.draw(np.random.default_rng(1))
    assert batch.value.tolist() == [-0.625, -0.625]


@pytest.mark.parametrize("game", ["mnk(m=3,n=4,k=3)", "othello(size=4)", "connect_four", "nim"])
def test_a_drawn_sample_is_an_image_of_the_position_by_a_symmetry(game: str) -> None:
    rules = games.load(game)
    actions = (rules.legal_actions(rules.initial_state())[1],)
    sample = played(rules, actions)
    replay = ReplayBuffer(rules, LearningSettings(batch=200))
    replay.add_round(1, sample)
    batch = replay.draw(np.random.default_rng(1))
    drawn = {
        (planes.tobytes(), legal.tobytes(), policy.tobytes())
        for planes, legal, policy, _ in zip(*batch, strict=True)
    }
    assert drawn == set(images(rules, sample))


def images(game: Game, sample: Samples) -> list[tuple[bytes, bytes, bytes]]:
    """Planes, legal actions and policy of a position under all symmetries, one action at a time."""
    states, last = sample.states.astype(np.int64), sample.last.astype(np.int64)
    planes = Encoding(game).encode(states, last)[0]
    legal = legal_actions(game, sample.states)[0]
    found = []
    for symmetry in game.symmetries:
        moved = np.zeros_like(planes).reshape(len(planes), -1)
        for cell, to in enumerate(symmetry.cells):
            moved[:, to] = planes.reshape(len(planes), -1)[:, cell]
        allowed, policy = np.zeros_like(legal), np.zeros_like(sample.policy[0])
        for action, to in enumerate(symmetry.actions):
            allowed[to], policy[to] = legal[action], sample.policy[0][action]
        found.append((moved.tobytes(), allowed.tobytes(), policy.tobytes()))
    return found


def test_without_symmetries_samples_stay_as_they_are() -> None:
    replay = ReplayBuffer(GAME, LearningSettings(batch=50, symmetries=False))
    replay.add_round(1, played(GAME, (0, 1)))
    batch = replay.draw(np.random.default_rng(1))
    assert len({planes.tobytes() for planes in batch.planes}) == 1


def test_legal_actions_are_those_of_the_rules() -> None:
    sample = played(GAME, (0, 5))
    row = legal_actions(GAME, sample.states)[0]
    assert np.flatnonzero(row).tolist() == [1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
