"""Sets of cells as bits: the n-th of them, by an instruction or by a loop."""

from __future__ import annotations

import random

import numba
import numpy as np
import pytest

from playout.games.core import bits


@pytest.mark.parametrize("spreads", [False, True])
def test_the_nth_bit_is_that_of_the_binary_number(
    monkeypatch: pytest.MonkeyPatch, spreads: bool
) -> None:
    if spreads and not bits.SPREADS:
        pytest.skip("the processor has no fast instruction for it")
    monkeypatch.setattr(bits, "SPREADS", spreads)
    nth, choose = numba.njit(bits.nth.py_func), random.Random(1)  # type: ignore[attr-defined]
    for _ in range(200):
        word = choose.getrandbits(64) & choose.getrandbits(64)
        places = [place for place in range(64) if word >> place & 1]
        assert [nth(np.uint64(word), n) for n in range(len(places))] == places
    (code,) = nth.inspect_llvm().values()
    assert ("pdep" in code) is spreads
