"""A GTP engine with players that fail, resign, or say nothing of their moves."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from playout import games, players
from playout.games import Position
from playout.games.core import spec
from playout.players.engines.engine_server import LineInput
from playout.players.engines.gtp_engine import GtpServer


class FaultyMover(players.Player):
    """Raises an exception instead of moving."""

    def choose(
        self, position: Position, limit: players.Limit, report: players.Report | None = None
    ) -> players.PlayResult:
        raise RuntimeError("out of order")


class ResigningMover(players.Player):
    """Resigns its first move."""

    def choose(
        self, position: Position, limit: players.Limit, report: players.Report | None = None
    ) -> players.PlayResult:
        raise players.Resigned


class CountingMover(players.Player):
    """Plays the first legal action, and is told the moves of the match."""

    def choose(
        self, position: Position, limit: players.Limit, report: players.Report | None = None
    ) -> players.PlayResult:
        assert Position(self.game, position.moves) == position
        return players.PlayResult(position.legal_actions[0])


def answers(
    capsys: pytest.CaptureFixture[str], player: type, *lines: str, game: str = "tic_tac_toe"
) -> list[str]:
    """The responses of an engine to some commands."""
    text = "".join(f"{line}\n" for line in lines)
    wanted = spec.parse(f"{__name__}:{player.__name__}")
    source = LineInput(io.BytesIO(text.encode()))
    GtpServer(games.load(game), wanted, source).run()
    return capsys.readouterr().out.split("\n\n")[:-1]


def test_a_player_that_fails_gives_an_error_and_the_engine_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second, third = answers(capsys, FaultyMover, "3 genmove b", "play b A1", "quit")
    assert first == "?3 the player failed: RuntimeError('out of order')"
    assert [second, third] == ["=", "="]


def test_a_player_may_resign(capsys: pytest.CaptureFixture[str]) -> None:
    said = answers(capsys, ResigningMover, "genmove b", "lz-genmove_analyze b", "undo")
    assert said == ["= resign", "=\nplay resign", "? cannot undo"]


def test_a_player_is_told_the_moves_and_may_say_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = answers(
        capsys, CountingMover, "play b B2", "genmove w", "undo", "lz-genmove_analyze w", "quit"
    )
    assert said == ["=", "= A3", "=", "=\nplay A3", "="]


def test_after_quit_nothing_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert answers(capsys, CountingMover, "quit", "name") == ["="]


BEFORE = ("boardsize 9", "komi 6.5", "time_settings 60 0 0", "play b D4", "play w E5")
LOOKS = ("showboard", "final_score", "gogui-rules_side_to_move")


@pytest.mark.parametrize(
    "failing",
    [
        "boardsize 60",
        "boardsize 9 9 9",
        "komi x",
        "komi nan",
        "komi 1e999",
        "play b D4",
        "play b Z9",
        "play x E4",
        "fixed_handicap 3",
        "set_free_handicap A1 A1",
        "time_settings 5 x 1",
        "time_left b x 0",
        "kgs-time_settings byoyomi 5 0 3",
        "genmove x",
        "genmove b",  # this player fails
        "kata-genmove_analyze b interval x",
        "loadsgf none.sgf",
        "loadsgf",
        "undo now",
        "nonsense",
    ],
)
def test_a_command_that_fails_changes_nothing(
    capsys: pytest.CaptureFixture[str], failing: str
) -> None:
    found = answers(capsys, FaultyMover, *BEFORE, *LOOKS, failing, *LOOKS, "quit", game="go")
    before, failed, after = found[5:8], found[8], found[9:12]
    assert failed.startswith("?")
    assert before == after
    assert "komi 6.5" in before[0]


@pytest.mark.parametrize(
    "text",
    [
        "(;SZ[13]KM[375x]AB[aa])",
        "(;SZ[13]KM[5.5];B[aa];W[aa])",
        "(;SZ[13]KM[5.5];B[zz])",
        "(;SZ[5]KM[0.5]AE[aa])",
        "(;SZ[13];B[aa]",
        "(;SZ[99];B[aa])",
        "(;SZ[13]KM[99999])",
        "(;GM[11]SZ[13];B[aa])",
        "(;GM[1]width[13]points[5.5])",
        "(;)",
        "no game",
        "\0\0\0",
    ],
)
def test_a_file_that_cannot_be_loaded_changes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    (tmp_path / "bad.sgf").write_text(text)
    load = f"loadsgf {tmp_path / 'bad.sgf'}"
    found = answers(capsys, FaultyMover, *BEFORE, *LOOKS, load, *LOOKS, "play b F6", game="go")
    assert found[8].startswith("?")
    assert found[5:8] == found[9:12]
    assert found[12] == "="


@pytest.mark.parametrize(
    ("text", "komi"),
    [
        ("(;GM[1]FF[3]SiZe[9]KoMi[5.5]Black[ee]White[cc])", "5.5"),
        ("(;GM[1]FF[3]\nSiZe[9]\nRUles[Japanese]KoMi[375]\nAddBlack[ee]AddWhite[cc])", "7.5"),
        ("(;FF[4]SZ[9]KM[0]AB[ee];W[cc])", "0"),
        ("(;FF[1]VW[]SZ[9]KM[];B[ee];W[cc];B[])", "6.5"),
        ("(;SZ[9:9]KM[7,5];B[ee];W[cc];B[tt])", "7.5"),
        ("(;GM[1]SZ[9x9]KM[7\u00bd];B[ee];W[cc];B[Pass];W[resign])", "7.5"),
        ("(;GM[1]SZ[9]KM[5.5 points];B[ee];W[cc])", "5.5"),
        ("(;game[1]size[9]komi[5.5];BLACK[ee];white[cc])", "5.5"),
    ],
)
def test_files_of_all_generations_are_loaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, komi: str
) -> None:
    (tmp_path / "old.sgf").write_text(text)
    load = f"loadsgf {tmp_path / 'old.sgf'}"
    *_, loaded, shown = answers(capsys, FaultyMover, *BEFORE, load, "showboard", game="go")
    assert loaded == "="
    assert "5 . . . . X . . . . 5" in shown
    assert "7 . . O . . . . . . 7" in shown
    assert f"\nkomi {komi}" in shown


def test_hex_has_the_coordinates_of_hexgui_and_those_of_gogui(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for before, name in ((), "I1"), (("gogui-rules_game_id",), "J11"):
        *_, moved = answers(capsys, FaultyMover, *before, f"play b {name}", "showboard",
                            game="hex(size=11)")  # fmt: skip
        assert moved.split("\n")[2].split().count("X") == 1


def test_hex_is_swapped_by_the_names_of_programs_for_hex(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("swap-pieces", "swap"):
        *_, swapped, shown = answers(capsys, FaultyMover, "play b C2", f"play w {name}",
                                     "showboard", game="hex(size=5,swap=true)")  # fmt: skip
        assert swapped == "="
        assert " 3 . O . . . 3" in shown
