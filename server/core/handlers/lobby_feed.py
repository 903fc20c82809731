"""Those who look at all that goes on here: an overview once, then what is new, once a second."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import structs

from server.core.match import Match
from server.core.match_room import MatchRoom
from server.core.sessions import Session
from server.model.messages import LobbyTotals, News, Outcome, Overview, RequestId, Summary

if TYPE_CHECKING:
    from server.core.hub import Hub

INTERVAL_S = 1.0
#: Entries of each list at most; all are counted.
SHOWN = 50
_NOBODY = Overview(players=(), seeks=(), matches=(), outcomes=(), totals=LobbyTotals())


class LobbyFeed:
    """The onlookers of a hub. All have been told the same, so that what is new is for all the same.

    Nothing is computed while there are none.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._onlookers: dict[str, Session] = {}
        self._shown = _NOBODY
        self._outcomes: deque[Outcome] = deque(maxlen=SHOWN)
        self._latest: deque[Outcome] = deque(maxlen=SHOWN)

    def enter(self, session: Session, now: float, re: RequestId | None) -> None:
        """Show a session what there is, and from now on what is new."""
        if not self._onlookers:
            self._shown = self.overview()
            self._latest.clear()
            self._hub.look_around(now + INTERVAL_S)
        self._onlookers[session.key] = session
        self._hub.tell(session, structs.replace(self._shown, re=re))

    def leave(self, session: Session) -> None:
        """A session looks no longer."""
        if self._onlookers.pop(session.key, None) and not self._onlookers:
            self._hub.look_around(None)

    def ended(self, table: MatchRoom) -> None:
        """A match has ended."""
        outcome = _outcome(table.match)
        self._outcomes.append(outcome)
        self._latest.append(outcome)

    def look(self, now: float) -> None:
        """Tell all onlookers what is new."""
        before, self._shown = self._shown, self.overview()
        news = difference(before, self._shown, self._latest)
        self._latest.clear()
        if news != _NOTHING:
            self._hub.tell_onlookers(self._onlookers.values(), news)
        self._hub.look_around(now + INTERVAL_S)

    def overview(self) -> Overview:
        """Who and what is here."""
        hub = self._hub
        # An account may have many sessions.
        persons = {session.person: None for session in hub.people.present()}
        players = [person for person in persons if person.role != "spectator"]
        players.sort(key=attrgetter("guest"))
        roles = Counter(person.role for person in persons)
        return Overview(
            players=tuple(players[:SHOWN]),
            seeks=tuple(offer.message() for offer in islice(hub.lobby, SHOWN)),
            matches=tuple(summary(table.match) for table in islice(hub.tables.values(), SHOWN)),
            outcomes=tuple(self._outcomes),
            totals=LobbyTotals(
                humans=roles["human"],
                bots=roles["bot"],
                spectators=roles["spectator"],
                seeks=len(hub.lobby),
                matches=len(hub.tables),
            ),
        )


def difference(before: Overview, after: Overview, outcomes: Iterable[Outcome]) -> News:
    """What leads from one overview to another; `outcomes` are those since the first.

    A match that is listed in both counts as the same, however many moves were made.
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


_NOTHING = News()


def summary(match: Match) -> Summary:
    """A match that is being played, in a line."""
    return Summary(
        match=match.id,
        game=str(match.game),
        players=match.players,
        clock=match.clock_name,
        ply=match.ply,
    )


def _outcome(match: Match) -> Outcome:
    result = match.result
    assert result is not None
    return Outcome(
        match=match.id,
        game=str(match.game),
        players=match.players,
        plies=match.ply,
        winner=result.winner,
        reason=result.reason,
        text=result.text,
    )
