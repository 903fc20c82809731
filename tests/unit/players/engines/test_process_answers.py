"""Answers that no parser of an engine's protocol has to expect."""

from __future__ import annotations

import math
import sys
import threading
from pathlib import Path

import pytest

from playout.players.engines.config import EngineConfig
from playout.players.engines.process import EngineProcess


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("'9' * 5000", "9" * 18),
        ("'bestmove a' + '1' * 100 + '-' + '2' * 19", "bestmove a" + "9" * 18 + "-" + "9" * 18),
        ("'info nodes 123456789012345678'", "info nodes 123456789012345678"),
        ("'0.' + '3' * 40", "0." + "3" * 40),
    ],
)
def test_a_number_of_many_digits_is_read_as_a_large_one(
    tmp_path: Path, written: str, read: str
) -> None:
    words = (sys.executable, "-I", "-S", "-c", f"print({written}, flush=True); input()")
    engine = EngineProcess(EngineConfig("tiny", words, "lines", tmp_path), threading.Event())
    try:
        assert engine.line(math.inf) == read
    finally:
        engine.close()
