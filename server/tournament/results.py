"""Results of a tournament, from its ledger to a report.

Only complete pairs count, each with its last attempt, in schedule order.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from playout.commands.text import counted, percent
from playout.protocol.messages import Fixture, Reason
from playout.protocol.tournament_spec import (
    Adjudication,
    Entrant,
    Openings,
    Sprt,
    TournamentSpec,
)
from playout.protocol.tournament_spec import public as public_part
from playout.ratings import bradley_terry, evidence, sequential_tests
from playout.ratings.luck import interval, shares_without_luck
from playout.server.tournament.formats import Bye
from playout.server.tournament.ledger import LEGS, Ledger, Played
from playout.server.tournament.report.values import (
    BettingTest,
    BracketRound,
    CrosstableCell,
    Estimate,
    HeadToHead,
    MatchCounts,
    Meeting,
    Report,
    ReportEntrant,
    ReportRound,
    ReportSetting,
    SequentialTest,
    Standing,
    WithoutLuck,
)


@dataclass(frozen=True)
class StandingsRow:
    """The row of an entrant in the table. `played`, `won`, `tied` and `lost` count matches.

    Points are 1 for a match won, 0.5 for one tied, and 1 for each match of a bye, which is not
    counted as played. `buchholz` is the sum of the opponents' points, once for each match;
    `sonneborn_berger` is the sum of the points of opponents that lost, and half of those that tied
    (FIDE Handbook C.07 of 2023, articles 8 and 9). The opponent in a match of a bye has as many
    points as the entrant itself (article 16).
    """

    entrant: int
    played: int
    won: int
    tied: int
    lost: int
    points: float
    buchholz: float
    sonneborn_berger: float


#: The tie-breaks that a table can show, by their names.
TIEBREAKS: Mapping[str, Callable[[StandingsRow], float]] = {
    "Buchholz": attrgetter("buchholz"),
    "Sonneborn-Berger": attrgetter("sonneborn_berger"),
}


def table(entrants: int, results: Iterable[Played], byes: Iterable[Bye] = ()) -> list[StandingsRow]:
    """Return a row for each of the `entrants`, best first.

    They are sorted by points, then Buchholz, then Sonneborn-Berger, then as they are listed.
    """
    scores: list[list[tuple[int, float]]] = [[] for _ in range(entrants)]
    for pair, score in results:
        first, second = pair.entrants
        for one in score:
            scores[first].append((second, one))
            scores[second].append((first, 1 - one))
    free = [0] * entrants
    for bye in byes:
        free[bye.entrant] += bye.matches
    points = [free[one] + sum(score for _, score in scores[one]) for one in range(entrants)]
    rows = [_row(one, scores[one], free[one], points) for one in range(entrants)]
    return sorted(rows, key=lambda row: (-row.points, -row.buchholz, -row.sonneborn_berger))


def _row(
    entrant: int, scores: list[tuple[int, float]], free: int, points: list[float]
) -> StandingsRow:
    won, tied, lost = (sum(score == outcome for _, score in scores) for outcome in (1, 0.5, 0))
    against_nobody = free * points[entrant]
    return StandingsRow(
        entrant=entrant,
        played=len(scores),
        won=won,
        tied=tied,
        lost=lost,
        points=points[entrant],
        buchholz=against_nobody + sum(points[other] for other, _ in scores),
        sonneborn_berger=against_nobody + sum(points[other] * score for other, score in scores),
    )


def crosstable(entrants: int, results: Iterable[Played]) -> list[list[CrosstableCell]]:
    """Return the points of each entrant against each other: `crosstable(...)[one][other]`."""
    cells = [[CrosstableCell()] * entrants for _ in range(entrants)]
    for pair, score in results:
        first, second = pair.entrants
        for one, other, points in ((first, second, score.total), (second, first, 2 - score.total)):
            before = cells[one][other]
            cells[one][other] = CrosstableCell(before.points + points, before.matches + 2)
    return cells


#: Cores with less than this share of the median speed are reported as slow.
SLOW = 0.7
#: The share of matches that end by time from which a report has a note on them.
_LATE = 0.05


def setting(spec: TournamentSpec) -> ReportSetting:
    """Return the terms of a tournament in words, for the report."""
    return ReportSetting(
        clock=spec.clock,
        openings=_openings(spec.openings),
        seed=spec.seed,
        adjudication=_ended_early(spec),
        concurrency=spec.concurrency,
        machine=spec.machine,
    )


def _openings(openings: Openings) -> str:
    if openings.lines:
        counts = [len(lines) for lines in openings.lines.values()]
        order = "shuffled" if openings.order == "shuffled" else "in order"
        others = f"; {openings.plies} random plies in other games" if openings.plies else ""
        return f"{counted(sum(counts), 'given opening')}, {order}{others}"
    if not openings.plies:
        return "none: the first position"
    near = f", at most {openings.near} cells from the centre" if openings.near else ""
    return f"{openings.plies} random plies{near}"


def _ended_early(spec: TournamentSpec) -> str:
    agreed = ["a tie when both players agree"] if spec.draw_offers else []
    return "; ".join([*agreed, *_adjudication(spec.adjudication)]) or "none"


def _adjudication(rules: Adjudication) -> list[str]:
    found = []
    if rules.max_plies:
        found.append(f"a tie after {rules.max_plies} plies")
    if rules.proofs:
        found.append("proven results")
    if rules.resign_moves:
        below = percent(rules.resign_below)
        found.append(
            f"a loss when both agree for {rules.resign_moves} moves each (win rate up to {below})"
        )
    if rules.draw_moves:
        within = percent(rules.draw_within)
        found.append(
            f"a tie when both agree for {rules.draw_moves} moves each (win rate within {within} of "
            f"50%, from ply {rules.draw_after})"
        )
    return found


class Results:
    """The numbers that follow from the complete pairs of a tournament so far."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.spec = ledger.spec
        self.format = ledger.format
        #: The complete pairs, in schedule order.
        self.played = ledger.played
        #: The played pairs that repeat no other pair: the evidence.
        self.counted_pairs = ledger.counted_pairs

    def standings(self) -> tuple[Standing, ...]:
        """Return the rows of the table, best first."""
        entrants = range(len(self.spec.entrants))
        byes = self.format.byes(self._ledger.results, self._ledger.withdrawn)
        rows = {row.entrant: row for row in table(len(entrants), self.played, byes)}
        order = self.format.ranking(self._ledger.results, self._ledger.withdrawn) or list(rows)
        if self.format.ranks_by_rating and (rated := self._rated()):
            order.sort(key=lambda one: -rated.elo[one])
        return tuple(self._standing(place, rows[one]) for place, one in enumerate(order, 1))

    def _standing(self, place: int, row: StandingsRow) -> Standing:
        tiebreaks = tuple(TIEBREAKS[name](row) for name in self.format.tiebreaks)
        counts = MatchCounts(row.won, row.tied, row.lost)
        without = self._without_luck(row.entrant, self.counted_pairs)
        return Standing(place, row.entrant, counts, row.points, tiebreaks, without)

    def test(self) -> SequentialTest | None:
        """Return the state of the sequential test, None if the tournament has none."""
        test = self.spec.sprt
        if test is None:
            return None
        lower, upper = sequential_tests.bounds(test)
        return SequentialTest(
            **{name: getattr(test, name) for name in Sprt.__dataclass_fields__},
            lower=lower,
            upper=upper,
            llrs=tuple(self._ledger.llrs),
            accepted=self._ledger.accepted,
        )

    def _betting(self, candidate: int) -> BettingTest | None:
        """Return the evidence of a candidate of a race, None if the tournament is no race."""
        race, terms = self._ledger.race, self.spec.betting
        if race is None or terms is None:
            return None
        process = race.processes[candidate]
        return BettingTest(
            terms.elo1,
            math.exp(-process.bound),
            process.bound,
            tuple(process.curve),
            process.state,
            terms.without_luck,
        )

    def report(self, notes: Sequence[str] = (), *, public: bool = False) -> Report:
        """Return the whole report; `notes` come before those about the matches.

        A `public` one has no commands of the organizer's machine, and no paths.
        """
        spec = self.spec
        rated = self._rated()
        bracket = self.format.bracket(self._ledger.results, self._ledger.withdrawn)
        return Report(
            name=spec.name,
            format=spec.format,
            games=spec.games,
            entrants=tuple(
                ReportEntrant(
                    each.name,
                    each.version,
                    withdrawn=place in self._ledger.withdrawn,
                    program=_public_program(each) if public else each.player or each.command or "",
                    clock=spec.clock_of(place),
                )
                for place, each in enumerate(spec.entrants)
            ),
            done=len(self.played),
            pairs=self._ledger.pair_count,
            repeated=len(self.played) - len(self.counted_pairs),
            voided=self._ledger.voided,
            standings=self.standings(),
            tiebreaks=self.format.tiebreaks,
            crosstable=self._crosstable(),
            ratings=_estimates(rated.elo, rated.error) if rated else (),
            anchor=self._anchor,
            first_move=Estimate(rated.first_move, rated.first_move_error) if rated else Estimate(),
            los=self._superiority(rated) if rated else (),
            head_to_head=self.head_to_heads(),
            endings=self._endings(),
            notes=(
                *notes,
                *self._unequal_clocks(),
                *self._slow_cores(),
                *self._late_starts(),
                *self._crashes(),
                *self._lost_on_time(),
                *self._repetitions(),
                *self._winner(),
            ),
            rounds=self._rounds(bracket) if self.format.shows_rounds else (),
            bracket=tuple(
                BracketRound(self.format.round_name(number), tuple(seats))
                for number, seats in enumerate(bracket[:-1], start=1)
            ),
            setting=setting(spec),
            winner=self.format.winner(self._ledger.results, self._ledger.withdrawn),
        )

    def head_to_heads(self) -> tuple[HeadToHead, ...]:
        """Return the comparisons of two entrants that the format defines."""
        return tuple(self._head_to_head(*two) for two in self.format.head_to_heads())

    def elo(self) -> tuple[Estimate, ...]:
        """Return the ratings of more than two entrants; empty without results."""
        rated = self._rated()
        return _estimates(rated.elo, rated.error) if rated else ()

    def _rounds(self, bracket: Sequence[Sequence[int | None]]) -> tuple[ReportRound, ...]:
        """Return the meetings of each round, with byes last; in a bracket with the winners."""
        meetings: dict[int, dict[int, Meeting]] = defaultdict(dict)
        for pair in self._ledger.pairs:
            round_, board, _ = pair.key
            before = meetings[round_].get(board) or Meeting(*pair.entrants, (0.0, 0.0))
            score = self._ledger.results.get(pair.key)
            gained = (score.total, 2 - score.total) if score else (0.0, 0.0)
            if pair.entrants[0] != before.first:
                gained = gained[::-1]
            first, second = before.points
            points = (first + gained[0], second + gained[1])
            meetings[round_][board] = replace(before, points=points)
        found = {number: list(boards.values()) for number, boards in meetings.items()}
        for bye in self.format.byes(self._ledger.results, self._ledger.withdrawn):
            found.setdefault(bye.round, []).append(Meeting(bye.entrant, None, (bye.matches, 0.0)))
        seats = dict(enumerate(bracket))
        return tuple(
            ReportRound(
                self.format.round_name(number),
                tuple(_with_winner(each, seats.get(number, ())) for each in found[number]),
            )
            for number in sorted(found)
        )

    def _unequal_clocks(self) -> list[str]:
        if not any(each.clock for each in self.spec.entrants):
            return []
        return ["the entrants have clocks of their own: the numbers hold for these clocks"]

    def _slow_cores(self) -> list[str]:
        """Return a note on matches that were played on slow cores."""
        speeds = [each.core_speed for each in self._fixtures if each.core_speed is not None]
        usual = statistics.median(speeds) if speeds else 0.0
        slow = sum(each < SLOW * usual for each in speeds)
        if not slow:
            return []
        return [
            f"{slow} of {len(speeds)} matches were played on cores with less than {SLOW:.0%} of "
            "the median speed: players that think by the clock thought less there"
        ]

    def _late_starts(self) -> list[str]:
        """Return a note on the matches without a first move in time."""
        late = sum(each.reason is Reason.VOID for each in self._ledger.fixtures.values())
        if not late:
            return []
        return [
            f"in {counted(late, 'match')}, a player's time was up before its first "
            "move: these pairs were played once again"
        ]

    def _crashes(self) -> list[str]:
        """Return a note on each entrant that crashed, with its last error."""
        names = [each.name for each in self.spec.entrants]
        found: dict[str, list[Fixture]] = defaultdict(list)
        for each in self._fixtures:
            if each.reason is Reason.CRASH and each.winner:
                found[each.players[2 - each.winner]].append(each)
        return [
            f"{name} crashed in {counted(len(found[name]), 'match')}, last with: "
            f"{found[name][-1].error or 'no error'}"
            for name in names
            if name in found
        ]

    def _lost_on_time(self) -> list[str]:
        """Return a note on matches that were lost on time, if they are many."""
        late = sum(each.reason is Reason.TIME for each in self._fixtures)
        played = len(self._fixtures)
        if late <= 1 or late < _LATE * played:
            return []
        return [
            f"{late} of {played} matches ended by time: the clock is too short for a player, or "
            "other programs kept the machine busy"
        ]

    @property
    def _fixtures(self) -> list[Fixture]:
        """The matches of the complete pairs."""
        attempts = (self._ledger.attempts[pair.key] for pair, _ in self.played)
        return [each for attempt in attempts for each in attempt.legs.values()]

    def _crosstable(self) -> tuple[tuple[CrosstableCell, ...], ...]:
        return tuple(map(tuple, crosstable(len(self.spec.entrants), self.played)))

    @property
    def _anchor(self) -> int | None:
        names = [each.name for each in self.spec.entrants]
        return None if self.spec.anchor is None else names.index(self.spec.anchor)

    def _rated(self) -> bradley_terry.Ratings | None:
        """Return the ratings of all entrants; None for two, which are compared in more detail."""
        entrants = len(self.spec.entrants)
        if entrants == 2 or not self.counted_pairs:
            return None
        return bradley_terry.rate(
            entrants, bradley_terry.count_outcomes(self.counted_pairs), self._anchor
        )

    def _superiority(self, rated: bradley_terry.Ratings) -> tuple[tuple[float | None, ...], ...]:
        """Return the likelihoods of superiority between entrants that have met.

        Of others, such as the opponents of a gauntlet, the model knows only what each did against
        third entrants.
        """
        met = {frozenset(pair.entrants) for pair, _ in self.counted_pairs}
        return tuple(
            tuple(each if {one, other} in met else None for other, each in enumerate(row))
            for one, row in enumerate(rated.los)
        )

    def _head_to_head(self, one: int, other: int) -> HeadToHead:
        played = [each for each in self.counted_pairs if set(each[0].entrants) == {one, other}]
        counts = evidence.pentanomial(one, played)
        known = evidence.evidence(counts)
        return HeadToHead(
            first=one,
            second=other,
            pairs=counts,
            elo=Estimate(known.elo, known.elo_error, known.elo_low, known.elo_high),
            nelo=Estimate(known.nelo, known.nelo_error),
            los=known.los,
            draw_ratio=known.draw_ratio,
            test=self.test(),
            betting=self._betting(one) if self.format.has_race else None,
            without_luck=self._without_luck(one, played),
        )

    def _without_luck(self, entrant: int, played: Sequence[Played]) -> WithoutLuck | None:
        """Return an entrant's score without luck; None if no pair's luck is known."""
        known = self._ledger.luck
        if not known:
            return None
        measured = [each for each in played if each[0].key in known]
        shares = shares_without_luck(entrant, measured, known)
        if not shares:
            return None
        raw = [each.total / evidence.GAMES for each in evidence.scores_of(entrant, measured)]
        raw_variance, variance = (
            statistics.variance(each) if len(each) > 1 else None for each in (raw, shares)
        )
        return WithoutLuck(len(shares), *interval(shares), raw_variance, variance)

    def _endings(self) -> tuple[Mapping[str, MatchCounts], ...]:
        """Return the results of each entrant's matches, by the reason of their end."""
        counts: list[dict[str, Counter[float]]] = [defaultdict(Counter) for _ in self.spec.entrants]
        for pair, score in self.played:
            for leg, points in zip(LEGS, score, strict=True):
                reason = (self._ledger.attempts[pair.key].legs[leg].reason or Reason.RULES).value
                counts[pair.entrants[0]][reason][points] += 1
                counts[pair.entrants[1]][reason][1 - points] += 1
        return tuple(
            {reason: MatchCounts(each[1], each[0.5], each[0]) for reason, each in endings.items()}
            for endings in counts
        )

    def _repetitions(self) -> list[str]:
        """Return a note on each two entrants that repeated their matches."""
        again = Counter(
            tuple(sorted(pair.entrants))
            for pair, _ in self.played
            if self._ledger.attempts[pair.key].repeated
        )
        names = [each.name for each in self.spec.entrants]
        return [
            f"{names[one]} and {names[other]} repeat themselves ({count}): give them more openings"
            for (one, other), count in again.items()
        ]

    def _winner(self) -> list[str]:
        winner = self.format.winner(self._ledger.results, self._ledger.withdrawn)
        return [] if winner is None else [f"{self.spec.entrants[winner].name} is the winner"]


def _public_program(entrant: Entrant) -> str:
    """Return the public description of an entrant's program."""
    return public_part(entrant).player or ("a program" if entrant.command else "")


def _with_winner(meeting: Meeting, advanced: Sequence[int | None]) -> Meeting:
    """Return the meeting with its winner: the one of the two that advanced, if known."""
    ahead = (one for one in (meeting.first, meeting.second) if one is not None and one in advanced)
    return replace(meeting, winner=next(ahead, None))


def _estimates(values: Sequence[float], errors: Sequence[float]) -> tuple[Estimate, ...]:
    return tuple(Estimate(value, error) for value, error in zip(values, errors, strict=True))
