"""The lobby: the open seeks."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from msgspec import structs

from playout.protocol.messages import RequestId, Seat, Seek, Seeking
from playout.protocol.names import skeleton
from playout.protocol.time_control import is_correspondence, parse_time_control
from playout.server.core.fair_shares import FairShares
from playout.server.core.match import opponent_of
from playout.server.core.sessions import Session
from playout.server.model.records import Account


@dataclass(eq=False)
class OpenSeek:
    """A seek that is open: the session's `request`, with game and clock in their usual notation.

    `matches` is the number of matches still to be begun.
    """

    id: str
    session: Session
    request: Seek
    matches: int = field(init=False)
    #: Its place in the order of the lobby, which has given it.
    number: int = field(init=False, default=-1)
    #: The address of its session when it was opened, as far as limits count it.
    network: str = field(init=False)
    #: Skeleton of the only accepted opponent; None for any opponent.
    opponent_skeleton: str | None = field(init=False)
    #: The message about it without the id of a request; None until it is needed.
    _message: Seeking | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.matches = self.request.matches
        self.network = self.session.network
        opponent = self.request.opponent
        self.opponent_skeleton = skeleton(opponent) if opponent else None

    @property
    def is_listed(self) -> bool:
        """Whether the seek is in the list, where anybody may take it."""
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
        if self._message is None or self._message.matches != self.matches:
            terms = structs.asdict(self.request) | {"matches": self.matches}
            del terms["id"], terms["link"]
            self._message = Seeking(seek=self.id, name=self.session.name, **terms)
        return structs.replace(self._message, re=re) if re is not None else self._message


#: What all seeks of a bucket have in common: game, whether they are rated, whether an administrator
#: has opened their sessions, the skeleton of the only opponent or None, seat, and clock. Those with
#: a clock of less than a day are in the bucket `_ANY_CLOCK`, too.
_Bucket = tuple[str, bool, bool, str | None, Seat | None, str | None]
_ANY_CLOCK = "any"


class Lobby:
    """The open seeks, oldest first, and those with a link, which are not listed.

    The cost of a request does not grow with the number of seeks: an owner has few, and the seeks
    that fit another one are in a few buckets.
    """

    def __init__(self) -> None:
        self._listed: dict[str, OpenSeek] = {}
        self._linked: dict[str, OpenSeek] = {}
        self._numbers = itertools.count()
        self._by_account: dict[str, dict[str, OpenSeek]] = {}
        self._by_owner: dict[str, dict[str, OpenSeek]] = {}
        self._by_network: dict[str, dict[str, OpenSeek]] = {}
        self._by_opponent: dict[str, dict[str, OpenSeek]] = {}
        self._buckets: dict[_Bucket, dict[str, OpenSeek]] = {}
        #: The listed seeks, those of players that are away last.
        self._shares = FairShares[OpenSeek](ranks=2)

    def add(self, seek: OpenSeek) -> None:
        """Add a seek to the listed ones, or to those with a link."""
        seek.number = next(self._numbers)
        if seek.request.link:
            self._linked[seek.id] = seek
        else:
            self._listed[seek.id] = seek
            self._share(seek)
        for index, key in self._entries(seek):
            index.setdefault(key, {})[seek.id] = seek

    def remove(self, seek_id: str) -> None:
        """Close a seek, if it is still open."""
        seek = self._listed.pop(seek_id, None) or self._linked.pop(seek_id, None)
        if seek is None:
            return
        self._shares.remove(seek)
        seek.session.lasting_seeks.discard(seek_id)
        for index, key in self._entries(seek):
            del index[key][seek_id]
            if not index[key]:
                del index[key]

    def update_shares(self, session: Session) -> None:
        """List the seeks of a session after all others while its player is away."""
        for seek in self.of_session(session):
            if seek.id in self._listed:
                self._share(seek)

    def _share(self, seek: OpenSeek) -> None:
        session = seek.session
        self._shares.add(seek, session.network, session.skeleton, int(session.connection is None))

    def get(self, seek_id: str) -> OpenSeek | None:
        """The open seek of this id."""
        return self._listed.get(seek_id) or self._linked.get(seek_id)

    def partner(self, seek: OpenSeek) -> OpenSeek | None:
        """The oldest listed seek that fits; none fits a seek with a link."""
        if seek.request.link:
            return None
        if seek.opponent_skeleton is None:
            challenged = seek.session.skeleton in self._by_opponent
            found = (self._oldest(key, seek) for key in _fitting_buckets(seek, challenged))
        else:
            owned = self._owned(seek.opponent_skeleton)
            found = (each for each in owned if not each.request.link and seek.fits(each))
        return min(filter(None, found), key=attrgetter("number"), default=None)

    def take(self, seek: OpenSeek) -> None:
        """Count one match of `seek` as begun; the last one closes it."""
        seek.matches -= 1
        if seek.matches == 0:
            self.remove(seek.id)

    def of_session(self, session: Session) -> list[OpenSeek]:
        """The open seeks of a session."""
        return [each for each in self._owned(session.skeleton) if each.session is session]

    def of_account(self, account: Account | None) -> list[OpenSeek]:
        """The open seeks of an account's sessions; none for a guest."""
        return list(self._by_account.get(account.id, {}).values()) if account else []

    def of_network(self, network: str) -> Collection[OpenSeek]:
        """The open seeks from an address, as far as limits count it; none if it is unknown."""
        return self._by_network.get(network, {}).values() if network else ()

    def challenges(self, skeleton: str) -> list[OpenSeek]:
        """The open seeks for one opponent, by the skeleton of its name."""
        return list(self._by_opponent.get(skeleton, {}).values())

    def shown(self, most: int) -> tuple[Seeking, ...]:
        """At most `most` listed seeks, fair shares; those of players that are away come last."""
        seeks = sorted(self._shares.first(most), key=lambda each: each.session.connection is None)
        return tuple(each.to_message() for each in seeks)

    def all(self) -> list[OpenSeek]:
        """All open seeks, those with a link too."""
        return [*self, *self._linked.values()]

    def __iter__(self) -> Iterator[OpenSeek]:
        return iter(self._listed.values())

    def __len__(self) -> int:
        return len(self._listed)

    def _entries(self, seek: OpenSeek) -> Iterator[tuple[dict[Any, dict[str, OpenSeek]], Any]]:
        """The indexes that have a seek, each with the key."""
        session = seek.session
        yield self._by_owner, session.skeleton
        if session.account:
            yield self._by_account, session.account.id
        yield self._by_network, seek.network
        if seek.opponent_skeleton:
            yield self._by_opponent, seek.opponent_skeleton
        if not seek.request.link:
            for clock in _clock_buckets(seek):
                yield self._buckets, _bucket(seek, seek.opponent_skeleton, seek.request.seat, clock)

    def _owned(self, owner: str) -> Collection[OpenSeek]:
        """The open seeks of the sessions with a name of this skeleton."""
        return self._by_owner.get(owner, {}).values()

    def _oldest(self, key: _Bucket, seek: OpenSeek) -> OpenSeek | None:
        """The oldest seek of a bucket, except those of the same name; all others fit."""
        return next((each for each in self._buckets.get(key, {}).values() if seek.fits(each)), None)


def _bucket(seek: OpenSeek, opponent: str | None, seat: Seat | None, clock: str | None) -> _Bucket:
    terms = seek.request
    return terms.game, terms.rated, seek.session.opened, opponent, seat, clock


def _clock_buckets(seek: OpenSeek) -> list[str | None]:
    clock = seek.request.clock
    return [clock] if is_by_correspondence(clock) else [clock, _ANY_CLOCK]


def _fitting_buckets(seek: OpenSeek, challenged: bool) -> Iterator[_Bucket]:
    """The buckets of the seeks that fit one for any opponent.

    `challenged`: whether there are seeks for its player only.
    """
    clock, seat = seek.request.clock, seek.request.seat
    clocks: list[str | None] = [clock] if is_by_correspondence(clock) else [clock, None]
    if clock is None:
        clocks = [_ANY_CLOCK]
    seats: tuple[Seat | None, ...] = (None, 1, 2) if seat is None else (None, opponent_of(seat))
    for opponent in (None, seek.session.skeleton) if challenged else (None,):
        for other_seat in seats:
            for other_clock in clocks:
                yield _bucket(seek, opponent, other_seat, other_clock)


def is_by_correspondence(clock: str | None) -> bool:
    """Whether matches with this clock are played by correspondence."""
    return clock is not None and is_correspondence(parse_time_control(clock))


def _clocks_fit(one: str | None, other: str | None) -> bool:
    """Whether two seeks agree on a clock; None is any clock of less than a day."""
    if one is None or other is None:
        return not is_by_correspondence(one or other)
    return one == other
