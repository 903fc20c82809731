"""playout.server.ladder as a whole: bots of known strength, whose results are drawn by chance."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from playout.ratings.bradley_terry import solve
from playout.ratings.pairing import meeting
from playout.server.ladder.standings import LadderTable, ladder_table
from playout.server.ladder.state import LadderPlayer, LadderState, OwedMatch
from support.scale import repetitions

BOTS, GAP = 12, 100.0
AT_ONCE = 4
MATCHES = 600
RATED_EVERY = 4


class DrawnLadder:
    """A ladder on which matches are decided by the strengths of the players, several at a time."""

    def __init__(self, seed: int) -> None:
        self.state = LadderState("nim")
        self.random = random.Random(seed)
        #: The true ratings by index; their average is not 0.
        self.strengths: dict[int, float] = {}
        self.running: list[tuple[tuple[int, int], OwedMatch | None]] = []
        self.pairs: Counter[tuple[int, int]] = Counter()
        self.present: dict[str, int] = {}

    def enter(self, account: str, version: str, strength: float) -> None:
        index = self.state.enter(LadderPlayer(account, version))
        self.strengths[index] = strength
        self.present[account] = index

    def play(self, matches: int) -> None:
        for _ in range(matches):
            self._begin()
            self._end(self.running.pop(self.random.randrange(len(self.running))))

    def _begin(self) -> None:
        while len(self.running) < AT_ONCE:
            playing = {index for players, _ in self.running for index in players}
            free = set(self.present.values()) - playing
            if owed := self.state.due_owed(free):
                first, second = (self.state.index_of(each) for each in owed.players)
                self.running.append(((first, second), owed))
            elif pair := self.state.due_pair(
                playing | free, free, frozenset(meeting(*players) for players, _ in self.running)
            ):
                self.running.append((pair, None))
            else:
                return

    def _end(self, match: tuple[tuple[int, int], OwedMatch | None]) -> None:
        (first, second), owed = match
        ahead = self.strengths[first] - self.strengths[second]
        winner = 1 if self.random.random() < 1 / (1 + 10 ** (-ahead / 400)) else 2
        one, other = (self.state.entries[index].player for index in (first, second))
        self.state.count((one, other), winner, 0.0)
        if owed is None:
            self.state.owe(OwedMatch("", (other, one), ()))
        self.pairs[meeting(first, second)] += 1
        # A server rates again when the ratings before are computed: not after each match.
        if self.state.matches % RATED_EVERY == 0 and (problem := self.state.problem()):
            self.state.rated(solve(problem))

    def table(self) -> LadderTable:
        return ladder_table(self.state, str, self.present.values(), clock="none")


@pytest.fixture(scope="module", params=range(repetitions(8, short=1)))
def drawn(request: pytest.FixtureRequest) -> DrawnLadder:
    """A ladder with twelve bots, one of which gets better and another one worse."""
    ladder = DrawnLadder(request.param)
    numbers = list(range(BOTS))
    ladder.random.shuffle(numbers)
    for number in numbers:
        ladder.enter(f"bot {number:02}", "1", GAP * number)
    ladder.play(MATCHES // 3)
    ladder.enter("bot 03", "2", GAP * 3 + 250)
    ladder.play(MATCHES // 3)
    ladder.enter("bot 08", "2", GAP * 8 - 250)
    ladder.play(MATCHES // 3)
    return ladder


def test_the_true_order_is_within_the_error_bars(drawn: DrawnLadder) -> None:
    entries = drawn.state.entries
    for one, other in itertools.permutations(range(len(entries)), 2):
        if drawn.strengths[one] > drawn.strengths[other]:
            high, low = entries[one], entries[other]
            assert high.rating + (high.error or 0) > low.rating - (low.error or 0)
    average = sum(drawn.strengths.values()) / len(entries)
    missed = [
        index
        for index, each in enumerate(entries)
        if abs(each.rating + average - drawn.strengths[index]) > (each.error or 0)
    ]
    assert len(missed) <= 2, "95 % are within"
    assert drawn.table().playing == 0


def test_most_matches_are_between_neighbours(drawn: DrawnLadder) -> None:
    rank = {
        index: rank
        for rank, index in enumerate(sorted(drawn.strengths, key=drawn.strengths.__getitem__))
    }
    apart = Counter[int]()
    for (one, other), matches in drawn.pairs.items():
        apart[abs(rank[one] - rank[other])] += matches
    assert apart.total() == MATCHES
    assert apart[1] + apart[2] > 0.55 * MATCHES
    assert sum(apart[each] for each in range(1, 5)) > 0.8 * MATCHES


def test_all_play_about_as_often(drawn: DrawnLadder) -> None:
    played = Counter[str]()
    for entry in drawn.state.entries:
        played[entry.player.account] += entry.matches
    assert min(played.values()) > 0.5 * max(played.values())


def test_new_versions_are_found_better_or_worse(drawn: DrawnLadder) -> None:
    better, worse = (
        next(each for each in drawn.table().comparisons if each.name == name)
        for name in ("bot 03", "bot 08")
    )
    assert better.difference > 0 > worse.difference
    assert better.superiority > 0.75
    assert worse.superiority < 0.25
