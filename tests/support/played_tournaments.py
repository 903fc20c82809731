"""Writes finished tournaments into a database: played in memory, by players that need no time."""

from __future__ import annotations

from playout.protocol.messages import Analysis, Join, Move
from playout.protocol.tournament_spec import TournamentSpec
from playout.server.core.accounts import digest
from playout.server.model.records import Account
from playout.server.storage import Database
from support.hub_harness import HubHarness, MemoryClient
from support.kept_ratings import keep_ratings
from support.tournaments import TOKEN, Bots, member, new_tournament

#: Names of players that win at once where they can, and send an analysis with each move.
STRONG = ("uct", "rave")


class UnequalBots(Bots):
    """Bots that move at random, except those named in `STRONG`."""

    def _replies(self, client: MemoryClient) -> list[tuple[MemoryClient, Move]]:
        replies = super()._replies(client)
        assert client.welcome
        if client.welcome.name not in STRONG:
            return replies
        return [(client, self._improved(move)) for client, move in replies]

    def _improved(self, move: Move) -> Move:
        match = self.harness.hub.rooms[move.match].match
        actions = match.legal_actions()
        winning = [
            each
            for each in actions
            if match.game.winner(match.game.next_state(match.state, each)) == match.to_move
        ]
        action = winning[0] if winning else move.action
        others = tuple(each for each in actions if each != action)[:8]
        info = Analysis(
            win_rate=self.random.uniform(0.3, 0.7),
            simulations=1000,
            seconds=0.01,
            pv=(action,),
            actions=((action, 900, 0.6), *((each, 10, 0.4) for each in others)),
        )
        return Move(match=move.match, ply=move.ply, action=action, info=info)


def store_tournaments(url: str, *specs: TournamentSpec) -> None:
    """Play the tournaments one after the other, and store them with their entrants' accounts."""
    harness = HubHarness()
    names = dict.fromkeys(entrant.name for spec in specs for entrant in spec.entrants)
    clients = {name: member(harness, name) for name in names}
    for spec in specs:
        tournament = new_tournament(harness, spec)[1].tournament
        playing = [clients[entrant.name] for entrant in spec.entrants]
        for client in playing:
            client.say(Join(tournament=tournament))
        UnequalBots(harness, *playing).play()
        harness.wait(1)
    known = [Account(id=name, name=name, digest=digest(TOKEN), created_at=0.0) for name in names]
    database = Database(url)
    database.migrate()
    database.save([*known, *harness.stored])
    keep_ratings(database)
    database.close()
