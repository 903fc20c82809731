"""Two players of a match that keep to the protocol, and their messages."""

from __future__ import annotations

from support.raw_client import Message, RawClient

WON = (0, 3, 1, 4, 2)
"""
x x x
o o .
. . .
"""


class TwoClients:
    """Two players of a match of tic-tac-toe that the first one wins."""

    def __init__(
        self, first: RawClient, second: RawClient, clock: str = "none", *, guest: bool = True
    ) -> None:
        self.players = (first, second)
        self.ply = 0
        self.names = tuple(player.hello(guest=guest)["name"] for player in self.players)
        first.say("seek", game="tic_tac_toe", clock=clock, seat=1, opponent=self.names[1])
        second.say("seek", game="tic_tac_toe", clock=clock, seat=2, opponent=self.names[0])
        first_seen, second_seen = (player.hear_until("started") for player in self.players)
        assert first_seen["players"] == second_seen["players"] == list(self.names)
        self.match: str = first_seen["match"]

    @property
    def to_move(self) -> RawClient:
        return self.players[self.ply % 2]

    @property
    def waiting(self) -> RawClient:
        return self.players[1 - self.ply % 2]

    def move(self, player: RawClient, ply: int, action: int) -> Message:
        """Send a move, and return the answer."""
        return player.ask("move", match=self.match, ply=ply, action=action)

    def play(self, moves: int) -> None:
        """Play the next moves, and check that both players are sent them."""
        for _ in range(moves):
            action = WON[self.ply]
            updates = [
                self.move(self.to_move, self.ply, action),
                self.waiting.hear_until("update"),
            ]
            for update in updates:
                seen = (update["type"], update["match"], update["ply"], update["action"])
                assert seen == ("update", self.match, self.ply, action)
            self.ply += 1

    def finish(self) -> None:
        """Play the rest of the match, and check that both players are sent its end."""
        self.play(len(WON) - self.ply)
        for player in self.players:
            ended = player.hear_until("ended")
            assert (ended["match"], ended["winner"], ended["reason"]) == (self.match, 1, "rules")
            assert player.is_alive()
