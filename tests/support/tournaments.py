"""Tournaments on a hub without sockets: specifications, entrants, organizers and bots."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from support.hub_harness import HubHarness, MemoryClient, administrator

from server.core.accounts import digest
from server.model.messages import (
    CreateTournament,
    Fixture,
    Move,
    Started,
    Tournament,
    Update,
)
from server.model.records import (
    Account,
    EntrantWithdrawn,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Record,
    StoredMatch,
    StoredTournament,
    TournamentCreated,
    TournamentEnded,
)
from server.model.tournament_spec import (
    Entrant,
    TournamentSpec,
)

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


def organized(harness: HubHarness, spec: TournamentSpec) -> tuple[MemoryClient, Tournament]:
    line = administrator(harness, "Zoe")
    return line, line.ask(CreateTournament(id=1, spec=spec), Tournament)


class Bots:
    """Play random legal moves whenever it is their turn, until nothing happens any more."""

    def __init__(self, harness: HubHarness, *lines: MemoryClient, seed: int = 1) -> None:
        self.harness = harness
        self.lines = list(lines)
        self.random = random.Random(seed)
        self._read: dict[MemoryClient, int] = {}

    def play(self, moves: int = 1_000_000) -> None:
        """Play at most `moves` moves."""
        while moves:
            asked = [reply for line in self.lines for reply in self._replies(line)]
            if not asked:
                return
            for line, move in asked:
                if moves and line.open:
                    line.say(move)
                    moves -= 1

    def _replies(self, line: MemoryClient) -> list[tuple[MemoryClient, Move]]:
        start = self._read.get(line, 0)
        self._read[line] = len(line.inbox)
        return [
            (line, Move(match=event.match, ply=_ply(event), action=self._choose(event)))
            for event in line.inbox[start:]
            if isinstance(event, Started | Update) and self._has_turn(line, event)
        ]

    def _has_turn(self, line: MemoryClient, event: Started | Update) -> bool:
        table = self.harness.hub.rooms.get(event.match)
        if table is None or event.to_move == 0 or table.match.ply != _ply(event):
            return False
        return table.seats[event.to_move - 1].connection == line.number

    def _choose(self, event: Started | Update) -> int:
        assert event.legal_actions
        return self.random.choice(event.legal_actions)


def _ply(event: Started | Update) -> int:
    return len(event.moves) if isinstance(event, Started) else event.ply + 1


def last(line: MemoryClient) -> dict[tuple[int, ...], Fixture]:
    """Return the last announcement of each match by pair, leg and attempt."""
    told = {}
    for event in line.heard(Fixture):
        told[event.round, event.board, event.number, event.leg, event.attempt] = event
    return told


def stored_tournament(records: Iterable[Record]) -> StoredTournament:
    """Return the only tournament, as a database would."""
    records = list(records)
    (organized,) = (each for each in records if isinstance(each, TournamentCreated))
    concluded = [each for each in records if isinstance(each, TournamentEnded)]
    return StoredTournament(
        created=organized,
        withdrawn=tuple(each.entrant for each in records if isinstance(each, EntrantWithdrawn)),
        ended=concluded[0] if concluded else None,
        matches=tuple(
            _kept(begun, records) for begun in records if isinstance(begun, MatchStarted)
        ),
    )


def _kept(begun: MatchStarted, records: list[Record]) -> StoredMatch:
    finished = [r for r in records if isinstance(r, MatchEnded) and r.match == begun.match]
    return StoredMatch(
        started=begun,
        moves=tuple(r for r in records if isinstance(r, MovePlayed) and r.match == begun.match),
        ended=finished[0] if finished else None,
    )
