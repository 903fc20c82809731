"""The rolls of a match with chance, which follow from a secret key: everybody can verify them.

The server draws the key of 256 random bits when the match is made, sends its SHA-256 with the start
of the match, and the key itself with the end. So nobody can predict a roll during the match, and
nobody can change one unnoticed. The number of a roll depends on the key, the match and the ply
only: after a takeback or a restart of the server, the same rolls follow.

The number for move number `ply`, from 0 to `n - 1`, is HMAC-SHA256(key, "MATCH:PLY:0") as a whole
number, modulo `n`. To give each remainder the same chance, the last incomplete multiple of `n`
below 2^256 is rejected: the counter at the end becomes 1, then 2, until the number is below.
`n` is the sum of the weights of the outcomes, and the number selects one as `Game.roll` does.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from playout.games import Game, Position, State

_NUMBERS = 2**256


@dataclass(frozen=True)
class Dice:
    """The dice of one match; `key` has 64 hexadecimal digits, and is secret until the end."""

    match: str
    key: str = field(repr=False)

    @property
    def commitment(self) -> str:
        """The SHA-256 of the key, in hexadecimal."""
        return hashlib.sha256(bytes.fromhex(self.key)).hexdigest()

    def at(self, ply: int) -> Callable[[int], int]:
        """Return the function `below` of `Game.roll` for move number `ply`."""
        return partial(self._number, ply)

    def _number(self, ply: int, n: int) -> int:
        """Return the number of that ply, from 0 to n - 1."""
        key, end, counter = bytes.fromhex(self.key), _NUMBERS - _NUMBERS % n, 0
        while True:
            text = f"{self.match}:{ply}:{counter}".encode()
            number = int.from_bytes(hmac.digest(key, text, "sha256"), "big")
            if number < end:
                return number % n
            counter += 1


def numbers_of(game: Game, state: State, outcome: int) -> tuple[int, range]:
    """Return n, and the numbers below n with which `Game.roll` selects an outcome."""
    weights = game.chances(state)
    ends = (0, *itertools.accumulate(weights))
    place = game.legal_actions(state).index(outcome)
    return ends[-1], range(ends[place], ends[place + 1])


@dataclass(frozen=True)
class VerifiedRoll:
    """A roll of a match: the outcome that was played, and the one that follows from the key."""

    ply: int
    played: int
    derived: int
    #: The outcome that was played, as people write it.
    name: str

    @property
    def is_right(self) -> bool:
        """Whether the roll follows from the key."""
        return self.played == self.derived


def verified_rolls(position: Position, dice: Dice, opening: int = 0) -> Iterator[VerifiedRoll]:
    """Yield the rolls of a match, up to its last position, but those of the first `opening` moves.

    The moves of an opening are made for the players, and are not rolled.
    """
    game = position.game
    for ply in range(opening, position.ply):
        state, played = position.states[ply], position.moves[ply]
        if game.current_player(state) == 0:
            derived = game.roll(state, dice.at(ply))
            yield VerifiedRoll(ply, played, derived, game.action_name(state, played))
