"""Files of backgammon: written and read back, and those of gnubg, with their cubes and mistakes."""

from __future__ import annotations

import pytest

from playout import games
from playout.games import Position
from playout.protocol.messages import Reason
from playout.server.export import backgammon, writer
from playout.server.model.records import StoredMatch
from support.scale import repetitions
from support.stored_game import PlayedGame

#: Written by gnubg 1.07, shortened: a game with a cube, and one that ends by the rules.
MAT = """\
; [EventDate "2026.11.27"]

 3 point match

 Game 1
 gnubg : 0                      root : 0
  1)                             21: 13/11 24/23
  2) 52: 13/8 24/22              63: 8/5 11/5
  3) 53: 8/3 6/3                 62: 13/7 7/5
  4)  Doubles => 2                Drops
      Wins 1 point

 Game 2
 gnubg : 1                      root : 0
  1) 43: 13/9 24/21             44: 24/20 20/16* 8/4* 8/4
  2) 42: 25/23                  33: 13/10 13/10 6/3 6/3
  3) 51: 25/20 6/5
                                  Wins 2 points
"""
SGF = """\
(;FF[4]GM[6]CA[UTF-8]AP[GNU Backgammon:1.07.001]MI[length:3][game:0][ws:0][bs:0]PW[gnubg]PB[root]\
DT[2026-11-27]RU[Crawford]RE[W+1]
;B[21lnab];W[52mhxv];B[63qtnt]
;W[53hcfc];B[62lrrt];W[double];B[drop])
"""


def read(text: str) -> list[StoredMatch]:
    found = [*backgammon.read(text, 5.0)]
    assert all(isinstance(each, StoredMatch) for each in found), found
    return [each for each in found if isinstance(each, StoredMatch)]


def names(stored: StoredMatch) -> list[str]:
    position = Position(games.load(stored.started.game), (move.action for move in stored.moves))
    return [position.move_name(ply) for ply in range(position.ply)]


@pytest.mark.parametrize("kind", ["mat", "sgf"])
@pytest.mark.parametrize("points", [1, 3])
def test_a_match_is_read_back_move_by_move(kind: str, points: int) -> None:
    for seed in range(repetitions(100, short=3)):
        stored = PlayedGame(f"backgammon(points={points})").play_anything(seed).stored
        (found,) = read(writer(kind)(stored))
        assert [each.action for each in found.moves] == [each.action for each in stored.moves]
        assert found.started.game == stored.started.game
        assert found.started.players == stored.started.players
        assert found.ended
        assert stored.ended
        assert found.ended.winner == stored.ended.winner
        assert found.ended.reason is Reason.RULES


def test_each_game_of_another_program_is_a_match_of_one_point() -> None:
    first, second = read(MAT)
    assert first.started.players == ("gnubg", "root")
    assert first.ended
    assert (first.ended.winner, first.ended.reason) == (1, Reason.RESIGNATION)
    assert first.started.at == second.started.at == 1_795_737_600.0
    assert names(first)[:4] == ["21", "24/23 13/11", "52", "24/22 13/8"]
    assert names(second)[:5] == ["34", "24/21 13/9", "44", "24/16*", "8/4*(2)"]
    assert second.ended
    assert second.ended.winner == 2
    assert {each.started.game for each in (first, second)} == {"backgammon"}
    (same,) = read(SGF)
    assert same.started.players == ("root", "gnubg")
    assert names(same)[1:] == names(first)[1:]
    assert same.started.match != first.started.match
    assert [each.started for each in read(MAT)] == [first.started, second.started]


def test_a_match_whose_last_game_was_resigned_has_the_cube() -> None:
    """Its winner is the player whom the points of that game make the winner."""
    (found,) = read(MAT.replace("Wins 2 points", "Wins 3 points"))
    assert found.started.game == "backgammon(points=3)"
    assert found.ended
    assert (found.ended.winner, found.ended.reason) == (2, Reason.RESIGNATION)
    written = names(found)
    assert written[:6] == ["21", "24/23 13/11", "roll", "52", "24/22 13/8", "roll"]
    assert written[written.index("double") :][:3] == ["double", "drop", "34"]
    assert "Doubles => 2" in writer("mat")(found)
    assert "W[double]" not in writer("sgf")(found)
    assert "B[double]" in writer("sgf")(found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MAT.replace("8/3 6/3", "8/3 7/3"), "line 9: '8/3 7/3' is not legal here"),
        (MAT.replace("52: 13/8 24/22", "52 13/8 24/22"), "player 2 cannot roll 6-3 here"),
        (MAT.replace("53: 8/3 6/3", "nothing"), "line 9: player 2 cannot roll 6-2 here"),
        (SGF.replace("B[63qtnt]", "B[63qt?t]"), "expected a roll and moves, as W[31hefe]"),
        (SGF.replace("GM[6]", "GM[1]"), "GM[1] is another game; backgammon has GM[6]"),
        (SGF.replace(";B[21", ";AW[a]B[21"), "AW sets up a position"),
        (SGF.replace(";W[double]", "(;W[double]"), "line 3: a variation"),
        (SGF.replace("drop])", "drop]"), "a game that is not closed"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, told: str) -> None:
    faults = [str(each) for each in backgammon.read(text) if not isinstance(each, StoredMatch)]
    assert faults
    assert told in faults[0]


def test_long_lines_are_read_in_linear_time() -> None:
    """In quadratic time, this takes minutes; the line of a turn took hours."""
    blanks = " " * 300_000
    assert not backgammon.is_written("\n" * 300_000)
    for line in (f"1) 31:{blanks}x:", f"a: 1{blanks}x", f"a{blanks}b", f"{blanks}: 1{blanks}:"):
        found = list(backgammon.read(line))
        assert all(isinstance(each, backgammon.BadFile) for each in found)


def test_other_games_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="these files are for backgammon, not for nim"):
        writer("mat")(PlayedGame("nim").stored)
