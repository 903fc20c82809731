"""The command `scripts/solve`: makes the positions with exact values for `scripts/bench truth`.

The positions come from play: a match begins with up to eight random moves, and continues with moves
of `uct` and `rave` with 20 to 400 simulations, one in seven of them random. Most games are solved
near the end of a match: `minimax` proves the value of every move. Endings of chess and checkers are
solved by retrograde analysis: all positions that can be reached are listed, and the results of
finished games are passed back until nothing changes; the other positions are ties. Positions near
the end of games with chance are solved so, too: the values are expected results, and a move
preserves the value if no other has a greater one. A position is stored if at least one move
preserves its value and at least one does not.
"""

from __future__ import annotations

import json
import lzma
import struct
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from playout import games, players
from playout.agents.solved_positions import (
    EXACT,
    RESULTS,
    SOLVER,
    Mixture,
    SolvedEntry,
    proven_values,
    tells,
)
from playout.commands import interrupts
from playout.games import KernelGame, Position, SpecError, State
from playout.players.comparison.workers import run_on_cores
from testbed.bench import Bench

#: For each game, the number of plies before the end of a match: the least and the greatest.
BEFORE_END = {
    "tic_tac_toe": (2, 8),
    "nim(piles=3;4;5;6)": (3, 12),
    "connect_four": (3, 14),
    "othello": (8, 15),
    "mnk(m=6,n=6,k=4)": (2, 6),
    "mnk(m=8,n=8,k=5)": (1, 5),
    "hex(size=6)": (3, 9),
    "breakthrough(rows=5,columns=5)": (3, 10),
    "breakthrough": (2, 8),
    "clobber": (6, 13),
    "chong": (2, 14),
    "ataxx": (1, 6),
    "y(size=6)": (3, 10),
    "havannah(size=3)": (3, 10),
    "dots_and_boxes(rows=3,columns=3)": (6, 14),
    "dots_and_boxes": (6, 22),
    "kalah": (6, 18),
    "ultimate_tic_tac_toe": (4, 12),
}
#: Positions of a game that are stored; tasks of a game, and the matches of a task, at most.
COUNT, TASKS, MATCHES = 250, 10, 400
#: Positions of a task, at most; some are found by several tasks.
FOUND = 32
PROGRESS_S = 2.0


# Proofs by minimax.


class MatchTask(NamedTuple):
    """A game whose positions are solved by `minimax`, and the seed of its matches."""

    game: str
    seed: int


#: Solved positions as they are stored, by their state.
Solved = dict[State, SolvedEntry]


def solved_matches(task: MatchTask) -> Solved:
    """Return solved positions of a task; at most one of each match."""
    game = games.load(task.game)
    solver, mixture = players.load(SOLVER, game), Mixture(game, task.seed)
    found: Solved = {}
    for _ in range(MATCHES):
        match = mixture.match(Position(game), game.max_plies)
        plies = match.ply - mixture.random.randint(*BEFORE_END[task.game])
        values = proven_values(game, solver, match.states[plies]) if plies >= 0 else None
        if values and tells(values):
            found[match.states[plies]] = SolvedEntry.of_values((), match.moves[:plies], values)
        if len(found) == FOUND:
            break
    solver.close()
    mixture.close()
    return found


# Retrograde analysis.


class Ending(NamedTuple):
    """Endings that are solved by retrograde analysis.

    `draw` returns positions of a match from the ending on. The last `history` numbers of a
    state are the plies before it that matter: they are set to 0. Wins that take `quiet` plies or
    more are not used, because the rules may end the match before.
    """

    game: str
    draw: Callable[[Mixture], list[Position]]
    history: int
    quiet: int = 0


class MoveTable(NamedTuple):
    """The moves of the positions that are not over.

    `places` has the numbers of these positions, `signs` -1 where player 2 is to move. The positions
    after their moves are in `after`, from `firsts` on.
    """

    places: NDArray[np.int64]
    signs: NDArray[np.int8]
    firsts: NDArray[np.int64]
    after: NDArray[np.int64]

    def mine(self) -> NDArray[np.int8]:
        """Return the sign of the player to move, for each move."""
        return np.repeat(self.signs, np.diff([*self.firsts, len(self.after)]))


class Solution:
    """The values of all positions that can be reached from some endings."""

    def __init__(self, game: KernelGame, ending: Ending, starts: Sequence[State]) -> None:
        self._game, self._history = game, ending.history
        self._quiet = ending.quiet
        self._numbers = struct.Struct(f"{len(starts[0]) - ending.history}b")
        self._index: dict[bytes, int] = {}
        self._states = list[bytes]()
        for start in starts:
            self._at(self.without_history(start))
        self._solve()

    def without_history(self, state: State) -> State:
        """Return a state as if the match had begun there."""
        return (*state[: len(state) - self._history], *(0,) * self._history)

    def values(self, state: State) -> list[int] | None:
        """Return the values of the legal moves; None if a win takes too many plies."""
        places = self._places(state)
        if max(int(self._plies[place]) for place in places) + 1 >= self._quiet:
            return None
        sign = 1 if self._game.current_player(state) == 1 else -1
        return [sign * int(self._values[place]) for place in places]

    def _places(self, state: State) -> list[int]:
        """Return the numbers of the positions after the legal moves."""
        after = [self._game.next_state(state, a) for a in self._game.legal_actions(state)]
        return [self._index[self._key(each)] for each in after]

    def __len__(self) -> int:
        return len(self._states)

    def _key(self, state: State) -> bytes:
        return self._numbers.pack(*state[: self._numbers.size])

    def _at(self, state: State) -> int:
        """Return the number of a position, a new one if it has none."""
        key = self._key(state)
        place = self._index.setdefault(key, len(self._states))
        if place == len(self._states):
            self._states.append(key)
        return place

    def _solve(self) -> None:
        """List the positions and their moves, then pass the results back."""
        results, movers, firsts, after = list[int](), list[int](), list[int](), list[int]()
        place, told = 0, time.monotonic()
        while place < len(self._states):  # it grows
            state = (*self._numbers.unpack(self._states[place]), *(0,) * self._history)
            results.append(RESULTS.get(self._game.winner(state), 0))
            movers.append(1 if self._game.current_player(state) == 1 else -1)
            firsts.append(len(after))
            after += self._after(state)
            place += 1
            if time.monotonic() - told > PROGRESS_S:
                told = time.monotonic()
                click.echo(f"{self._game}: {place:,} of {len(self._states):,} positions", err=True)
        ends = np.array([*firsts[1:], len(after)])
        open_ = np.flatnonzero(ends > np.array(firsts))
        signs, starts = np.array(movers, dtype=np.int8)[open_], np.array(firsts)[open_]
        moves = MoveTable(open_, signs, starts, np.array(after))
        self._pass_back(np.array(results, dtype=np.int8), moves)

    def _after(self, state: State) -> list[int]:
        board = self._game.board(state)
        actions = np.empty(self._game.num_actions, dtype=np.int64)
        found = list[int]()
        for action in actions[: self._game.kernels.legal(board, actions)]:
            child = board.copy()
            self._game.kernels.play(child, action)
            found.append(self._at(self._game.state(child)))
        return found

    def _pass_back(self, values: NDArray[np.int8], moves: MoveTable) -> None:
        """Set values until nothing changes; `values` are the results, for player 1.

        A position without a forced result keeps the value 0 of a tie. `_plies` is the number of
        plies to the end of a win.
        """
        plies, steps, mine = np.zeros(len(values), dtype=np.int16), 0, moves.mine()
        while True:
            steps += 1
            best = moves.signs * np.maximum.reduceat(mine * values[moves.after], moves.firsts)
            changed = moves.places[best != values[moves.places]]
            if not len(changed):
                break
            values[moves.places] = best
            plies[changed] = steps
        self._values, self._plies = values, plies


class Expectation(Solution):
    """The expected results in all positions of a game with chance that can be reached."""

    def __init__(self, game: KernelGame, ending: Ending, starts: Sequence[State]) -> None:
        self._weights = list[int]()
        super().__init__(game, ending, starts)

    def values(self, state: State) -> list[int]:
        """Return 1 for each legal move with the greatest expected result, and -1 for others."""
        found = self.expected(state)
        return [1 if each > max(found) - EQUAL else -1 for each in found]

    def expected(self, state: State) -> list[float]:
        """Return the expected results of the legal moves for the player to move, from -1 to 1."""
        sign = 1 if self._game.current_player(state) == 1 else -1
        return [sign * float(self._expected[place]) for place in self._places(state)]

    def _after(self, state: State) -> list[int]:
        found = super()._after(state)
        self._weights += self._game.chances(state) if state[0] == 0 else (0,) * len(found)
        return found

    def _pass_back(self, values: NDArray[np.int8], moves: MoveTable) -> None:
        """Set the expected results until none changes by more than a rounding error."""
        expected, weights = values.astype(float), np.array(self._weights, dtype=float)
        mine, totals = moves.mine(), np.add.reduceat(weights, moves.firsts)
        nature, totals = totals > 0, np.maximum(1, totals)
        while True:
            children = expected[moves.after]
            best = moves.signs * np.maximum.reduceat(mine * children, moves.firsts)
            mean = np.add.reduceat(weights * children, moves.firsts) / totals
            changed = np.where(nature, mean, best)
            change = np.abs(changed - expected[moves.places]).max()
            expected[moves.places] = changed
            if change < EQUAL / 1000:
                break
        self._expected = expected


# Endings.

#: Moves of a match of chess, at most.
MOST = 12


def king_and_pawn(mixture: Mixture) -> list[Position]:
    """Return positions of chess, from a random one of king and pawn against king on."""
    while True:
        cells = ["1"] * 64
        for cell, piece in zip(mixture.random.sample(range(64), 3), "KkP", strict=True):
            cells[cell] = piece
        rows = "/".join("".join(cells[row : row + 8]) for row in range(0, 64, 8))
        try:
            start = games.load(f"chess(fen={rows} {mixture.random.choice('wb')} - - 0 1)")
        except SpecError:  # a pawn on the last row, or a king that could be captured
            continue
        begin = Position(mixture.game, start=start.initial_state())
        return positions_of(mixture.match(begin, MOST))


def positions_of(match: Position) -> list[Position]:
    """Return the positions of a match, the first one first."""
    return [match.at(ply) for ply in range(match.ply + 1)]


def three_pieces(mixture: Mixture) -> list[Position]:
    """Return the positions of a match of checkers that have at most three pieces."""
    found = positions_of(mixture.match(Position(mixture.game), mixture.game.max_plies))
    return [each for each in found if sum(map(bool, mixture.game.view(each.state).cells)) <= 3]


def decisions(mixture: Mixture, is_late: Callable[[State], bool]) -> list[Position]:
    """Return the late positions of a match with chance in which a player moves."""
    start = Position(mixture.game).rolled(mixture.random.randrange)
    found = positions_of(mixture.match(start, mixture.game.max_plies))
    return [each for each in found if each.to_move and not each.winner and is_late(each.state)]


def few_cubes(mixture: Mixture) -> list[Position]:
    """Return positions of EinStein with at most four cubes, of which each player has one."""
    return decisions(mixture, lambda state: sum(map(bool, state[4:])) <= 4)


def many_points(mixture: Mixture) -> list[Position]:
    """Return positions of pig in which both players have 80 points or more."""
    return decisions(mixture, lambda state: min(state[3:5]) >= 80)


CHESS = Ending("chess", king_and_pawn, history=101, quiet=100)
CHECKERS = Ending("checkers", three_pieces, history=1, quiet=40)
EINSTEIN = Ending("einstein_wurfelt_nicht", few_cubes, history=0)
PIG = Ending("pig", many_points, history=1)
ENDINGS = (CHESS, CHECKERS)
WITH_CHANCE = (EINSTEIN, PIG)
#: Expected results that differ by less are equal.
EQUAL = 1e-9
#: Matches of an ending.
ENDING_MATCHES = 500


def solved_endings(ending: Ending) -> Solved:
    """Return solved endings, as many as are stored."""
    game = games.load(ending.game)
    assert isinstance(game, KernelGame)
    mixture = Mixture(game, seed=1)
    drawn = [each for _ in range(ENDING_MATCHES) for each in ending.draw(mixture)]
    mixture.close()
    kind = Expectation if game.has_chance else Solution
    solution = kind(game, ending, [each.state for each in drawn])
    found: Solved = {}
    mixture.random.shuffle(drawn)
    for each in drawn:
        state = solution.without_history(each.state)
        values = None if each.winner else solution.values(state)
        if values and tells(values) and len(found) < COUNT:
            moves = each.moves if game.has_chance else ()
            found[state] = SolvedEntry.of_values(() if moves else state, moves, values)
    return found


# The command.


def solved(task: MatchTask | Ending) -> Solved:
    """Return the solved positions of a task."""
    return solved_matches(task) if isinstance(task, MatchTask) else solved_endings(task)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--games", "only", help="Solve only these games, separated by spaces.")
def main(only: str | None) -> None:
    """Solve positions of many games for `scripts/bench truth`, and store them.

    It writes agents/exact_values.json.xz; positions of games that are not solved stay there.

    \b
    Examples:
      scripts/solve
      scripts/solve --games "connect_four othello(size=6)"
    """
    tasks: list[MatchTask | Ending] = [
        *ENDINGS,
        *WITH_CHANCE,
        *(MatchTask(game, seed) for game in BEFORE_END for seed in range(TASKS)),
    ]
    names = list(dict.fromkeys(task.game for task in tasks))
    wanted = only.split() if only else names
    if unknown := sorted({*wanted} - {*names}):
        raise click.UsageError(f"no {unknown[0]} is solved; expected some of {', '.join(names)}")
    with interrupts.with_text("Interrupted; the games so far are stored."):
        for game in wanted:
            found = _solve([task for task in tasks if task.game == game])
            _store(game, found)
            click.echo(f"{game}: {len(found)} positions")


def _solve(tasks: Sequence[MatchTask | Ending]) -> list[SolvedEntry]:
    """Return the positions of a game; equal tasks give equal positions."""
    done = dict[MatchTask | Ending, Solved]()
    steps = [f"{tasks[0].game}, {n} of {len(tasks)}" for n in range(1, len(tasks) + 1)]
    results = run_on_cores(solved, tasks)
    for _, (task, found) in zip(Bench("solve", False).track(steps), results, strict=True):
        done[task] = found
    together: Solved = {}
    for task in tasks:
        together |= done[task]
    return [*together.values()][:COUNT]


def _store(game: str, entries: list[SolvedEntry]) -> None:
    """Store the positions of a game; those of other games stay."""
    stored = json.loads(lzma.decompress(EXACT.read_bytes())) if EXACT.exists() else {}
    stored = dict(sorted((stored | {game: entries}).items()))
    EXACT.write_bytes(lzma.compress(json.dumps(stored, separators=(",", ":")).encode()))
