"""Self-play: a shard follows from its seed, its net, and the games that it continues."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from playout import games
from playout.games import Game, KernelGame, State
from playout.players.mcts.tree import UNKNOWN, new_forest
from playout.players.training.run_folder import packed, unpacked
from playout.players.training.self_play import (
    Schedule,
    SelfPlay,
    SelfPlayResult,
    Unfinished,
    new_games,
    prune_policy,
)
from playout.players.training.settings import SelfPlaySettings

GAME = games.load("mnk(m=3,n=3,k=3)")
#: The constant of PUCT.
C = 1.5
SETTINGS = SelfPlaySettings(games=8, simulations=8, quick_simulations=4)


def evaluate(planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A net that depends on the position."""
    return evaluate_for(GAME, planes)


def evaluate_for(
    game: Game, planes: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    flat = planes.reshape(len(planes), -1)
    weights = np.random.default_rng(1).normal(size=(flat.shape[1], game.num_actions + 1))
    found = (flat @ weights).astype(np.float32)
    return found[:, :-1], np.tanh(found[:, -1])


def play(seed: int, given: Unfinished | None = None) -> tuple[SelfPlayResult, Unfinished]:
    assert isinstance(GAME, KernelGame)
    self_play = SelfPlay(GAME, SETTINGS, seed, given)
    return self_play.play(evaluate, 30), self_play.unfinished


def equal(one: tuple[NDArray[np.generic], ...], other: tuple[NDArray[np.generic], ...]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_shard_that_is_played_twice_is_the_same() -> None:
    _, left = play(seed=1)
    again = Unfinished(**unpacked(packed(left._asdict(), {}), "the games", "play others")[0])
    assert equal(again, left)
    (first, after), (second, after_again) = play(2, left), play(2, again)
    assert equal(first.samples, second.samples)
    assert equal(after, after_again)
    assert first.played.evaluations == second.played.evaluations
    other, _ = play(3, left)
    assert not equal(first.samples, other.samples)


def test_games_go_on_where_the_last_shard_left_them() -> None:
    _, left = play(seed=1)
    assert left.ply.max() > 1
    assert left.length.max() > 0
    result, _ = play(2, left)
    begun = set(map(tuple, left.states[left.length > 0, 0].tolist()))
    ended = {tuple(row) for row in result.samples.states.tolist()}
    assert begun <= ended


def test_states_with_large_numbers_are_kept_as_they_are() -> None:
    """A state of Go holds hashes of the positions so far, which say what superko forbids."""
    game = games.load("go(size=3,superko=true)")
    assert isinstance(game, KernelGame)
    samples = SelfPlay(game, SETTINGS, 1).play(partial(evaluate_for, game), 60).samples
    assert samples.states.max() > 2**31
    for state, policy in zip(samples.states.tolist(), samples.policy, strict=True):
        assert set(np.flatnonzero(policy)) <= set(game.legal_actions(tuple(state)))


def test_without_a_net_playouts_evaluate_and_a_shard_follows_from_its_seed() -> None:
    assert isinstance(GAME, KernelGame)
    batches = list[int]()
    settings = replace(SETTINGS, playout_rounds=1)  # makes room for the larger trees
    results = [SelfPlay(GAME, settings, 1).play(None, 30, batches.append) for _ in range(2)]
    first, second = results
    assert equal(first.samples, second.samples)
    assert 0 < sum(batches) < first.simulations + second.simulations
    assert (first.played.evaluations, first.played.net_seconds) == (0, 0)
    values = first.samples.search_value
    in_centre = first.samples.states[:, 2 + 4] == 3 - first.samples.states[:, 0]
    assert values[in_centre].mean() < values[~in_centre].mean()  # a stone there helps its owner


def test_a_handicapped_player_moves_by_the_policy_alone() -> None:
    """Here the policy has one action; a search with noise visits others, too."""
    settings = replace(
        SETTINGS, handicap_games=1.0, full_share=1.0, simulations=40, temperature_plies=9,
        random_openings=0.0, solver=False, decisive=False,
    )  # fmt: skip
    assert isinstance(GAME, KernelGame)
    samples = SelfPlay(GAME, settings, 1).play(first_action_only, 300).samples
    handicapped = [set[int](), set[int]()]
    for moves in matches(samples.states):
        by_policy = [
            {action == min(GAME.legal_actions(state)) for state, action in moves if state[0] == who}
            for who in (1, 2)
        ]
        assert {True} in by_policy, moves
        for who in (0, 1):
            handicapped[who] |= by_policy[who]
    assert handicapped == [{True, False}, {True, False}], "each player has it in some matches"


def matches(states: NDArray[np.int64]) -> list[list[tuple[State, int]]]:
    """The moves of matches whose states follow one another, without the last move of each."""
    found: list[list[tuple[State, int]]] = []
    for before, after in pairwise(map(tuple, states.tolist())):
        if before == GAME.initial_state():
            found.append([])
        changed = [i for i in range(2, len(before)) if before[i] != after[i]]
        if len(changed) == 1:
            found[-1].append((before, changed[0] - 2))
    return found


def first_action_only(
    planes: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A net whose policy is the legal action with the lowest number."""
    cells = np.arange(GAME.num_actions)
    logits = np.tile(-100.0 * cells, (len(planes), 1)).astype(np.float32)
    return logits, evaluate(planes)[1]


def test_trees_that_do_not_fit_into_memory_are_a_memory_error() -> None:
    assert isinstance(GAME, KernelGame)
    with pytest.raises(MemoryError):
        SelfPlay(GAME, replace(SETTINGS, games=2**20, simulations=2**24), 1)


def test_visits_that_only_noise_caused_are_not_learned() -> None:
    """The actions that noise has favoured keep the visits of a search without noise."""
    values = np.array([0.30, 0.25, 0.10, -0.20, -0.30])
    policy = np.array([0.30, 0.40, 0.20, 0.05, 0.05], dtype=np.float32)
    noisy = np.array([0.20, 0.25, 0.15, 0.20, 0.20], dtype=np.float32)
    wanted, found = visits_by_puct(values, policy), visits_by_puct(values, noisy)
    assert found[3:].sum() > 2 * wanted[3:].sum()
    kept = pruned(values, found, policy)
    assert np.all(kept <= found)
    assert kept[found.argmax()] == found.max()
    assert np.abs(kept[3:] - wanted[3:]).max() < 1
    same = pruned(values, wanted, policy)
    assert same.sum() > 0.9 * wanted.sum(), "without noise, nearly all visits are kept"


def visits_by_puct(values: NDArray[np.float64], policy: NDArray[np.float32]) -> NDArray[np.float64]:
    """The visits of actions with constant values, by a search as plain as can be."""
    visits = np.zeros(len(values))
    for total in range(1, 400):
        visits[np.argmax(values + C * policy * np.sqrt(total) / (1 + visits))] += 1
    return visits


def pruned(
    values: NDArray[np.float64], visits: NDArray[np.float64], policy: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The visits that are learned of a root with such children."""
    assert isinstance(GAME, KernelGame)
    schedule = Schedule(1, 1, 0, 0, 0, 0, 0)
    found, tree, width = new_games(GAME, schedule, 1), new_forest(1, 20), len(values)
    tree.nodes[0]["first_child"], tree.nodes[0]["width"] = 1, width
    for i in range(width):
        child = tree.nodes[1 + i]
        child["action"], child["visits"] = i, visits[i]
        child["average"], child["proof"] = (1 + values[i]) / 2, UNKNOWN
    found.weights[:width], found.priors[0, :width] = visits, policy
    prune_policy(found, 0, tree, 0, C, np.float32(visits.sum()))
    return found.weights[:width]
