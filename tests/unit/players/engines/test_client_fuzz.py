"""Clients of engines: any line of an engine is an analysis within bounds, or none."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from playout import games
from playout.games import Position
from playout.players.engines.gtp import analysis, board_of
from playout.players.engines.uci_client import parse_info, parse_option
from playout.players.engines.xboard_client import resigns, thought_of
from support.scale import repetitions

_GO = games.load("go(size=9)")
_BOARD, _POSITION = board_of(_GO), Position(_GO)
_WORDS = st.sampled_from(
    [
        *("info", "depth", "score", "cp", "mate", "multipv", "pv", "string", "lowerbound", "wdl"),
        *("nodes", "1", "-5", "+7", "e2e4", "a7a8q", "move", "visits", "winrate", "order", "0.5"),
        *("5321", "nan", "inf", "1e-05", "E5", "pass", "rootInfo", "option", "name", "type", "var"),
        *("9", "resign", "1-0", "0-1", "{White resigns}", "\t", "++", "!", "?", ".", "\u0663"),
    ]
)
_NUMBERS = st.integers(-(10**40), 10**40).map(str)
_LINES = st.lists(_WORDS | _NUMBERS | st.text(max_size=5), max_size=25).map(" ".join)


@given(_LINES)
@settings(max_examples=repetitions(100_000, short=150), deadline=None)
def test_any_line_of_an_engine_is_read_or_skipped(line: str) -> None:
    parse_option(line)
    for seat in (1, 2):
        resigns(line, seat)
    for said in (line, f"info {line}", f"info depth 5 score {line} pv e2e4"):
        if found := parse_info(said):
            assert 0 <= found.depth < 2**31
            assert 0 <= found.nodes < 2**31
    for said in (line, f"9 {line} e2e4"):
        if thought := thought_of(said):
            assert 0 <= thought.info.win_rate <= 1
            assert 0 <= thought.info.simulations < 2**31


@given(_LINES, st.booleans())
@settings(max_examples=repetitions(100_000, short=150), deadline=None)
def test_any_report_of_gtp_is_an_analysis_within_bounds_or_none(line: str, is_kata: bool) -> None:
    for said in (line, f"info move E5 visits 3 winrate {line}", f"info move {line}"):
        if info := analysis(_BOARD, _POSITION, said, is_kata=is_kata):
            assert 0 <= info.win_rate <= 1
            assert 0 <= info.simulations < 2**31
            assert {*info.pv[:1]} <= {*_POSITION.legal_actions}
