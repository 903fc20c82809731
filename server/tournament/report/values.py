"""What a tournament has shown, in plain numbers. None is what is not known.

Entrants are places in `Report.entrants`, from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Estimate:
    """A number, most likely `value`, and within `error` of that by 95 %.

    Of who won everything the value is not known, but `low`, above which it is; so is `high` of who
    lost everything.
    """

    value: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ReportEntrant:
    """One who takes part. `suspended`: it kept crashing, and the rest went on without."""

    name: str
    version: str = ""
    withdrawn: bool = False


@dataclass(frozen=True)
class MatchCounts:
    """Matches, by what they brought."""

    won: int = 0
    tied: int = 0
    lost: int = 0

    @property
    def matches(self) -> int:
        """All together."""
        return self.won + self.tied + self.lost

    @property
    def points(self) -> float:
        """A tie is half a point."""
        return self.won + self.tied / 2


@dataclass(frozen=True)
class Standing:
    """A row of the table. `points` are those of the matches and of byes."""

    place: int
    entrant: int
    counts: MatchCounts
    points: float
    tiebreaks: tuple[float, ...] = ()


@dataclass(frozen=True)
class CrosstableCell:
    """What one has got against another; no matches where they have not met."""

    points: float = 0.0
    matches: int = 0


@dataclass(frozen=True)
class PairCounts:
    """How many pairs brought what: `ld` for a loss and a tie in either order, and so on."""

    ll: int = 0
    ld: int = 0
    wl: int = 0
    dd: int = 0
    wd: int = 0
    ww: int = 0

    @property
    def count(self) -> int:
        """All together."""
        return self.ll + self.ld + self.wl + self.dd + self.wd + self.ww


@dataclass(frozen=True)
class SequentialTest:
    """A sequential test: its hypotheses, and the log-likelihood ratio after each pair, in order.

    Where that is at or below `lower`, H0 is accepted, which is elo0; at or above `upper`, H1.
    """

    elo0: float
    elo1: float
    alpha: float
    beta: float
    model: str
    lower: float
    upper: float
    llrs: tuple[float, ...] = ()
    accepted: Literal["H0", "H1"] | None = None

    @property
    def llr(self) -> float:
        """After the last pair."""
        return self.llrs[-1] if self.llrs else 0.0


@dataclass(frozen=True)
class HeadToHead:
    """What two entrants have shown, from the first one's side. Shares are 0 to 1."""

    first: int
    second: int
    pairs: PairCounts
    elo: Estimate = Estimate()
    nelo: Estimate = Estimate()
    los: float | None = None
    draw_ratio: float | None = None
    test: SequentialTest | None = None


@dataclass(frozen=True)
class Report:
    """A tournament so far.

    `done` of so many `pairs` are complete, where their number is known. `repeated` of these had the
    same moves as another and are no evidence; `voided` ones were, or are, played again.

    `crosstable[i][j]` is what entrant i has got against j, and `los[i][j]` how likely i is stronger
    than j. `ratings` are relative to `anchor`, or to the
    average; `first_move` is what having it is worth. All that is empty where nobody is rated.
    `endings` says for each entrant how its matches ended, by reason.
    """

    name: str
    format: str
    games: tuple[str, ...]
    entrants: tuple[ReportEntrant, ...]
    done: int = 0
    pairs: int | None = None
    repeated: int = 0
    voided: int = 0
    standings: tuple[Standing, ...] = ()
    tiebreaks: tuple[str, ...] = ()
    crosstable: tuple[tuple[CrosstableCell, ...], ...] = ()
    ratings: tuple[Estimate, ...] = ()
    anchor: int | None = None
    first_move: Estimate = Estimate()
    los: tuple[tuple[float | None, ...], ...] = ()
    head_to_head: tuple[HeadToHead, ...] = ()
    endings: tuple[Mapping[str, MatchCounts], ...] = ()
    notes: tuple[str, ...] = ()
