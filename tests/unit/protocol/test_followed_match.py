"""playout.protocol.followed_match: a match on a server, followed with and without its rules."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from playout import games
from playout.games import IllegalAction, Position
from playout.protocol.followed_match import FollowedMatch, MatchByRules
from playout.protocol.messages import (
    ClockState,
    OfferClosed,
    Offered,
    Started,
    TakenBack,
    TimeControl,
    Update,
)

GAME = games.load("nim(chips=9)")


def started(*moves: int, **fields: Any) -> Started:
    state = Position(GAME, moves).state
    fields = {"seat": 2, "players": ("Ann", "Bob"), "clock": "none", **fields}
    return Started(match="m", game="nim(chips=9)", moves=moves, state=state, to_move=1, **fields)


def update(*moves: int, **fields: Any) -> Update:
    """The event of the last of these moves."""
    fields = {"state": Position(GAME, moves).state, **fields}
    return Update(match="m", ply=len(moves) - 1, player=1, action=moves[-1], to_move=1, **fields)


def taken_back(ply: int, *moves: int) -> TakenBack:
    state = Position(GAME, moves).state
    return TakenBack(match="m", ply=ply, player=1, state=state, to_move=1)


def followed(*moves: int) -> list[FollowedMatch]:
    """A match with these moves, followed in both ways."""
    event, position = started(*moves), Position(GAME, moves)
    return [
        FollowedMatch(started=event, latest=event),
        MatchByRules(started=event, latest=event, position=position),
    ]


def test_rolls_are_moves_of_their_own() -> None:
    pig = games.load("pig")
    begin, after = Position(pig), Position(pig, [0, 4])
    event = Started(
        match="m", game="pig", players=("Ann", "Bob"), seat=1, clock="none", moves=(), to_move=1,
        state=begin.state,
    )  # fmt: skip
    roll = Update(
        match="m", ply=0, player=1, action=0, rolls=(4,), state=after.state, to_move=1
    )  # fmt: skip
    for match in (
        FollowedMatch(started=event, latest=event),
        MatchByRules(started=event, latest=event, position=begin),
    ):
        assert [match.updated(roll), match.updated(roll)] == [True, False]
        assert match.ply == 2
    assert isinstance(match, MatchByRules)
    assert match.position == after
    other = MatchByRules(started=event, latest=event, position=begin)
    with pytest.raises(IllegalAction):
        other.updated(structs.replace(roll, rolls=(3,)))


def test_moves_are_added_once_and_taken_back() -> None:
    for match in followed(0):
        assert (match.ply, match.seat, match.opponent) == (1, 2, "Ann")
        assert [match.updated(update(0, 1)), match.updated(update(0, 1))] == [True, False]
        assert (match.ply, match.latest.state) == (2, Position(GAME, [0, 1]).state)
        match.taken_back(taken_back(1, 0))
        assert (match.ply, match.latest.state) == (1, Position(GAME, [0]).state)
        assert match.updated(update(0, 2))
        assert match.ply == 2


def test_offers_end_with_their_answer_and_with_a_takeback() -> None:
    for match in followed(0):
        for player in (1, 2):
            match.offered(Offered(match="m", offer="draw", player=player, ply=1))  # type: ignore[arg-type]
        assert match.own_offer
        assert match.opponents_offer
        match.offer_closed(OfferClosed(match="m", offer="draw", player=2, ply=1, how="declined"))
        assert match.own_offer is None
        match.taken_back(taken_back(0))
        assert match.opponents_offer is None


def test_the_time_left_has_all_periods() -> None:
    event = started(time_control=TimeControl(60.0, 0.0, 3, 10.0))
    match = FollowedMatch(started=event, latest=event)
    assert match.left_s == (float("inf"), float("inf"))
    clocks = ClockState(5.0, 3), ClockState(0.0, 1)
    assert match.updated(update(0, clocks=clocks))
    assert match.left_s == (35.0, 10.0)


@pytest.mark.parametrize(
    "event",
    [
        update(0, 1, state=GAME.initial_state()),
        taken_back(1),
        taken_back(2, 0, 1),
    ],
)
def test_other_rules_of_the_server_are_noticed(event: Update | TakenBack) -> None:
    *_, match = followed(0)
    handle = match.taken_back if isinstance(event, TakenBack) else match.updated
    with pytest.raises(IllegalAction):
        handle(event)
    assert match.ply == 1


@pytest.mark.parametrize(
    ("moves", "common"), [((0, 1, 2), 3), ((0, 1), 2), ((0, 2, 2, 1), 1), ((1,), 0), ((), 0)]
)
def test_the_moves_of_a_resumed_match_are_compared(moves: tuple[int, ...], common: int) -> None:
    *_, match = followed(0, 1, 2)
    assert isinstance(match, MatchByRules)
    assert match.common(moves) == common
    match.take_back(common)
    for action in moves[match.ply :]:
        match.play(action)
    assert match.position == Position(GAME, moves)
