"""Files of games and positions made by other programs, and files of ours that these read.

Each is read move by move, or refused with a reason.
"""

from __future__ import annotations

import io
import os
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import chess
import chess.pgn
import draughts
import pyspiel
import pytest
from draughts.PDN import PDNReader, PDNWriter
from sgfmill import sgf as sgfmill

from playout import games
from playout.games import Game, Position
from playout.protocol.text_files import decoded
from playout.server.export import pgn, sgf
from playout.server.tournament import opening_file
from playout.server.tournament.opening_file import BadOpening, PlayableOpening
from support.requirements import skip_without
from support.scale import repetitions
from support.stored_game import PlayedGame

#: Files of each kind, with --slow.
FILES = range(repetitions(100, short=3))
MOST = 10_000


def read(name: str, text: str, game: Game) -> list[PlayableOpening | BadOpening]:
    read_text = decoded(text.encode())
    return [found for _, found in opening_file.read(name, read_text, game, MOST)]


def names(game: Game, opening: PlayableOpening | BadOpening) -> list[str]:
    """Return the moves of an opening, as programs of chess write them."""
    assert isinstance(opening, PlayableOpening), opening
    position = Position(games.beginning_at(game, opening.fen))
    found = []
    for action in opening.actions:
        found.append(game.long_algebraic(position.state, action))
        position = position.play(action)
    return found


# PGN of python-chess.

COMMENTS = [
    "good",
    "1. e4 is (better)",
    'a "quoted" one',
    "[%clk 0:01:02]",
    "Öl; % and \\ too",
    "\n\n",
]
NAGS = [chess.pgn.NAG_GOOD_MOVE, chess.pgn.NAG_BLUNDER, 10, 139, 255]
WIDTHS = [80, 20, None]


def chess_game(draw: random.Random) -> chess.pgn.Game:
    """Return a game with comments, marks and variations within variations."""
    made = chess.pgn.Game()
    made.headers.update({"Event": 'The "Open" \\ 2', "White": "Müller, J.", "Round": "3.1"})
    board = chess.Board()
    for _ in range(draw.choice([0, 0, 7])):
        board.push(draw.choice(list(board.legal_moves)))
    if board.move_stack:
        made.setup(chess.Board(board.fen()))
    node: chess.pgn.GameNode = made
    for _ in range(draw.randrange(1, 60)):
        board = node.board()
        if board.is_game_over():
            break
        moves = draw.sample(list(board.legal_moves), min(3, board.legal_moves.count()))
        _add_variations(node, moves[1:], draw)
        node = node.add_main_variation(moves[0])
        if draw.random() < 0.3:
            node.nags.add(draw.choice(NAGS))
        if draw.random() < 0.3:
            node.comment = draw.choice(COMMENTS)
        if draw.random() < 0.1:
            node.set_clock(draw.random() * 1000)
            node.set_eval(chess.engine.PovScore(chess.engine.Cp(31), chess.WHITE), 20)
    made.headers["Result"] = draw.choice(["1-0", "0-1", "1/2-1/2", "*"])
    return made


def _add_variations(
    node: chess.pgn.GameNode, moves: Sequence[chess.Move], draw: random.Random, depth: int = 0
) -> None:
    for move in moves:
        if draw.random() < 0.3:
            other = node.add_variation(move, starting_comment=draw.choice(["", "or"]))
            following = list(other.board().legal_moves)[:2]
            if depth < 3:
                _add_variations(other, following, draw, depth + 1)
            elif draw.random() < 0.5:
                other.add_variation(chess.Move.null())


@pytest.mark.parametrize("seed", FILES)
def test_pgn_of_python_chess(seed: int) -> None:
    draw = random.Random(seed)
    made = [chess_game(draw) for _ in range(3)]
    width, ends = draw.choice(WIDTHS), draw.choice(["\n", "\r\n"])
    text = "\n\n".join(
        each.accept(
            chess.pgn.StringExporter(
                columns=width, headers=draw.random() < 0.8 or "FEN" in each.headers
            )
        )
        for each in made
    )
    rules = games.load("chess")
    found = read("o.pgn", text.replace("\n", ends), rules)
    expected = [[move.uci() for move in each.mainline_moves()] for each in made]
    for opening, moves in zip(found, expected, strict=True):
        if isinstance(opening, BadOpening):
            assert "the game is over after these moves" in str(opening)
        else:
            assert names(rules, opening) == moves


@pytest.mark.parametrize("seed", FILES)
def test_python_chess_reads_our_pgn(seed: int) -> None:
    position = played("chess", random.Random(seed), 150)
    text = pgn.write(PlayedGame("chess").play(*position.moves).stored)
    found = chess.pgn.read_game(io.StringIO(text))
    assert found
    assert not found.errors
    uci = names(position.game, PlayableOpening(position.moves))
    assert [move.uci() for move in found.mainline_moves()] == uci


def played(game: str, draw: random.Random, most: int) -> Position:
    """Return a position after random moves."""
    position = Position(games.load(game))
    while not position.winner and position.ply < most:
        position = position.play(draw.choice(position.legal_actions))
    return position


# EPD and FEN of python-chess.

OPERATIONS = [
    *({}, {"hmvc": 3, "fmvn": 9}, {"id": "WAC.001; 7"}, {"c0": 'a "quoted" text'}),
    {"acd": 12, "ce": -35},
]


@pytest.mark.parametrize("seed", FILES)
def test_epd_of_python_chess(seed: int) -> None:
    draw = random.Random(seed)
    lines, expected = ["# a book", ""], []
    while len(expected) < 40:
        board = chess.Board()
        for _ in range(draw.randrange(1, 60)):
            if board.is_game_over():
                break
            board.push(draw.choice(list(board.legal_moves)))
        if board.is_game_over() or board.is_repetition(2):
            continue
        operations = dict(draw.choice(OPERATIONS))
        if draw.random() < 0.3:
            moves = list(board.legal_moves)
            operations |= {"bm": moves[:2], "pv": moves[:1]}
        line = board.fen() if draw.random() < 0.3 else board.epd(en_passant="fen", **operations)
        lines.append(line)
        expected.append(board.epd())
    text = draw.choice(["\n", "\r\n"]).join(lines)
    found = read("book.epd", text, games.load("chess"))
    texts = [each.fen if isinstance(each, PlayableOpening) else str(each) for each in found]
    assert [" ".join(each.split()[:4]) for each in texts] == list(dict.fromkeys(expected))


# SGF of GNU Go.

GNUGO = shutil.which("gnugo", path=f"{os.environ['PATH']}:/usr/games")


def gnugo(*words: str, text: str = "") -> str:
    if GNUGO is None:
        skip_without("GNU Go")
    done = subprocess.run(
        [GNUGO, "--quiet", "--level", "0", *words],
        input=text, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("seed", FILES)
def test_sgf_of_gnu_go(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    size, handicap = draw.choice([5, 7, 9]), draw.choice([0, 0, 2])
    begun = ["(;GM[1]FF[4]", f"SZ[{size}]", f"KM[{draw.choice(['0.5', '6.5'])}]"]
    if handicap and size > 5:
        begun.append("HA[2]AB[cg][gc]PL[W]" if size == 9 else "HA[2]AB[ce][ec]PL[W]")
    (tmp_path / "begun.sgf").write_text("".join(begun) + ")")
    path, outfile = tmp_path / "game.sgf", ("--seed", str(seed + 1), "-o")
    if seed % 2:
        moves_ = "".join(f"{column}{row}\n" for column in "CDE" for row in (3, 4, 5))
        words = ("--mode", "ascii", "--boardsize", str(size))
        gnugo(*words, *outfile, str(path), text=f"{moves_}exit\n")
    else:
        gnugo("--score", "finish", "-l", str(tmp_path / "begun.sgf"), *outfile, str(path))
    text = path.read_text()
    tree = sgfmill.Sgf_game.from_string(text)
    rules = games.load(f"go(size={size}{',handicap=2' if 'AB[' in text else ''})")
    (found,) = read("game.sgf", text, rules)
    moves = [each.get_move() for each in tree.get_main_sequence()]
    expected = [
        size * size if move is None else move[0] * size + move[1]
        for colour, move in moves
        if colour
    ]
    if isinstance(found, BadOpening):
        assert "over after these moves" in str(found)
        expected = expected[:-1]
        ((_, found),) = opening_file.read("game.sgf", text, rules, len(expected))
    assert isinstance(found, PlayableOpening), found
    assert list(found.actions) == expected


@pytest.mark.parametrize("seed", FILES)
def test_gnu_go_reads_our_sgf(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    size = draw.choice([5, 9, 13, 19])
    game = f"go(size={size}{draw.choice(['', ',komi=0.5,handicap=2']) if size > 5 else ''})"
    position = played(game, draw, draw.randrange(1, 120))
    path = tmp_path / "ours.sgf"
    path.write_text(sgf.write(PlayedGame(game).play(*position.moves).stored))
    said = gnugo(
        "--mode", "gtp", text=f"loadsgf {path}\nlist_stones black\nlist_stones white\nquit\n"
    )
    answers = [each[1:].split() for each in said.strip().split("\n\n")]
    rows = range(size)
    letters = "ABCDEFGHJKLMNOPQRST"
    cells = position.game.view(position.state).cells
    for owner, stones in ((1, answers[1]), (2, answers[2])):
        ours = {
            f"{letters[column]}{size - row}"
            for row in rows
            for column in rows
            if cells[row * size + column] == owner
        }
        assert {*stones} == ours


# Records of Hex and Gomocup, played by the rules of OpenSpiel.

#: Game of OpenSpiel and ours, with the size.
RECORDED = {
    "hex": ("hex(board_size=11)", "hex(size=11)", 11),
    "gomocup": ("mnk(m=15,n=15,k=5)", "gomoku(size=15)", 15),
}


def hex_record(cells: Sequence[tuple[int, int]], draw: random.Random) -> str:
    """Return a game as HexGui, or `twogtp.py` of Benzene, writes it."""
    moves = [f"{'BW'[ply % 2]}[{'abcdefghijk'[x]}{y + 1}]" for ply, (y, x) in enumerate(cells)]
    if draw.random() < 0.5:
        wrapped = "".join(f";{each}" + "\n" * (ply % 9 == 8) for ply, each in enumerate(moves))
        return f"(;AP[HexGui:1.0.]FF[4]GM[11]SZ[11]{wrapped})\n"
    lines = "".join(f";{each}\n" for each in [*moves, f"{'BW'[len(moves) % 2]}[resign]"])
    root = "GM[11]SZ[11]PB[Wolve 0.9]PW[Mohex 0.9]\nRE[W+]GC[Generated by twogtp.py.\nB: W+]\n"
    return f"(\n;{root}{lines})\n"


def gomocup_record(cells: Sequence[tuple[int, int]], draw: random.Random) -> str:
    """Return a game as Piskvork writes it."""
    moves = (f"{x + 1},{y + 1},{draw.randrange(9000)}" for y, x in cells)
    lines = ["Piskvorky 15x15, 11:11, 0", *moves, "pbrain-a.exe", "b.ZIP", "0"]
    return draw.choice(["\n", "\r\n"]).join([*lines, ""])


@pytest.mark.parametrize("kind", RECORDED)
@pytest.mark.parametrize("seed", FILES)
def test_records_of_hex_and_gomocup(kind: str, seed: int) -> None:
    draw, (theirs, ours, size) = random.Random(seed), RECORDED[kind]
    state = pyspiel.load_game(theirs).new_initial_state()
    actions: list[int] = []
    plies = draw.randrange(2, 120)
    while len(actions) < plies and not state.is_terminal():
        actions.append(draw.choice(state.legal_actions()))
        state.apply_action(actions[-1])
    cells = [divmod(each, size) for each in actions]
    text = hex_record(cells, draw) if kind == "hex" else gomocup_record(cells, draw)
    last = len(actions) - state.is_terminal()  # a match that is over is no opening
    rules = games.load(ours)
    name = "o.psq" if kind == "gomocup" else "o.sgf"
    ((_, found),) = opening_file.read(name, decoded(text.encode()), rules, last)
    assert isinstance(found, PlayableOpening), found
    assert list(found.actions) == actions[:last]
    position = Position(rules, tuple(actions))
    assert (position.winner != 0) == state.is_terminal()


# PDN of pydraughts.


@pytest.mark.parametrize("seed", FILES)
@pytest.mark.parametrize(("game", "variant"), [("draughts", "standard"), ("checkers", "english")])
def test_pdn_of_pydraughts(game: str, variant: str, seed: int, tmp_path: Path) -> None:
    draw, rules = random.Random(seed), games.load(game)
    board = draughts.Board(variant=variant, fen="startpos")
    plies = draw.randrange(2, 80)
    for number in range(plies):
        if board.is_over():
            break
        if seed % 3 == 0 and number == plies // 2:  # the file begins here
            board = draughts.Board(variant=variant, fen=board.fen)
        board.push(draw.choice(list(board.legal_moves())))
    path = tmp_path / "game.pdn"
    PDNWriter(str(path), board, tags={"Event": "x", "White": "Ünal"}, game_ending="*")
    text = path.read_text()
    (found,) = read("game.pdn", text, rules)
    if isinstance(found, BadOpening):
        assert "the game is over after these moves" in str(found)
        return
    rules = games.beginning_at(rules, found.fen)
    ours = pgn.write(PlayedGame(str(rules)).play(*found.actions).stored)
    assert moves_of(ours) == moves_of(text)
    theirs = PDNReader(ours).games[0]
    assert theirs.variant == variant
    fen = theirs.tags.get("FEN", "startpos")
    if variant == "english" and fen != "startpos":
        return  # it numbers the moves by White, where Black begins
    again = draughts.Board(variant=variant, fen=fen)
    for move in theirs.moves[fen.startswith("B") :]:  # its reader has the first of Black twice
        again.push(draughts.Move(again, pdn_move=move))
    assert again.fen == board.fen


def moves_of(text: str) -> list[tuple[str, str]]:
    """Return the first and the last square of each move."""
    moves = re.findall(r"\d+(?:[x-]\d+)+", text.split("\n\n")[1])
    squares = [re.split("[x-]", each) for each in moves]
    return [(each[0], each[-1]) for each in squares]
