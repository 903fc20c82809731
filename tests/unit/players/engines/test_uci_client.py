"""players.engines.uci_client: limits in milliseconds, and options."""

from __future__ import annotations

from pathlib import Path

import pytest

from playout.players import Limit, MatchClock, TimeLeft
from playout.players.engines.config import EngineConfig
from playout.players.engines.uci_client import UciOption, go, parse_option

FULL = TimeLeft(300.0)
BYO_YOMI = TimeLeft(600.0, 5, 30.0)


def config(**keys: object) -> EngineConfig:
    return EngineConfig("tiny", ("tiny",), "uci", Path(), **keys)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (Limit(), "go movetime 1000"),
        (Limit(0.08), "go movetime 80"),
        (Limit(0.0001), "go movetime 1"),
        (
            Limit(9.0, clock=MatchClock(FULL, 3.0, (TimeLeft(12.0), FULL), 0.5)),
            "go wtime 11500 btime 299500 winc 3000 binc 3000",
        ),
        (
            Limit(9.0, clock=MatchClock(FULL, 0.0, (TimeLeft(0.2), FULL), 0.5)),
            "go wtime 1 btime 299500",
        ),
        (
            Limit(50.0, clock=MatchClock(BYO_YOMI, 0.0, (TimeLeft(100.0, 5, 30.0), BYO_YOMI))),
            "go wtime 100000 btime 600000",
        ),
        (
            Limit(20.0, clock=MatchClock(BYO_YOMI, 0.0, (TimeLeft(0.0, 2, 30.0), BYO_YOMI))),
            "go movetime 20000",
        ),
    ],
)
def test_a_clock_becomes_limits_in_milliseconds(limit: Limit, said: str) -> None:
    assert go(limit, 1, config()) == said


def test_a_short_move_is_limited_as_the_file_says() -> None:
    limited = config(short_s=1.0, short={"nodes": 500, "depth": 3})
    assert go(Limit(0.5), 1, limited) == "go nodes 500 depth 3"
    assert go(Limit(2.0), 1, limited) == "go movetime 2000"


@pytest.mark.parametrize(
    ("line", "option"),
    [
        (
            "option name Move Overhead type spin default 30 min 0 max 5000",
            UciOption("Move Overhead", "spin"),
        ),
        (
            "option name UCI_Variant type combo default chess var chess var three check var hex",
            UciOption("UCI_Variant", "combo", ("chess", "three check", "hex")),
        ),
        ("option name Clear Hash type button", UciOption("Clear Hash", "button")),
        ("info string no option", None),
    ],
)
def test_an_option_is_read_as_announced(line: str, option: UciOption | None) -> None:
    assert parse_option(line) == option
