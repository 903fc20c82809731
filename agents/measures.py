"""What a benchmark has measured: ratings, forfeits, illegal moves, tokens and seconds.

The ratings of a game are one fit of all matches in it, also of those between the opponents, so that
the error of a rating includes the errors of the opponents' ratings.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from playout.agents.benchmark_file import Benchmark, BenchmarkContestant, Contest, Question
from playout.agents.journal import BenchmarkJournal, MatchRecord, StoredAnswer
from playout.ratings.bradley_terry import Outcomes, rate
from playout.ratings.evidence import Share, Z

_PLACES = {1: 0, -1: 1, 2: 2}


class Fitted(NamedTuple):
    """A rating in Elo, and half of its 95 % interval."""

    elo: float
    error: float


def fitted(
    benchmark: Benchmark,
    matches: Iterable[MatchRecord],
    *,
    by_play: bool = False,
    zero: str = "",
) -> dict[str, Fitted]:
    """Return the ratings of all contestants from matches of one game.

    The contestant `zero` has 0, by default the weakest player of Playout; without players, the
    average has 0. A forfeit is a loss; `by_play` leaves these matches out.
    """
    anchors = [each.name for each in benchmark.anchors]
    names = [*anchors, *(each.name for each in benchmark.contestants)]
    counts: dict[tuple[int, int], list[int]] = {}
    for match in matches:
        if match.result and not (by_play and match.result.forfeit):
            one, other = map(names.index, match.started.players)
            counts.setdefault((one, other), [0, 0, 0])[_PLACES[match.result.winner]] += 1
    outcomes = {movers: Outcomes(*each) for movers, each in counts.items()}
    found = rate(len(names), outcomes, names.index(zero) if zero else 0 if anchors else None)
    return dict(zip(names, map(Fitted, found.elo, found.error), strict=True))


def place(
    benchmark: Benchmark, matches: Sequence[MatchRecord], ratings: Mapping[str, Fitted], name: str
) -> tuple[str, Fitted] | None:
    """Return the opponent nearest in rating, and the rating relative to it; None without one.

    Its error has nothing of the distance to the weakest player.
    """
    others = {each.name for each in benchmark.anchors or benchmark.contestants} - {name}
    if not others:
        return None
    nearest = min(others, key=lambda other: abs(ratings[other].elo - ratings[name].elo))
    return nearest, fitted(benchmark, matches, zero=nearest)[name]


def ended(
    journal: BenchmarkJournal, contests: Iterable[Contest], game: str
) -> Iterator[MatchRecord]:
    """Yield the matches of the contests in a game that have a result.

    Their contestants get the names in the current file.
    """
    two = {c.digest: tuple(who.name for who in c.two) for c in contests if str(c.game) == game}
    for match in list(journal.matches.values()):
        names = two.get(match.started.contest)
        if match.result and names and match.started.game == game:
            one, other = names[::-1] if match.started.is_return else names
            match.started = structs.replace(match.started, players=(one, other))
            yield match


class Estimated(Struct, frozen=True):
    """A share or a mean of `number` trials, with its 95 % interval."""

    value: float
    low: float
    high: float
    number: int

    @classmethod
    def share(cls, trials: Sequence[bool]) -> Estimated | None:
        """Return the share of successes with the interval of Wilson; None of nothing."""
        found = Share(sum(trials), len(trials))
        return cls(found.value, *found.interval, len(trials)) if trials else None

    @classmethod
    def mean(cls, values: Sequence[float]) -> Estimated | None:
        """Return the mean of two or more values with its normal interval."""
        if len(values) < 2:
            return None
        mean = statistics.fmean(values)
        half = Z * statistics.stdev(values) / math.sqrt(len(values))
        return cls(mean, mean - half, mean + half, len(values))

    @classmethod
    def elo(cls, rating: Fitted, number: int) -> Estimated | None:
        """Return a rating from a number of matches; None of no match."""
        low, high = rating.elo - rating.error, rating.elo + rating.error
        return cls(rating.elo, low, high, number) if number else None


class Measured(Struct, frozen=True, kw_only=True):
    """A contestant in a game, or with an empty `game` in all of them.

    `forfeits` are not among the `lost` matches; `won` has the `gifts`, the forfeits of opponents.
    `elo_by_play` leaves forfeits out. `lead` is the Elo relative to the `nearest` opponent.
    `illegal_first` is the share of moves whose first answer was no legal move, `illegal_last` that
    of moves after which the match was forfeited. `tokens` and `seconds` are means for a move, with
    all attempts; `cost` is that of all `moves`. `drop` is the Elo of the known games less that of
    their variants, relative to the opponent that is nearest in the known game. `kept` is the share
    of solved positions in which the move keeps the value, `kept_held_out` that of those held out.
    None is unknown.
    """

    name: str
    is_model: bool
    game: str
    matches: int
    won: int
    tied: int
    lost: int
    forfeits: int
    gifts: int
    elo: Estimated | None
    elo_by_play: Estimated | None
    nearest: str
    lead: Estimated | None
    drop: Estimated | None
    kept: Estimated | None
    kept_held_out: Estimated | None
    illegal_first: Estimated | None
    illegal_last: Estimated | None
    tokens: Estimated | None
    seconds: Estimated | None
    cost: float
    moves: int


def measured(
    benchmark: Benchmark, journal: BenchmarkJournal, contests: Sequence[Contest]
) -> list[Measured]:
    """Return the measures of each contestant in each game, and in all if there are several.

    The ratings in all games are means over the known ones.
    """
    games = [str(each) for each in benchmark.played]
    played = {game: list(ended(journal, contests, game)) for game in games}
    fits = {
        game: [fitted(benchmark, played[game], by_play=each) for each in (False, True)]
        for game in games
    }
    usual = [str(each) for each in benchmark.games]
    rows = [[game] for game in games]
    answers = [
        (question, record.answers[0])
        for question in benchmark.questions
        if (record := journal.matches.get(question.id)) and record.answers
    ]
    found = []
    for each in (*benchmark.contestants, *benchmark.anchors):
        for row in rows if len(usual) == 1 else [usual, *rows]:
            elos = [mean_rating([fits[game][kind][each.name] for game in row]) for kind in (0, 1)]
            matches = [match for game in row for match in played[game]]
            game = row[0] if len(row) == 1 else ""
            near = place(benchmark, matches, fits[game][0], each.name) if game else None
            fall = _drop(benchmark, played, fits, row, each)
            asked = [(q, a) for q, a in answers if q.who == each and str(q.game) in row]
            found.append(_measure(each, game, matches, elos, near, fall, asked))
    return found


def _drop(
    benchmark: Benchmark,
    played: Mapping[str, Sequence[MatchRecord]],
    fits: Mapping[str, Sequence[Mapping[str, Fitted]]],
    row: Sequence[str],
    who: BenchmarkContestant,
) -> Fitted | None:
    """Return the mean drop of a model from known games to their variants; None without variants."""
    falls = []
    for game in row if who.model else ():
        others = [str(each) for each in benchmark.played if each.known == game and each.seed]
        near = place(benchmark, played[game], fits[game][0], who.name) if others else None
        if near is None:
            return None
        ratings = [fitted(benchmark, played[each], zero=near[0])[who.name] for each in others]
        elo, error = mean_rating(ratings)
        falls.append(Fitted(near[1].elo - elo, math.hypot(near[1].error, error)))
    return mean_rating(falls) if falls else None


def mean_rating(ratings: Sequence[Fitted]) -> Fitted:
    """Return the mean of ratings in several games, whose errors are independent."""
    error = math.hypot(*(each.error for each in ratings)) / len(ratings)
    return Fitted(statistics.fmean(each.elo for each in ratings), error)


def _measure(
    who: BenchmarkContestant,
    game: str,
    played: Sequence[MatchRecord],
    elos: Sequence[Fitted],
    near: tuple[str, Fitted] | None,
    fall: Fitted | None,
    asked: Sequence[tuple[Question, StoredAnswer]],
) -> Measured:
    counts = dict.fromkeys(("won", "tied", "lost", "forfeits", "gifts"), 0)
    moves: dict[tuple[str, int], list[StoredAnswer]] = {}
    for match in played:
        if match.result and who.name in match.started.players:
            seat = match.started.players.index(who.name) + 1
            won, forfeit = match.result.winner == seat, bool(match.result.forfeit)
            lost = "forfeits" if forfeit else "lost"
            counts["tied" if match.result.winner < 0 else "won" if won else lost] += 1
            counts["gifts"] += won and forfeit
            for answer in match.answers:
                if answer.seat == seat:
                    moves.setdefault((match.started.match, answer.request.ply), []).append(answer)
    matches = sum(counts[each] for each in ("won", "tied", "lost", "forfeits"))
    attempts = list(moves.values())
    used = [tokens for each in attempts if (tokens := _tokens(each)) is not None]
    return Measured(
        name=who.name,
        is_model=who.model is not None,
        game=game,
        matches=matches,
        **counts,
        elo=Estimated.elo(elos[0], matches),
        elo_by_play=Estimated.elo(elos[1], matches - counts["forfeits"] - counts["gifts"]),
        nearest=near[0] if near else "",
        lead=Estimated.elo(near[1], matches) if near else None,
        drop=Estimated.elo(fall, matches) if fall else None,
        kept=_kept(asked, held_out=False),
        kept_held_out=_kept(asked, held_out=True),
        illegal_first=Estimated.share([each[0].action < 0 for each in attempts]),
        illegal_last=Estimated.share([each[-1].action < 0 for each in attempts]),
        tokens=Estimated.mean(used) if len(used) == len(attempts) else None,
        seconds=Estimated.mean([sum(a.seconds for a in each) for each in attempts]),
        cost=sum(a.cost for a in (*itertools.chain(*attempts), *(a for _, a in asked))),
        moves=len(attempts),
    )


def _kept(asked: Iterable[tuple[Question, StoredAnswer]], *, held_out: bool) -> Estimated | None:
    """Return the share of positions whose value was kept; an illegal move keeps none."""
    return Estimated.share(
        [
            question.solved.kept_by(answer.action)
            for question, answer in asked
            if question.is_held_out == held_out
        ]
    )


def _tokens(attempts: Sequence[StoredAnswer]) -> int | None:
    """Return the tokens of a move; None if the model did not count all of them."""
    counts = [n for a in attempts for n in (a.answer.prompt_tokens, a.answer.completion_tokens)]
    return None if None in counts else sum(n or 0 for n in counts)
