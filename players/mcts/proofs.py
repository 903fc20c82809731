"""A table of proven positions by their hash: a proof on one path is used on all others.

Games such as nim reach positions by many paths. A tree has a node for each path, and alone could
not prove such games.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.core.kernels import inlined

#: A proof is a word: the hash of the position, with the outcome in its lowest bits.
Proofs = NDArray[np.int64]

ENTRIES = 2**18
#: Boards with more words are not hashed: that costs more time than the proofs save.
MAX_WORDS = 64
_OUTCOME, _TIE = 3, 3
_INDEX = 20


def new_proofs(words: int) -> Proofs:
    """Return an empty table for boards of that many words; of length 0 if they are too large."""
    return np.zeros(ENTRIES if words <= MAX_WORDS else 0, dtype=np.int64)


@inlined
def look_up(proofs: Proofs, key: int) -> int:
    """Return the proven outcome of a position: 1, 2, -1 for a tie, 0 if unknown."""
    word = proofs[(key >> _INDEX) & (len(proofs) - 1)]
    if (word ^ key) & ~_OUTCOME != 0:
        return 0
    outcome = word & _OUTCOME
    return -1 if outcome == _TIE else outcome


@inlined
def remember(proofs: Proofs, key: int, outcome: int) -> None:
    """Store a proof, and overwrite the one with the same index."""
    found = _TIE if outcome < 0 else outcome
    proofs[(key >> _INDEX) & (len(proofs) - 1)] = key & ~_OUTCOME | found
