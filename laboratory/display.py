"""The progress of a test: a line with the pairs, the Elo and the evidence of each candidate."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from playout.protocol.messages import Fixture
from playout.server.organizer.console import LineDisplay, LiveDisplay, TournamentDisplay, duration
from playout.server.organizer.progress import TournamentProgress
from playout.server.tournament.report import words
from playout.server.tournament.report.values import BettingTest, HeadToHead

#: The characters of the bar of evidence.
_WIDTH = 20
#: Seconds between two lines where nothing is redrawn: at first, and after a minute.
_INTERVAL_S, _LATER_INTERVAL_S, _FIRST_S = 2.0, 10.0, 60.0


def display(budget: int) -> TournamentDisplay:
    """Return the display of a test of at most `budget` pairs: redrawn on a terminal, else lines."""
    console = Console()
    return _Redrawn(console, budget) if console.is_terminal else _Lines(budget)


def lines(progress: TournamentProgress, now: float, budget: int) -> Iterator[str]:
    """Yield the line of the whole test if it has several candidates, and one for each candidate."""
    both = progress.results.head_to_heads()
    left = _left(progress, now, budget)
    if len(both) > 1:
        yield f"{len(progress.ledger.results)} pairs{left}"
    names = [each.name for each in progress.ledger.spec.entrants]
    for each in both:
        yield _line(each, names[each.first], "" if len(both) > 1 else left)


def _line(both: HeadToHead, name: str, left: str) -> str:
    parts = [name, f"{both.pairs.count} pairs", f"Elo {words.elo(both.elo)}"]
    if both.betting:
        parts.append(f"evidence {bar(both.betting)} {words.evidence(both.betting)}")
        parts += {"futile": ["given up"], "exhausted": ["repeats"]}.get(both.betting.state, [])
    return "  ".join(parts) + left


def bar(test: BettingTest) -> str:
    """Return the evidence as a share of its bound, both as logarithms."""
    full = round(_WIDTH * min(1.0, max(0.0, test.log_e / test.bound)))
    return f"[{'#' * full}{'.' * (_WIDTH - full)}]"


def _left(progress: TournamentProgress, now: float, budget: int) -> str:
    """Return the maximum of the remaining time, empty while it is not known."""
    pace = progress.matches_per_hour(now)
    if not pace:
        return ""
    pairs = max(0, budget - len(progress.ledger.results))
    return f"  at most {duration(2 * 3600 * pairs / pace)} left"


class _Lines(LineDisplay):
    """Prints the lines every two seconds, after a minute every ten."""

    def __init__(self, budget: int) -> None:
        super().__init__()
        self._budget = budget
        self._began_at: float | None = None
        self._due_at = 0.0
        self._ended = -1

    def match_ended(self, progress: TournamentProgress, fixture: Fixture) -> None:
        """Do nothing: the lines show the result."""

    def refresh(self, progress: TournamentProgress, now: float, place: str = "") -> None:
        """Print the lines if they are due and have changed."""
        if not (progress.ledger.ended or progress.ledger.running):
            self.wait("Waiting for the players ...", now)
        self._began_at = self._began_at or now
        if now < self._due_at or progress.ledger.ended == self._ended:
            return
        is_new = now < self._began_at + _FIRST_S
        self._due_at = now + (_INTERVAL_S if is_new else _LATER_INTERVAL_S)
        self._ended = progress.ledger.ended
        if progress.ledger.ended:
            for line in lines(progress, now, self._budget):
                self.show(line)


class _Redrawn(LiveDisplay):
    """Draws the lines on a terminal."""

    def __init__(self, console: Console, budget: int) -> None:
        super().__init__(console)
        self._budget = budget

    def refresh(self, progress: TournamentProgress, now: float, place: str = "") -> None:
        """Draw the lines if they are due."""
        self._draw(lambda: escape("\n".join(lines(progress, now, self._budget))), now)
