"""The laboratory: equal candidates that are promoted, and pairs until a verdict.

All verdicts are those of the program's own tests (`playout.ratings.sequential_tests`). *Simulated*
pairs are drawn from a distribution of scores without ties between players of a known normalized
Elo. *Played* pairs are matches of players that move at random, in tournaments of this process, with
the journal of a laboratory that counts an author's candidates.

Authors submit equal candidates against one base, one after the other. They look at the evidence
after each block of pairs, give up when they like, and interrupt and restart tests. The laboratory
goes on with the evidence of before; a sequential test (SPRT) begins anew.

*Openings* are compared by the pairs until a verdict, which follow from the scores of two players of
unequal strength from both kinds of openings.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from playout import games, players
from playout.games import Position
from playout.laboratory.journal import Journal
from playout.players import Limit
from playout.players.comparison.pairs import PairTask, play_task
from playout.players.comparison.workers import run_on_cores
from playout.protocol.messages import Fixture, Reason
from playout.protocol.tournament_spec import Betting, Entrant, Openings, Sprt, TournamentSpec
from playout.ratings import sequential_tests
from playout.ratings.book import Book, shipped
from playout.ratings.evidence import GAMES, NELO_PER_DEVIATION, Share
from playout.ratings.pairs import Pair
from playout.ratings.sequential_tests import EProcess, Race, level_of
from playout.server.model.records import MatchEnded
from playout.server.tournament.formats.race import BLOCK
from playout.server.tournament.ledger import LEGS, Ledger
from testbed.bench import Bench, Column, ResultTable, Target

#: The share of simulated pairs with one point for each.
SHARED = 0.625
#: Equal candidates of a simulated and of a real author.
CANDIDATES, REAL_CANDIDATES = 20, 5
#: At each look, the probability that an author gives up, and that he restarts a bad SPRT.
GIVES_UP, RESTARTS = 0.03, 0.1
#: Pairs until a verdict, by normalized Elo and the number of the candidate: by another program.
KNOWN = {(20, 1): 1050, (50, 1): 286, (100, 1): 131, (50, 5): 492, (100, 5): 223}
#: Games, and the stronger and the weaker player, whose pairs show what openings cost.
PLAYED = ("connect_four", "mnk", "othello", "kalah")
STRONGER, WEAKER = "uct(simulations=60)", "uct(simulations=30)"
#: The length of random openings that the shipped ones are compared with.
PLIES = 8


def run(bench: Bench) -> list[ResultTable]:
    """Return the tables of honesty, power, races and openings."""
    return bench.tables(honesty=honesty, power=power, races=races, openings=openings)


# Equal candidates.


def honesty(bench: Bench) -> ResultTable:
    """Return the shares of authors who promote an equal candidate."""
    columns = (
        Column("authors", "authors of equal candidates"),
        Column("count", "authors"),
        Column("betting", "promote one: betting"),
        Column("sprt", "SPRTs"),
        Column("pairs", "pairs each"),
    )
    table = ResultTable("Authors who promote an equal candidate, in per cent", columns)
    for name, function, count, candidates in (
        ("simulated", _simulated_author, bench.pick(1000, 10), CANDIDATES),
        ("nim, played", partial(_real_author, "nim"), bench.pick(200, 2), REAL_CANDIDATES),
        ("tic_tac_toe, played", partial(_real_author, "tic_tac_toe"), bench.pick(200, 2),
         REAL_CANDIDATES),
    ):  # fmt: skip
        found = [each for _, each in run_on_cores(function, range(count))]
        by_betting = sum(each[0] for each in found)
        by_sprt = [each[1] for each in found if each[1] is not None]
        table.add(
            None,
            authors=f"{name}, {candidates} each",
            count=count,
            betting=Share(by_betting, count),
            sprt=Share(sum(by_sprt), count) if by_sprt else None,
            pairs=sum(each[2] for each in found) / count / candidates,
        )
    return table


def _simulated_author(seed: int) -> tuple[bool, bool | None, int]:
    """Return whether an author promotes one by betting, and by SPRTs; and the pairs of betting."""
    rng = random.Random(seed)
    by_betting, pairs = False, 0
    for number in range(CANDIDATES):
        process = EProcess(Betting(), level_of(Betting(tried=number), 1))
        equal = scores(0, rng)
        while process.state == "open" and rng.random() > GIVES_UP:
            for score in itertools.islice(equal, BLOCK):
                process.add(score)
        pairs += process.pairs
        by_betting |= process.state == "stronger"
    by_sprt = any(_promoted_by_sprt(rng) for _ in range(CANDIDATES))
    return by_betting, by_sprt, pairs


def _promoted_by_sprt(rng: random.Random) -> bool:
    """Return whether an author promotes an equal candidate by SPRTs, looking at each block."""
    test = Sprt(elo0=0, elo1=20, alpha=0.05, beta=0.05, model="normalized")
    while True:
        rows = [[0] * 5]
        equal = scores(0, rng)
        for _ in range(64):
            row = list(rows[-1])
            for score in itertools.islice(equal, BLOCK):
                row[int(4 * score)] += 1
            rows.append(row)
        lower, upper = sequential_tests.bounds(test)
        for llr in sequential_tests.llrs(np.array(rows[1:]), test):
            if llr >= upper:
                return True
            if llr <= lower or rng.random() <= GIVES_UP:
                return False
            if llr < 0 and rng.random() <= RESTARTS:
                break
        else:
            return False


def _real_author(game: str, seed: int) -> tuple[bool, None, int]:
    """Return whether an author of candidates that move at random promotes one, and the pairs."""
    promoted, pairs = False, 0
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder))
        for number in range(REAL_CANDIDATES):
            trial = journal.begun("base", (f"{number}",), ("base", "new"), ("", ""), "conditions")
            spec = TournamentSpec(
                name="equal",
                games=(game,),
                format="race",
                rounds=0,
                entrants=(Entrant("base", "1"), Entrant("new", "1")),
                openings=Openings(plies=2),
                betting=Betting(elo1=100, tried=trial.tried),
                seed=rng.randrange(2**31),
            )
            race = _played(spec, rng)
            promoted |= race.winner is not None
            pairs += race.pairs
    return promoted, None, pairs


def _played(spec: TournamentSpec, rng: random.Random) -> Race:
    """Play a tournament of two players that move at random until it is decided or given up."""
    ledger = Ledger("1", spec)
    game = games.load(spec.games[0])
    both = [players.load("random", game) for _ in spec.entrants]
    book = Book(spec.games[0], spec.openings, spec.seed)
    while not ledger.is_decided and rng.random() > GIVES_UP:
        todo = [each for each in ledger.pairs if each.key not in ledger.results]
        for pair in itertools.islice(todo, BLOCK):
            _play(ledger, pair, Position(game, book[pair.opening]), both)
    assert ledger.race
    return ledger.race


def _play(ledger: Ledger, pair: Pair, start: Position, both: Sequence[players.Player]) -> None:
    """Play both matches of a pair, and note them."""
    for leg in LEGS:
        seats = pair.entrants if leg == 1 else pair.entrants[::-1]
        position, limit = start, Limit(simulations=1)
        while not position.winner:
            action = both[seats[position.to_move - 1]].choose(position, limit).action
            position = position.play(action)
        first, second = (ledger.spec.entrants[one].name for one in seats)
        round_, board, number = pair.key
        fixture = Fixture(
            tournament="1",
            round=round_,
            board=board,
            number=number,
            leg=leg,
            match=f"{pair.key} {leg}",
            game=pair.game,
            players=(first, second),
        )
        ledger.put(fixture)
        ended = MatchEnded(
            match=fixture.match,
            winner=position.winner,
            first_return=0.0,
            second_return=0.0,
            reason=Reason.RULES,
            text="",
            at=0.0,
        )
        ledger.match_ended(ended, position.moves)


# Stronger candidates.


def scores(nelo: float, rng: random.Random) -> Iterator[float]:
    """Yield the scores of pairs of a candidate that is stronger by this normalized Elo."""
    effect = nelo * math.sqrt(GAMES) / NELO_PER_DEVIATION
    lost = (1 - SHARED) / 2 - effect * math.sqrt((1 - SHARED) / 4 / (1 + effect**2))
    while True:
        drawn = rng.random()
        yield 0.0 if drawn < lost else 0.5 if drawn < lost + SHARED else 1.0


def power(bench: Bench) -> ResultTable:
    """Return the pairs until a stronger candidate is found."""
    columns = (
        Column("candidate", "candidate"),
        Column("found", "found", ".1%"),
        Column("pairs", "pairs"),
        Column("error", "±"),
        Column("known", "by another program"),
        Column("ratio", "ratio", ".3f"),
    )
    table = ResultTable("Pairs until a verdict, elo1 = 20", columns)
    rounds = bench.pick(1000, 20)
    for (nelo, number), known in KNOWN.items():
        rng = random.Random(number)
        terms = Betting(tried=number - 1)
        tested = [_decided(terms, scores(nelo, rng)) for _ in range(rounds)]
        pairs = [each.pairs for each in tested]
        mean = statistics.mean(pairs)
        table.add(
            Target("ratio", at_most=1.15),
            candidate=f"+{nelo} nElo, number {number}",
            found=sum(each.state == "stronger" for each in tested) / rounds,
            pairs=mean,
            error=1.96 * statistics.stdev(pairs) / math.sqrt(rounds),
            known=known,
            ratio=mean / known,
        )
    return table


def _decided(terms: Betting, drawn: Iterator[float]) -> EProcess:
    """Return a test by these scores of pairs when it is decided."""
    process = EProcess(terms, level_of(terms, 1))
    while process.state == "open":
        process.add(next(drawn))
    return process


def _raced(nelos: Sequence[float], rng: random.Random) -> Race:
    """Return a race of candidates of these strengths that is over."""
    race = Race(Betting(), len(nelos))
    drawn = [scores(each, rng) for each in nelos]
    for number in itertools.count(1):
        one = number if number <= len(nelos) else race.order(f"{rng.random()}")[0]
        for score in itertools.islice(drawn[one - 1], BLOCK):
            race.add(one, score)
        if race.is_over:
            return race
    raise AssertionError


def races(bench: Bench) -> ResultTable:
    """Return the pairs of a race of eight candidates, and of tests of each."""
    columns = (
        Column("better", "eight candidates"),
        Column("race", "pairs of a race"),
        Column("right", "finds it", ".1%"),
        Column("tests", "tests of each"),
        Column("stops", "until one is found"),
        Column("saved", "saved against tests of each", ".0%"),
    )
    table = ResultTable("Races of eight candidates, elo1 = 20", columns)
    rounds = bench.pick(150, 2)
    for nelo in (0, 20, 40):
        rng, nelos = random.Random(nelo), [nelo, *[0] * 7]
        together, right, apart, until = 0, 0, 0, 0
        for _ in range(rounds):
            race = _raced(nelos, rng)
            together += race.pairs
            right += race.winner == 1
            each = [
                _decided(Betting(tried=place), scores(one, rng))
                for place, one in enumerate(rng.sample(nelos, 8))
            ]
            apart += sum(one.pairs for one in each)
            winner = next((n for n, one in enumerate(each, 1) if one.state == "stronger"), 8)
            until += sum(one.pairs for one in each[:winner])
        table.add(
            Target("saved", at_least=0.4) if nelo else None,
            better=f"one at +{nelo} nElo" if nelo else "equal",
            race=together / rounds,
            right=right / rounds if nelo else None,
            tests=apart / rounds,
            stops=until / rounds,
            saved=1 - together / apart,
        )
    return table


# Openings.


def openings(bench: Bench) -> ResultTable:
    """Return the ratio of pairs until a verdict from shipped openings to those after random moves.

    A test needs pairs in proportion to 1 / effect^2: the effect is the mean of the scores beyond a
    half, in standard deviations. So the effects of two players of unequal strength are enough, and
    no test has to be played. The interval is by the delta method.
    """
    columns = (
        Column("game", "game"),
        Column("pairs", "pairs of each kind"),
        Column("shipped", "normalized Elo: shipped"),
        Column("random", f"{PLIES} random plies"),
        Column("ratio", "ratio of pairs until a verdict", ".2f"),
        Column("interval", "95 %"),
    )
    table = ResultTable("Pairs until a verdict by openings", columns)
    for game in PLAYED:
        pairs = bench.pick(3000, 4)
        shipped_lines = Openings(lines={game: shipped(game)}, order="shuffled")
        kinds = (shipped_lines, Openings(plies=PLIES))
        found = [_effect(_scores(game, each, pairs)) for each in kinds]
        ratio = (found[1] / found[0]) ** 2
        # The variance of an effect is (1 + effect^2 / 2) / pairs.
        error = 2 * math.sqrt(sum((1 / each**2 + 0.5) / pairs for each in found))
        low, high = (ratio * math.exp(sign * 1.96 * error) for sign in (-1, 1))
        table.add(
            None,
            game=game,
            pairs=pairs,
            shipped=found[0] * NELO_PER_DEVIATION / math.sqrt(GAMES),
            random=found[1] * NELO_PER_DEVIATION / math.sqrt(GAMES),
            ratio=ratio,
            interval=f"{low:.2f} to {high:.2f}",
        )
    return table


def _scores(game: str, kind: Openings, pairs: int) -> list[float]:
    """Return the scores of the stronger player in pairs from openings of a kind."""
    book, both = Book(game, kind, 1), (STRONGER, WEAKER)
    tasks = [PairTask(game, both, Limit(), book[number]) for number in range(pairs)]
    return [each.score.total / GAMES for _, each in run_on_cores(play_task, tasks)]


def _effect(drawn: Sequence[float]) -> float:
    """Return the mean beyond a half in standard deviations."""
    return (statistics.mean(drawn) - 0.5) / (statistics.stdev(drawn) or 1.0)
