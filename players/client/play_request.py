"""What a connected player wants to play."""

from __future__ import annotations

from dataclasses import dataclass

from server.model.messages import ChallengeBot, Join, Seek


@dataclass(frozen=True)
class PlayRequest:
    """So many `matches` of what it seeks or against whom it summons, or all that it is given in
    the tournaments it enters.
    """

    request: Seek | ChallengeBot | Join
    matches: int | None = None

    @property
    def enters(self) -> bool:
        """Does it get its matches without asking for each?"""
        return isinstance(self.request, Join)

    def admits(self, game: str) -> bool:
        """Would it play that?"""
        return isinstance(self.request, Join) or game == self.request.game
