"""Ladders: whether they find the order of bots and survive kills, and their overhead.

*Order*: eleven bots that search with 50 to 5,000 simulations, and one that plays at random, enter
a ladder in random order. One gets a stronger and one a weaker version, and the server is
killed three times. *Reversed* counts each two versions whose error bars exclude the true order,
*faults* also lost, double and unfinished matches. *Near* is the share of matches
between versions whose ratings at the end are at most 200 Elo apart.

*Overhead*: bots think for 20 ms a move, in one match at a time, and in one match per core at once,
where the server and all bots have to share the cores. The lower bound is the thinking time that
they report, divided by the matches at once.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import click
from sqlalchemy.exc import SQLAlchemyError

from playout.ratings.bradley_terry import solve
from playout.server.ladder.standings import LadderTable, ladder_table
from playout.server.ladder.state import restore_ladder
from playout.server.model.records import StoredMatch
from playout.server.storage import Database
from playout.server.storage.stored_ladders import stored_ladders
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import overhead, span_s
from testbed.server_process import PLAYER, KillableServer

# A ladder with real bots as processes, on a server that is killed, and its stored matches.


#: Seconds without another finished match after which a run fails.
PATIENCE_S = 300.0
_POLL_S = 0.5


class LadderRun:
    """A server and bots on the ladder of a game; each bot has an account of its name."""

    def __init__(self, folder: Path, game: str, *options: str) -> None:
        """`options`: those of the server."""
        self.game = game
        self._folder = folder
        self._url = f"sqlite:///{folder / 'playout.db'}"
        usual = (f"--database={self._url}", "--http=none", "--registrations-per-hour=0")
        self.server = KillableServer([*usual, *options], folder / "server.log")
        self._bots: dict[str, subprocess.Popen[bytes]] = {}

    def enter(self, name: str, player: str) -> None:
        """Start a bot, in place of the earlier one of that name, which leaves after its match."""
        if before := self._bots.pop(name, None):
            _leave(before)
        with (self._folder / f"{name}.log").open("ab") as log:
            words = [PLAYER, "any", player, f"--ladder={self.game}", f"--name={name}", "--quiet"]
            self._bots[name] = subprocess.Popen(
                [*words, f"--port={self.server.port}", "--retry-s=600"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"XDG_DATA_HOME": str(self._folder)},
                start_new_session=True,
            )

    def wait(self, matches: int) -> None:
        """Wait until that number of matches has ended. Raises ClickException if no more end."""
        ended, since = 0, time.monotonic()
        while ended < matches:
            time.sleep(_POLL_S)
            if (now := self._ended()) > ended:
                ended, since = now, time.monotonic()
            elif time.monotonic() > since + PATIENCE_S:
                raise click.ClickException(
                    f"no more matches of the ladder end: {self.server.log_tail()}"
                )

    def finish(self) -> None:
        """Let all bots leave after their matches, then stop the server."""
        bots = list(self._bots.values())
        for bot in bots:
            bot.send_signal(signal.SIGINT)
        for bot in bots:
            bot.wait(PATIENCE_S)
        self._bots.clear()
        self.server.stop()

    def close(self) -> None:
        """Kill all processes that still run."""
        for bot in self._bots.values():
            bot.kill()
            bot.wait()
        with contextlib.suppress(ProcessLookupError):
            self.server.kill()

    def stored(self) -> list[StoredMatch]:
        """Return all stored matches, with their moves."""
        with contextlib.closing(Database(self._url)) as database:
            return list(database.matches())

    def table(self) -> LadderTable:
        """Return the table of the ladder that follows from the stored matches."""
        with contextlib.closing(Database(self._url)) as database:
            names = {each.id: each.name for each in database.accounts()[0]}
            (stored,) = stored_ladders(database, 0.0)
        ladder = restore_ladder(stored)
        if problem := ladder.problem():
            ladder.rated(solve(problem))
        return ladder_table(ladder, names.__getitem__, (), clock="")

    def _ended(self) -> int:
        with contextlib.closing(Database(self._url)) as database:
            try:
                ladders = stored_ladders(database, 0.0)
            except SQLAlchemyError:  # there are no tables yet
                return 0
        return sum(each.matches for ladder in ladders for each in ladder.results)


def _leave(bot: subprocess.Popen[bytes]) -> None:
    bot.send_signal(signal.SIGINT)
    bot.wait(PATIENCE_S)


def faults(matches: list[StoredMatch]) -> Iterator[str]:
    """Yield the faults of the stored matches of a ladder: lost, double or without result."""
    pairs = Counter(each.started.ladder_pair for each in matches if each.started.ladder_pair)
    openings: dict[str, tuple[int, ...]] = {}
    for each in matches:
        match, pair = each.started.match, each.started.ladder_pair
        if pair is None:
            yield f"{match} is not on the ladder"
            continue
        if each.ended is None or not each.ended.winner:
            yield f"{match} has no result: {each.ended.text if each.ended else 'it has not ended'}"
        opening = tuple(move.action for move in each.moves[: each.started.opening])
        if openings.setdefault(pair, opening) != opening:
            yield f"{match} has another opening than {pair}"
        if pairs[pair] > 2:
            yield f"{match} is one of {pairs[pair]} matches of a pair"


def reversed_pairs(table: LadderTable, order: Mapping[tuple[str, str], int]) -> list[str]:
    """Return the pairs whose error bars exclude the true order.

    `order`: the rank of each version by name and player, the weakest first.
    """
    known = [each for each in table.standings if each.error is not None]
    return [
        f"{high.name} is not stronger than {low.name}"
        for high in known
        for low in known
        if order[high.name, high.version] > order[low.name, low.version]
        and high.rating + (high.error or 0) < low.rating - (low.error or 0)
    ]


GAME = "connect_four"
SIMULATIONS = (50, 80, 130, 200, 300, 480, 750, 1200, 1900, 3000, 5000)
#: The simulations of the new versions that two of the bots get, by those of the old ones.
NEW = {130: 2400, 1900: 100}
KILLS = 3
#: The largest difference of two ratings that count as near, in Elo.
NEAR = 200.0
THINKING_S = 0.02
NO_FAULTS = Target("faults", at_most=0)
OVERHEAD = Target("ratio", at_most=1.25)

ORDER = (
    Column("bots", "bots"),
    Column("versions", "versions"),
    Column("matches", "matches"),
    Column("kills", "kills"),
    Column("reversed", "reversed"),
    Column("near", "near", ".0%"),
    Column("seconds", "s", ".0f"),
    Column("faults", "faults"),
)
COSTS = (
    Column("at_once", "matches at once"),
    Column("bots", "bots"),
    Column("matches", "matches"),
    Column("wall_s", "wall, s", ".1f"),
    Column("thinking_s", "thinking, s per match at once", ".1f"),
    Column("ratio", "ratio", ".3f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return two tables: the order that is found, and overhead."""
    return bench.tables(order=_order, overhead=_overhead)


def _order(bench: Bench) -> ResultTable:
    table = ResultTable("A ladder of bots of known order, whose server is killed", ORDER)
    matches = bench.pick(600, 60)
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="playout-ladder-") as name:
        options = f"--ladder-matches={cores}", "--ladder-clock=10/move"
        ladder = LadderRun(Path(name), GAME, *options)
        with closing(ladder):
            ladder.server.start()
            strengths = list(SIMULATIONS)
            random.Random(1).shuffle(strengths)
            for simulations in strengths:
                ladder.enter(f"uct {simulations}", f"uct(simulations={simulations})")
            ladder.enter("random", "random")
            changes = list(NEW.items())
            for part in range(1, KILLS + 1):
                ladder.wait(part * matches // (KILLS + 1))
                ladder.server.kill()
                ladder.server.start()
                if changes:
                    old, new = changes.pop()
                    ladder.enter(f"uct {old}", f"uct(simulations={new})")
            ladder.wait(matches)
            ladder.finish()
            stored, found = ladder.stored(), ladder.table()
    ranks = _ranks(found)
    wrong = [*faults(stored), *reversed_pairs(found, ranks)]
    for line in wrong:
        click.echo(f"{bench.name}: {line}", err=True)
    table.add(
        NO_FAULTS,
        bots=len(SIMULATIONS) + 1,
        versions=len(found.standings),
        matches=len(stored),
        kills=KILLS,
        reversed=len(reversed_pairs(found, ranks)),
        near=_near(found),
        seconds=span_s(stored),
        faults=len(wrong),
    )
    return table


def _after_all_entered(matches: list[StoredMatch], bots: int) -> list[StoredMatch]:
    """Return the matches that have ended, without those that began before all bots had played."""
    seen: set[str] = set()
    for number, each in enumerate(matches):
        seen.update(each.started.players)
        if len(seen) == bots:
            return [match for match in matches[number:] if match.ended]
    return []


def _ranks(found: LadderTable) -> dict[tuple[str, str], int]:
    """Return the true rank of each version by name and version, the weakest first."""
    strengths: dict[tuple[str, str], int] = {}
    for each in found.standings:
        simulations = int(each.name.split()[1]) if " " in each.name else 0
        is_new = simulations in NEW and not each.retired
        strengths[each.name, each.version] = NEW[simulations] if is_new else simulations
    return {key: rank for rank, key in enumerate(sorted(strengths, key=strengths.__getitem__))}


def _near(found: LadderTable) -> float:
    """Return the share of matches between versions of about the same strength."""
    is_near = Counter[bool]()
    for met in found.meetings:
        one, other = (found.standings[place].rating for place in (met.one, met.other))
        is_near[abs(one - other) <= NEAR] += met.won + met.tied + met.lost
    return is_near[True] / is_near.total()


def _overhead(bench: Bench) -> ResultTable:
    table = ResultTable(f"Overhead of a ladder at {THINKING_S * 1000:g} ms per move", COSTS)
    cores = len(os.sched_getaffinity(0))
    bots = 2 * cores + 2
    for at_once in sorted({1, cores}):
        stored = _thinking_bots(bots, at_once, matches=bench.pick(100, 10) * at_once)
        table.add(OVERHEAD, at_once=at_once, bots=bots, **overhead(stored, at_once))
    return table


def _thinking_bots(bots: int, at_once: int, *, matches: int) -> list[StoredMatch]:
    """Play a ladder of bots that think for THINKING_S, and return the stored matches."""
    with tempfile.TemporaryDirectory(prefix="playout-ladder-") as name:
        ladder = LadderRun(Path(name), GAME, f"--ladder-matches={at_once}")
        with closing(ladder):
            ladder.server.start()
            for number in range(bots):
                c = 0.8 + 0.1 * number
                ladder.enter(f"bot {number}", f"uct(time={THINKING_S},c={c:g},solver=false)")
            ladder.wait(matches)
            stored = _after_all_entered(ladder.stored(), bots)
            ladder.finish()
    return stored
