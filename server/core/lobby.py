"""What the lobby shows: the open seeks, and the rooms of the matches that are being played."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import structs

from playout.protocol.messages import Code, RequestId, Seat, Seek, Seeking
from playout.protocol.names import skeleton
from playout.protocol.time_control import is_correspondence, parse_time_control
from playout.server.core.match import Refused
from playout.server.core.sessions import Session

if TYPE_CHECKING:  # a room uses the context, which has the lobby
    from playout.server.core.match_room import MatchRoom

#: Ended matches whose ids are remembered, to distinguish them from unknown ones.
ENDED_KEPT = 1000


@dataclass(eq=False)
class OpenSeek:
    """A seek that is open: the session's `request`, with game and clock in their usual notation.

    `matches` is the number of matches still to be begun.
    """

    id: str
    session: Session
    request: Seek
    matches: int = field(init=False)
    #: Skeleton of the only accepted opponent; None for any opponent.
    opponent_skeleton: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.matches = self.request.matches
        opponent = self.request.opponent
        self.opponent_skeleton = skeleton(opponent) if opponent else None

    @property
    def is_listed(self) -> bool:
        """Whether anybody may take it, who finds it in a list."""
        return not (self.request.link or self.request.opponent)

    def fits(self, other: OpenSeek) -> bool:
        """Whether the two can be paired: same game, rating, compatible clocks and seats.

        Sessions that an administrator has opened play with each other only. Without a clock, a seek
        fits no match by correspondence.
        """
        mine, theirs = self.request, other.request
        return (
            self.session.skeleton != other.session.skeleton
            and self.session.opened == other.session.opened
            and mine.game == theirs.game
            and mine.rated == theirs.rated
            and _clocks_fit(mine.clock, theirs.clock)
            and self.accepts(other.session.skeleton)
            and other.accepts(self.session.skeleton)
            and (mine.seat is None or mine.seat != theirs.seat)
        )

    def accepts(self, opponent: str) -> bool:
        """Whether a player may be the opponent, by the skeleton of its name."""
        return self.opponent_skeleton is None or self.opponent_skeleton == opponent

    def to_message(self, re: RequestId | None = None) -> Seeking:
        """The message about this seek for other players."""
        terms = structs.asdict(self.request) | {"matches": self.matches}
        del terms["id"], terms["link"]
        return Seeking(re=re, seek=self.id, name=self.session.name, **terms)


class Lobby:
    """The open seeks of each game, oldest first, and those with a link, which are not listed."""

    def __init__(self) -> None:
        self._by_game: dict[str, dict[str, OpenSeek]] = {}
        self._games: dict[str, str] = {}
        self._linked: dict[str, OpenSeek] = {}

    def add(self, seek: OpenSeek) -> None:
        """Add a seek to those of its game, or to those with a link."""
        if seek.request.link:
            self._linked[seek.id] = seek
            return
        game = seek.request.game
        self._by_game.setdefault(game, {})[seek.id] = seek
        self._games[seek.id] = game

    def remove(self, seek_id: str) -> None:
        """Close a seek, if it is still open."""
        if seek := self.get(seek_id):
            seek.session.lasting_seeks.discard(seek_id)
        self._linked.pop(seek_id, None)
        game = self._games.pop(seek_id, None)
        if game is not None:
            del self._by_game[game][seek_id]
            if not self._by_game[game]:
                del self._by_game[game]

    def get(self, seek_id: str) -> OpenSeek | None:
        """The open seek of this id."""
        game = self._games.get(seek_id)
        return self._linked.get(seek_id) if game is None else self._by_game[game][seek_id]

    def partner(self, seek: OpenSeek) -> OpenSeek | None:
        """The oldest listed seek that fits; none fits a seek with a link."""
        if seek.request.link:
            return None
        others = self._by_game.get(seek.request.game, {}).values()
        return next((other for other in others if seek.fits(other)), None)

    def take(self, seek: OpenSeek) -> None:
        """Count one match of `seek` as begun; the last one closes it."""
        seek.matches -= 1
        if seek.matches == 0:
            self.remove(seek.id)

    def of_session(self, session: Session) -> list[OpenSeek]:
        """The open seeks of a session."""
        return [seek for seek in self.all() if seek.session is session]

    def all(self) -> list[OpenSeek]:
        """All open seeks, those with a link too."""
        return [*self, *self._linked.values()]

    def __iter__(self) -> Iterator[OpenSeek]:
        return (seek for seeks in self._by_game.values() for seek in seeks.values())

    def __len__(self) -> int:
        return len(self._games)


class Rooms:
    """The rooms of the matches that are being played, and the ids of the last ones that ended."""

    def __init__(self) -> None:
        self.running: dict[str, MatchRoom] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    def get(self, match_id: str) -> MatchRoom:
        """The room of a match that is being played. Raises Refused."""
        if room := self.running.get(match_id):
            return room
        if match_id in self._ended:
            raise Refused(Code.MATCH_OVER, f"match {match_id} is over")
        raise Refused(Code.UNKNOWN_MATCH, f"there is no match {match_id!r}")

    def played_by(self, match_id: str, session: Session) -> tuple[MatchRoom, Seat]:
        """The room of a running match that a session plays, and its seat. Raises Refused."""
        room = self.get(match_id)
        seat = room.seat_of(session)
        if seat is None:
            raise Refused(Code.NOT_YOUR_MATCH, f"you do not play in match {match_id}")
        return room, seat

    def remove(self, match_id: str) -> None:
        """Remove the room of a match that has ended, and remember its id for a while."""
        self.running.pop(match_id, None)
        self._ended[match_id] = None
        if len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)


def is_by_correspondence(clock: str | None) -> bool:
    """Whether matches with this clock are played by correspondence."""
    return clock is not None and is_correspondence(parse_time_control(clock))


def _clocks_fit(one: str | None, other: str | None) -> bool:
    """Whether two seeks agree on a clock; None is any clock of less than a day."""
    if one is None or other is None:
        return not is_by_correspondence(one or other)
    return one == other
