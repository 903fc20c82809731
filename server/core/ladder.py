"""The ladder of one game on a hub: its state, and the sessions and matches on it now."""

from __future__ import annotations

from dataclasses import dataclass

from playout.server.core.sessions import Session
from playout.server.ladder.pairing import LadderOpenings, Meeting, meeting
from playout.server.ladder.state import LadderState


@dataclass(eq=False)
class LadderSession:
    """A session on a ladder; `void` counts its last matches, those without result in a row."""

    session: Session
    place: int
    matches: int
    void: int = 0

    @property
    def has_room(self) -> bool:
        """Whether it could play one more match now."""
        return len(self.session.matches) < self.matches


class Ladder:
    """The ladder of one game: its state, and the sessions and matches on it now."""

    def __init__(self, state: LadderState, openings: LadderOpenings, clock: str) -> None:
        self.state = state
        self.clock = clock
        self.openings = openings
        self.sessions: dict[str, LadderSession] = {}
        #: The places of the players of each match that is being played, the first mover first.
        self.running: dict[str, tuple[int, int]] = {}
        #: Whether ratings are being computed.
        self.rating = False

    @property
    def present(self) -> set[int]:
        """The places of the players that are connected, or play."""
        playing = {place for both in self.running.values() for place in both}
        return playing | {each.place for each in self.sessions.values()}

    def has_others(self, account: str) -> bool:
        """Return whether players of another account are connected, or play."""
        entries = self.state.entries
        return any(entries[place].player.account != account for place in self.present)

    @property
    def meetings(self) -> frozenset[Meeting]:
        """Who plays whom at the moment."""
        return frozenset(meeting(*both) for both in self.running.values())

    def free(self) -> dict[int, LadderSession]:
        """For each player that could play one more match now, a session of it."""
        return {each.place: each for each in self.sessions.values() if each.has_room}
