"""Tournaments on a hub without sockets: specifications, entrants, organizers and bots."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from msgspec import structs

from playout.protocol.messages import (
    CreateTournament,
    Fixture,
    Join,
    Move,
    Started,
    Tournament,
    Update,
)
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.server.core.accounts import digest
from playout.server.model.records import (
    Account,
    EntrantWithdrawn,
    LuckMeasured,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Record,
    StoredMatch,
    StoredTournament,
    TournamentChanged,
    TournamentCreated,
    TournamentEnded,
)
from support.hub_harness import HubHarness, MemoryClient, administrator

TOKEN = "1" * 32


NAMES = ("Ann", "Bob", "Cyd", "Dan")


def spec_of(entrants: int = 2, **fields: Any) -> TournamentSpec:
    given: dict[str, Any] = {
        "name": "a test",
        "games": ("tic_tac_toe",),
        "format": "round_robin",
        "entrants": tuple(Entrant(name, "1") for name in NAMES[:entrants]),
        "clock": "none",
    }
    return TournamentSpec(**given | fields)


def member(harness: HubHarness, name: str) -> MemoryClient:
    """Return a client that is logged in to an account."""
    account(harness, name)
    return harness.client(name, token=TOKEN, legal_actions=True)


def account(harness: HubHarness, name: str) -> None:
    known = Account(id=name, name=name, digest=digest(TOKEN), created_at=0.0)
    harness.do(harness.hub.account_changed(known, harness.now))


def new_tournament(harness: HubHarness, spec: TournamentSpec) -> tuple[MemoryClient, Tournament]:
    client = administrator(harness, "Zoe")
    return client, client.ask(CreateTournament(id=1, spec=spec), Tournament)


class Bots:
    """Play random legal moves whenever it is their turn, until no match continues."""

    def __init__(self, harness: HubHarness, *clients: MemoryClient, seed: int = 1) -> None:
        self.harness = harness
        self.clients = list(clients)
        self.random = random.Random(seed)
        self._read: dict[MemoryClient, int] = {}

    def join(self, **fields: Any) -> None:
        """Join tournaments with all clients; `fields` are those of `Join`."""
        for client in self.clients:
            client.say(Join(**fields))

    def play(self, moves: int = 1_000_000) -> None:
        """Play at most `moves` moves."""
        while moves:
            asked = [reply for client in self.clients for reply in self._replies(client)]
            if not asked:
                return
            for client, move in asked:
                if moves and client.open:
                    client.say(move)
                    moves -= 1

    def _replies(self, client: MemoryClient) -> list[tuple[MemoryClient, Move]]:
        start = self._read.get(client, 0)
        self._read[client] = len(client.inbox)
        return [
            (client, Move(match=event.match, ply=_ply(event), action=self._choose(event)))
            for event in client.inbox[start:]
            if isinstance(event, Started | Update) and self._has_turn(client, event)
        ]

    def _has_turn(self, client: MemoryClient, event: Started | Update) -> bool:
        table = self.harness.hub.rooms.get(event.match)
        if table is None or event.to_move == 0 or table.match.ply != _ply(event):
            return False
        return table.seats[event.to_move - 1].connection == client.number

    def _choose(self, event: Started | Update) -> int:
        assert event.legal_actions
        return self.random.choice(event.legal_actions)


def _ply(event: Started | Update) -> int:
    return len(event.moves) if isinstance(event, Started) else event.next_ply


def last(client: MemoryClient) -> dict[tuple[int, ...], Fixture]:
    """Return the last announcement of each match by pair, leg and attempt."""
    latest = {}
    for event in client.heard(Fixture):
        latest[event.round, event.board, event.number, event.leg, event.attempt] = event
    return latest


def stored_tournament(records: Iterable[Record]) -> StoredTournament:
    """Return the only tournament, as a database would."""
    records = list(records)
    (created,) = (each for each in records if isinstance(each, TournamentCreated))
    for each in records:
        if isinstance(each, TournamentChanged):
            created = structs.replace(created, spec=each.spec, paused=each.paused)
    ended = [each for each in records if isinstance(each, TournamentEnded)]
    return StoredTournament(
        created=created,
        withdrawn=tuple(each.entrant for each in records if isinstance(each, EntrantWithdrawn)),
        ended=ended[0] if ended else None,
        matches=tuple(
            _stored_match(started, records)
            for started in records
            if isinstance(started, MatchStarted)
        ),
    )


def _stored_match(started: MatchStarted, records: list[Record]) -> StoredMatch:
    of_match = [each for each in records if getattr(each, "match", None) == started.match]
    finished = [each for each in of_match if isinstance(each, MatchEnded)]
    luck = [each.luck for each in of_match if isinstance(each, LuckMeasured)]
    return StoredMatch(
        started=started,
        moves=tuple(each for each in of_match if isinstance(each, MovePlayed)),
        ended=structs.replace(finished[0], luck=luck[0] if luck else None) if finished else None,
    )
