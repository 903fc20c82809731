"""The ladder of one game on a hub: its state, its sessions, and its running matches."""

from __future__ import annotations

from dataclasses import dataclass

from playout.protocol.messages import Code, Seat
from playout.server.core.match import Match, Refused
from playout.server.core.sessions import Session
from playout.server.ladder.pairing import LadderOpenings, Meeting, meeting
from playout.server.ladder.state import LadderPlayer, LadderState
from playout.server.model.records import MatchEnded

#: Seconds in which an account that made no first move in a match does not enter the ladder again:
#: doubled for each further one in a row, up to the longest wait.
REENTER_S = 60.0
LONGEST_WAIT_S = 3600.0


@dataclass
class Absence:
    """The last matches in a row in which an account never made a first move."""

    matches: int = 0
    ends_at: float = 0.0

    def missed(self, now: float) -> None:
        """Count one more match, and begin the wait."""
        self.matches += 1
        self.ends_at = now + min(REENTER_S * 2 ** min(self.matches - 1, 10), LONGEST_WAIT_S)


@dataclass(eq=False)
class LadderSession:
    """A session on a ladder.

    `void` counts its last matches in a row without result, or without a first move of its own.
    """

    session: Session
    index: int
    matches: int
    void: int = 0

    @property
    def has_room(self) -> bool:
        """Whether it could play one more match now."""
        return len(self.session.matches) < self.matches


class Ladder:
    """The ladder of one game: its state, its sessions, and its running matches."""

    def __init__(self, state: LadderState, openings: LadderOpenings, clock: str) -> None:
        self.state = state
        self.clock = clock
        self.openings = openings
        self.sessions: dict[str, LadderSession] = {}
        #: The indices of the players of each running match, the first mover first.
        self.running: dict[str, tuple[int, int]] = {}
        #: By account, until it plays again.
        self._absences: dict[str, Absence] = {}
        #: Whether ratings are being computed.
        self.rating = False

    @property
    def is_unused(self) -> bool:
        """Whether it has no sessions, running matches and ended ones, so that nothing is lost."""
        return not (self.sessions or self.running or self.state.has_matches)

    # Matches without a first move.

    def excuse(self, match: Match) -> None:
        """Let a running match be void without a first move only of players that never missed one.

        The others lose it.
        """
        players = (self.state.entries[index].player for index in self.running[match.id])
        match.excused = frozenset(
            seat for seat, each in enumerate(players, 1) if self.state.is_excused(each.account)
        )

    def count_absence(
        self, ended: MatchEnded, players: tuple[LadderPlayer, LadderPlayer], now: float
    ) -> Seat | None:
        """Note the end of a match; return the seat that made no first move, if there is one."""
        for seat, player in enumerate(players, start=1):
            if seat != ended.missing and ended.winner:
                self._absences.pop(player.account, None)
        if ended.missing is not None:
            player = players[ended.missing - 1]
            self.state.count_unplayed(player, void=0 if ended.winner else 1)
            self._absences.setdefault(player.account, Absence()).missed(now)
        return ended.missing

    def require_no_absence(self, account: str, now: float) -> None:
        """Raise Refused while an account waits, after a match without its first move."""
        absence = self._absences.get(account)
        if absence and (wait_s := absence.ends_at - now) > 0:
            text = (
                f"you made no first move in your last match on the ladder of {self.state.game}: "
                f"enter it again in {wait_s:.0f} s"
            )
            raise Refused(Code.RATE_LIMITED, text, wait_s)

    # Players and matches now.

    @property
    def present(self) -> set[int]:
        """The indices of the players that are connected, or play."""
        playing = {index for both in self.running.values() for index in both}
        return playing | {each.index for each in self.sessions.values()}

    def has_others(self, account: str) -> bool:
        """Return whether players of another account are connected, or play."""
        entries = self.state.entries
        return any(entries[index].player.account != account for index in self.present)

    @property
    def meetings(self) -> frozenset[Meeting]:
        """The two players of each running match."""
        return frozenset(meeting(*both) for both in self.running.values())

    def free(self) -> dict[int, LadderSession]:
        """A session of each player that could play one more match now."""
        return {each.index: each for each in self.sessions.values() if each.has_room}
