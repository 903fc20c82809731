"""Finds puzzles in matches: positions with one winning move, proven by minimax.

It goes back from the end of a match until a position is not proven within its nodes. A puzzle
begins with a turn, and the result of every move is proven: one wins, the others tie or lose. The
same holds for each position of the solution, where several moves may win. The opponent replies with
the move that minimax chooses in a lost position, the one that loses last; if a move wins at once,
then with the reply that leaves the fewest such moves.

In games such as chess the results of all moves are seldom proven. A match without such a puzzle may
have a timed one: one move wins within two or three turns, against all replies, and no other move
does within as many.

`main` runs in a process, and answers orders of `playout.protocol.analyst`.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import random
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from playout import games, players
from playout.commands.subprocesses import Parent
from playout.games import TIE, Game, IllegalAction, Position, State
from playout.players.core.player import Limit, Player
from playout.players.minimax import Minimax
from playout.protocol.analyst import Puzzle, PuzzleAnswer, PuzzleOrder, WinningMove

#: The search for the result of a position: at most so many nodes, for at most so many seconds.
PROOF = Limit(simulations=300_000, seconds=0.5)
#: Turns of the solver: a win in one is no puzzle, and a long one needs more patience than skill.
FEWEST_TURNS, MOST_TURNS = 2, 6
#: Maximum number of moves in a solution: where most moves win, there is nothing to find.
MOST_MOVES = 60
#: The search for a puzzle in a match ends after this many seconds, and after this many positions
#: in a row that were not proven; that for a timed one ends after as many seconds again.
_MATCH_S = 10.0
_UNPROVEN = 3
#: A timed puzzle takes at most so many turns: a search of all moves for more takes too long.
_MOST_TIMED_TURNS = 3
_MEMORY_MB = 16
#: In a match with mistakes, random moves at its beginning and their share later, and simulations of
#: the others.
_RANDOM_PLIES, _RANDOM_SHARE = 8, 0.15
_SIMULATIONS = (20, 100, 400)
_PLAYER = "uct(memory_mb=16,reuse=false,seed={})"


class _Unsuitable(Exception):
    """A position is no puzzle, or is not proven to be one in time."""


class PuzzleFinder:
    """Finds puzzles of one game."""

    def __init__(self, game: Game, proof: Limit = PROOF) -> None:
        """`proof` limits the search for the result of a position."""
        self._game = game
        self._proof = proof
        self._search = Minimax(game, seed=1, memory_mb=_MEMORY_MB)
        #: The winner, None if not proven, and the move of minimax, by position of this match.
        self._known: dict[State, tuple[int | None, int]] = {}
        #: The time.monotonic() at which the search in this match ends.
        self._until = 0.0

    def find(self, actions: Sequence[int], match: str | None = None) -> Puzzle | None:
        """Return the puzzle of a match that comes first in it, None if none was found."""
        game = self._game
        states = Position(game, actions).states
        self._known.clear()
        self._until = time.monotonic() + _MATCH_S
        unproven, found = 0, None
        for ply in range(len(states) - 1, -1, -1):
            if unproven == _UNPROVEN or time.monotonic() > self._until:
                break
            if game.winner(states[ply]):
                continue
            winner, _ = self._result(states[ply])
            unproven = unproven + 1 if winner is None else 0
            if winner == game.current_player(states[ply]) and self._begins_turn(states, ply):
                with contextlib.suppress(_Unsuitable):
                    found = ply, self._solution(states[ply])
        if is_timed := found is None:
            found = self._timed(states)
        if found is None:
            return None
        ply, solution = found
        return Puzzle(
            id=_identity(game, actions[:ply]),
            game=str(game),
            actions=tuple(actions[:ply]),
            turns=_turns(solution[0]),
            solution=solution,
            match=match,
            timed=is_timed,
        )

    def _timed(self, states: Sequence[State]) -> tuple[int, tuple[WinningMove, ...]] | None:
        """Return the ply and the solution of the timed puzzle with the most turns, None without."""
        winner = self._game.winner(states[-1])
        if winner in (0, TIE):
            return None
        wins = _TimedWins(self._game, winner, time.monotonic() + _MATCH_S)
        found: tuple[int, tuple[WinningMove, ...]] | None = None
        with contextlib.suppress(_Unsuitable):
            for ply in range(len(states) - 2, -1, -1):
                state = states[ply]
                if self._game.current_player(state) != winner or not self._begins_turn(states, ply):
                    continue
                solution = wins.solution(state)
                if solution is None:  # the win is not forced, or takes too long
                    break
                most = _turns(found[1][0]) if found else FEWEST_TURNS - 1
                if len(solution) == 1 and _turns(solution[0]) > most:
                    found = ply, solution
        return found

    def _begins_turn(self, states: Sequence[State], ply: int) -> bool:
        """Return whether the other player has made the move before, if there was one."""
        mover = self._game.current_player
        return ply == 0 or mover(states[ply]) != mover(states[ply - 1])

    def _solution(self, state: State) -> tuple[WinningMove, ...]:
        """Return the only winning move, with what follows. Raises _Unsuitable."""
        solver = self._game.current_player(state)
        actions = self._winning(state, solver)
        if len(actions) != 1 or len(self._game.legal_actions(state)) == 1:
            raise _Unsuitable
        left = [MOST_MOVES]
        solution = self._moves(state, solver, left)
        if not FEWEST_TURNS <= _turns(solution[0]) <= MOST_TURNS:
            raise _Unsuitable
        return solution

    def _moves(self, state: State, solver: int, left: list[int]) -> tuple[WinningMove, ...]:
        """Return the winning moves, the shortest win first; there may be `left` more of them."""
        moves = []
        for action in self._winning(state, solver):
            left[0] -= 1
            if left[0] < 0:
                raise _Unsuitable
            after = self._game.next_state(state, action)
            after, replies = _replied(
                self._game, after, solver, partial(self._defence, solver=solver)
            )
            then = () if self._game.winner(after) else self._moves(after, solver, left)
            moves.append(WinningMove(action, replies, then))
        return tuple(sorted(moves, key=_turns))

    def _defence(self, state: State, solver: int) -> int:
        """Return the reply in a lost position after which the fewest moves win at once.

        Among equal ones it is that of minimax.
        """
        replies = (self._result(state)[1], *self._game.legal_actions(state))
        return min(replies, key=lambda each: self._wins_at_once(state, each, solver))

    def _wins_at_once(self, state: State, action: int, solver: int) -> int:
        after = self._game.next_state(state, action)
        if self._game.winner(after):
            return self._game.num_actions
        if self._game.current_player(after) != solver:
            return 0
        legal = self._game.legal_actions(after)
        return sum(self._game.winner(self._game.next_state(after, a)) == solver for a in legal)

    def _winning(self, state: State, solver: int) -> list[int]:
        """Return the moves that win. Raises _Unsuitable if the result of a move is not proven."""
        found = []
        for action in self._game.legal_actions(state):
            winner, _ = self._result(self._game.next_state(state, action))
            if winner is None or time.monotonic() > self._until:
                raise _Unsuitable
            if winner == solver:
                found.append(action)
        return found

    def _result(self, state: State) -> tuple[int | None, int]:
        """Return the proven winner of a position, None without a proof, and the move there."""
        if over := self._game.winner(state):
            return over, -1
        if state not in self._known:
            found = self._search.choose(Position(self._game, start=state), self._proof)
            proven = found.info.proven if found.info else None
            mover = self._game.current_player(state)
            winner = None if proven is None else {1: mover, 0: TIE, -1: 3 - mover}[proven]
            self._known[state] = winner, found.action
        return self._known[state]

    def close(self) -> None:
        """Release the memory of the search."""
        self._search.close()


class _TimedWins:
    """Searches all moves for wins of a player within some turns."""

    def __init__(self, game: Game, solver: int, until: float) -> None:
        """`until` is the time.monotonic() at which a search raises _Unsuitable."""
        self._game = game
        self._solver = solver
        self._until = until
        self._known: dict[tuple[State, int], bool] = {}

    def solution(self, state: State) -> tuple[WinningMove, ...] | None:
        """Return all moves of the fastest win; None if it takes more turns than a puzzle may.

        The solver has to make the last move: a win by a move of the opponent is none here.
        """
        for turns in range(1, _MOST_TIMED_TURNS + 1):
            if self._wins(state, turns):
                moves = self._moves(state, turns)
                return moves if _turns(moves[0]) == turns else None
        return None

    def _wins(self, state: State, turns: int) -> bool:
        """Return whether the solver wins within a number of turns, including this one."""
        if over := self._game.winner(state):
            return over == self._solver
        if not turns:
            return False
        key = state, turns
        if key not in self._known:
            if time.monotonic() > self._until:
                raise _Unsuitable
            legal = self._game.legal_actions(state)
            results = (self._wins(*self._after(state, turns, each)) for each in legal)
            is_solvers = self._game.current_player(state) == self._solver
            self._known[key] = any(results) if is_solvers else all(results)
        return self._known[key]

    def _after(self, state: State, turns: int, action: int) -> tuple[State, int]:
        """Return the position after a move, and the turns that are left then."""
        mover, after = self._game.current_player, self._game.next_state(state, action)
        ends_turn = mover(state) == self._solver != mover(after)
        return after, turns - ends_turn

    def _moves(self, state: State, turns: int) -> tuple[WinningMove, ...]:
        """Return the moves that win within so many turns, with what follows."""
        moves = []
        for action in self._game.legal_actions(state):
            after, left = self._after(state, turns, action)
            if not self._wins(after, left):
                continue
            after, replies = _replied(
                self._game, after, self._solver, partial(self._defence, turns=left)
            )
            then = () if self._game.winner(after) else self._moves(after, left)
            moves.append(WinningMove(action, replies, then))
        return tuple(sorted(moves, key=_turns))

    def _defence(self, state: State, turns: int) -> int:
        """Return the reply after which the win takes longest, and the fewest moves win then."""

        def difficulty(action: int) -> tuple[int, int]:
            after = self._game.next_state(state, action)
            fastest = next(each for each in range(turns + 1) if self._wins(after, each))
            legal = [] if self._game.winner(after) else self._game.legal_actions(after)
            return fastest, -sum(self._wins(*self._after(after, turns, each)) for each in legal)

        return max(self._game.legal_actions(state), key=difficulty)


def _replied(
    game: Game, state: State, solver: int, defence: Callable[[State], int]
) -> tuple[State, tuple[int, ...]]:
    """Return the position in which the solver is to move or the game is over, and the replies."""
    replies: list[int] = []
    while not game.winner(state) and game.current_player(state) != solver:
        replies.append(defence(state))
        state = game.next_state(state, replies[-1])
    return state, tuple(replies)


def _turns(move: WinningMove) -> int:
    """Return the turns of the solver in the shortest win; several moves in a row are one."""
    if not move.then:
        return 1
    return min(map(_turns, move.then)) + bool(move.replies)


def _identity(game: Game, actions: Sequence[int]) -> str:
    """Return the id of the position after some actions: that of all its images is the same."""
    found = []
    for symmetry in game.symmetries:
        with contextlib.suppress(IllegalAction):  # the first position may have no such symmetry
            position = Position(game, (symmetry.actions[action] for action in actions))
            shown = f"{game} {position.to_move}\n{game.show(position.state)}"
            found.append(hashlib.sha256(shown.encode()).hexdigest())
    return min(found)[:16]


def played_match(game: Game, seed: int) -> list[int]:
    """Return the actions of a match with mistakes; it may end early, after some seconds."""
    player = players.load(_PLAYER.format(seed), game)
    until = time.monotonic() + _MATCH_S
    found = match_with_mistakes(Position(game), random.Random(seed), [player], until=until)
    player.close()
    return [*found.moves]


def match_with_mistakes(
    start: Position,
    drawn: random.Random,
    bots: Sequence[Player],
    *,
    most: float = math.inf,
    until: float = math.inf,
) -> Position:
    """Return the last position of a match that continues from `start`.

    It begins with random moves, and has some later; the other moves are those of the `bots`, with
    few simulations. It ends after `most` moves, and at the time.monotonic() of `until`.
    """
    position = start
    first = drawn.randrange(_RANDOM_PLIES + 1)
    while not position.winner and time.monotonic() < until:
        played = position.ply - start.ply
        if played >= most:
            break
        if played < first or drawn.random() < _RANDOM_SHARE:
            action = drawn.choice(position.legal_actions)
        else:
            limit = Limit(simulations=drawn.choice(_SIMULATIONS))
            action = drawn.choice(bots).choose(position, limit).action
        position = position.play(action).rolled(drawn.randrange)
    return position


# The process.

_decode = msgspec.json.Decoder(PuzzleOrder).decode


class PuzzleSearch:
    """Answers orders; it keeps the finder of the last game."""

    def __init__(self) -> None:
        self._loaded: tuple[Game, PuzzleFinder] | None = None

    def answer(self, order: PuzzleOrder) -> PuzzleAnswer:
        """Return the puzzle of a match, or the reason why it cannot be searched."""
        try:
            if games.load(order.game).has_chance:
                return PuzzleAnswer(error="nothing is proven in games with chance", has_chance=True)
            game, finder = self._finder(order.game)
            actions = order.actions
            if actions is None:
                actions = tuple(played_match(game, order.seed))
            return PuzzleAnswer(finder.find(actions, order.match))
        except Exception as error:  # the game may be a plugin
            return PuzzleAnswer(error=str(error) or repr(error))

    def _finder(self, spelled: str) -> tuple[Game, PuzzleFinder]:
        game = games.load(spelled)
        if self._loaded is None or self._loaded[0] is not game:
            if self._loaded:
                self._loaded[1].close()
            self._loaded = game, PuzzleFinder(game)
        return self._loaded


def main() -> None:
    """Answer the orders of the parent process until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    parent, search = Parent(), PuzzleSearch()
    with contextlib.suppress(EOFError, OSError):  # the parent has ended
        while order := parent.receive(PuzzleOrder):
            parent.say(search.answer(order))
