"""What a connected player asks the server for."""

from __future__ import annotations

from dataclasses import dataclass

from playout.protocol.messages import ChallengeBot, EnterLadder, Join, LeaveLadder, Seek


@dataclass(frozen=True)
class PlayRequest:
    """A request for matches: a seek, a challenge to a bot, a ladder, or joining tournaments.

    `matches` is how many are played; None stands for all that a tournament or ladder assigns.
    `takebacks`: whether a program agrees when its opponent asks to take a move back.
    """

    request: Seek | ChallengeBot | Join | EnterLadder
    matches: int | None = None
    takebacks: bool = False

    @property
    def joins(self) -> bool:
        """Whether a tournament or a ladder assigns it matches without further requests."""
        return isinstance(self.request, Join | EnterLadder)

    @property
    def may_be_continued(self) -> bool:
        """Whether another process of the account plays on when this one exits."""
        return isinstance(self.request, Join)

    @property
    def leave(self) -> LeaveLadder | None:
        """The request by which no more matches begin on a ladder."""
        return (
            LeaveLadder(game=self.request.game) if isinstance(self.request, EnterLadder) else None
        )

    def admits(self, game: str) -> bool:
        """Whether a match of that game is one of those requested."""
        return isinstance(self.request, Join) or game == self.request.game
