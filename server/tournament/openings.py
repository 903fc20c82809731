"""Where pairs start: random moves that leave both sides a chance, or the lines of a file."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Final

import games
from games import Game, State
from games.core.lookahead import mean_return, wins_within
from games.core.random import Rng, draw, seeded
from server.model.tournament_spec import Openings

Opening = tuple[int, ...]

#: Of so many random playouts from an opening, the first player's share must be within the bounds.
PLAYOUTS: Final = 256
BOUNDS: Final = (0.35, 0.65)

#: With so many actions or fewer, four plies are looked ahead; with more, two.
FEW_ACTIONS: Final = 32

#: Who finds so many in a row unsuitable does not look for more.
PATIENCE: Final = 2000


class OpeningError(ValueError):
    """An opening that cannot be used. The message says which and why."""


class Book:
    """The openings of one game in a tournament, by the numbers that pairs have.

    They are those of the file, in an order by the seed; or generated, as they are needed. When
    there are no more it begins again. Raises OpeningError when there is none.
    """

    def __init__(self, game: str, openings: Openings, seed: int) -> None:
        self._known: list[Opening] = []
        if lines := openings.lines.get(game):
            self._more = _in_order(lines, seed)
        else:
            self._more = _generated(games.load(game), openings.plies, seed)

    def __getitem__(self, number: int) -> Opening:
        self._known += itertools.islice(self._more, max(0, number + 1 - len(self._known)))
        return self._known[number % len(self._known)]


def generate(game: Game, plies: int, count: int, seed: int) -> list[Opening]:
    """`count` openings of so many random legal moves, or as many as there are.

    No two lead to the same position, and from none it is clear who wins (`is_open`). A longer list
    begins with the shorter. Without plies there is one opening, without moves. Raises OpeningError
    when there is none.
    """
    return list(itertools.islice(_generated(game, plies, seed), count))


def _generated(game: Game, plies: int, seed: int) -> Iterator[Opening]:
    if plies == 0:
        yield ()
        return
    found = unsuitable = 0
    for opening, state in _lines(game, plies, seeded(seed)):
        if is_open(game, state, seed):
            unsuitable = 0
            found += 1
            yield opening
        elif (unsuitable := unsuitable + 1) == PATIENCE:
            break
    if not found:
        raise OpeningError(
            f"{game}: after {plies} random plies it is always clear who wins; take fewer, or a file"
        )


def _in_order(openings: Sequence[Opening], seed: int) -> Iterator[Opening]:
    """All of them, in an order by the seed."""
    rest, rng = list(openings), seeded(seed)
    while rest:
        yield rest.pop(draw(rng, len(rest)))


def _lines(game: Game, plies: int, rng: Rng) -> Iterator[tuple[Opening, State]]:
    """Random legal moves and where they lead, each position once, until there are no more."""
    exhausted: set[tuple[int, State]] = set()
    while (0, game.initial_state()) not in exhausted:
        line: list[int] = []
        state = game.initial_state()
        while len(line) < plies and (step := _step(game, len(line), state, exhausted, rng)):
            action, state = step
            line.append(action)
        exhausted.add((len(line), state))
        if len(line) == plies:
            yield tuple(line), state


def _step(
    game: Game, ply: int, state: State, exhausted: set[tuple[int, State]], rng: Rng
) -> tuple[int, State] | None:
    """A random move to a position from which there may be more to find."""
    actions = list(game.legal_actions(state))
    while actions:
        action = actions.pop(draw(rng, len(actions)))
        after = game.next_state(state, action)
        if (ply + 1, after) not in exhausted:
            return action, after
    return None


def is_open(game: Game, state: State, seed: int) -> bool:
    """Is the match not over there, nor as good as decided?

    It is when somebody wins within a few plies, whatever the other does; or when the share of
    random playouts that the first player wins, ties counted half, is out of BOUNDS.

    Of 80 and 120 positions of Connect Four after 4 and 8 random plies this keeps 63 and 81. A
    search of 20,000 simulations saw a win in none of these, and in 2 of them fewer than 20 % or
    more than 80 % for one side; in those discarded it saw 25 wins. With bounds of 0.2 and 0.8, and
    two plies instead of four, it saw 11 wins in 185 kept. Of gomoku, mnk(8,8,5), Othello and
    ultimate tic-tac-toe, 95 % to 100 % are kept after up to 8 plies; of 138 of the last three, none
    was lopsided. Of tic-tac-toe 46 % are kept after 2 plies and 51 % after 3; with best play, 19 of
    41 of these are lost. Nim is won by somebody from everywhere.
    """
    plies = 4 if len(game.legal_actions(state)) <= FEW_ACTIONS else 2
    if game.winner(state) or any(wins_within(game, state, player, plies) for player in (1, 2)):
        return False
    low, high = BOUNDS
    return low <= _share(game, state, seed) <= high


def _share(game: Game, state: State, seed: int) -> float:
    """Of what can be had in random playouts, the share of the first player."""
    digest = hashlib.sha256(repr((seed, state)).encode()).digest()
    rng = seeded(int.from_bytes(digest[:8], "big"))
    return mean_return(game, state, rng, PLAYOUTS)
