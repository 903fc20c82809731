"""Proven positions by their hash: what was proven on one path is known on every other.

Positions that can be reached in many ways, as in nim, could not be proven by a tree alone: it has a
node for each way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.core.kernels import inlined

#: A proof is a word: the hash of the position, with the outcome in its lowest bits.
Proofs = NDArray[np.int64]

ENTRIES = 2**18
#: Hashing larger boards takes longer than proofs are worth.
MOST_WORDS = 64
_OUTCOME, _TIE = 3, 3
_INDEX = 20


def new_proofs(words: int) -> Proofs:
    """Room for the proofs of boards of so many words; none if they are too large."""
    return np.zeros(ENTRIES if words <= MOST_WORDS else 0, dtype=np.int64)


@inlined
def look_up(proofs: Proofs, key: int) -> int:
    """The outcome of a position with best play: 1, 2, -1 for a tie, 0 if it is not known."""
    word = proofs[(key >> _INDEX) & (len(proofs) - 1)]
    if (word ^ key) & ~_OUTCOME != 0:
        return 0
    outcome = word & _OUTCOME
    return -1 if outcome == _TIE else outcome


@inlined
def remember(proofs: Proofs, key: int, outcome: int) -> None:
    """Keep a proof, in place of whichever was there."""
    found = _TIE if outcome < 0 else outcome
    proofs[(key >> _INDEX) & (len(proofs) - 1)] = key & ~_OUTCOME | found
