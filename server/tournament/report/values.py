"""The values of a report: numbers without formatting. None is an unknown number.

Entrants are places in `Report.entrants`, from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from playout.ratings.evidence import Pentanomial
from playout.ratings.sequential_tests import State


@dataclass(frozen=True)
class Estimate:
    """An estimated number: the likeliest `value`, and its `error` at 95 % confidence.

    For an entrant that won everything, only the lower bound `low` is known; for one that lost
    everything, only the upper bound `high`.
    """

    value: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class WithoutLuck:
    """The share of the points of an entrant less its luck, in `pairs` whose luck is known.

    `raw_variance` is the variance of a pair's share with luck, `variance` that without; None for
    fewer than two pairs. `low` and `high` are the bounds at 95 % confidence.
    """

    pairs: int
    score: float
    low: float | None = None
    high: float | None = None
    raw_variance: float | None = None
    variance: float | None = None


@dataclass(frozen=True)
class ReportEntrant:
    """A participant of a tournament; it was `withdrawn` if it kept crashing.

    `program` is its player with options or its command, empty if it logs in from elsewhere.
    """

    name: str
    version: str = ""
    withdrawn: bool = False
    program: str = ""
    clock: str = ""


@dataclass(frozen=True)
class ReportSetting:
    """The terms of the tournament besides games and entrants, as texts; `machine` may be empty."""

    clock: str
    openings: str
    seed: int
    adjudication: str
    concurrency: int
    machine: str = ""


@dataclass(frozen=True)
class Meeting:
    """Two entrants that meet in a round, with their points so far; a bye has no `second`.

    `winner` advances in a knockout; None while that is not known, and in other formats.
    """

    first: int
    second: int | None
    points: tuple[float, float]
    winner: int | None = None


@dataclass(frozen=True)
class ReportRound:
    """A round of a knockout or a Swiss, with its meetings in the order of the boards."""

    name: str
    meetings: tuple[Meeting, ...]


@dataclass(frozen=True)
class BracketRound:
    """A round of a knockout, played or not: the entrants by seat; neighbours meet.

    In the first round None is an empty seat, whose neighbour advances; later it is an entrant that
    is not known yet.
    """

    name: str
    seats: tuple[int | None, ...]


@dataclass(frozen=True)
class MatchCounts:
    """Numbers of matches by their results."""

    won: int = 0
    tied: int = 0
    lost: int = 0

    @property
    def matches(self) -> int:
        """The number of all matches."""
        return self.won + self.tied + self.lost

    @property
    def points(self) -> float:
        """The points of these matches: 1 for a win, 0.5 for a tie."""
        return self.won + self.tied / 2


@dataclass(frozen=True)
class Standing:
    """A row of the table; `points` are those of matches and byes together."""

    place: int
    entrant: int
    counts: MatchCounts
    points: float
    tiebreaks: tuple[float, ...] = ()
    without_luck: WithoutLuck | None = None


@dataclass(frozen=True)
class CrosstableCell:
    """The points of one entrant against another; no matches if the two have not met."""

    points: float = 0.0
    matches: int = 0


@dataclass(frozen=True)
class SequentialTest:
    """A sequential test: its hypotheses, and the log-likelihood ratio after each pair, in order.

    When the ratio is at or below `lower`, H0 (elo0) is accepted; at or above `upper`, H1 (elo1).
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
    without_luck: bool = False

    @property
    def llr(self) -> float:
        """The log-likelihood ratio after the last pair."""
        return self.llrs[-1] if self.llrs else 0.0


@dataclass(frozen=True)
class BettingTest:
    """A test by betting: the logarithm of the capital after each pair that was bet on, in order.

    When it reaches `bound`, which is -log(`level`), the first entrant is accepted as stronger.
    `level` is the probability of that although it is not.
    """

    elo1: float
    level: float
    bound: float
    curve: tuple[float, ...] = ()
    state: State = "open"
    without_luck: bool = False

    @property
    def log_e(self) -> float:
        """The logarithm of the capital after the last pair."""
        return self.curve[-1] if self.curve else 0.0


@dataclass(frozen=True)
class HeadToHead:
    """The results of two entrants against each other, from the first one's side.

    `los` is the probability that the first is stronger; `draw_ratio` is the share of ties.
    `without_luck` is None in games without rolls.
    """

    first: int
    second: int
    pairs: Pentanomial
    elo: Estimate = Estimate()
    nelo: Estimate = Estimate()
    los: float | None = None
    draw_ratio: float | None = None
    test: SequentialTest | None = None
    betting: BettingTest | None = None
    without_luck: WithoutLuck | None = None


@dataclass(frozen=True)
class Report:
    """The results of a tournament so far.

    `done` pairs of `pairs` are complete; `pairs` is None while their number is not decided.
    `repeated` of the complete pairs had the same moves as another, and are no evidence; `voided`
    pairs were or will be played again.

    `crosstable[i][j]` has the points of entrant i against j, and `los[i][j]` is the probability
    that i is stronger than j, None if they have not met. `ratings` are relative to `anchor`, or to
    the average; `first_move` is the value of the first move in Elo. All of these are empty if no
    entrant is rated. `endings` has for each entrant the results of its matches, by the reason of
    their end. `rounds` are the known rounds of a knockout or a Swiss; `bracket` has all rounds of a
    knockout. `setting` may be unknown, None. `winner` is the winner of a knockout, None otherwise.
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
    rounds: tuple[ReportRound, ...] = ()
    bracket: tuple[BracketRound, ...] = ()
    setting: ReportSetting | None = None
    winner: int | None = None
