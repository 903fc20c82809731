from __future__ import annotations

import importlib.util

import pytest

from playout.players.training import TrainingError
from playout.players.training.training_command import require_learning


def test_a_missing_package_is_an_error_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TrainingError, match=r'jax, which is missing: pip install "\.\[learn'):
        require_learning()
