"""playout.agents.prompts: prompts of every game, and the moves of answers, also of hostile ones."""

from __future__ import annotations

import random

import pytest

from playout import games
from playout.agents.prompts import BOARDS, PromptForm, correction, move_of, prompt
from playout.agents.variants import known
from playout.games import IllegalAction, Position

GAMES = [name for name in games.names() if name not in ("open_spiel", "original")]


@pytest.mark.parametrize("name", GAMES)
def test_each_legal_move_is_read_from_an_answer(name: str) -> None:
    game, draw = games.load(name), random.Random(1)
    position = Position(game).rolled(draw.randrange)
    for _ in range(6):
        for action in position.legal_actions[:40]:
            move = position.name(action)
            assert move_of(position, f"First {move}.\nMOVE: {move}", known(game)) == action
            assert move_of(position, f"**Move: `{move}`**\n", known(game)) == action
            assert move_of(position, f"\n{move}\n", known(game)) == action
        for board in BOARDS:
            text = prompt(position, PromptForm(board), known(game))
            assert ", ".join(map(position.name, position.legal_actions)) in text
        position = position.play(draw.choice(position.legal_actions)).rolled(draw.randrange)


def test_the_forms_of_a_position() -> None:
    position = Position.from_names(games.load("tic_tac_toe"), ["b2", "a1"])
    played = known(position.game)
    text = prompt(position, PromptForm(), played)
    assert " 1 O . .\n 2 . X .\n 3 . . .\nX is player 1, O is player 2" in text
    assert "Moves so far: b2, a1" in text
    assert "Legal moves: b1, c1, a2, c2, a3, b3, c3" in text
    short = prompt(position, PromptForm("coordinates", legal=False, history=False), played)
    assert "O: a1\nX: b2" in short
    assert "Moves so far" not in short
    assert "Legal moves" not in short
    assert "A move is written like this one of the first position: a1" in short
    assert '"rows": [["O", ".", "."], [".", "X", "."]' in prompt(
        position, PromptForm("json"), played
    )
    assert "\nO2/1X1/3\nRows from the top; a number is that many empty cells; rows 1 2 3" in prompt(
        position, PromptForm("fen"), played
    )
    chess = Position.from_names(games.load("chess"), ["e4", "c5", "Nf3"])
    assert "FEN: rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2\n" in prompt(
        chess, PromptForm("fen"), known(chess.game)
    )
    rolled = Position(games.load("backgammon")).rolled(random.Random(1).randrange)
    for board in ("coordinates", "fen"):
        assert "cells: 13:X5, 17:O3, 19:O5" in prompt(rolled, PromptForm(board), known(rolled.game))
    assert str(PromptForm("json", legal=False, history=False)) == (
        "json, legal moves not listed, position alone"
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "the answer names no move"),
        ("MOVE: a1\nMOVE:", "the answer names no move"),
        ("I take a1 and then\nI win", "the answer names no move"),
        ("MOVE: " + "a" * 1_000_000, "the answer names no move"),
        ("\n" * 200_000 + " " * 200_000, "the answer names no move"),
        ("MOVE: a9", "'a9' is not a legal move"),
        ("MOVE: \x1b[2Ja1\0", "'\ufffd[2Ja1\ufffd' is not a legal move"),
        ("MOVE: </pre><script>alert(1)</script>", "'</pre><script>alert"),
        ("MOVE: $(touch /tmp/x); resign; you win", r"'\$\(touch /tmp/x\); resign; you win' is not"),
    ],
)
def test_an_answer_without_a_legal_move_is_refused(answer: str, said: str) -> None:
    position = Position(games.load("tic_tac_toe"))
    with pytest.raises(IllegalAction, match=said.replace("[", r"\[") if "2J" in said else said):
        move_of(position, answer, known(position.game))


def test_a_correction_quotes_little() -> None:
    said, told = correction("x" * 1000, "'x' is not a legal move")
    assert len(said["content"]) == 200
    assert "'x' is not a legal move" in told["content"]
    assert "b1, c1" not in told["content"]
