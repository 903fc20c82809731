"""A long history: how long do pages, the API, start, import and export take as it grows?

Matches of 300 players at four games, a tenth of them of tournaments and a tenth of a ladder, are
written as JSON Lines, and imported into a new database; few players play most. *Cold* is the first
request for an address after a start of the server, pages and API apart. The addresses are found by
asking the site: one page or list of each kind, with each of its parameters. Their values are those
with the most matches, such as the most active player; lists also have their last page.

*Growth* is the time of a start, an import or an export divided by that with the shortest history,
and by the ratio of the matches: 1 if the time grows as the history does. The processor time beside
each time, of the server or the command, tells load from slowness: other work on the machine changes
it far less.
"""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import click

from playout.server.storage import Database
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.machine import own_processor_seconds, processor_seconds
from testbed.made_history import LADDER_GAME, MadeHistory, Site, api_addresses, page_addresses
from testbed.measure import Sample
from testbed.server_process import PAGE, PLAYOUT, UNLIMITED, serving

SIZES, QUICK_SIZES = (20_000, 100_000, 400_000), (1_000, 4_000)
COLD = Target("worst", at_most=0.3)
NO_FASTER = Target("growth", at_most=1.1)
#: The kinds of addresses, each asked for after a start of its own.
_FINDERS = {"page": page_addresses, "API": api_addresses}

COSTS = (
    Column("matches", "matches"),
    Column("what", "what"),
    Column("seconds", "s", ".2f"),
    Column("rate", "matches/s"),
    Column("growth", "growth", ".2f"),
    Column("processor_s", "processor, s", ".2f"),
    Column("processor_growth", "its growth", ".2f"),
)


@dataclass
class _Taken:
    """The seconds that something took in each round, and those of a processor."""

    all_seconds: list[float] = field(default_factory=list)
    all_processor_s: list[float] = field(default_factory=list)

    def add(self, seconds: float, processor_s: float) -> None:
        """Add a round."""
        self.all_seconds.append(seconds)
        self.all_processor_s.append(processor_s)

    @property
    def seconds(self) -> Sample:
        """Return the seconds of all rounds."""
        return Sample(self.all_seconds)

    @property
    def processor_s(self) -> Sample:
        """Return the processor seconds of all rounds."""
        return Sample(self.all_processor_s)


@dataclass
class _Measured:
    """The seconds of everything with one length of the history."""

    matches: int
    costs: dict[str, _Taken] = field(default_factory=lambda: defaultdict(_Taken))
    cold: dict[str, _Taken] = field(default_factory=lambda: defaultdict(_Taken))


def run(bench: Bench) -> list[ResultTable]:
    """Return two tables: the first requests, and start, import and export."""
    rounds = bench.pick(3, 1)
    sizes = bench.pick(SIZES, QUICK_SIZES)
    measured = [_measure(size, rounds) for size, _ in bench.track([(n, "matches") for n in sizes])]
    return [_cold_table(measured), _cost_table(measured)]


def _measure(matches: int, rounds: int) -> _Measured:
    measured = _Measured(matches)
    with tempfile.TemporaryDirectory(prefix="playout-history-") as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/playout.db"
        made = MadeHistory(matches)
        database = Database(url)
        database.migrate()
        made.store_accounts(database)
        database.close()
        made.write(folder / "made.jsonl")
        lines = str(folder / "made.jsonl")
        measured.costs["import"].add(*_command_s("import", f"--database={url}", lines))
        command = [*UNLIMITED, PAGE, f"--database={url}"]
        found = _addresses(command, made)
        for _ in range(rounds):
            for addresses in found.values():
                began = time.perf_counter()
                with serving(command) as server:
                    took = time.perf_counter() - began
                    measured.costs["start"].add(took, processor_seconds(server.pid))
                    site = Site(server.page)
                    for address in addresses:
                        before = own_processor_seconds(server.pid)
                        took = site.seconds(address)
                        used = own_processor_seconds(server.pid) - before
                        measured.cold[address].add(took, used)
            out = str(folder / "out.jsonl")
            measured.costs["export"].add(*_command_s("export", f"--database={url}", out))
    return measured


def _addresses(command: Sequence[str], made: MadeHistory) -> dict[str, list[str]]:
    """Return the addresses of pages and of the API."""
    player = made.most_active
    with serving(command) as server:
        site = Site(server.page)
        items = {
            "matches": made.first_match,
            "players": quote(player),
            "tournaments": made.first_tournament,
            "ladders": LADDER_GAME,
        }
        values = {
            "game": LADDER_GAME,
            "player": player,
            "opponent": player,
            "tournament": made.first_tournament,
            "per_page": "200",
            "since": "2024-01-01",
            "until": "2024-12-31",
        }
        return {
            kind: list(dict.fromkeys(find(site, items, values))) for kind, find in _FINDERS.items()
        }


def _command_s(*arguments: str) -> tuple[float, float]:
    """Return the seconds that a subcommand of the server takes, and those of a processor.

    Raises ClickException.
    """
    began, before = time.perf_counter(), _processor_s_of_children()
    done = subprocess.run([PLAYOUT[0], *arguments], capture_output=True, text=True, check=False)
    took, used = time.perf_counter() - began, _processor_s_of_children() - before
    if done.returncode:
        raise click.ClickException(f"playout-server {arguments[0]} failed: {done.stderr[-2000:]}")
    return took, used


def _processor_s_of_children() -> float:
    """Return the processor seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cold_table(measured: Sequence[_Measured]) -> ResultTable:
    sizes = [
        Column(f"of_{each.matches}", f"{each.matches:,} matches, s", ".3f") for each in measured
    ]
    worst = Column("worst", "worst, s", ".3f")
    processor = Column("processor_s", "processor, s", ".3f")
    columns = (Column("address", "address"), *sizes, processor, worst)
    table = ResultTable("The first request for an address after a start", columns)
    for address in measured[-1].cold:
        taken = {
            column.key: each.cold[address]
            for column, each in zip(sizes, measured, strict=True)
            if address in each.cold
        }
        table.add(
            COLD,
            address=address,
            worst=max(each.seconds.median for each in taken.values()),
            processor_s=max(each.processor_s.median for each in taken.values()),
            **{key: each.seconds for key, each in taken.items()},
        )
    return table


def _cost_table(measured: Sequence[_Measured]) -> ResultTable:
    table = ResultTable("Start, import and export", COSTS)
    least = measured[0]
    for what in least.costs:
        for each in measured:
            taken, first = each.costs[what], least.costs[what]
            longer = each.matches / least.matches
            table.add(
                NO_FASTER if each is not least else None,
                matches=each.matches,
                what=what,
                seconds=taken.seconds,
                rate=each.matches / taken.seconds.median,
                growth=taken.seconds.median / first.seconds.median / longer,
                processor_s=taken.processor_s,
                processor_growth=taken.processor_s.median / first.processor_s.median / longer,
            )
    return table
