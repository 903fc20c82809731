"""Messages between a server and the processes in which players work for it; puzzles.

An analyst analyses positions, proves results and measures the luck of matches. It carries out one
order after the other, and reports the changes of an analysis, and the end of each order. Another
process finds puzzles for `playout-server puzzles`: an order names a match, and its answer has the
puzzle that was found in it. A puzzle is a position in which one move wins and no other does, or no
other as soon.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from playout.protocol.messages import Analysis, Lines


class WinningMove(Struct, frozen=True, array_like=True):
    """A move that wins, the opponent's replies to it, and the winning moves after them.

    There are no replies if the same player moves again, and neither replies nor moves at the end
    of the game.
    """

    action: int
    replies: tuple[int, ...] = ()
    then: tuple[WinningMove, ...] = ()


class Puzzle(Struct, frozen=True, kw_only=True):
    """The position of `game` after `actions`, with its solution: all moves that preserve the win.

    The win takes `turns` turns of the solver. If the puzzle is `timed`, moves that need more turns
    are not in the solution, whether they win or not. The id is that of the position, up to
    symmetry. `match` is the id of the stored match that it is from, None for a match of the finder.
    """

    id: str
    game: str
    actions: tuple[int, ...]
    turns: int
    solution: tuple[WinningMove, ...]
    match: str | None = None
    timed: bool = False


class PuzzleAttempt(NamedTuple):
    """Moves of a solver with the replies to them, and the winning moves that may follow.

    After the last of them `then` is empty; it is None after a move that does not win.
    """

    actions: tuple[int, ...]
    then: tuple[WinningMove, ...] | None

    @property
    def is_solved(self) -> bool:
        """Whether the moves win the game."""
        return self.then == ()


def attempt(puzzle: Puzzle, moves: Sequence[int]) -> PuzzleAttempt:
    """Play the moves of a solver from a puzzle's position, up to the first that does not win."""
    actions: list[int] = []
    then = puzzle.solution
    for move in moves:
        found = next((each for each in then if each.action == move), None)
        actions.append(move)
        if found is None:
            return PuzzleAttempt(tuple(actions), None)
        actions += found.replies
        then = found.then
    return PuzzleAttempt(tuple(actions), then)


def main_line(moves: Sequence[WinningMove]) -> tuple[int, ...]:
    """Return the actions of both players of the shortest solution, from its first move on."""
    actions: list[int] = []
    while moves:
        actions += (moves[0].action, *moves[0].replies)
        moves = moves[0].then
    return tuple(actions)


class PuzzleOrder(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Find a puzzle in a match: the one with these actions, or one to be played with a seed."""

    game: str
    actions: tuple[int, ...] | None = None
    match: str | None = None
    seed: int = 0


class PuzzleAnswer(Struct, frozen=True, omit_defaults=True):
    """The puzzle that was found in a match, if any, or why the match cannot be searched."""

    puzzle: Puzzle | None = None
    error: str = ""
    has_chance: bool = False  # the game has chance, and so no puzzles


class AnalysisOrder(Struct, frozen=True, tag="analyse"):
    """Let `player` think for `seconds` about the position of `game` after `moves`.

    `played` is an action that the reports must include.
    """

    analysis: str
    game: str
    moves: tuple[int, ...]
    player: str
    seconds: float
    played: int | None = None


class ProofOrder(Struct, frozen=True, tag="prove"):
    """Search a proof of the result of `game` after `moves` for `seconds`, and report its winner."""

    analysis: str
    game: str
    moves: tuple[int, ...]
    seconds: float


class LuckOrder(Struct, frozen=True, tag="luck"):
    """Report the luck of all rolls after the first `opening` ones of the `moves` of a match.

    `evaluation` is a file, or "shipped" for the one that comes with the game.
    """

    analysis: str
    game: str
    moves: tuple[int, ...]
    opening: int
    evaluation: str


class StopOrder(Struct, frozen=True, tag="stop"):
    """End an analysis, which is then reported as over."""

    analysis: str


class AnalysisReport(Struct, frozen=True, omit_defaults=True):
    """An analysis so far; `over` is true in the last report, which has the `error` if it failed.

    `lines` are as in `AnalysisUpdate`.
    `winner`: of a `ProofOrder`, the proven winner, -1 for a tie; None without a proof. `luck`: of a
    `LuckOrder`, the luck of player 1 in each roll, in points; empty with an `error` if the game has
    no evaluation.
    """

    analysis: str
    info: Analysis | None = None
    lines: Lines = ()
    over: bool = False
    error: str = ""
    winner: Literal[1, 2, -1] | None = None
    luck: tuple[float, ...] | None = None


#: An order that is reported as over when it is carried out.
Work = AnalysisOrder | ProofOrder | LuckOrder
AnalystOrder = Work | StopOrder
