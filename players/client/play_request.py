"""The request of a connected player for matches."""

from __future__ import annotations

from dataclasses import dataclass

from playout.protocol.messages import ChallengeBot, EnterLadder, Join, LeaveLadder, Seek


@dataclass(frozen=True)
class PlayRequest:
    """A request for matches: a seek, a challenge to a bot, a ladder, or joining tournaments.

    `matches` is their number; None for all that a tournament or ladder assigns. `takebacks`:
    whether a program agrees when its opponent asks to take a move back.
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
        """Whether another process of the account continues its match when this one exits."""
        return isinstance(self.request, Join)

    @property
    def leave(self) -> LeaveLadder | None:
        """The request after which no more matches begin on a ladder; None elsewhere."""
        return (
            LeaveLadder(game=self.request.game) if isinstance(self.request, EnterLadder) else None
        )

    def admits(self, game: str) -> bool:
        """Return whether a match of that game is one of those requested."""
        return isinstance(self.request, Join) or game == self.request.game
