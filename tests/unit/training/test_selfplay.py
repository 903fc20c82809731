"""Self-play: a shard follows from its seed, its net, and the games that go on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import games
from games import KernelGame
from players.training.selfplay import SelfPlay, SelfPlayResult, SelfPlaySettings
from players.training.unfinished import Unfinished, read_unfinished, write_unfinished

GAME = games.load("mnk(m=3,n=3,k=3)")
SETTINGS = SelfPlaySettings(games=8, simulations=8, quick_simulations=4)


def evaluate(planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A net that depends on the position."""
    flat = planes.reshape(len(planes), -1)
    weights = np.random.default_rng(1).normal(size=(flat.shape[1], GAME.num_actions + 1))
    found = (flat @ weights).astype(np.float32)
    return found[:, :-1], np.tanh(found[:, -1])


def play(seed: int, given: Unfinished | None = None) -> tuple[SelfPlayResult, Unfinished]:
    assert isinstance(GAME, KernelGame)
    self_play = SelfPlay(GAME, SETTINGS, seed, given)
    return self_play.play(evaluate, 30), self_play.unfinished


def equal(one: tuple[NDArray[np.generic], ...], other: tuple[NDArray[np.generic], ...]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_shard_that_is_played_twice_is_the_same(tmp_path: Path) -> None:
    _, left = play(seed=1)
    write_unfinished(tmp_path / "games.npz", left)
    again = read_unfinished(tmp_path / "games.npz")
    assert equal(again, left)
    (first, after), (second, after_again) = play(2, left), play(2, again)
    assert equal(first.samples, second.samples)
    assert equal(after, after_again)
    assert first.evaluations == second.evaluations
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
