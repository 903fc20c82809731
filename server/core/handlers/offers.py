"""Offers of players to each other: a draw, or to take moves back."""

from __future__ import annotations

from server.core.context import Context
from server.core.dispatch import handles
from server.core.match_room import MatchRoom
from server.core.offers import How
from server.core.rooms import Rooms
from server.core.sessions import RequestContext
from server.model.messages import (
    AnswerOffer,
    Offer,
    Offered,
    Ok,
    OpenOffer,
    RequestId,
    Seat,
    WithdrawOffer,
)


class OfferRequests:
    """Handles offers, answers to them, and their withdrawal."""

    def __init__(self, context: Context, rooms: Rooms) -> None:
        self._context = context
        self._rooms = rooms

    @handles(Offer)
    def offer(self, request: Offer, origin: RequestContext) -> None:
        """Tell both players of an offer; the second offer of a draw ends the match."""
        room, seat = self._rooms.played_by(request.match, origin.session)
        room.offers.require_allowed(seat, request.offer, request.ply)
        if request.offer == "draw" and room.offers.of_opponent(seat, "draw"):
            self._agree_on_draw(room, origin, request.id)
            return
        made = room.offers.make(seat, request.offer, request.ply)
        offered = Offered(match=request.match, offer=made.offer, player=made.player, ply=made.ply)
        self._rooms.tell_players(room, offered, origin.session, request.id)

    @handles(AnswerOffer)
    def answer(self, request: AnswerOffer, origin: RequestContext) -> None:
        """Do what was offered, or tell both players that it was declined."""
        room, seat = self._rooms.played_by(request.match, origin.session)
        offer = room.offers.answered(seat, request.offer, request.ply)
        if not request.accept:
            self._close(room, offer, "declined", origin, request.id)
        elif offer.offer == "draw":
            self._agree_on_draw(room, origin, request.id)
        else:
            self._take_back(room, offer.player, origin, request.id)

    @handles(WithdrawOffer)
    def withdraw(self, request: WithdrawOffer, origin: RequestContext) -> None:
        """Tell both players that an offer was withdrawn."""
        room, seat = self._rooms.played_by(request.match, origin.session)
        self._close(room, room.offers.withdrawn(seat), "withdrawn", origin, request.id)

    def _close(
        self,
        room: MatchRoom,
        offer: OpenOffer,
        how: How,
        origin: RequestContext,
        re: RequestId | None,
    ) -> None:
        self._rooms.tell_players(room, room.offer_closed(offer, how), origin.session, re)

    def _agree_on_draw(self, room: MatchRoom, origin: RequestContext, re: RequestId | None) -> None:
        room.match.agree_on_draw()
        self._rooms.settle(room, origin.now)
        if re is not None:
            self._context.tell(origin.session, Ok(re=re))

    def _take_back(
        self, room: MatchRoom, seat: Seat, origin: RequestContext, re: RequestId | None
    ) -> None:
        self._rooms.take_back(room, seat, origin.now)
        for session, message in room.taken_back(seat, origin.now, origin.session, re):
            self._context.tell(session, message)
        for sessions, update in room.spectators_taken_back(seat, origin.now):
            self._context.tell_spectators(sessions, update)
        self._rooms.settle(room, origin.now)
