"""Puzzles have one winning move: by minimax and, independently of it, by a tree search.

The second search is OpenSpiel's with OpenSpiel's rules, where it has the game. Timed puzzles have
one move that wins within their turns: by a search of all moves, also with OpenSpiel's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import pyspiel
import pytest

from playout import games, players
from playout.games import TIE, Game, Position, State
from playout.players import Limit
from playout.players.analyst.puzzles import PuzzleFinder, played_match
from playout.protocol.analyst import Puzzle, WinningMove, attempt, main_line
from playout.server.storage.database import shipped_puzzles
from support import scale
from testbed.openspiel import is_shared, mcts, position

SHIPPED = shipped_puzzles()
PROVEN = [each for each in SHIPPED if not each.timed]
TIMED = [each for each in SHIPPED if each.timed]
GAMES = sorted({each.game for each in PROVEN})
#: Puzzles, and games with some.
COUNT, KINDS = 100, 12
#: More than the puzzles were found with.
NODES = 20_000_000
SIMULATIONS, FEW_SIMULATIONS = 2_000_000, 50_000

#: Returns the winner after some actions, -1 for a tie.
Solver = Callable[[Sequence[int]], int]


def of(game: str) -> list[Puzzle]:
    """One puzzle of a game, all with --slow."""
    found = [each for each in PROVEN if each.game == game]
    return found if scale.slow else found[-1:]


def after(game: Game, actions: Sequence[int]) -> State:
    state = game.initial_state()
    for action in actions:
        assert action in game.legal_actions(state)
        state = game.next_state(state, action)
    return state


def by_player(text: str, limit: Limit, spec: str) -> Solver:
    """A solver that asks a player for proofs."""
    game = games.load(spec)
    player = players.load(text, game)

    def winner(actions: Sequence[int]) -> int:
        state = after(game, actions)
        if over := game.winner(state):
            return over
        info = player.choose(Position(game, start=state), limit).info
        assert info is not None
        assert info.proven is not None
        mover = game.current_player(state)
        return {1: mover, 0: TIE, -1: 3 - mover}[info.proven]

    return winner


def by_openspiel(spec: str) -> Solver:
    """A solver that asks OpenSpiel's search and, where it proves nothing, our `uct`."""
    ours = by_player("uct(seed=1)", Limit(simulations=SIMULATIONS), spec)

    def winner(actions: Sequence[int]) -> int:
        state = position(spec, actions)
        while len(state.legal_actions()) == 1:
            state.apply_action(state.legal_actions()[0])
        points = state.returns() if state.is_terminal() else proven(state)
        if not points:
            return ours(actions)
        return TIE if points[0] == points[1] else 1 if points[0] > points[1] else 2

    return winner


def proven(state: pyspiel.State) -> list[float]:
    """The proven points of both players, [] without a proof."""
    search = mcts(state.get_game(), 1.0, solve=True, simulations=FEW_SIMULATIONS)
    points: list[float] = search.mcts_search(state).outcome
    return points


@cache
def minimax_of(spec: str) -> Solver:
    return by_player("minimax(seed=3)", Limit(simulations=NODES), spec)


@cache
def second_of(spec: str) -> Solver:
    if is_shared(spec):
        return by_openspiel(spec)
    return by_player("uct(seed=1)", Limit(simulations=SIMULATIONS), spec)


def winning_moves(puzzle: Puzzle, actions: Sequence[int], winner: Solver) -> list[int]:
    """The moves after all these actions that win for the solver of a puzzle."""
    game = games.load(puzzle.game)
    solver = game.current_player(after(game, puzzle.actions))
    legal = game.legal_actions(after(game, actions))
    return [each for each in legal if winner([*actions, each]) == solver]


def test_there_are_enough_different_puzzles() -> None:
    assert len(PROVEN) >= COUNT
    assert len(GAMES) >= KINDS
    assert len({each.id for each in SHIPPED}) == len(SHIPPED)


@pytest.mark.parametrize("spec", GAMES)
def test_minimax_proves_that_one_move_wins_and_all_moves_of_the_solution(spec: str) -> None:
    game = games.load(spec)
    for puzzle in of(spec):
        assert len(puzzle.solution) == 1
        assert len(game.legal_actions(after(game, puzzle.actions))) > 1
        check_solution(puzzle, puzzle.actions, puzzle.solution)


def check_solution(puzzle: Puzzle, actions: Sequence[int], moves: Sequence[WinningMove]) -> None:
    """All winning moves are in the solution, and each leads to the win."""
    game = games.load(puzzle.game)
    solver = game.current_player(after(game, puzzle.actions))
    found = winning_moves(puzzle, actions, minimax_of(puzzle.game))
    assert sorted(each.action for each in moves) == found
    for each in moves:
        reached = [*actions, each.action, *each.replies]
        if each.then:
            assert game.current_player(after(game, reached)) == solver
            check_solution(puzzle, reached, each.then)
        else:
            assert game.winner(after(game, reached)) == solver


@pytest.mark.parametrize("spec", GAMES)
def test_a_second_search_finds_the_same_move(spec: str) -> None:
    for puzzle in of(spec):
        found = winning_moves(puzzle, puzzle.actions, second_of(spec))
        assert found == [puzzle.solution[0].action]


def test_a_win_takes_two_turns_at_least() -> None:
    for puzzle in SHIPPED:
        game = games.load(puzzle.game)
        state, solver, turns, before = after(game, puzzle.actions), 0, 0, 0
        solver = game.current_player(state)
        for action in main_line(puzzle.solution):
            mover = game.current_player(state)
            turns += mover == solver != before
            before, state = mover, game.next_state(state, action)
        assert game.winner(state) == solver
        assert turns == puzzle.turns >= 2


# Timed puzzles.


class OurPosition:
    """A position by the rules of Playout; `winner` is None while the game goes on."""

    def __init__(self, game: Game, state: State) -> None:
        self._game, self._state = game, state
        self.winner = game.winner(state) or None
        self.mover = 0 if self.winner else game.current_player(state)
        self.legal = [] if self.winner else list(game.legal_actions(state))

    def after(self, action: int) -> OurPosition:
        return OurPosition(self._game, self._game.next_state(self._state, action))


class SharedPosition:
    """The same by the rules of OpenSpiel, in which the first to move may be player 0 or 1."""

    def __init__(self, state: pyspiel.State, first: int) -> None:
        self._state, self._first = state, first
        is_over = state.is_terminal()
        points = state.returns()[first] if is_over else 0
        self.winner = (1 if points > 0 else 2 if points < 0 else TIE) if is_over else None
        self.mover = 0 if is_over else 1 if state.current_player() == first else 2
        self.legal = state.legal_actions() if not is_over else []

    def after(self, action: int) -> SharedPosition:
        return SharedPosition(self._state.child(action), self._first)


AnyPosition = OurPosition | SharedPosition


def position_of(spec: str, actions: Sequence[int]) -> AnyPosition:
    if is_shared(spec):
        first: int = position(spec, []).current_player()
        return SharedPosition(position(spec, actions), first)
    game = games.load(spec)
    return OurPosition(game, after(game, actions))


def wins_within(position: AnyPosition, solver: int, turns: int) -> bool:
    """Whether a player wins within so many turns of its own, whatever the opponent plays."""
    if position.winner is not None or not turns:
        return position.winner == solver
    results = (
        wins_within(then, solver, turns - (position.mover == solver != then.mover))
        for then in map(position.after, position.legal)
    )
    return any(results) if position.mover == solver else all(results)


def timed_moves(puzzle: Puzzle, actions: Sequence[int], turns: int) -> list[int]:
    """The moves after all these actions that win for the solver within so many turns."""
    game = games.load(puzzle.game)
    solver = game.current_player(after(game, puzzle.actions))
    now, found = position_of(puzzle.game, actions), []
    for action in now.legal:
        then = now.after(action)
        if wins_within(then, solver, turns - (then.mover != solver)):
            found.append(action)
    return found


def cost(puzzle: Puzzle) -> int:
    game = games.load(puzzle.game)
    return len(game.legal_actions(after(game, puzzle.actions))) ** puzzle.turns


def timed(slow: int, quick: int) -> list[Puzzle]:
    """The timed puzzles that are searched in seconds: one of each game, all with --slow."""
    chosen = sorted(
        (each for each in TIMED if cost(each) < (slow if scale.slow else quick)), key=cost
    )
    return chosen if scale.slow else list({each.game: each for each in reversed(chosen)}.values())


@pytest.mark.parametrize(
    "puzzle", timed(3_000_000, 2_000), ids=lambda each: f"{each.game} {each.id}"
)
def test_one_move_of_a_timed_puzzle_wins_within_its_turns(puzzle: Puzzle) -> None:
    assert timed_moves(puzzle, puzzle.actions, puzzle.turns) == [puzzle.solution[0].action]
    assert timed_moves(puzzle, puzzle.actions, puzzle.turns - 1) == []
    check_timed(puzzle, puzzle.actions, puzzle.solution, puzzle.turns)


def check_timed(
    puzzle: Puzzle, actions: Sequence[int], moves: Sequence[WinningMove], turns: int
) -> None:
    """All moves that win in time are in the solution, and each leads to the win."""
    assert sorted(each.action for each in moves) == timed_moves(puzzle, actions, turns)
    game = games.load(puzzle.game)
    solver = game.current_player(after(game, puzzle.actions))
    for each in moves:
        reached = [*actions, each.action, *each.replies]
        if each.then:
            check_timed(puzzle, reached, each.then, turns - bool(each.replies))
        else:
            assert game.winner(after(game, reached)) == solver


def test_games_of_many_moves_have_timed_puzzles() -> None:
    assert {"breakthrough", "checkers", "chess", "draughts", "lines_of_action"} <= {
        each.game for each in TIMED
    }


def test_a_match_with_a_proven_puzzle_has_no_timed_one() -> None:
    """Fool's mate has none either: there is no second turn."""
    finder = PuzzleFinder(games.load("chess"))
    assert finder.find(chess_moves("f3 e5 g4 Qh4#")) is None
    # Legal's mate: after 5... Bxd1 6.Bxf7+ wins within two turns, and nothing else does.
    found = finder.find(chess_moves("e4 e5 Nf3 d6 Bc4 Bg4 Nc3 g6 Nxe5 Bxd1 Bxf7+ Ke7 Nd5#"))
    finder.close()
    assert found is not None
    assert (len(found.actions), found.turns, found.timed) == (10, 2, True)
    assert main_line(found.solution) == tuple(
        chess_moves("e4 e5 Nf3 d6 Bc4 Bg4 Nc3 g6 Nxe5 Bxd1 Bxf7+ Ke7 Nd5#")[10:]
    )


def chess_moves(text: str) -> list[int]:
    game = games.load("chess")
    state, actions = game.initial_state(), list[int]()
    for name in text.split():
        legal = game.legal_actions(state)
        actions.append(next(each for each in legal if game.action_name(state, each) == name))
        state = game.next_state(state, actions[-1])
    return actions


# The finder.


def test_a_puzzle_of_a_match_is_found_again_in_its_mirror_image() -> None:
    game, found = games.load("connect_four"), 0
    finder = PuzzleFinder(game, Limit(simulations=5_000))
    for seed in range(8):
        actions = played_match(game, seed)
        puzzle, mirrored = finder.find(actions, "m"), finder.find([6 - each for each in actions])
        if puzzle is None:
            continue
        found += 1
        assert (list(puzzle.actions), puzzle.match) == (actions[: len(puzzle.actions)], "m")
        assert mirrored is not None
        assert mirrored.actions == tuple(6 - each for each in puzzle.actions)
        assert mirrored.id == puzzle.id
    finder.close()
    assert found > 0


def test_the_only_winning_move_of_a_match_is_found() -> None:
    game = games.load("tic_tac_toe")
    finder = PuzzleFinder(game)
    assert finder.find([]) is None
    assert finder.find([0, 1, 2, 4, 3, 5, 7, 6, 8]) is None
    puzzle = finder.find([8, 0, 6, 7, 2, 3, 4])
    assert puzzle is not None
    assert puzzle.actions == (8, 0, 6, 7)
    """
    o . .
    . . .
    x o x
    """
    assert puzzle.solution == (WinningMove(2, (4,), (WinningMove(5),)),)
    finder.close()


def test_an_attempt_has_the_replies_up_to_the_first_mistake() -> None:
    end = WinningMove(5)
    puzzle = Puzzle(
        id="p", game="nim", actions=(), turns=2, solution=(WinningMove(1, (2, 3), (end,)),)
    )
    assert attempt(puzzle, []).then == puzzle.solution
    assert attempt(puzzle, [1]).actions == (1, 2, 3)
    assert not attempt(puzzle, [1]).is_solved
    assert attempt(puzzle, [1, 5]).is_solved
    assert attempt(puzzle, [1, 4, 5]) == ((1, 2, 3, 4), None)
