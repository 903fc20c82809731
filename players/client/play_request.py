"""What a connected player asks the server for."""

from __future__ import annotations

from dataclasses import dataclass

from server.model.messages import ChallengeBot, Join, Seek


@dataclass(frozen=True)
class PlayRequest:
    """A request for matches: a seek, a challenge to a bot, or joining tournaments.

    `matches` is how many are played; None, for tournaments, stands for all that are assigned.
    """

    request: Seek | ChallengeBot | Join
    matches: int | None = None

    @property
    def joins(self) -> bool:
        """Whether it joins tournaments, which assign it matches without further requests."""
        return isinstance(self.request, Join)

    def admits(self, game: str) -> bool:
        """Whether a match of that game is one of those requested."""
        return isinstance(self.request, Join) or game == self.request.game
