"""The lobby: the open seeks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import structs

from playout.protocol.messages import RequestId, Seek, Seeking
from playout.protocol.names import skeleton
from playout.protocol.time_control import is_correspondence, parse_time_control
from playout.server.core.sessions import Session


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


def is_by_correspondence(clock: str | None) -> bool:
    """Whether matches with this clock are played by correspondence."""
    return clock is not None and is_correspondence(parse_time_control(clock))


def _clocks_fit(one: str | None, other: str | None) -> bool:
    """Whether two seeks agree on a clock; None is any clock of less than a day."""
    if one is None or other is None:
        return not is_by_correspondence(one or other)
    return one == other
