"""players.engines.uci_search: the words of `go` and their limits."""

from __future__ import annotations

import pytest

from playout import games
from playout.games.core import spec
from playout.players.core.player import Limit
from playout.players.engines.engine_server import LocalMatch
from playout.players.engines.uci_search import GoCommand, parse_go

MATCH = LocalMatch(games.load("chess"), spec.parse("random"))


def parsed(text: str) -> GoCommand:
    return parse_go(text.split(), lambda word: len(word) == 4 and word[1].isdigit())


def limit(text: str, lag_s: float = 0.1) -> Limit:
    return parsed(text).limit(MATCH, lag_s)


def test_the_words_of_go() -> None:
    go = parsed("ponder searchmoves e2e4 d2d4 wtime 1000 nodes 7 infinite")
    assert go.numbers == {"wtime": 1000, "nodes": 7}
    assert go.flags == {"ponder", "infinite"}
    assert go.search_moves == ("e2e4", "d2d4")
    assert go.errors == ()


@pytest.mark.parametrize(
    ("text", "is_endless", "depth"),
    [
        ("", True, None),
        ("infinite depth 3", True, 3),
        ("ponder wtime 1000 btime 1000", False, None),
        ("winc 10", True, None),
        ("depth 4", False, 4),
        ("mate 2", False, 3),
        ("depth 0", False, 1),
        ("searchmoves e2e4", True, None),
    ],
)
def test_the_end_of_a_search(text: str, is_endless: bool, depth: int | None) -> None:
    go = parsed(text)
    assert (go.is_endless, go.depth) == (is_endless, depth)


def test_unusable_words_are_named_and_ignored() -> None:
    go = parsed("movetime 1e3 loudly nodes")
    assert go.numbers == {}
    assert go.errors == (
        "go: expected a whole number after movetime, not '1e3'",
        "go: '1e3' is ignored",
        "go: 'loudly' is ignored",
        "go: expected a whole number after nodes, not nothing",
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("movetime 1000", 0.9),
        ("movetime 100", 0.03),
        ("movetime 1000 wtime 10000000", 0.9),
        ("btime 1000 depth 3", None),
        ("nodes 5", None),
    ],
)
def test_the_time_of_a_move(text: str, seconds: float | None) -> None:
    found = limit(text).seconds
    assert found == (seconds if seconds is None else pytest.approx(seconds))


def test_a_clock_is_spread_over_the_match() -> None:
    few, many = limit("wtime 60000"), limit("wtime 60000 winc 2000")
    assert few.seconds is not None
    assert many.seconds is not None
    assert 1.0 < few.seconds < many.seconds < 6.0
    assert few.time_carries_over
    assert few.clock is None
    low = limit("wtime -300", 0.0)
    assert low.seconds is not None
    assert low.seconds <= 0.001


@pytest.mark.parametrize("moves", [1, 2, 5, 40])
def test_moves_to_go_share_the_clock(moves: int) -> None:
    found = limit(f"wtime 10000 movestogo {moves}", 0.0).seconds
    assert found is not None
    assert 10 / (moves + 1) - 0.01 <= found <= 2 * 10 / (moves + 1)
    assert found < 10


def test_a_move_of_several_actions_shares_its_limits() -> None:
    found = parsed("movetime 3100 nodes 300").limit(MATCH, 0.1, actions=3)
    assert (found.seconds, found.simulations) == (pytest.approx(1.0), 100)
