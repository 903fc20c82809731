"""The positions with forced wins are what their file says, and searches find the wins."""

from __future__ import annotations

import pytest

from playout import games, players
from playout.players import Limit
from testbed.positions import JUDGEMENT, Judge, forced_wins

#: The games, and how many positions there are of each.
GAMES = ("mnk(m=6,n=6,k=4)", "mnk(m=8,n=8,k=5)")
COUNT = 400
#: Every 20th position is examined.
STEP = 20


@pytest.mark.parametrize("spec", GAMES)
def test_positions_are_won_and_no_two_alike(spec: str) -> None:
    game = games.load(spec)
    states = [each.state for each in forced_wins(game)]
    assert len(set(states)) == len(states) == COUNT
    judge = Judge(game)
    for state in states[::STEP]:
        assert judge.winning_action(state, JUDGEMENT) is not None
    judge.close()


@pytest.mark.parametrize("spec", GAMES)
def test_the_judge_accepts_no_move_that_lets_the_other_player_win(spec: str) -> None:
    game = games.load(spec)
    judge, examined = Judge(game), forced_wins(game)[::STEP]
    assert len(examined) == COUNT // STEP
    for position in examined:  # the last move was a mistake, or the match was lost anyway
        assert not judge.wins(position.states[-2], position.moves[-1])
    judge.close()


@pytest.mark.parametrize(("spec", "player"), [(spec, "uct(seed=1)") for spec in GAMES] + [
    ("mnk(m=6,n=6,k=4)", "alphazero(seed=1)"),
])  # fmt: skip
def test_a_search_finds_nearly_all_wins(spec: str, player: str) -> None:
    game = games.load(spec)
    search, judge = players.load(player, game), Judge(game)
    positions = forced_wins(game)[::STEP]
    won = sum(
        judge.wins(each.state, search.choose(each, Limit(simulations=5000)).action)
        for each in positions
    )
    search.close()
    judge.close()
    assert won >= 0.9 * len(positions)
