"""Matches of `uct` against OpenSpiel's search, and of `rave` against `uct`, at equal time per move.

The peer is OpenSpiel's search in C++ (MCTSBot) with its solver (as in its own example), one random
rollout per simulation and the same exploration as `uct`. It observes the time limit itself, and
stops early when it has proven the result, so that it may take less time per move than the limit;
the table shows the time that both have taken.

Openings are random, two plies long, and each is played twice with colours swapped. One match runs
on each core, and the players of a match take turns on it. The score is the share of the points, a
tie counts one half, and its confidence interval is that of `playout-tournament compare`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from playout import games
from playout.players import Limit
from playout.players.comparison.pairs import PairTask, PlayedPair, openings, play_task, score
from playout.players.comparison.workers import run_on_cores
from testbed.bench import Bench, Cell, Column, ResultTable, Target

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
    Column("games", "games"),
    Column("won", "won"),
    Column("tied", "tied"),
    Column("lost", "lost"),
    Column("score", "score", ".1%"),
    Column("low", "95 %: from", ".1%"),
    Column("high", "to", ".1%"),
    Column("elo", "Elo", "+.0f"),
    Column("ms", "ms a move", ".2f"),
    Column("other_ms", "the other's", ".2f"),
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
        cells = _cells(pairs)
        table.add(match_up.target, game=match_up.game, player=player, other=other, **cells)
    return [table]


def _played(
    bench: Bench, match_ups: list[MatchUp]
) -> dict[tuple[str, tuple[str, str]], list[PlayedPair]]:
    """Return the pairs by game and players; they share one queue, so that no core is idle."""
    count, limit = bench.pick(50, 4), Limit(seconds=LIMIT_S)
    wanted = [
        PairTask(game, both, limit, opening)
        for game, both, _ in match_ups
        for opening in openings(games.load(game), PLIES, 1, count)
    ]
    found = defaultdict[tuple[str, tuple[str, str]], list[PlayedPair]](list)
    steps = [f"pair {n} of {len(wanted)}" for n in range(1, len(wanted) + 1)]
    for _, (task, pair) in zip(bench.track(steps), run_on_cores(play_task, wanted), strict=True):
        found[task.game, task.players].append(pair)
    return found


def _cells(pairs: list[PlayedPair]) -> dict[str, Cell]:
    found = score([pair.score for pair in pairs])
    ms, other_ms = (
        1e3 * sum(pair.seconds[seat] for pair in pairs) / sum(pair.moves[seat] for pair in pairs)
        for seat in (0, 1)
    )
    return {
        "games": 2 * found.pairs,
        "won": found.won,
        "tied": found.tied,
        "lost": found.lost,
        "score": found.share,
        "low": found.low,
        "high": found.high,
        "elo": found.elo,
        "ms": ms,
        "other_ms": other_ms,
    }
