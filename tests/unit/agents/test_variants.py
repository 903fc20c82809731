"""playout.agents.variants: fair variants of every game, and their prompts."""

from __future__ import annotations

import random

import pytest

from playout import games
from playout.agents.benchmark_file import Benchmark, ModelConfig
from playout.agents.prompts import BOARDS, PromptForm, move_of, prompt
from playout.agents.variants import FAIR, GameVariant, Notation, known, opening, variant
from playout.games import IllegalAction, Position, SpecError
from support import scale
from support.variants import COMPILED

#: A game of each geometry with names, with heaps, and with names of cells.
QUICK = ("connect_four", "draughts", "hex", "nim", "nim(piles=3;4;5)", "othello")

GAME = games.load("tic_tac_toe")


@pytest.mark.parametrize("name", COMPILED if scale.slow else QUICK)
def test_a_variant_is_fair_and_its_moves_are_read_from_answers(name: str) -> None:
    game = games.load(name)
    found = variant(game, 1, 2)
    assert found == variant.__wrapped__(game, 1, 2)
    assert found.score is not None
    assert FAIR[0] <= found.score <= FAIR[1]
    assert str(found) != str(known(game))
    draw, books = random.Random(1), found.books(2, 1)
    for number in (0, 1):
        position = Position(found.game, opening(books, number)).rolled(draw.randrange)
        assert position.ply >= 2 + found.plies + number
        names = {found.name(position, action): action for action in position.legal_actions}
        assert len(names) == len(position.legal_actions)
        for text, action in list(names.items())[:20]:
            assert move_of(position, f"MOVE: {text}", found) == action
        for board in BOARDS:
            assert ", ".join(names) in prompt(position, PromptForm(board), found)
        with pytest.raises(IllegalAction, match="'z99' is not a legal move"):
            move_of(position, "MOVE: z99", found)


def test_names_are_mirrored_and_letters_replaced() -> None:
    notation = Notation({"1": "3", "2": "2", "3": "1"}, "PQ")
    played = GameVariant(GAME, "tic_tac_toe", 7, notation=notation)
    position = Position.from_names(GAME, ["b2", "a1"])
    text = prompt(position, PromptForm(), played)
    assert " 3 Q . .\n 2 . P .\n 1 . . .\nP is player 1, Q is player 2" in text
    assert "Moves so far: b2, a3" in text
    assert "Legal moves: b3, c3, a2, c2, a1, b1, c1" in text
    assert "Q: a3\nP: b2" in prompt(position, PromptForm("coordinates"), played)
    assert position.name(played.parse(position, "A1")) == "a3"
    assert notation.name("pass") == "pass"


def test_matches_with_other_names_are_of_another_contest() -> None:
    models = (ModelConfig("model", "x"),)

    def digest(notation: Notation) -> str:
        benchmark = Benchmark("", (GAME,), models, ("random",))
        played = GameVariant(GAME, "tic_tac_toe", 7, 1, notation)
        vars(benchmark)["played"] = (played,)
        return next(benchmark.contests()).digest

    digests = [digest(Notation({"1": "3", "3": "1"}, each)) for each in ("PQ", "PQ", "AB")]
    assert digests[0] == digests[1] != digests[2]


def test_rules_have_the_values_of_parameters() -> None:
    text = known(games.load("nim(chips=17)")).rules()
    assert text.endswith(
        "In this match, chips = 17 (chips of a single heap at the start, 1 to 1000)."
    )


def test_a_game_without_a_fair_variant_is_an_error() -> None:
    with pytest.raises(SpecError, match=r"none of 20 variants is fair"):
        variant(games.load("nim(chips=1,max_take=1)"), 1, 50)
