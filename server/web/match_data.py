"""A match as its page and the API show it: every position, and what was said of each move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nlargest
from typing import NamedTuple

from msgspec import Struct, structs

from games import Game, State
from server.core.match_room import MatchRoom
from server.core.view import board_of, position_view_of
from server.export.replay import replay
from server.model.messages import (
    Analysis,
    Board,
    ClockState,
    PositionView,
    Reason,
    Seat,
    TimeControl,
)
from server.model.records import MatchEnded, MatchStarted, StoredMatch
from server.model.time_control import parse_time_control
from server.storage.results import linked

#: Of what a bot considered, so much is shown: for each move it sends fifty, which nobody reads.
_TOPS, _LINE = 5, 10


class PositionData(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The position after `ply` moves; the rest is of the move that led there.

    `info` is what its player thought of it; moves that it considered are in the picture. `at` is in
    seconds since 1970.
    """

    ply: int
    view: PositionView
    action: int | None = None
    player: Seat | None = None
    clocks: tuple[ClockState, ClockState] | None = None
    at: float | None = None
    info: Analysis | None = None


class Ending(Struct, frozen=True, kw_only=True):
    """How it ended: winner 1 or 2, -1 for a tie, 0 for no result."""

    winner: int
    returns: tuple[float, float]
    reason: Reason
    text: str
    at: float


class MatchData(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match, from its first position to the last that there is.

    `linked`: has each of the players a page? `opening`: so many moves were made for them.
    `to_move` is 0 when it is over; until then, `clocks` are those of now.
    """

    match: str
    game: str
    players: tuple[str, str]
    linked: tuple[bool, bool]
    clock: str
    time_control: TimeControl | None = None
    clocks: tuple[ClockState, ClockState] | None = None
    rated: bool = False
    tournament: str | None = None
    opening: int = 0
    begun_at: float
    to_move: int
    board: Board
    positions: tuple[PositionData, ...]
    result: Ending | None = None


class _Made(NamedTuple):
    """A move, and what is known of it."""

    action: int
    seat: Seat
    clocks: tuple[ClockState, ClockState] | None = None
    at: float | None = None
    info: Analysis | None = None


def match_data(kept: StoredMatch) -> MatchData:
    """A stored match, without the clocks of now. Takes long where there are many moves.

    Raises Contradiction if the rules are not those of then.
    """
    replayed = replay(kept)
    made = [_Made(m.action, m.seat, m.clocks, m.at, m.info) for m in kept.moves]
    return _data(kept.started, replayed.game, replayed.states, made, kept.ended)


def unstored_match_data(room: MatchRoom) -> Callable[[], MatchData]:
    """What makes the same of a match that is being played and stored nowhere.

    It may be called in another thread, while the match goes on.
    """
    match, begun = room.match, room.started_record(room.begun_at)
    states = tuple(match.states)
    made = [_Made(action, match.mover(ply)) for ply, action in enumerate(match.moves)]
    return lambda: _data(begun, match.game, states, made, None)


def _data(
    begun: MatchStarted,
    game: Game,
    states: Sequence[State],
    made: Sequence[_Made],
    finished: MatchEnded | None,
) -> MatchData:
    actions = [each.action for each in made]
    return MatchData(
        match=begun.match,
        game=begun.game,
        players=begun.players,
        linked=linked(begun.accounts, begun.rated),
        clock=begun.clock,
        time_control=parse_time_control(begun.clock),
        rated=begun.rated,
        tournament=begun.tournament,
        opening=begun.opening,
        begun_at=begun.at,
        to_move=0 if finished else game.current_player(states[-1]),
        board=board_of(game),
        positions=tuple(
            _position(game, states, actions, ply, made[ply - 1] if ply else None)
            for ply in range(len(states))
        ),
        result=_ending(finished) if finished else None,
    )


def _position(
    game: Game, states: Sequence[State], actions: Sequence[int], ply: int, made: _Made | None
) -> PositionData:
    if made is None:
        return PositionData(ply=ply, view=position_view_of(game, states, actions, ply))
    info = made.info
    return PositionData(
        ply=ply,
        view=position_view_of(game, states, actions, ply, info and _shown(info)),
        action=made.action,
        player=made.seat,
        clocks=made.clocks and _rounded(made.clocks),
        at=made.at and round(made.at, 3),
        info=info and _numbers(info),
    )


def _shown(info: Analysis) -> Analysis:
    tops = nlargest(_TOPS, info.actions, key=lambda each: each[1])
    rounded = tuple((action, visits, round(win_rate, 4)) for action, visits, win_rate in tops)
    return structs.replace(info, pv=info.pv[:_LINE], actions=rounded)


def _numbers(info: Analysis) -> Analysis:
    """All but the moves."""
    win_rate, seconds = (each and round(each, 4) for each in (info.win_rate, info.seconds))
    return structs.replace(info, pv=(), actions=(), win_rate=win_rate, seconds=seconds)


def _ending(finished: MatchEnded) -> Ending:
    return Ending(
        winner=finished.winner,
        returns=finished.returns,
        reason=finished.reason,
        text=finished.text,
        at=finished.at,
    )


def _rounded(clocks: tuple[ClockState, ClockState]) -> tuple[ClockState, ClockState]:
    """To milliseconds: more are no news, and half of what is sent."""
    first, second = (ClockState(round(each.main_s, 3), each.periods) for each in clocks)
    return first, second
