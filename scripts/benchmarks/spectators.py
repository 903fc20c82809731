"""Players' latency while a thousand watch their match, and while lobbies show fifty boards.

The server is one process, what stores for it another, the players a third, this one; those who
watch are a fourth, which yields the processor to all others (nice 19), as if they were elsewhere,
and sees that each of them is told every move. They watch over WebSocket, with views. Rounds without
and with them take turns, on the same server.

*One match* is of two bots that fill a board of 19 by 19 and say what they think of each move, at a
pace of 20 to 50 ms a move, and as fast as it goes. *A lobby* has fifty such matches with a move a
second in each, and pages that show all fifty. Latency is from sending a move to the mover's own
copy of its update.
"""

from __future__ import annotations

import random
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from testbed.bench import Bench
from testbed.measure import Sample, percentile
from testbed.paced_matches import PairedDialogue, pace
from testbed.result_table import Column, ResultTable, Target
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

#: Nobody gets a whole row, so that a match has 361 moves.
GAME = "mnk(m=19,n=19,k=19)"
SPECTATORS = 1000
BOARDS = 50
LOBBIES = 20
#: Seconds from a move to the next.
PACE_S = (0.02, 0.05)

#: Of the latency without those who watch; both percentiles have a row of their own.
TARGET = Target("ratio", at_most=2.0)

COLUMNS = (
    Column("players", "players"),
    Column("watch", "who watches"),
    Column("latency", "latency"),
    Column("without_ms", "without, ms", ".2f"),
    Column("within_ms", "with, ms", ".2f"),
    Column("ratio", "ratio", ".2f"),
    Column("moves", "moves a round"),
    Column("told", "told in all"),
    Column("kib", "KiB told a move", ".2f"),
)


@dataclass(frozen=True)
class Scene:
    """Who plays, who watches, and how a round is played with them or without."""

    players: str
    watch: str
    count: int
    matches: int
    play: Callable[[ServerProcess, Spectators | None], list[float]]


def run(bench: Bench) -> list[ResultTable]:
    """One table: a pair at a pace and as fast as it goes, and a lobby."""
    allow_connections(2 * SPECTATORS)
    moves, seconds = bench.pick(300, 100), bench.pick(20.0, 4.0)
    one = f"{SPECTATORS:,} at that match"
    scenes = {
        "at a pace": Scene(
            "one match, a move each 20 to 50 ms", one, SPECTATORS, 1, partial(_match, moves, PACE_S)
        ),
        "as fast as it goes": Scene(
            "one match, as fast as it goes", one, SPECTATORS, 1, partial(_match, moves, None)
        ),
        "lobbies": Scene(
            f"{BOARDS} matches, a move a second in each",
            f"{LOBBIES} pages with all {BOARDS} boards",
            LOBBIES,
            BOARDS,
            partial(_lobby, seconds),
        ),
    }
    table = ResultTable("Players' latency without and with those who watch", COLUMNS)
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
    """They say what bots say."""

    def move(self, match: str, ply: int, actions: Sequence[int]) -> Message:
        """A random legal action."""
        move = super().move(match, ply, actions)
        line = [move["action"], *actions[:9]]
        looked_at = [[action, 1000 - place, 0.5] for place, action in enumerate(actions[:20])]
        thought = {"win_rate": 0.5, "simulations": 20000, "pv": line, "actions": looked_at}
        return move | {"info": thought}


def _match(
    moves: int,
    pace_s: tuple[float, float] | None,
    served: ServerProcess,
    spectators: Spectators | None,
) -> list[float]:
    """The latencies of so many moves of one match, which wait until all watch."""
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
    """Who is to move, and with what, when the mover has its own copy of the move before."""
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
    """The latencies of many matches, which are watched from soon after they have begun."""
    if spectators:
        spectators.watch()
    paced = pace(served, GAME, BOARDS, seconds)
    if spectators:
        spectators.answer()
    return paced.latencies_s
