"""Matches of `uct` against OpenSpiel's search, and of `rave` against `uct`, at equal time per move.

The peer is OpenSpiel's search in C++ (MCTSBot) with its solver (as in its own example), one random
rollout per simulation and the same exploration as `uct`. It observes the time limit itself, and
stops early when it has proven the result, so that it may take less time per move than the limit;
the table shows the time that both have taken.

Openings are random, two plies long, and each is played twice with colours swapped. One match runs
on each core, and the players of a match take turns on it. The score is the share of the points, a
tie counts one half; `scripts/testbed/local_matches.py` defines its confidence interval.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from playout.players import Limit
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.local_matches import (
    RESULT,
    LocalPairing,
    PlayedPair,
    pairings,
    play_pair,
    result,
    run_on_cores,
)

OURS = "uct"
PEER = "testbed.openspiel:MCTSBot"
RAVE = "rave"

LIMIT_S = 0.05
PLIES = 2
TARGET = Target("score", at_least=0.8)


class MatchUp(NamedTuple):
    """A game, two players, and the target of the first one's score."""

    game: str
    players: tuple[str, str]
    target: Target | None = None


MATCH_UPS = (
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
    """Return a row per match-up."""
    match_ups = [
        match_up
        for match_up in MATCH_UPS
        if all(bench.can_play(player, match_up.game) for player in match_up.players)
    ]
    table = ResultTable(f"Matches at {LIMIT_S * 1e3:g} ms per move", COLUMNS)
    found = _played(bench, match_ups)
    for match_up in match_ups:
        player, other = (text.rpartition(":")[2] for text in match_up.players)
        pairs = found[match_up.game, match_up.players]
        table.add(match_up.target, game=match_up.game, player=player, other=other, **result(pairs))
    return [table]


def _played(
    bench: Bench, match_ups: list[MatchUp]
) -> dict[tuple[str, tuple[str, str]], list[PlayedPair]]:
    """Return the pairs by game and players; they share one queue, so that no core is idle."""
    count, limit = bench.pick(50, 4), Limit(seconds=LIMIT_S)
    wanted: list[LocalPairing] = []
    for game, both, _ in match_ups:
        wanted += pairings(game, both, limit, count=count, plies=PLIES, seed=1)
    found = defaultdict[tuple[str, tuple[str, str]], list[PlayedPair]](list)
    steps = [f"pair {n} of {len(wanted)}" for n in range(1, len(wanted) + 1)]
    for _, (pairing, pair) in zip(bench.track(steps), run_on_cores(play_pair, wanted), strict=True):
        found[pairing.game, pairing.players].append(pair)
    return found
