"""A long history: how long do pages, the API, start, import and export take as it grows?

Matches of 300 players at four games, a tenth of them of tournaments and a tenth of a ladder, are
written as JSON Lines, and imported into a new database; few players play most. *Cold* is the first
request for an address after a start of the server, pages and API apart. The addresses are found by
asking the site: one page or list of each kind, with each of its parameters. Their values are those
with the most matches, such as the most active player; lists also have their last page.

*Growth* is the time of a start, an import or an export divided by that with the shortest history,
and by the ratio of the matches: 1 if the time grows as the history does.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import click
from testbed.bench import Bench
from testbed.made_history import LADDER_GAME, MadeHistory
from testbed.measure import Sample
from testbed.result_table import Column, ResultTable, Target
from testbed.server_process import PAGE, PLAYOUT, UNLIMITED, serving
from testbed.site_addresses import Site, api_addresses, page_addresses

from server.storage import Database

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
)


@dataclass
class _Measured:
    """The seconds of everything with one length of the history."""

    matches: int
    costs: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    cold: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


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
        measured.costs["import"].append(_command_s("import", f"--database={url}", lines))
        command = [*UNLIMITED, PAGE, f"--database={url}"]
        found = _addresses(command, made)
        for _ in range(rounds):
            for addresses in found.values():
                began = time.perf_counter()
                with serving(command) as server:
                    measured.costs["start"].append(time.perf_counter() - began)
                    site = Site(server.page)
                    for address in addresses:
                        measured.cold[address].append(site.seconds(address))
            out = str(folder / "out.jsonl")
            measured.costs["export"].append(_command_s("export", f"--database={url}", out))
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


def _command_s(*arguments: str) -> float:
    """Return the seconds that a subcommand of the server takes. Raises ClickException."""
    began = time.perf_counter()
    done = subprocess.run([PLAYOUT[0], *arguments], capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode:
        raise click.ClickException(f"playout-server {arguments[0]} failed: {done.stderr[-2000:]}")
    return took


def _cold_table(measured: Sequence[_Measured]) -> ResultTable:
    sizes = [
        Column(f"of_{each.matches}", f"{each.matches:,} matches, s", ".3f") for each in measured
    ]
    columns = (Column("address", "address"), *sizes, Column("worst", "worst, s", ".3f"))
    table = ResultTable("The first request for an address after a start", columns)
    for address in measured[-1].cold:
        taken = {
            column.key: Sample(each.cold[address])
            for column, each in zip(sizes, measured, strict=True)
            if address in each.cold
        }
        worst = max(sample.median for sample in taken.values())
        table.add(COLD, address=address, worst=worst, **taken)
    return table


def _cost_table(measured: Sequence[_Measured]) -> ResultTable:
    table = ResultTable("Start, import and export", COSTS)
    least = measured[0]
    for what in least.costs:
        for each in measured:
            seconds = Sample(each.costs[what])
            growth = seconds.median / Sample(least.costs[what]).median
            table.add(
                NO_FASTER if each is not least else None,
                matches=each.matches,
                what=what,
                seconds=seconds,
                rate=each.matches / seconds.median,
                growth=growth * least.matches / each.matches,
            )
    return table
