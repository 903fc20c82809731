"""A match on a server as the client of one of its players follows it, from event to event."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from playout.games import IllegalAction, Position, State
from playout.protocol.messages import (
    ClockState,
    OfferClosed,
    Offered,
    OpenOffer,
    Started,
    TakenBack,
    Update,
)

#: What a text calls an offer of each kind.
OFFER_NAMES = {"draw": "the draw", "takeback": "the takeback", "score": "the score"}


@dataclass(kw_only=True)
class FollowedMatch:
    """A match of the client, up to the last event, for clients that trust the server's rules."""

    started: Started
    #: The last event about the position, which has the clocks, the legal actions and the view.
    latest: Started | Update | TakenBack
    #: The open offers by the seats of their players.
    offers: dict[int, OpenOffer] = field(default_factory=dict)

    @property
    def seat(self) -> int:
        """The client's seat: 1 moves first, 2 second."""
        assert self.started.seat is not None
        return self.started.seat

    @property
    def opponent(self) -> str:
        """The name of the other player."""
        return self.started.players[2 - self.seat]

    @property
    def ply(self) -> int:
        """The number of the next move, from 0."""
        match self.latest:
            case Started(moves=moves):
                return len(moves)
            case Update(next_ply=ply):
                return ply
            case TakenBack(ply=ply):
                return ply

    @property
    def clocks(self) -> tuple[ClockState, ClockState] | None:
        """The clocks of both players, None without clocks."""
        return self.latest.clocks

    @property
    def left_s(self) -> tuple[float, float]:
        """The seconds on both clocks; infinite without clocks."""
        controls = self.started.both_time_controls
        if self.clocks is None or controls is None:
            return math.inf, math.inf
        first, second = (
            clock.delay_s + clock.main_s + clock.periods * control.period_s
            for clock, control in zip(self.clocks, controls, strict=True)
        )
        return first, second

    @property
    def own_offer(self) -> OpenOffer | None:
        """The client's open offer, or None."""
        return self.offers.get(self.seat)

    @property
    def opponents_offer(self) -> OpenOffer | None:
        """The opponent's open offer, or None."""
        return self.offers.get(3 - self.seat)

    def updated(self, event: Update) -> bool:
        """Add a move; return False if it is not the next one, as after a resumption."""
        if event.ply != self.ply:
            return False
        self.latest = event
        return True

    def taken_back(self, event: TakenBack) -> None:
        """Return to an earlier position, without offers."""
        self.latest = event
        self.offers.clear()

    def offered(self, event: Offered | OpenOffer) -> OpenOffer:
        """Note an offer of either player, and return it."""
        offer = OpenOffer(event.offer, event.player, event.ply, event.dead, event.lead)
        self.offers[event.player] = offer
        return offer

    def offer_closed(self, event: OfferClosed) -> None:
        """Note that an offer was declined or withdrawn."""
        self.offers.pop(event.player, None)


@dataclass(kw_only=True)
class MatchByRules(FollowedMatch):
    """A match whose position the client computes by its own rules, for its player.

    The methods raise IllegalAction if the rules of the server are different.
    """

    position: Position

    @property
    def ply(self) -> int:
        """The number of the next move, from 0."""
        return self.position.ply

    def play(self, action: int) -> None:
        """Add a move that the server has made."""
        self.position = self.position.play(action)

    def updated(self, event: Update) -> bool:
        """Add a move; return False if it is not the next one, as after a resumption."""
        if event.ply != self.ply:
            return False
        after = self.position.play(event.action)
        for outcome in event.rolls:
            after = after.play(outcome)
        require_same(after.state, event.state)
        self.position, self.latest = after, event
        return True

    def take_back(self, ply: int) -> None:
        """Keep only the first `ply` moves."""
        self.position = self.position.at(ply)

    def taken_back(self, event: TakenBack) -> None:
        """Return to an earlier position, without offers."""
        if not 0 <= event.ply <= self.ply:
            raise IllegalAction(f"of {self.ply} moves, {event.ply} are to remain")
        require_same(self.position.states[event.ply], event.state)
        self.take_back(event.ply)
        super().taken_back(event)

    def common(self, moves: tuple[int, ...]) -> int:
        """Return the number of moves that are still played, by the moves of a resumed match."""
        pairs = enumerate(zip(self.position.moves, moves, strict=False))
        least = min(self.ply, len(moves))
        return next((ply for ply, (one, other) in pairs if one != other), least)


def require_same(state: State, of_server: State) -> None:
    """Raise IllegalAction unless the server has the same position."""
    if state != of_server:
        raise IllegalAction("the position after the last move is different")
