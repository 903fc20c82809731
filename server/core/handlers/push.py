"""Notices through the push services of browsers: it is a player's turn, or a match is over.

They are for matches by correspondence, and for players of which no session is connected.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from playout import games
from playout.protocol.messages import Code, Ok, SubscribePush, UnsubscribePush
from playout.server.core.context import Context
from playout.server.core.effects import KeepPush, PushNotice
from playout.server.core.match import Refused
from playout.server.core.match_room import MatchOver, MatchRoom, TurnBegan
from playout.server.core.sessions import RequestContext, handles


class PushNotices:
    """Passes on the subscriptions of browsers, and selects the recipients of notices."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @handles(SubscribePush)
    def subscribe(self, request: SubscribePush, origin: RequestContext) -> None:
        """Keep the subscription of a browser."""
        account, policy = origin.session.account, self._context.policy
        if not policy.push_key:
            raise Refused(Code.NOT_ALLOWED, "this server sends no notices through push services")
        if account is None:
            raise Refused(Code.NOT_FOR_GUESTS, "guests are sent no notices: register a name")
        if not is_of_service(request.endpoint, policy.push_services):
            raise Refused(Code.INVALID, "this server knows no such push service")
        fields = {"p256dh": request.p256dh, "auth": request.auth, "language": request.language}
        self._context.do(KeepPush(account.id, request.endpoint, fields))
        self._context.send_to(origin.session, Ok(re=request.id))

    @handles(UnsubscribePush)
    def unsubscribe(self, request: UnsubscribePush, origin: RequestContext) -> None:
        """Forget the subscription of a browser."""
        if (account := origin.session.account) and self._context.policy.push_key:
            self._context.do(KeepPush(account.id, request.endpoint, None))
        self._context.send_to(origin.session, Ok(re=request.id))

    def turn_began(self, event: TurnBegan, now: float) -> None:
        """Tell a player that is away that it is to move."""
        seat = event.room.match.to_move
        if seat and event.room.is_correspondence:
            self._notify(event.room, seat, "Your move")

    def match_over(self, event: MatchOver, now: float) -> None:
        """Tell the players that are away how their match has ended."""
        if event.room.is_correspondence:
            for seat in (1, 2):
                self._notify(event.room, seat, event.record.text)

    def _notify(self, room: MatchRoom, seat: int, text: str) -> None:
        player = room.seats[seat - 1]
        named = self._context.registry.like(player.skeleton)
        is_here = any(each.connection and each.is_of(player.account) for each in named)
        if player.account and self._context.policy.push_key and not is_here:
            opponent = room.match.players[2 - seat]
            notice = {
                "text": text,
                "game": games.title(str(room.match.game)),
                "opponent": opponent,
                "path": f"/matches/{room.match.id}",
            }
            self._context.do(PushNotice(player.account.id, notice))


def is_of_service(endpoint: str, services: tuple[str, ...]) -> bool:
    """Whether an address is of one of these origins, such as `https://*.example.org`."""
    try:
        parts = urlsplit(endpoint)
        origin = f"{parts.scheme}://{parts.netloc}"
    except ValueError:
        return False
    for service in services:
        scheme, _, host = service.partition("://")
        if origin == service:
            return True
        if host.startswith("*.") and parts.scheme == scheme and parts.netloc.endswith(host[1:]):
            return "@" not in parts.netloc
    return False
