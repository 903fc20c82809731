"""The rules against another implementation: OpenSpiel, move by move."""

from __future__ import annotations

import random

import chess
import pyspiel
import pytest

from playout import games
from playout.games import TIE
from playout.games.core.spec import parse
from support.scale import repetitions
from testbed.openspiel import is_shared, measured, spelling

GAMES = repetitions(1000, short=20)
SAME = [
    "tic_tac_toe",
    "connect_four",
    "othello",
    "mnk(m=3,n=3,k=3)",
    "mnk(m=6,n=5,k=4)",
    "mnk(m=8,n=8,k=5)",
    "gomoku(size=9,connect=5)",
    "checkers",
    "hex",
    "hex(size=3,swap=true)",
    "hex(size=19,swap=true)",
    "breakthrough",
    "breakthrough(rows=3,columns=7)",
    "breakthrough(rows=6,columns=2)",
    "clobber",
    "clobber(rows=2,columns=9)",
    "clobber(rows=10,columns=10)",
    "nim(piles=1;3;5;7)",
    "nim(piles=6;2,misere=true)",
    "kalah",
    "pentago",
    "havannah",
    "havannah(size=3)",
    "havannah(size=3,swap=true)",
    "havannah(size=2,swap=true)",
    "y",
    "y(size=4)",
    "lines_of_action",
    "dots_and_boxes",
    "dots_and_boxes(rows=2,columns=3)",
    "amazons",
    "amazons(size=8)",
    "amazons(size=6)",
    "oware",
    "oware(houses=3,seeds=2)",
]
#: Games that have their own tests below.
OTHERS = {"chess", "go", "gomoku", "ultimate_tic_tac_toe"}
#: Games of hundreds of plies are played less often.
LARGE = {
    "amazons": 10,
    "amazons(size=8)": 10,
    "lines_of_action": 10,
    "havannah": 4,
    "y": 4,
    "hex(size=19,swap=true)": 10,
    "clobber(rows=10,columns=10)": 10,
}


def outcome(state: pyspiel.State, first_player: int = 0) -> int:
    """Return OpenSpiel's result as our outcome; `first_player` is its number for our player 1."""
    if not state.is_terminal():
        return 0
    first = state.returns()[first_player]
    return TIE if first == 0 else 1 if first > 0 else 2


def test_every_game_that_open_spiel_has_is_compared_and_measured() -> None:
    shared = {parse(spec).name for spec in measured() if is_shared(spec)}
    assert shared == {parse(spec).name for spec in SAME} | OTHERS
    assert is_shared("go(size=5)")
    assert not is_shared("othello(size=6)")
    assert not is_shared("go(superko=true)")
    for spec in filter(is_shared, measured()):
        pyspiel.load_game(spelling(spec))


@pytest.mark.parametrize("spec", SAME)
def test_random_games_agree_at_every_ply(spec: str) -> None:
    agree(spec, spelling(spec), GAMES // LARGE.get(spec, 1))


@pytest.mark.parametrize(
    ("spec", "theirs", "matches"),
    [
        ("go(size=5)", "go(board_size=5,komi=7.5)", GAMES),
        ("go(size=5,komi=0.0)", "go(board_size=5,komi=0.0)", GAMES),
        ("go", "go(board_size=9,komi=7.5)", repetitions(1000, short=2)),
        ("go(size=19)", "go(board_size=19,komi=7.5)", repetitions(100, short=1)),
    ],
)
def test_go_agrees_at_every_ply(spec: str, theirs: str, matches: int) -> None:
    agree(spec, theirs, matches)


@pytest.mark.parametrize(
    ("fen", "matches"),
    [
        ("", repetitions(1000, short=3)),
        # Both may castle, pass with pawns and promote; the latter for many pieces a match.
        ("r3k2r/1ppppppp/8/8/8/8/1PPPPPPP/R3K2R w KQkq - 0 1", repetitions(200, short=1)),
        ("4k3/PPPP4/8/8/8/8/pppp4/6K1 b - - 90 60", repetitions(200, short=2)),
        ("8/8/3k1nb1/8/8/2K1BN2/8/8 w - - 0 1", repetitions(100, short=1)),
    ],
)
def test_chess_agrees_at_every_ply(fen: str, matches: int) -> None:
    agree(f"chess(fen={fen})" if fen else "chess", "chess", matches, fen, first_player=1)


def is_tie_of_fide(begin: str, played: list[str]) -> bool:
    """Return whether a position has occurred three times by FIDE's laws, but not in OpenSpiel.

    OpenSpiel tells positions apart by a pawn that no move can capture en passant.
    """
    board = chess.Board(begin or chess.STARTING_FEN)
    for name in played:
        board.push_uci(name)
    return board.is_repetition(3)


def agree(
    spec: str, their_spec: str, matches: int, begin: str = "", *, first_player: int = 0
) -> None:
    """Play random matches in both, and compare legal actions, movers and outcomes."""
    ours, theirs = games.load(spec), pyspiel.load_game(their_spec)
    assert ours.num_actions == theirs.num_distinct_actions()
    choose = random.Random(spec)
    for _ in range(matches):
        state, played = ours.initial_state(), list[str]()
        other = theirs.new_initial_state(begin) if begin else theirs.new_initial_state()
        while True:
            actions = ours.legal_actions(state)
            if ours.winner(state) != outcome(other, first_player) and their_spec == "chess":
                assert is_tie_of_fide(begin, played)
                break
            assert ours.winner(state) == outcome(other, first_player)
            assert list(actions) == other.legal_actions()
            if not actions:
                break
            assert ours.current_player(state) == 1 + (other.current_player() != first_player)
            action = choose.choice(actions)
            played.append(ours.long_algebraic(state, action) if their_spec == "chess" else "")
            state = ours.next_state(state, action)
            other.apply_action(action)


def test_a_full_size_gomoku_agrees() -> None:
    ours, theirs = games.load("gomoku"), pyspiel.load_game("gomoku")
    choose = random.Random(15)
    for _ in range(GAMES):
        state, other = ours.initial_state(), theirs.new_initial_state()
        while actions := ours.legal_actions(state):
            assert list(actions) == other.legal_actions()
            assert ours.current_player(state) == other.current_player() + 1
            action = choose.choice(actions)
            state = ours.next_state(state, action)
            other.apply_action(action)
            assert ours.winner(state) == outcome(other)
        assert other.is_terminal()


def legal_pairs(state: pyspiel.State) -> list[int]:
    """Return the legal moves as pairs: OpenSpiel chooses board and cell in two moves."""
    chosen = forced_board(state)
    if chosen is not None:
        return [9 * chosen + cell for cell in state.legal_actions()]
    pairs = []
    for outer in state.legal_actions():
        child = state.child(outer)
        pairs += [9 * outer + inner for inner in child.legal_actions()]
    return sorted(pairs)


def forced_board(state: pyspiel.State) -> int | None:
    """Return the board of the next mark; None if the player chooses it first."""
    name = state.action_to_string(state.legal_actions()[0])
    return None if name.startswith("Choose") else int(name.split()[2].rstrip(":"))


def test_ultimate_tic_tac_toe_agrees_through_a_mapping() -> None:
    ours, theirs = games.load("ultimate_tic_tac_toe"), pyspiel.load_game("ultimate_tic_tac_toe")
    choose = random.Random(81)
    for _ in range(GAMES):
        state, other = ours.initial_state(), theirs.new_initial_state()
        while actions := ours.legal_actions(state):
            assert list(actions) == legal_pairs(other)
            assert ours.current_player(state) == other.current_player() + 1
            action = choose.choice(actions)
            if forced_board(other) is None:
                other.apply_action(action // 9)
            other.apply_action(action % 9)
            state = ours.next_state(state, action)
            assert ours.winner(state) == outcome(other)
        assert other.is_terminal()
