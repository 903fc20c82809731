"""Ladder: entrants of similar strength meet, until the tournament is ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playout.protocol.tournament_spec import TournamentSpec
from playout.ratings.leaderboard import EloRatings
from playout.ratings.pairing import Contender, Meeting, meeting, next_pair
from playout.ratings.pairs import CountRange, Key, Pair, PairScore, PairScores
from playout.server.tournament.format import Format, encounter, left_out, swapped

#: Number of rounds that are known at the same time, so that cores are not idle at the end of one.
AHEAD = 2
#: The maximum change of a rating after a pair, in Elo.
_CHANGE = 40.0


class LadderFormat(Format):
    """At most `rounds` rounds, 0 for no limit; each entrant meets those nearest in rating in turn.

    Two entrants that meet play one pair for each game, of one opening; all meetings of a round have
    the same. With an odd number of entrants, the next round begins with the one that had to wait. A
    round is paired when the one before the last is complete, by Elo ratings that all begin equal
    and follow the results of the rounds up to that one. The table is sorted by the ratings of the
    report, which do not depend on the order of results.

    A late entrant begins with the average rating. An entrant that is withdrawn is paired no more
    after the rounds that were known: in these its opponents do not play.
    """

    takes_late_entrants = True
    least_rounds = 0
    ranks_by_rating = True

    def __init__(self, spec: TournamentSpec) -> None:
        super().__init__(spec)
        #: The rounds that were paired for the last results; they are kept, as pairing takes long.
        self._known = _KnownRounds(self.entrants)

    @classmethod
    def most_known(cls, entrants: int, games: int, rounds: int) -> int:
        """The pairs that are known at the start."""
        return AHEAD * (entrants // 2) * games

    def knows_more(self, known: int, results: PairScores) -> bool:
        """Return whether all rounds but the last known one may be complete."""
        rounds = self._known.rounds
        return not rounds or len(results) >= known - len(rounds[-1])

    def pair_count(self) -> CountRange:
        """Return a range from one pair to those of all rounds, or without limit."""
        return CountRange(1, self.rounds * (self.entrants // 2) * len(self.games) or None)

    def schedule(self, results: PairScores, withdrawn: Sequence[int]) -> Iterator[Pair | None]:
        if not self._known.follow_from(results, withdrawn):
            self._known = _KnownRounds(self.entrants)
        known = self._known
        for pairs in known.rounds:
            yield from pairs
        while not self.rounds or len(known.rounds) < self.rounds:
            last = len(known.rounds) - AHEAD
            if last >= 0 and not known.count(known.rounds[last], results, withdrawn):
                return
            number = len(known.rounds) + 1
            present = [one for one, since in enumerate(self.since) if since <= number]
            pairs = known.pair_off(present, self.games)
            if not pairs:
                return
            yield from pairs
            yield None


class _KnownRounds:
    """The paired rounds of a ladder, and everything on which the next one depends."""

    def __init__(self, entrants: int) -> None:
        self.rounds: list[list[Pair]] = []
        self._ratings = EloRatings(_CHANGE, _CHANGE)
        #: For each entrant, the number of the last meeting before which it was free, and that of
        #: its first moves less its second ones.
        self._since, self._first_moves = [0] * entrants, [0] * entrants
        #: The number of the last meeting of each two.
        self._met: dict[Meeting, int] = {}
        #: The scores that were counted; None for pairs that were left out.
        self._counted: dict[Key, PairScore | None] = {}
        self._gone: set[int] = set()

    def follow_from(self, results: PairScores, withdrawn: Sequence[int]) -> bool:
        """Return whether the rounds are those that follow from these results."""
        counted = self._counted.items()
        return self._gone <= set(withdrawn) and all(results.get(key) == at for key, at in counted)

    def count(self, pairs: Sequence[Pair], results: PairScores, withdrawn: Sequence[int]) -> bool:
        """Count the results of a round; return whether it is complete."""
        played = [pair for pair in pairs if not left_out(pair, results, withdrawn)]
        if any(pair.key not in results for pair in played):
            return False
        for pair in pairs:
            score = self._counted[pair.key] = results.get(pair.key)
            if score is None:
                self._gone |= set(pair.entrants) & set(withdrawn)
            else:
                self._ratings.add(*pair.entrants, score.total / 2)
        return True

    def pair_off(self, present: Sequence[int], games: tuple[str, ...]) -> list[Pair]:
        """Pair the next round, and return its pairs."""
        contenders = [
            Contender(one, str(one), self._ratings.rating(one), self._since[one])
            for one in present
            if one not in self._gone
        ]
        free, number, found = list(contenders), len(self.rounds) + 1, list[Pair]()
        board = 0
        while two := next_pair(contenders, free, self._met):
            board += 1
            free = [each for each in free if each.number not in two]
            more_often = self._first_moves[two[0]] > self._first_moves[two[1]]
            first, second = swapped(two, more_often)
            found += encounter(games, (number, board), (first, second), opening=number - 1)
            self._first_moves[first] += 1
            self._first_moves[second] -= 1
            self._met[meeting(*two)] = number
            for one in two:
                self._since[one] = number
        if found:
            self.rounds.append(found)
        return found
