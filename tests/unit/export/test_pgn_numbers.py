"""export.pgn: the numbers of moves, and captures of draughts as one move, as others read them."""

from __future__ import annotations

import io
import random

import chess.pgn
import draughts
import pytest
from draughts.PDN import _PDNGame as PdnGame

from playout import games
from playout.games import Position
from playout.server.export import pgn
from playout.server.tournament import opening_file
from playout.server.tournament.opening_file import PlayableOpening
from support.scale import repetitions
from support.stored_game import PlayedGame

FEN = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R"


@pytest.mark.parametrize(
    ("player", "number", "begins"),
    [("b KQkq - 2 17", 17, "17... a5 18. a4"), ("w KQkq - 2 17", 17, "17. a4 a5"),
     ("b KQkq -", 1, "1... a5 2. a4"), ("w KQkq - 0 0", 1, "1. a4 a5"),
     ("b KQkq - 2 999", 999, "999... a5 1000. a4")],
)  # fmt: skip
def test_the_numbers_follow_from_the_position(player: str, number: int, begins: str) -> None:
    game = f"chess(fen={FEN} {player})"
    names = ("a5", "a4") if player.startswith("b") else ("a4", "a5")
    actions = Position.from_names(games.load(game), names).moves
    text = pgn.write(PlayedGame(game).play(*actions).stored)
    assert text.split("\n\n")[1].startswith(begins)
    read = chess.pgn.read_game(io.StringIO(text))
    assert read
    assert not read.errors
    assert [move.uci() for move in read.mainline_moves()] == [
        {"a4": "a2a4", "a5": "a7a5"}[name] for name in names
    ]


@pytest.mark.parametrize("seed", range(repetitions(250, short=4)))
@pytest.mark.parametrize(("game", "variant"), [("draughts", "standard"), ("checkers", "english")])
def test_pydraughts_reads_matches_of_draughts(game: str, variant: str, seed: int) -> None:
    rules, draw = games.load(game), random.Random(seed)
    position = Position(rules)
    while not position.winner:
        position = position.play(draw.choice(position.legal_actions))
    text = pgn.write(PlayedGame(game).play(*position.moves).stored)
    found = PdnGame(text)
    assert found.variant == variant
    board = draughts.Board(variant=variant, fen="startpos")
    for name in found.moves:
        move = draughts.Move(board, pdn_move=name)
        board.push(move)
    assert len(found.moves) == sum(
        one[0] != other[0] for one, other in zip(position.states, position.states[1:], strict=False)
    ) + (position.states[-1][0] == position.states[-2][0])
    ((_, back),) = opening_file.read("o.pdn", text, rules, len(position.moves) - 1)
    assert back == PlayableOpening(position.moves[:-1])


def test_moves_of_several_actions_have_one_number() -> None:
    game = games.load("amazons")
    position = Position(game)
    for _ in range(12):
        position = position.play(position.legal_actions[0])
    text = pgn.write(PlayedGame("amazons").play(*position.moves).stored)
    assert [word for word in text.split("\n\n")[1].split() if word.endswith(".")] == ["1.", "2."]
