"""players.engines.uci_search and uci_options: lines about a search, and options."""

from __future__ import annotations

import pytest

from playout import games
from playout.games.core import spec
from playout.players import find
from playout.players.core.player import ActionStats, Info, PlayResult
from playout.players.engines.uci_games import uci_game
from playout.players.engines.uci_options import UciSettings
from playout.players.engines.uci_search import (
    InfoWriter,
    MoveLine,
    centipawns,
    line_after,
    lines_of,
)

FOOLS = "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 1"


def writer(game: str, fen: str = "", *, shows_wdl: bool = False) -> InfoWriter:
    rules = games.load(game)
    uci = uci_game(rules)
    position = games.Position(rules, start=uci.position(fen) if fen else None)
    return InfoWriter(uci, position, shows_wdl=shows_wdl)


def line_of(game: str, *names: str, fen: str = "") -> tuple[int, ...]:
    rules = games.load(game)
    uci = uci_game(rules)
    return uci.line(uci.position(fen) if fen else rules.initial_state(), names)


def test_a_line_has_what_is_known() -> None:
    info = Info(depth=3, win_rate=0.64, pv=line_of("chess", "e2e4", "e7e5"))
    said = writer("chess").line(2, info, 500, 0.25)
    assert said == ("info depth 3 multipv 2 score cp 100 nodes 500 nps 2000 time 250 pv e2e4 e7e5")
    said = writer("chess").line(1, Info(), 0, 0.0)
    assert said == "info multipv 1 score cp 0 nodes 0 time 0"


@pytest.mark.parametrize(
    ("rate", "score"), [(0.5, 0), (0.64, 100), (0.36, -100), (1.0, 3600), (0.0, -3600)]
)
def test_a_win_rate_is_a_score(rate: float, score: int) -> None:
    assert centipawns(rate) == score


def test_a_proven_result_is_a_mate_if_the_line_leads_there() -> None:
    mate = line_of("chess", "d8h4", fen=FOOLS)
    there = writer("chess", FOOLS)
    assert there.score(Info(win_rate=1.0, pv=mate, proven=1)) == "mate 1"
    assert there.score(Info(win_rate=1.0, pv=(), proven=1)) == "cp 10000"
    assert there.score(Info(win_rate=1.0, pv=(-5,), proven=1)) == "cp 10000"
    assert there.score(Info(win_rate=0.4, proven=0)) == "cp 0"
    fools = ("f2f3", "e7e5", "g2g4", "d8h4")
    lost = Info(win_rate=0.0, pv=line_of("chess", *fools), proven=-1)
    assert writer("chess").score(lost) == "mate -2"


@pytest.mark.parametrize(
    ("game", "info", "chances"),
    [
        ("chess", Info(win_rate=0.6), None),
        ("chess", Info(win_rate=0.5, proven=0), "wdl 0 1000 0"),
        ("chess", Info(win_rate=0.0, proven=-1), "wdl 0 0 1000"),
        ("breakthrough", Info(win_rate=0.6004), "wdl 600 0 400"),
        ("othello", Info(win_rate=0.6), None),
    ],
)
def test_chances_are_shown_where_they_are_known(game: str, info: Info, chances: str | None) -> None:
    said = writer(game, shows_wdl=True).line(1, info, 1, 1.0)
    assert (chances in said) if chances else ("wdl" not in said)
    assert "wdl" not in writer(game).line(1, info, 1, 1.0)


def test_the_lines_of_a_search_begin_with_the_chosen_move() -> None:
    stats = (
        ActionStats(4, 10, 5.0),
        ActionStats(7, 30, 24.0),
        ActionStats(8, 0, 0.0),
        ActionStats(9, 0, 0.0, proven=-1),
    )
    info = Info(depth=5, win_rate=0.8, pv=(7, 4), actions=stats)
    lines = lines_of(PlayResult(7, info), 9)
    assert [each.actions for each in lines] == [(7,), (4,), (9,)]
    assert [each.info.pv for each in lines if each.info] == [(7, 4), (4,), (9,)]
    assert [each.value for each in lines] == [0.8, 0.5, -0.5]
    assert len(lines_of(PlayResult(7, info), 2)) == 2
    assert lines_of(PlayResult(7), 3) == [MoveLine((7,), None)]
    other, *_ = lines_of(PlayResult(4, info), 1)
    assert other.info
    assert other.info.pv == (4,)


def test_an_analysis_after_a_move_is_turned_round() -> None:
    info = Info(simulations=6, depth=2, win_rate=0.25, pv=(3, 4), proven=-1)
    line = line_after((9,), info, same_player=False)
    assert line == MoveLine((9,), Info(6, 0.0, 3, 0.75, (9, 3, 4), (), 1))
    same = line_after((9,), info, same_player=True)
    assert same.info
    assert (same.info.win_rate, same.info.proven) == (0.25, -1)
    assert line_after((9,), None, same_player=True).info is None


def settings(player: str) -> UciSettings:
    return UciSettings(spec.parse(player), "chess")


def test_parameters_of_a_player_are_announced() -> None:
    announced = list(settings("uct(heavy=true,threads=2)").lines())
    for line in (
        "option name Threads type spin default 2 min 1 max 256",
        "option name Hash type spin default 256 min 1 max 65536",
        "option name heavy type check default true",
        "option name time type string default <empty>",
    ):
        assert line in announced
    assert not any("name ponder " in line for line in announced)


@pytest.mark.parametrize("player", ["random", "minimax", "uct"])
def test_every_player_offers_threads_and_hash(player: str) -> None:
    chosen = settings(player)
    for name in ("Threads", "Hash"):
        assert any(line.startswith(f"option name {name} type spin") for line in chosen.lines())
        chosen.set(name, "2")
    known = spec.parameters_of(find(player), skip=1)
    set_ = {key: "2" for key in ("threads", "memory_mb") if key in known}
    assert chosen.player() == spec.Spec(player, set_)


def test_options_change_the_player() -> None:
    chosen = settings("uct(heavy=true,time=2)")
    assert chosen.player() == spec.parse("uct(heavy=true,time=2)")
    chosen.set("threads", "2")
    chosen.set("HEAVY", "False")
    chosen.set("time", "<empty>")
    assert chosen.player().options == {"heavy": "false", "threads": "2"}


def test_the_player_compares_as_many_moves_as_are_shown() -> None:
    chosen = settings("alphabeta(candidates=5)")
    chosen.set("MultiPV", "3")
    assert chosen.player() == spec.parse("alphabeta(candidates=3)")
    other = settings("uct")
    other.set("MultiPV", "3")
    assert other.player() == spec.parse("uct")


def test_options_of_the_engine_have_values() -> None:
    chosen = settings("random")
    assert (chosen.lines_shown, chosen.shows_wdl, chosen.overhead_s) == (1, False, 0.02)
    for name, value in (("MultiPV", "4"), ("UCI_ShowWDL", "true"), ("Move Overhead", "300")):
        chosen.set(name, value)
    assert (chosen.lines_shown, chosen.shows_wdl, chosen.overhead_s) == (4, True, 0.3)
    with pytest.raises(ValueError, match="is a whole number from 0 to 5000, not '-1'"):
        chosen.set("Move Overhead", "-1")
    assert chosen.overhead_s == 0.3
