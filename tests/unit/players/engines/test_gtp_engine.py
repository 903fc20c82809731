"""A GTP engine with players that fail, resign, or say nothing of their moves."""

from __future__ import annotations

import io

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


def answers(capsys: pytest.CaptureFixture[str], player: type, *lines: str) -> list[str]:
    """The responses of an engine to some commands."""
    text = "".join(f"{line}\n" for line in lines)
    wanted = spec.parse(f"{__name__}:{player.__name__}")
    source = LineInput(io.BytesIO(text.encode()))
    GtpServer(games.load("tic_tac_toe"), wanted, source).run()
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
