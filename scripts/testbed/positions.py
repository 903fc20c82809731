"""Start positions: random openings, and a position from the middle of a match."""

from __future__ import annotations

import itertools
import random
import statistics
from pathlib import Path

import click

from playout import players
from playout.agents.solved_positions import VALUES, SolvedPosition
from playout.games import Game, Position, State
from playout.games.connect_four import ConnectFour
from playout.players import Limit

ATTEMPTS = 1000
#: The middle of a match, in per cent of the median plies of random matches.
MIDDLE_PERCENT = 40
RANDOM_MATCHES = 101


def opening(game: Game, plies: int, seed: int) -> list[int]:
    """Return `plies` random legal moves; equal seeds give equal moves.

    After them the match is not over, and the player to move cannot win at once. Raises
    ClickException if ATTEMPTS attempts find no such moves.
    """
    choose = random.Random(seed)
    for _ in range(ATTEMPTS):
        moves, state = random_moves(game, plies, choose)
        if len(moves) == plies and _quiet(game, state):
            return moves
    raise click.ClickException(f"{game} has no opening of {plies} plies without an immediate win")


def middle(game: Game) -> list[int]:
    """Return moves that lead to the middle of a match, always the same.

    More than one move is legal there: OpenSpiel's search returns at once where only one is.
    """
    choose = random.Random(1)
    lengths = [len(random_moves(game, game.max_plies, choose)[0]) for _ in range(RANDOM_MATCHES)]
    plies = int(statistics.median(lengths) * MIDDLE_PERCENT / 100)
    found = (opening(game, plies, seed=seed) for seed in itertools.count(1))
    return next(moves for moves in found if len(Position(game, moves).legal_actions) > 1)


def random_moves(game: Game, most: int, choose: random.Random) -> tuple[list[int], State]:
    """Return at most `most` random moves from the first position, and the position after them."""
    moves, state = list[int](), game.initial_state()
    while len(moves) < most and (actions := game.legal_actions(state)):
        moves.append(choose.choice(actions))
        state = game.next_state(state, moves[-1])
    return moves, state


def _quiet(game: Game, state: State) -> bool:
    mover = game.current_player(state)
    return not game.winner(state) and all(
        game.winner(game.next_state(state, action)) != mover for action in game.legal_actions(state)
    )


# Positions with forced wins, of `tests/data/forced_wins.txt`, and a judge of moves in them.


FORCED_WINS = Path(__file__).parents[2] / "tests" / "data" / "forced_wins.txt"
#: A win within this many plies counts if minimax proves it with this many positions.
WITHIN_PLIES, PROOF = 9, 100_000
#: Positions that minimax searches to decide whether another move than the known one wins.
JUDGEMENT = 30_000_000


class Judge:
    """Decides by minimax whether a position is won, and whether a move preserves the win."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._short = players.load(f"minimax(depth={WITHIN_PLIES},seed=1)", game)
        self._long = players.load("minimax(seed=1,memory_mb=256)", game)

    def winning_action(self, state: State, positions: int = PROOF) -> int | None:
        """Return an action that wins within WITHIN_PLIES, or None if no proof is found."""
        info = self._short.choose(
            Position(self._game, start=state), Limit(simulations=positions)
        ).info
        return info.pv[0] if info is not None and info.proven == 1 else None

    def wins(self, state: State, action: int) -> bool:
        """Return whether minimax proves that `action` wins."""
        after = self._game.next_state(state, action)
        if winner := self._game.winner(after):
            return winner == self._game.current_player(state)
        if action == self.winning_action(state):
            return True
        info = self._long.choose(
            Position(self._game, start=after), Limit(simulations=JUDGEMENT)
        ).info
        return info is not None and info.proven == -1

    def close(self) -> None:
        """Release the memory of the players."""
        self._short.close()
        self._long.close()


def forced_wins(game: Game) -> list[Position]:
    """Return the positions of a game that the player to move wins."""
    lines = [line.split(": ") for line in FORCED_WINS.read_text().splitlines() if ": " in line]
    return [Position.from_names(game, moves.split()) for name, moves in lines if name == str(game)]


# Positions of Connect Four with known values, of `tests/data/connect_four.txt`.


SOLVED = Path(__file__).parents[2] / "tests" / "data" / "connect_four.txt"


def solved(kind: str) -> list[SolvedPosition]:
    """Return the positions of a kind: `hard` or `easy`."""
    game = ConnectFour()
    lines = [line.split() for line in SOLVED.read_text().splitlines() if not line.startswith("#")]
    return [
        SolvedPosition(
            Position(game, (int(column) - 1 for column in moves)),
            VALUES[value],
            {action: VALUES[each] for action, each in enumerate(values) if each in VALUES},
        )
        for moves, value, values, its_kind in lines
        if its_kind == kind
    ]
