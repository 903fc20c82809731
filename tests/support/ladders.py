"""Bots of known strength on a ladder, on a hub without sockets that stores in a real database."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playout.protocol.messages import EnterLadder, Resign, Started
from playout.server.core.accounts import digest
from playout.server.core.handlers.ladders import Ladder
from playout.server.core.hub import Hub
from playout.server.model.records import Account, MatchEnded
from playout.server.storage import Database
from playout.server.storage.stored_ladders import stored_ladders
from support.hub_harness import EPOCH, HubHarness, MemoryClient
from support.tournaments import TOKEN

GAME = "connect_four"


def account_of(name: str) -> Account:
    """Return an account whose id is its name, with the token of all tests."""
    return Account(id=name, name=name, digest=digest(TOKEN), created_at=0.0)


class LadderPlay:
    """A hub with a ladder, and bots on it; a match is decided by chance, and its loser resigns.

    `strengths`: the rating of each bot by name, or by name and version. The hub can be killed and
    started again with the contents of its database.
    """

    def __init__(
        self, folder: Path, strengths: Mapping[str, float], game: str = GAME, **policy: Any
    ) -> None:
        self.game = game
        self.strengths = dict(strengths)
        self.policy = policy
        self.bots: dict[str, MemoryClient] = {}
        self.versions: dict[str, str] = {}
        self.random = random.Random(1)
        self.database = Database(f"sqlite:///{folder / 'playout.db'}")
        self.database.migrate()
        self.harness = HubHarness(**policy)
        self._saved = 0
        self._start(0.0)

    @property
    def ladder(self) -> Ladder:
        ladder = self.harness.hub.ladders.get(self.game)
        assert ladder is not None
        return ladder

    def enter(self, name: str, version: str = "1", **fields: Any) -> MemoryClient:
        """Connect a bot, or let it enter with another version."""
        if name not in self.bots:
            account = account_of(name)
            self.database.save([account])
            self.harness.do(self.harness.hub.account_changed(account, self.harness.now))
            self.bots[name] = self.harness.client(name, token=TOKEN)
        self.versions[name] = version
        self.bots[name].say(EnterLadder(game=self.game, version=version, **fields))
        return self.bots[name]

    def play(self, matches: int) -> None:
        """Play until that number of further matches has ended."""
        for _ in range(matches):
            running = sorted(self.harness.hub.rooms)
            assert running, "the ladder stands still"
            self._decide(self.random.choice(running))

    def _decide(self, match: str) -> None:
        room = self.harness.hub.rooms[match]
        assert room.record.ladder_pair is not None
        first, second = (
            self.strengths.get(f"{name} {version}", self.strengths.get(name, 0.0))
            for name, version in zip(room.match.players, room.record.versions, strict=True)
        )
        wins = self.random.random() < 1 / (1 + 10 ** ((second - first) / 400))
        loser = room.match.players[wins]
        self.harness.wait(0.01)
        self.bots[loser].say(Resign(match=match))

    def kill(self, lost: int = 0) -> None:
        """Start another hub with the stored records, without the last `lost` ones."""
        records = self.harness.stored[self._saved : len(self.harness.stored) - lost]
        self.database.save(records)
        self._start(self.harness.now + 3.0)

    def _start(self, after_s: float) -> None:
        """Start a hub with the stored records, to which the bots connect again."""
        at = EPOCH + after_s
        harness = HubHarness(stored=True, **self.policy)
        harness.hub = Hub(
            harness.policy,
            random.Random(int(at)),
            software="a test",
            accounts=self.database.accounts()[0],
            epoch=EPOCH,
            started_at=at,
        )
        harness.now = after_s
        tokens = {name: bot.token for name, bot in self.bots.items()}
        database = self.database
        harness.do(harness.hub.restore_ladders(stored_ladders(database, 0.0), harness.now))
        harness.do(harness.hub.restore_matches(database.unfinished(), harness.now))
        self.harness, self._saved = harness, 0
        for name, token in tokens.items():
            self.bots[name] = harness.client(name, **_again(harness, token))
            self.enter(name, self.versions[name])

    def ended(self) -> list[MatchEnded]:
        """Return the ends of all matches, of the database and of the hub that runs."""
        self.database.save(self.harness.stored[self._saved :])
        self._saved = len(self.harness.stored)
        return [each.ended for each in self.database.matches() if each.ended]

    def started(self, name: str) -> list[Started]:
        """Return the matches that were announced to a bot since it connected."""
        return self.bots[name].heard(Started)


def _again(harness: HubHarness, session: str) -> dict[str, str]:
    """The fields of a hello that takes up a session that has matches, or begins another."""
    known = digest(session) in harness.hub.registry.sessions
    return {"session": session} if known else {"token": TOKEN}
