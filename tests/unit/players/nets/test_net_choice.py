"""The nets that come with Playout: each is small, documented and fits its game."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from playout import games
from playout.players.nets.encoding import Encoding
from playout.players.nets.net import FOLDER, load_chosen, shipped

FILES = sorted(FOLDER.glob("*.onnx"))


def test_there_are_some() -> None:
    assert FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_net_is_small_and_that_of_its_game(file: Path) -> None:
    game = games.load(file.stem)
    assert str(game) == file.stem
    assert shipped(game) == file
    assert file.stat().st_size < 1_000_000
    net = load_chosen(None, game, backend="onnxruntime", batch=1)
    state = np.array([game.initial_state()])
    policy, value = net.evaluate(Encoding(game).encode(state, np.array([-1])))
    assert policy.shape == (1, game.num_actions)
    assert -1 <= value[0] <= 1
    assert net.metadata["licence"] == "MIT"
    net.close()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_net_has_a_card_and_the_log_of_its_training(file: Path) -> None:
    card = file.with_suffix(".md").read_text(encoding="utf-8")
    for subject in ("playout-train", "## Settings", "## Strength"):
        assert subject in card
    rounds = [json.loads(line) for line in file.with_suffix(".jsonl").read_text().splitlines()]
    assert [each["round"] for each in rounds] == list(range(1, len(rounds) + 1))
    assert file.with_suffix(".jsonl").stat().st_size < 500_000
