"""Offers in the match of a connected player: shows them to a person, and answers for a program.

A program declines draws. It agrees to takebacks with the option `--takebacks`, as the bots of a
server do.
"""

from __future__ import annotations

from playout.commands.text import counted
from playout.players.client.active_match import ActiveMatch
from playout.players.client.player_console import PlayerConsole
from playout.players.core.player import MatchRequest
from playout.protocol.connection import ServerConnection
from playout.protocol.messages import (
    Abort,
    AnswerOffer,
    Error,
    Offer,
    OfferClosed,
    Offered,
    OpenOffer,
    Request,
    WithdrawOffer,
)

#: The id of all requests about offers, which wait for no answer.
_REQUEST = "offer"
_WANTED = {
    "draw": "offers a draw",
    "takeback": "asks to take a move back",
    "score": "offers to count",
}
_WANT = {"draw": "offer a draw", "takeback": "ask to take a move back", "score": "offer to count"}
_NAMED = {"draw": "the draw", "takeback": "the takeback", "score": "the score"}


class OfferAnswers:
    """Answers offers of opponents, and makes those of a person."""

    def __init__(self, console: PlayerConsole, *, takebacks: bool) -> None:
        """`takebacks`: whether a program agrees to takebacks."""
        #: The connection to send requests over, to be set first.
        self.connection: ServerConnection
        self._console = console
        self._takebacks = takebacks

    def made(self, match: ActiveMatch, event: Offered | OpenOffer) -> None:
        """Handle an offer of either player."""
        offer = match.offered(event)
        if offer.player == match.seat:
            match.player.notice(
                f"You {_WANT[offer.offer]}. A move of {match.opponent} declines it."
            )
        elif match.player.human:
            match.player.notice(
                f"{match.opponent} {_wanted(match, offer)}. Type accept or decline; a move "
                "declines it, too."
            )
        else:
            accept = self._takebacks and offer.offer == "takeback"
            answer = "agreed" if accept else "declined"
            self._console.show(f"{match.opponent} {_WANTED[offer.offer]}: {answer}.")
            self._answer(match, offer, accept)

    def closed(self, match: ActiveMatch, event: OfferClosed) -> None:
        """Handle the end of an offer that was not accepted."""
        match.offer_closed(event)
        player, opponent = "You have", f"{match.opponent} has"
        if event.player != match.seat:
            player, opponent = opponent, player
        who = player if event.how == "withdrawn" else opponent
        match.player.notice(f"{who} {event.how} {_NAMED[event.offer]}.")

    def refused(self, match: ActiveMatch | None, error: Error) -> bool:
        """Handle an error, and return True if it is about offers."""
        if error.re != _REQUEST:
            return False
        if match and match.player.human:
            match.player.notice(f"The server says: {error.text}")
        return True

    def ask(self, match: ActiveMatch, request: MatchRequest) -> None:
        """Send the request of a player to the server."""
        match_id = match.started.match
        match request:
            case "draw" | "takeback":
                self._send(Offer(id=_REQUEST, match=match_id, offer=request, ply=match.ply))
            case "withdraw":
                self._send(WithdrawOffer(id=_REQUEST, match=match_id))
            case "abort":
                self._send(Abort(id=_REQUEST, match=match_id))
            case "accept" | "decline":
                offer = match.opponents_offer
                if offer is None:
                    match.player.notice(f"{match.opponent} has no open offer.")
                else:
                    self._answer(match, offer, request == "accept")

    def _answer(self, match: ActiveMatch, offer: OpenOffer, accept: bool) -> None:
        self._send(
            AnswerOffer(
                id=_REQUEST,
                match=match.started.match,
                offer=offer.offer,
                ply=offer.ply,
                accept=accept,
            )
        )

    def _send(self, request: Request) -> None:
        self.connection.send(request)


def _wanted(match: ActiveMatch, offer: OpenOffer) -> str:
    """The opponent's offer in words, with the result of an offered score."""
    wanted = _WANTED[offer.offer]
    if not offer.lead:
        return wanted
    leader = "you win" if (offer.lead > 0) == (match.seat == 1) else f"{match.opponent} wins"
    return (
        f"{wanted}, with {counted(len(offer.dead), 'dead stone')}: {leader} by {abs(offer.lead):g}"
    )
