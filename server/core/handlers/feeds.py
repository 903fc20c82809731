"""News for sessions that watch: of the lobby and ladders once a second, of tournaments at once."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from msgspec import structs

from playout.protocol.messages import (
    Fixture,
    LadderNews,
    List,
    Listing,
    LobbyTotals,
    News,
    Notice,
    Outcome,
    Overview,
    SubscribeLobby,
    Summary,
    Tournament,
    WatchLadder,
)
from playout.server.core.handlers.ladders import Ladders
from playout.server.core.handlers.seeks import normalised_game
from playout.server.core.joined_sessions import JoinedSessions
from playout.server.core.match import Match
from playout.server.core.match_room import FeatureContext, MatchOver, MatchRoom
from playout.server.core.session_manager import SessionDisconnected
from playout.server.core.sessions import RequestContext, Session, handles
from playout.server.model.records import converted
from playout.server.tournament.state import TournamentState

INTERVAL_S = 1.0
#: Maximum number of entries in each list of an overview; all are counted.
SHOWN = 50
#: Maximum number of entries in each list of a listing.
LISTED = 200
#: The fixtures that a new watcher is sent in a slice.
FIXTURES_A_SLICE = 500

_NO_TOTALS = LobbyTotals(0, 0, 0, 0, 0, {})
_EMPTY = Overview(players=(), seeks=(), matches=(), outcomes=(), totals=_NO_TOTALS)
_NO_NEWS = News()


class LastOutcomes:
    """The last results of matches, with a fair share for each address and person."""

    def __init__(self) -> None:
        #: The results by number, and the numbers of each address and of each person there.
        self._kept: dict[int, Outcome] = {}
        self._addresses: dict[str, list[int]] = {}
        self._persons: dict[str, dict[str, list[int]]] = {}
        self._added = 0

    def add(self, owner: tuple[str, str], outcome: Outcome) -> None:
        """Add a result; the oldest of the owner with the most is dropped if there are too many."""
        address, person = owner
        self._added += 1
        self._kept[self._added] = outcome
        self._addresses.setdefault(address, []).append(self._added)
        self._persons.setdefault(address, {}).setdefault(person, []).append(self._added)
        if len(self._kept) > SHOWN:
            self._drop()

    def clear(self) -> None:
        """Remove all results that are kept."""
        self._kept.clear()
        self._addresses.clear()
        self._persons.clear()

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self._kept.values())

    def _drop(self) -> None:
        """Drop the oldest result of the person with the most, at the address with the most.

        The numbers are kept by owner, as counting all results took 30 µs at the end of each match.
        """
        address = _with_most(self._addresses)
        persons = self._persons[address]
        person = _with_most(persons)
        number = persons[person].pop(0)
        self._addresses[address].remove(number)
        del self._kept[number]
        if not persons[person]:
            del persons[person]
        if not persons:
            del self._persons[address], self._addresses[address]


def _with_most(numbers: dict[str, list[int]]) -> str:
    """The key of the longest list; of lists as long, that with the lowest number."""
    most = max(map(len, numbers.values()))
    return min((each[0], key) for key, each in numbers.items() if len(each) == most)[1]


class LobbyFeed:
    """Sends the lobby to its subscribers: an overview, then the differences, once a second.

    All subscribers have been sent the same, so that each difference is computed once, and only
    while there are subscribers.
    """

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._registry = context.registry
        self._lobby = context.lobby
        self._rooms = context.rooms
        self._subscribers: dict[str, Session] = {}
        self._shown = _EMPTY
        self._outcomes = LastOutcomes()
        self._latest = LastOutcomes()
        self._timer = context.timers.new(self._send_news)

    @handles(SubscribeLobby)
    def subscribe(self, request: SubscribeLobby, origin: RequestContext) -> None:
        """Send a session the overview, and later the differences."""
        if not self._subscribers:
            self._shown = self.overview()
            self._latest.clear()
            self._timer.set(origin.now + INTERVAL_S)
        self._subscribers[origin.session.key] = origin.session
        self._context.send_to(origin.session, structs.replace(self._shown, re=request.id))

    @handles(List)
    def send_listing(self, request: List, origin: RequestContext) -> None:
        """Send the players, seeks and matches, once."""
        listing = Listing(
            re=request.id,
            players=tuple(self._registry.persons.first(LISTED)),
            seeks=self._lobby.shown(LISTED),
            matches=_summaries(self._rooms.shares.first(LISTED)),
        )
        self._context.send_to(origin.session, listing)

    def overview(self) -> Overview:
        """The players, seeks, matches and last results."""
        roles = self._registry.roles
        players = self._registry.persons.first(SHOWN, ranks=2)
        rooms = [room for room in self._rooms.running.values() if not room.bot_is_away]
        return Overview(
            players=tuple(sorted(players, key=attrgetter("guest"))),
            seeks=self._lobby.shown(SHOWN),
            matches=_summaries(self._rooms.shares.first(SHOWN, ranks=1)),
            outcomes=tuple(self._outcomes),
            totals=LobbyTotals(
                humans=roles["human"],
                bots=roles["bot"],
                spectators=roles["spectator"],
                seeks=len(self._lobby),
                matches=len(rooms),
                games=dict(Counter(str(each.match.game).partition("(")[0] for each in rooms)),
            ),
        )

    # Events.

    def session_disconnected(self, event: SessionDisconnected, now: float) -> None:
        """Remove a subscriber that has lost its connection."""
        if self._subscribers.pop(event.session.key, None) and not self._subscribers:
            self._timer.stop()

    def match_over(self, event: MatchOver, now: float) -> None:
        """Add the result of a match to the next news."""
        outcome = _outcome(event.room.match)
        self._outcomes.add(_match_owner(event.room), outcome)
        if self._subscribers:
            self._latest.add(_match_owner(event.room), outcome)

    def _send_news(self, now: float) -> None:
        before, self._shown = self._shown, self.overview()
        news = difference(before, self._shown, self._latest)
        self._latest.clear()
        if news != _NO_NEWS:
            self._context.send_to_spectators(self._subscribers.values(), news)
        self._timer.set(now + INTERVAL_S)


def _summaries(rooms: Iterable[MatchRoom]) -> tuple[Summary, ...]:
    return tuple(room.summary() for room in rooms)


def _match_owner(room: MatchRoom) -> tuple[str, str]:
    first = room.seats[0]
    return first.network, first.skeleton


def difference(before: Overview, after: Overview, outcomes: Iterable[Outcome]) -> News:
    """The changes from one overview to the next; `outcomes` are the results in between.

    A match in both overviews is unchanged, whatever moves were made.
    """
    players_before, players_after = set(before.players), set(after.players)
    seeks_before = {seek.seek: seek for seek in before.seeks}
    seeks_after = {seek.seek: seek for seek in after.seeks}
    matches_before = {match.match for match in before.matches}
    matches_after = {match.match for match in after.matches}
    return News(
        came=tuple(each for each in after.players if each not in players_before),
        left=tuple(each for each in before.players if each not in players_after),
        opened=tuple(each for key, each in seeks_after.items() if seeks_before.get(key) != each),
        closed=tuple(key for key in seeks_before if key not in seeks_after),
        began=tuple(each for each in after.matches if each.match not in matches_before),
        gone=tuple(each.match for each in before.matches if each.match not in matches_after),
        outcomes=tuple(outcomes),
        totals=None if before.totals == after.totals else after.totals,
    )


def _outcome(match: Match) -> Outcome:
    result = match.result
    assert result is not None
    game, players = str(match.game), match.players
    return converted(Outcome, result, match=match.id, game=game, players=players, plies=match.ply)


class LadderFeed:
    """Sends news of ladders to their watchers, and computes them only if there are watchers."""

    def __init__(self, context: FeatureContext, ladders: Ladders) -> None:
        self._context = context
        self._ladders = ladders
        #: The watchers of each ladder by the keys of their sessions, by game.
        self._watchers: dict[str, dict[str, Session]] = {}
        #: The last news that the watchers of each ladder were sent.
        self._sent: dict[str, LadderNews] = {}
        self._timer = context.timers.new(self._send_news)

    @handles(WatchLadder)
    def watch(self, request: WatchLadder, origin: RequestContext) -> None:
        """Send a session news of one ladder, and no longer of another."""
        session, game = origin.session, normalised_game(request.game)
        self._forget(session)
        if not self._watchers:
            self._timer.set(origin.now + INTERVAL_S)
        self._watchers.setdefault(game, {})[session.key] = session
        news = self._sent.setdefault(game, self.news(game))
        self._context.send_to(session, structs.replace(news, re=request.id))

    def news(self, game: str) -> LadderNews:
        """The current state of a ladder, by the name of its game with parameters."""
        ladder = self._ladders.get(game)
        if ladder is None:
            return LadderNews(game=game)
        return LadderNews(
            game=game,
            matches=ladder.state.matches,
            rated=ladder.state.rated_matches,
            playing=len(ladder.running),
            versions=len(ladder.state.entries),
            present=len(ladder.present),
        )

    # Events.

    def session_disconnected(self, event: SessionDisconnected, now: float) -> None:
        """Remove a watcher that has lost its connection."""
        self._forget(event.session)

    def _forget(self, session: Session) -> None:
        for game, watchers in list(self._watchers.items()):
            if watchers.pop(session.key, None) and not watchers:
                del self._watchers[game], self._sent[game]
        if not self._watchers:
            self._timer.stop()

    def _send_news(self, now: float) -> None:
        for game, watchers in self._watchers.items():
            news = self.news(game)
            if news != self._sent[game]:
                self._sent[game] = news
                self._context.send_to_spectators(watchers.values(), news)
        self._timer.set(now + INTERVAL_S)


@dataclass(frozen=True)
class _Watcher:
    """A session that watches a tournament.

    `missed` has what it is still to be sent: the ids of earlier matches, for their present
    fixtures, and later events.
    """

    session: Session
    missed: deque[str | Fixture | Tournament]


class TournamentFeed:
    """Sends tournaments to their watchers: the fixtures so far in slices, and events."""

    def __init__(self, context: FeatureContext, joined: JoinedSessions) -> None:
        self._context = context
        self._rooms = context.rooms
        self._joined = joined
        #: The watchers of each tournament by the keys of their sessions.
        self._watchers: dict[str, dict[str, _Watcher]] = {}

    def watch(
        self, session: Session, tournament: TournamentState, now: float, *, from_now: bool = False
    ) -> None:
        """Send a session later events and, unless `from_now`, first the fixtures so far."""
        watcher = _Watcher(session, deque() if from_now else deque(tournament.fixtures))
        self._watchers.setdefault(tournament.id, {})[session.key] = watcher

        def send_some(now: float) -> bool:
            if self._watchers[tournament.id].get(session.key) is not watcher:
                return False
            for _ in range(min(FIXTURES_A_SLICE, len(watcher.missed))):
                event = watcher.missed.popleft()
                if isinstance(event, str):
                    event = self._with_processes(tournament.fixtures[event])
                self._context.send_to(session, event)
            return bool(watcher.missed)

        self._context.jobs.start(send_some, now)

    def announce(self, tournament: TournamentState, event: Fixture | Tournament) -> None:
        """Send an event to the watchers of a tournament, after the fixtures that they missed."""
        if watchers := self._watchers.get(tournament.id):
            if isinstance(event, Fixture):
                event = self._with_processes(event)
            for watcher in watchers.values():
                if watcher.missed:
                    watcher.missed.append(event)
            up_to_date = (each.session for each in watchers.values() if not each.missed)
            self._context.send_to_all(up_to_date, event)

    def notify(self, tournament_id: str, notice: Notice) -> None:
        """Send a notice to the watchers of a tournament."""
        for watcher in self._watchers.get(tournament_id, {}).values():
            self._context.send_to(watcher.session, notice)

    def remove(self, session: Session) -> None:
        """Remove a watcher that has lost its connection."""
        for watchers in self._watchers.values():
            watchers.pop(session.key, None)

    def _with_processes(self, fixture: Fixture) -> Fixture:
        """A fixture, with the process numbers of its players if the match is running."""
        room = self._rooms.running.get(fixture.match)
        if room is None or fixture.winner is not None:
            return fixture
        first, second = (self._joined.process_of(session) for session in room.seats)
        numbers = (first, second)
        return structs.replace(fixture, processes=numbers) if any(numbers) else fixture


def to_message(tournament: TournamentState) -> Tournament:
    """The message about the state of a tournament for its watchers."""
    return Tournament(
        tournament=tournament.id,
        spec=tournament.outline,
        over=tournament.over,
        withdrawn=tuple(tournament.withdrawn),
        paused=tournament.paused,
        hosted=tournament.hosted,
    )
