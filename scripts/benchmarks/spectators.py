"""Players' latency with a thousand spectators of their match, and with lobbies of fifty boards.

The server, its storage process, this process with the players, and a process with the spectators
share the machine. The spectators' process yields the processor to all others (nice 19), as if it
ran elsewhere, and checks that each spectator receives every move. They watch over WebSocket, with
views. Rounds with and without them alternate, on the same server.

*One match* is between two bots that fill a board of 19 by 19 and send their analysis of each move,
at a pace of 20 to 50 ms per move, and as fast as possible. *A lobby* has fifty such matches with
one move per second each, and pages that show all fifty. Latency is the time from sending a move to
the mover's own copy of its update.
"""

from __future__ import annotations

import random
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import Sample, percentile
from testbed.paced_matches import PairedDialogue, pace
from testbed.server_process import (
    PAGE,
    UNLIMITED,
    ServerProcess,
    allow_connections,
    serving,
    stored,
)
from testbed.spectators import SpectatorReport, Spectators, watching
from testbed.traffic import SILENCE_S, Message, TrafficPlayer, playing, replies

#: A full row hardly ever happens, so that a match has 361 moves.
GAME = "mnk(m=19,n=19,k=19)"
SPECTATORS = 1000
BOARDS = 50
LOBBIES = 20
#: Seconds from a move to the next.
PACE_S = (0.02, 0.05)

#: Ratio to the latency without spectators; both percentiles have a row of their own.
TARGET = Target("ratio", at_most=2.0)

COLUMNS = (
    Column("players", "players"),
    Column("watch", "spectators"),
    Column("latency", "latency"),
    Column("without_ms", "without, ms", ".2f"),
    Column("within_ms", "with, ms", ".2f"),
    Column("ratio", "ratio", ".2f"),
    Column("moves", "moves per round"),
    Column("told", "updates in all"),
    Column("kib", "KiB per update", ".2f"),
)


@dataclass(frozen=True)
class Scene:
    """The players, the spectators, and the function that plays a round with or without them."""

    players: str
    watch: str
    count: int
    matches: int
    play: Callable[[ServerProcess, Spectators | None], list[float]]


def run(bench: Bench) -> list[ResultTable]:
    """Return one table: one match at a pace and as fast as possible, and a lobby."""
    allow_connections(2 * SPECTATORS)
    moves, seconds = bench.pick(300, 100), bench.pick(20.0, 4.0)
    one = f"{SPECTATORS:,} of that match"
    scenes = {
        "at a pace": Scene(
            "one match, a move per 20 to 50 ms", one, SPECTATORS, 1, partial(_match, moves, PACE_S)
        ),
        "as fast as possible": Scene(
            "one match, as fast as possible", one, SPECTATORS, 1, partial(_match, moves, None)
        ),
        "lobbies": Scene(
            f"{BOARDS} matches, a move per second each",
            f"{LOBBIES} pages with all {BOARDS} boards",
            LOBBIES,
            BOARDS,
            partial(_lobby, seconds),
        ),
    }
    table = ResultTable("Players' latency without and with spectators", COLUMNS)
    with stored() as database, serving([*UNLIMITED, PAGE, database]) as served:
        for name in bench.track(list(scenes)):
            _measure(bench.pick(5, 2), table, served, scenes[name])
    return [table]


def _measure(rounds: int, table: ResultTable, served: ServerProcess, scene: Scene) -> None:
    without, within, seen = list[list[float]](), list[list[float]](), list[SpectatorReport]()
    for _ in range(rounds):
        without.append(scene.play(served, None))
        with watching(served.page, scene.count, scene.matches) as spectators:
            within.append(scene.play(served, spectators))
            seen.append(spectators.finish())
    for percent in (50, 99):
        bare, watched = _latency_ms(without, percent), _latency_ms(within, percent)
        table.add(
            None if "fast" in scene.players else TARGET,
            players=scene.players,
            watch=scene.watch,
            latency=f"{percent} %",
            without_ms=bare,
            within_ms=watched,
            ratio=watched.over(bare),
            moves=Sample(map(len, within)),
            told=Sample(each.moves for each in seen),
            kib=Sample(each.kib / each.moves for each in seen),
        )


def _latency_ms(rounds: list[list[float]], percent: float) -> Sample:
    return Sample(percentile(latencies_s, percent) * 1e3 for latencies_s in rounds)


class _AnalysisDialogue(PairedDialogue):
    """A paired dialogue whose moves have an analysis, as those of bots."""

    def move(self, match: str, ply: int, actions: Sequence[int]) -> Message:
        """Return a random legal move with an analysis."""
        move = super().move(match, ply, actions)
        pv = [move["action"], *actions[:9]]
        stats = [[action, 1000 - place, 0.5] for place, action in enumerate(actions[:20])]
        analysis = {"win_rate": 0.5, "simulations": 20000, "pv": pv, "actions": stats}
        return move | {"info": analysis}


def _match(
    moves: int,
    pace_s: tuple[float, float] | None,
    served: ServerProcess,
    spectators: Spectators | None,
) -> list[float]:
    """Return the latencies of `moves` moves of one match; they start when all spectators watch."""
    latencies_s: list[float] = []
    draw = random.Random(1)
    with playing(served, _AnalysisDialogue(GAME), 2) as selector:
        turns = _turns(selector, latencies_s)
        player, move = next(turns)
        if spectators:
            spectators.watch()
            spectators.answer()
        for _ in range(moves):
            if pace_s:
                time.sleep(draw.uniform(*pace_s))
            player.send(move, time.perf_counter())
            player, move = next(turns)
    return latencies_s


def _turns(
    selector: selectors.BaseSelector, latencies_s: list[float]
) -> Iterator[tuple[TrafficPlayer, Message]]:
    """Yield the next player with its move, after the mover has its copy of the move before."""
    dialogue = _AnalysisDialogue(GAME)
    due: tuple[TrafficPlayer, Message] | None = None
    made = 0
    while True:
        for player, reply, _ in replies(selector, dialogue, SILENCE_S, latencies_s.append):
            if reply["type"] == "move":
                due = player, reply
        if due and len(latencies_s) == made:
            made += 1
            turn, due = due, None
            yield turn


def _lobby(seconds: float, served: ServerProcess, spectators: Spectators | None) -> list[float]:
    """Return the latencies of many matches, which the spectators watch soon after their start."""
    if spectators:
        spectators.watch()
    paced = pace(served, GAME, BOARDS, seconds)
    if spectators:
        spectators.answer()
    return paced.latencies_s
