"""Players' latency while fifty people have positions analysed by the server's bots.

A hundred matches are played with the clock `1/move`, with half a second from a move to the next;
all is stored in SQLite. Fifty people ask the server's bot about positions of Connect Four, each
again as soon as its analysis is over. The server analyses in one process of the lowest priority
(`--analyses 1`); while others wait, each analysis has two seconds. The people's process yields the
processor to all others, as if it ran elsewhere. Rounds without and with them alternate on the same
server. Latency is the time from sending a move to the mover's own copy of its update.
"""

from __future__ import annotations

from typing import NamedTuple

from testbed.askers import AskedReport, asking
from testbed.bench import Bench
from testbed.measure import Sample, percentile
from testbed.paced_matches import PacedLoad, PairedDialogue, pace
from testbed.result_table import Column, ResultTable, Target
from testbed.server_process import (
    UNLIMITED,
    ServerProcess,
    allow_connections,
    serving,
    stored,
)
from testbed.traffic import Message, TrafficPlayer

GAME = "connect_four"
CLOCK, MOVE_S = "1/move", 0.5
MATCHES, PEOPLE = 100, 50
BOT = "Max:strong=uct"

#: Ratio to the latency without analyses.
TARGET = Target("ratio", at_most=1.5)

COLUMNS = (
    Column("latency", "latency"),
    Column("without_ms", "without, ms", ".2f"),
    Column("within_ms", "with, ms", ".2f"),
    Column("ratio", "ratio", ".2f"),
    Column("moves", "moves per round"),
    Column("late", "too late"),
    Column("analyses", "analyses per round"),
    Column("reports", "reports"),
    Column("waiting", "longest queue"),
)


class _ClockedLoad(NamedTuple):
    """A round: what was measured, and how many moves came too late, so that matches were lost."""

    paced: PacedLoad
    late: int


class _ClockedDialogue(PairedDialogue):
    """A paired dialogue in which a busy machine may let a player's time run out."""

    late = 0

    def answer(self, player: TrafficPlayer, message: Message) -> Message | None:
        """Return the answer to a message; a move that came too late has none."""
        if message["type"] == "error" and message["code"] in ("match_over", "unknown_match"):
            self.late += 1
            return None
        return super().answer(player, message)


def run(bench: Bench) -> list[ResultTable]:
    """Return one table: the latency of moves without and with analyses."""
    allow_connections(2 * MATCHES + PEOPLE)
    rounds, seconds = bench.pick(9, 2), bench.pick(12.0, 6.0)
    options = [f"--default-clock={CLOCK}", f"--bot={BOT}", "--analyses-per-hour=0"]
    without, within, asked = list[_ClockedLoad](), list[_ClockedLoad](), list[AskedReport]()
    with stored() as database, serving([*UNLIMITED, *options, database]) as served:
        for _ in bench.track(range(rounds)):
            without.append(_pace(served, seconds))
            with asking(served, PEOPLE) as people:
                within.append(_pace(served, seconds))
                asked.append(people.finish())
    table = ResultTable("Players' latency without and with analyses", COLUMNS)
    for percent in (50, 99):
        bare, busy = _latency_ms(without, percent), _latency_ms(within, percent)
        table.add(
            TARGET if percent == 99 else None,
            latency=f"{percent} %",
            without_ms=bare,
            within_ms=busy,
            ratio=busy.over(bare),
            moves=Sample(load.paced.moves for load in within),
            late=Sample(load.late for load in within),
            analyses=Sample(each.analyses for each in asked),
            reports=Sample(each.reports for each in asked),
            waiting=Sample(each.waiting for each in asked),
        )
    return [table]


def _pace(served: ServerProcess, seconds: float) -> _ClockedLoad:
    dialogue = _ClockedDialogue(GAME)
    paced = pace(served, GAME, MATCHES, seconds, move_s=MOVE_S, dialogue=dialogue)
    return _ClockedLoad(paced, dialogue.late)


def _latency_ms(loads: list[_ClockedLoad], percent: float) -> Sample:
    return Sample(percentile(load.paced.latencies_s, percent) * 1e3 for load in loads)
