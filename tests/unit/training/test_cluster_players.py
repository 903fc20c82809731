"""The packages that a worker of a cluster lacks to evaluate nets."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection

import pytest

pytest.importorskip("distributed")

from playout.players.training import cluster_players
from playout.players.training.cluster_players import net_faults

BOTH = ("openvino", "onnxruntime")


@pytest.mark.parametrize(
    ("has_onnx", "backends", "backend", "sentence"),
    [
        (False, BOTH, "auto", "it lacks the package onnx, which nets need"),
        (True, (), "auto", "it lacks the package onnxruntime or openvino, "),
        (True, BOTH[1:], "openvino", 'which nets need: pip install ".[nets,openvino]" in a'),
        (True, BOTH[1:], "auto", ""),
        (True, BOTH, "openvino", ""),
    ],
)
def test_a_missing_package_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
    has_onnx: bool,
    backends: Collection[str],
    backend: str,
    sentence: str,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: has_onnx or None)
    monkeypatch.setattr(cluster_players, "installed", lambda: backends)
    found = net_faults(backend, 0.0)
    assert [sentence in each for each in found] == [True] * bool(sentence)
