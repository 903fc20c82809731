"""Trees of variations as PGN and SGF, read back by python-chess and sgfmill."""

from __future__ import annotations

import inspect
import io
import operator
import random
import re
import sys
from collections.abc import Iterable, Iterator

import chess.pgn
import pytest
from sgfmill import sgf

from playout import games
from playout.games import Position
from playout.server.export.sgf import LETTERS, Unsuitable
from playout.server.export.variations import BadTree, Line, read, write_pgn, write_sgf
from playout.server.tournament.opening_file import pasted

#: A tree: the names of the moves to each position that has no further ones.
Lines = set[tuple[str, ...]]


def random_tree(game: str, seed: int) -> tuple[str, Lines]:
    """Return a tree with variations in variations, and its lines."""
    draw, lines = random.Random(seed), set()

    def grow(position: Position, names: tuple[str, ...], depth: int) -> Iterator[str]:
        for _ in range(draw.randint(1, 8)):
            if position.winner:
                break
            first, *others = draw.sample(
                position.legal_actions, min(2, len(position.legal_actions))
            )
            yield str(first)
            for each in others if depth < 3 and draw.random() < 0.5 else ():
                yield from ("(", str(each))
                yield from grow(position.play(each), (*names, name(position, each)), depth + 1)
                yield ")"
            names, position = (*names, name(position, first)), position.play(first)
        lines.add(names)

    return " ".join(grow(Position(games.load(game)), (), 0)), lines


def name(position: Position, action: int) -> str:
    return position.game.action_name(position.state, action)


@pytest.mark.parametrize("seed", range(5))
def test_python_chess_reads_the_variations_of_chess(seed: int) -> None:
    tree, lines = random_tree("chess", seed)
    written = write_pgn(games.load("chess"), read(tree))
    found = chess.pgn.read_game(io.StringIO(written))
    assert found
    assert found.errors == []

    def ends(node: chess.pgn.GameNode, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for each in node.variations:
            yield from ends(each, (*names, each.san()))
        if not node.variations:
            yield names

    assert set(ends(found, ())) == lines
    _, actions = pasted(written, games.load("chess"), 400)
    assert list(actions) == [each for each in read(tree) if isinstance(each, int)]


def test_a_drawn_position_is_the_first_one_of_its_pgn() -> None:
    game = games.load("chess(fen=4k3/8/8/8/8/8/8/R3K2R b KQ - 3 80)")
    written = write_pgn(game, read(" ".join(map(str, Position(game).legal_actions[:1]))))
    found = chess.pgn.read_game(io.StringIO(written))
    assert found
    assert found.board().fullmove_number == 80
    assert "80..." in written


@pytest.mark.parametrize("game", ["go(size=9)", "tic_tac_toe", "othello", "gomoku(size=9)"])
def test_sgfmill_reads_the_variations_of_games_of_stones(game: str) -> None:
    tree, lines = random_tree(game, 3)
    found = sgf.Sgf_game.from_string(write_sgf(games.load(game), read(tree)))
    view = games.load(game).view(games.load(game).initial_state())

    def ends(node: sgf.Tree_node, points: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for each in node:
            colour, move = each.get_move()
            assert colour in ("b", "w")
            text = "" if move is None else f"{LETTERS[move[1]]}{view.rows - 1 - move[0]}"
            yield from ends(each, (*points, text))
        if not len(node):
            yield points

    def points(names: Iterable[str]) -> Iterator[str]:
        position = Position(games.load(game))
        for each in names:
            action = position.game.parse_action(position.state, each)
            clicks = position.game.view(position.state).clicks[action]
            yield (
                f"{LETTERS[clicks[0] % view.columns]}{clicks[0] // view.columns}" if clicks else ""
            )
            position = position.play(action)

    assert set(ends(found.get_root(), ())) == {tuple(points(line)) for line in lines}


def test_each_move_of_a_long_line_may_have_a_variation() -> None:
    """They follow the line: a function that calls itself for each would exceed Python's limit."""
    game, draw = games.load("go(size=9)"), random.Random(1)
    position, tree = Position(game), list[str]()
    for _ in range(60):
        move, other = draw.sample([each for each in position.legal_actions if each < 81], 2)
        tree += [f"{move}", "(", f"{other}", ")"]
        position = position.play(move)
    line, limit = read(" ".join(tree)), sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 50)
    try:
        written = write_sgf(game, line)
    finally:
        sys.setrecursionlimit(limit)
    assert len(sgf.Sgf_game.from_string(written).get_main_sequence()) == 61


@pytest.mark.parametrize("game", ["checkers", "backgammon", "kalah"])
def test_other_games_have_their_moves_in_the_grammar_of_pgn(game: str) -> None:
    tree, lines = random_tree(game, 2)
    words = write_pgn(games.load(game), read(tree)).partition("\n\n")[2].split()
    assert words.count("(") == words.count(")") == tree.count("(")
    assert all(f'"{each}"' in " ".join(words) or each in words for line in lines for each in line)
    with pytest.raises(Unsuitable):
        write_sgf(games.load(game), read(tree))


@pytest.mark.parametrize("game", ["draughts", "checkers"])
def test_a_capture_of_several_pieces_is_one_move(game: str) -> None:
    """Other programs number the moves of draughts so; the rest of a line was out of step."""
    draw, rules = random.Random(3), games.load(game)
    for _ in range(20):
        position = Position(rules)
        while not position.winner and position.ply < 60:
            position = position.play(draw.choice(position.legal_actions))
        movers = [each[0] for each in position.states[: position.ply]]
        turns = 1 + sum(map(operator.ne, movers, movers[1:]))
        if turns < position.ply:
            break
    written = write_pgn(rules, [*position.moves])
    moves = re.findall(r"[0-9]+[-x][0-9x]+", written.partition("\n\n")[2])
    assert len(moves) == turns
    assert pasted(written, rules, 400)[1] == position.moves


def test_a_variation_within_a_capture_replaces_the_whole_move() -> None:
    rules = games.load("draughts(fen=W:W32:B28;18;17;9;19;10)")
    long, left, right = (
        rules.parse_turn(rules.initial_state(), each) for each in ("32x21", "32x3", "32x5")
    )
    tree: Line = [*long[:2], [*left[1:2], left[2], [right[2]]], long[2]]
    assert write_pgn(rules, tree).split("\n\n")[1] == "1. 32x21 ( 1. 32x3 ( 1. 32x5 ) ) *"


@pytest.mark.parametrize(
    "tree", ["( 1 )", "1 ( )", "1 ( 2", "1 )", "x", "1 " * 5000, "1 " + "( 1 " * 200, "99999"]
)
def test_a_tree_that_is_none_is_refused(tree: str) -> None:
    with pytest.raises(BadTree):
        write_pgn(games.load("tic_tac_toe"), read(tree))
