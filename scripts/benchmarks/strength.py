"""Matches of `uct` against OpenSpiel's search, and of `rave` against `uct`, at equal time a move.

The peer is OpenSpiel's search in C++ (MCTSBot) with its solver (as in its own example), one random
rollout a simulation and the same exploration as ours. It keeps the time limit itself, and stops
early when it has proven the result, which is why its milliseconds a move can be fewer than the
limit; what both have really taken stands in the table.

Openings are random, two plies long, and each is played twice with colours swapped. One match runs
on each core, the players of a match take turns on it. The score is the share of the points, a tie
being half of one; `_score.py` says how sure it is.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from testbed.bench import Bench
from testbed.local_matches import RESULT, LocalPairing, PlayedPair, pairings, played, result
from testbed.result_table import Column, ResultTable, Target

from players import Limit

OURS = "uct"
PEER = "testbed.openspiel:MCTSBot"
RAVE = "rave"

LIMIT_S = 0.05
PLIES = 2
TARGET = Target("score", at_least=0.8)


class MatchUp(NamedTuple):
    """Who plays against whom, and at what."""

    game: str
    players: tuple[str, str]
    target: Target | None = None


CONTESTS = (
    MatchUp("connect_four", (OURS, PEER), TARGET),
    MatchUp("othello", (OURS, PEER), TARGET),
    MatchUp("mnk(m=8,n=8,k=5)", (OURS, PEER), TARGET),
    MatchUp("gomoku", (RAVE, OURS)),
    MatchUp("mnk(m=8,n=8,k=5)", (RAVE, OURS)),
)

COLUMNS = (
    Column("game", "game"),
    Column("player", "player"),
    Column("other", "against"),
    *RESULT,
)


def run(bench: Bench) -> list[ResultTable]:
    """A row a contest."""
    contests = [
        contest
        for contest in CONTESTS
        if all(bench.can_play(player, contest.game) for player in contest.players)
    ]
    table = ResultTable(f"Matches at {LIMIT_S * 1e3:g} ms a move", COLUMNS)
    found = _played(bench, contests)
    for contest in contests:
        player, other = (text.rpartition(":")[2] for text in contest.players)
        pairs = found[contest.game, contest.players]
        table.add(contest.target, game=contest.game, player=player, other=other, **result(pairs))
    return [table]


def _played(
    bench: Bench, contests: list[MatchUp]
) -> dict[tuple[str, tuple[str, str]], list[PlayedPair]]:
    """The pairs by game and players. All are played as one, so that no core waits between two."""
    count, limit = bench.pick(50, 4), Limit(seconds=LIMIT_S)
    wanted: list[LocalPairing] = []
    for game, both, _ in contests:
        wanted += pairings(game, both, limit, count=count, plies=PLIES, seed=1)
    found = defaultdict[tuple[str, tuple[str, str]], list[PlayedPair]](list)
    steps = [f"pair {n} of {len(wanted)}" for n in range(1, len(wanted) + 1)]
    for _, (pairing, pair) in zip(bench.track(steps), played(wanted), strict=True):
        found[pairing.game, pairing.players].append(pair)
    return found
