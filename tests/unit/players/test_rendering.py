"""playout.players.core.rendering: the analysis of a search as text."""

from __future__ import annotations

import pytest

from playout import games
from playout.players import ActionStats, Info
from playout.players.core import rendering

CONNECT_FOUR = games.load("connect_four")


def said(game: games.Game, info: Info, width: int = 80) -> list[str]:
    return rendering.analysis(games.Position(game), info, width).splitlines()


def test_the_result_of_a_search() -> None:
    info = Info(
        simulations=1_234_567,
        seconds=0.25,
        depth=9,
        win_rate=0.625,
        pv=(3, 3),
        actions=(ActionStats(3, 1000, 625.0), ActionStats(0, 200, 50.5)),
    )
    assert said(CONNECT_FOUR, info) == [
        "1,234,567 simulations in 0.250 s, depth 9, win rate 62.5%",
        "expects 4 4",
        "4: 62.5% (625/1000)   1: 25.2% (50.5/200)",
    ]


@pytest.mark.parametrize(("proven", "word"), [(1, "win"), (0, "tie"), (-1, "loss")])
def test_proofs_and_amaf_are_shown_where_they_are(proven: int, word: str) -> None:
    info = Info(
        proven=proven,
        actions=(
            ActionStats(3, 10, 5.0, amaf=0.75, proven=proven),
            ActionStats(0, 2, 1.0, proven=proven),
        ),
    )
    first, actions = said(CONNECT_FOUR, info)
    assert first.endswith(f", win rate 50.0%, proven {word}")
    assert actions.split("   ") == [f"4: 50.0% (5/10) AMAF 75.0% {word}", f"1: 50.0% (1/2) {word}"]
    assert info.to_message().proven == proven


def test_actions_that_were_not_tried_have_no_win_rate() -> None:
    info = Info(actions=(ActionStats(3, 1, 1.0, proven=1), ActionStats(0, 0, 0.0)))
    assert said(CONNECT_FOUR, info)[-1] == "4: 100.0% (1/1) win   1: untried"


def test_the_best_of_many_actions_are_shown() -> None:
    gomoku = games.load("gomoku")
    actions = tuple(ActionStats(action, 10**6 - action, 500.5, 0.5) for action in range(225))
    _, *rows, last = said(gomoku, Info(actions=actions))
    assert last == "... and 213 more"
    assert sum(row.count("AMAF") for row in rows) == 12
    assert max(map(len, rows)) <= 80


def test_edges_have_the_colours_of_their_players_and_the_last_stone_is_marked() -> None:
    game = games.load("hex(size=2)")
    text = rendering.board(games.Position(game, [0]))
    styles = {(text.plain[span.start : span.end], str(span.style)) for span in text.spans}
    assert {("x x x", "bold red"), ("o", "bold cyan"), ("X", "bold red reverse")} <= styles


def test_few_actions_are_all_shown() -> None:
    actions = tuple(ActionStats(action, 1, 0.0) for action in range(7))
    assert "more" not in said(CONNECT_FOUR, Info(actions=actions))[-1]
