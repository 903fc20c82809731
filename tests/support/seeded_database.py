"""A database with matches of people and of a tournament, which were played in memory."""

from __future__ import annotations

from playout.protocol.messages import Analysis, Join, Move, Resign
from playout.server.core.accounts import digest
from playout.server.model.records import Account
from playout.server.storage import Database
from support.hub_harness import WON, HubHarness, MemoryClient, match_between, play
from support.kept_ratings import keep_ratings
from support.tournaments import TOKEN, Bots, account, member, new_tournament, spec_of

GAME, NIM = "tic_tac_toe", "nim(chips=7)"
TIED = (0, 1, 2, 4, 3, 5, 7, 6, 8)
"""
x o x
x o o
o x x
"""
THOUGHT = Analysis(
    win_rate=0.75,
    simulations=100,
    seconds=0.25,
    pv=(0, 1),
    actions=tuple((action, 20 - action, 0.123456) for action in range(9)),
)
MEMBERS = ("Ann", "Bob", "Cyd", "Dan")
TOURNAMENT_MATCHES = 6


class SeededDatabase:
    """A tournament, and five matches after it, which ended a second after each other."""

    def __init__(self, url: str) -> None:
        self._harness = HubHarness()
        ann, bob, cyd = (member(self._harness, name) for name in MEMBERS[:3])
        account(self._harness, "Dan")
        guest = self._harness.client("guest-1")
        self.cup = new_tournament(self._harness, spec_of(3, name="a cup"))[1].tournament
        for client in (ann, bob, cyd):
            client.say(Join(tournament=self.cup))
        Bots(self._harness, ann, bob, cyd).play()
        self.won = self._match(ann, bob, rated=True)
        play(self.won, (ann, bob), WON)
        self.tied = self._match(ann, bob, rated=True)
        ann.say(Move(match=self.tied, ply=0, action=TIED[0], info=THOUGHT))
        play(self.tied, (ann, bob), TIED[1:], ply=1)
        self.resigned = self._match(guest, ann, clock="300+3")
        ann.say(Resign(match=self.resigned))
        self.nim = self._match(guest, bob, game=NIM)
        play(self.nim, (guest, bob), (1, 0, 2))
        guest.say(Resign(match=self.nim))
        self.unfinished = self._match(ann, cyd, rated=True)
        play(self.unfinished, (ann, cyd), WON[:2])
        self._store(url)

    def _match(self, first: MemoryClient, second: MemoryClient, **terms: object) -> str:
        self._harness.wait(1)
        return match_between(first, second, **terms)  # type: ignore[arg-type]

    def _store(self, url: str) -> None:
        known = [
            Account(id=name, name=name, digest=digest(TOKEN), created_at=0.0) for name in MEMBERS
        ]
        database = Database(url)
        database.migrate()
        database.save([*known, *self._harness.stored])
        keep_ratings(database)
        database.close()
