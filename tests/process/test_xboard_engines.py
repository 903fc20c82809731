"""XBoard engines: options, clocks, and a whole match of one from Debian."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from playout import games, players
from playout.games import Position, SpecError
from playout.players import Limit, MatchClock, Player, TimeLeft
from playout.players.engines.config import search_path
from support.commands import RunningServer, finish_all, start
from support.engines import TinyEngine
from support.requirements import skip_without

FULL = TimeLeft(300.0)


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def played(tmp_path: Path, limit: Limit, game: str = "chess", **keys: str) -> list[str]:
    """Let the tiny engine make its first move; return the lines that it has read."""
    tiny = TinyEngine(tmp_path, "xboard", **keys)
    player = loaded(tiny, game)
    try:
        player.choose(Position(player.game), limit)
    finally:
        player.close()
    tiny.require_gone()
    return tiny.read


def loaded(tiny: TinyEngine, game: str = "chess") -> Player:
    return players.load(f"engine(name=tiny,file={tiny.file})", games.load(game))


@pytest.mark.parametrize(
    ("limit", "keys", "told"),
    [
        (Limit(), {}, []),
        (Limit(5.0), {}, ["st 4"]),
        (Limit(0.2), {"short": "{ sd = 3 }"}, ["sd 3"]),
        (
            Limit(9.0, clock=MatchClock(FULL, 3.0, (TimeLeft(112.0), FULL), 2.0)),
            {"margin_s": "1"},
            ["level 0 5:00 3", r"time 10\d..", r"otim 29\d.."],
        ),
    ],
)
def test_an_engine_is_told_its_time(
    tmp_path: Path, limit: Limit, keys: dict[str, str], told: list[str]
) -> None:
    read = played(tmp_path, limit, **keys)
    sent = read[read.index("ping 2") + 1 : read.index("go")]
    assert len(sent) == len(told)
    assert all(map(re.fullmatch, told, sent)), sent


def test_options_of_the_engine_are_set(tmp_path: Path) -> None:
    read = played(tmp_path, Limit(5.0), options="{ memory = 16, Style = 'wild' }")
    assert {"memory 16", "option Style=wild"} <= set(read)
    assert "accepted option" in read


def test_an_unknown_option_is_told_with_the_nearest(tmp_path: Path) -> None:
    tiny = TinyEngine(tmp_path, "xboard", options="{ Stile = 'wild' }")
    with pytest.raises(SpecError, match="unknown option 'Stile'; did you mean 'Style'"):
        loaded(tiny)
    tiny.require_gone()


def test_a_command_that_is_refused_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"has answered 'Error \(no position\): setboard'"):
        played(tmp_path, Limit(5.0), "chess(fen=4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1)")


def test_castling_may_be_named_as_in_pgn(tmp_path: Path) -> None:
    """Phalanx and Sjaak do so, without the sign of a check."""
    game = games.load("chess(fen=5k2/8/8/8/8/8/8/R3K2R w KQ - 0 1)")
    player = loaded(TinyEngine(tmp_path, "xboard", "castles"), str(game))
    action = player.choose(Position(game), Limit(5.0)).action
    player.close()
    assert game.action_name(game.initial_state(), action) == "O-O+"


def test_other_games_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="XBoard engines play chess, not breakthrough"):
        loaded(TinyEngine(tmp_path, "xboard"), "breakthrough")


PHALANX = """
[phalanx]
command = "phalanx -l-"
protocol = "xboard"
short_s = 100
short = { depth = 1 }
"""


def test_phalanx_wins_matches_of_chess(tmp_path: Path, server: RunningServer) -> None:
    if shutil.which("phalanx", path=search_path()) is None:
        skip_without("phalanx (apt install phalanx)")
    (tmp_path / "engines.toml").write_text(PHALANX)
    match = ("--clock", "60/move", "--matches", "2", *server.address)
    engines = ("--engines", str(tmp_path / "engines.toml"))
    theirs = start("playout-player", "chess", "engine(name=phalanx)", *match, *engines)
    ours = start("playout-player", "chess", "random(seed=1)", *match)
    (code, output), (other_code, other_output) = finish_all(theirs, ours)
    assert (code, other_code) == (0, 0), output + other_output
    assert output.count("(rules)") == 2, output
