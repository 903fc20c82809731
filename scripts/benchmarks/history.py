"""A growing history of matches: the time of pages, the API, start, import and export.

Matches of 300 players at four games, a tenth of them of tournaments and a tenth of a ladder, are
written as JSON Lines, and imported into a new database; few players play most. *Cold* is the first
request for an address after a start of the server, pages and API apart. The site itself tells the
addresses: one page or list of each kind, with each of its parameters. The values of parameters are
those with the most matches, such as the most active player; lists also have their last page.

*Growth* is the time of a start, an import or an export divided by that with the shortest history,
and by the ratio of the matches: 1 if the time grows as the history does. The processor time beside
each time, of the server or the command, tells load from slowness: other work on the machine changes
it far less.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import resource
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

import click

from playout import games
from playout.games import Game
from playout.protocol.messages import Reason
from playout.protocol.tournament_spec import Entrant, TournamentSpec, dumps
from playout.server.core.accounts import digest
from playout.server.export import jsonl
from playout.server.model.records import (
    Account,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    StoredMatch,
    TournamentCreated,
    TournamentEnded,
    flat,
)
from playout.server.storage import Database
from playout.server.tournament import formats
from playout.server.tournament.ledger import LEGS, MatchSlot
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.machine import own_processor_seconds, processor_seconds
from testbed.measure import Sample
from testbed.positions import random_moves
from testbed.server_process import PAGE, PLAYOUT, UNLIMITED, serving

SIZES, QUICK_SIZES = (20_000, 100_000), (1_000, 4_000)
COLD = Target("worst", at_most=0.3)
NO_FASTER = Target("growth", at_most=1.1)
COSTS = (
    Column("matches", "matches"),
    Column("what", "what"),
    Column("seconds", "s", ".2f"),
    Column("rate", "matches/s"),
    Column("growth", "growth", ".2f"),
    Column("processor_s", "processor, s", ".2f"),
    Column("processor_growth", "its growth", ".2f"),
)


class _Cost(NamedTuple):
    """Seconds of a round, and those of a processor."""

    seconds: float
    processor_s: float


class _Costs(list[_Cost]):
    """The costs of all rounds."""

    @property
    def seconds(self) -> Sample:
        """The seconds of each round."""
        return Sample(each.seconds for each in self)

    @property
    def processor_s(self) -> Sample:
        """The processor seconds of each round."""
        return Sample(each.processor_s for each in self)


@dataclass
class _Measured:
    """All costs with one length of the history; `cold` by address."""

    matches: int
    costs: dict[str, _Costs] = field(default_factory=lambda: defaultdict(_Costs))
    cold: dict[str, _Costs] = field(default_factory=lambda: defaultdict(_Costs))


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
        measured.costs["import"].append(_command_cost("import", f"--database={url}", lines))
        command = [*UNLIMITED, PAGE, f"--database={url}"]
        found = _addresses(command, made)
        for _ in range(rounds):
            for addresses in found:
                began = time.perf_counter()
                with serving(command) as server:
                    took = time.perf_counter() - began
                    measured.costs["start"].append(_Cost(took, processor_seconds(server.pid)))
                    site = Site(server.page)
                    for address in addresses:
                        before = own_processor_seconds(server.pid)
                        took = site.seconds(address)
                        used = own_processor_seconds(server.pid) - before
                        measured.cold[address].append(_Cost(took, used))
            out = str(folder / "out.jsonl")
            measured.costs["export"].append(_command_cost("export", f"--database={url}", out))
    return measured


def _addresses(command: Sequence[str], made: MadeHistory) -> list[list[str]]:
    """Return the addresses of pages, and those of the API."""
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
        finders = page_addresses, api_addresses
        return [list(dict.fromkeys(find(site, items, values))) for find in finders]


def _command_cost(*arguments: str) -> _Cost:
    """Run a subcommand of the server. Raises ClickException if it fails."""
    began, before = time.perf_counter(), _processor_s_of_children()
    done = subprocess.run([PLAYOUT[0], *arguments], capture_output=True, text=True, check=False)
    took, used = time.perf_counter() - began, _processor_s_of_children() - before
    if done.returncode:
        raise click.ClickException(f"playout-server {arguments[0]} failed: {done.stderr[-2000:]}")
    return _Cost(took, used)


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


# A long history: matches of people, of tournaments and of a ladder.


#: Games with short matches, which keep the files small.
GAMES = ("tic_tac_toe", "nim", "connect_four", "mnk(m=4,n=4,k=3)")
LADDER_GAME = "connect_four"
#: Of each ten matches, those of tournaments and those of the ladder.
_OF_TOURNAMENTS, _OF_LADDER = 1, 1
PLAYERS, BOTS, ENTRANTS = 300, 20, 8
#: The forms of the ids of matches and of tournaments.
_MATCH, _TOURNAMENT = "m{:08}", "t{:05}"
#: Maximum number of pairs of a tournament.
_PAIRS = 500
#: Number of random matches of each game.
_DRAWN = 300
#: The time of the first match, and the seconds from one match to the next.
_SINCE, _STEP_S = 1.7e9, 30.0
#: The deviation of the strengths of players, in logarithms of odds.
_SPREAD = 1.0


@dataclass(frozen=True)
class _Moves:
    """A random match: its actions, its winner and the returns."""

    actions: tuple[int, ...]
    winner: int
    returns: tuple[float, float]


class MadeHistory:
    """Matches of people, of tournaments and of a ladder; equal numbers give equal matches.

    The moves are those of a few random matches of each game, which are used again and again under
    other names: only their number matters. Players are drawn so that few play most, as on a real
    server.
    """

    def __init__(self, matches: int) -> None:
        self._random = random.Random(1)
        self._tournament_matches = matches * _OF_TOURNAMENTS // 10
        self._ladder_matches = matches * _OF_LADDER // 10
        self._matches = matches - self._tournament_matches - self._ladder_matches
        self._games = {name: games.load(name) for name in GAMES}
        self._drawn = {name: self._draw(game) for name, game in self._games.items()}
        self._names = [f"Player {number}" for number in range(1, PLAYERS + 1)]
        self._strength = {name: self._random.gauss(0, _SPREAD) for name in self._names}
        self._weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(PLAYERS)))
        self._ids = itertools.count()

    @property
    def most_active(self) -> str:
        """The name of the player with the most matches."""
        return self._names[0]

    @property
    def first_match(self) -> str:
        """The id of a match."""
        return _MATCH.format(0)

    @property
    def first_tournament(self) -> str:
        """The id of a tournament."""
        return _TOURNAMENT.format(0)

    def store_accounts(self, database: Database) -> None:
        """Store the accounts, the tournaments without their matches, and the ladder's matches.

        The other matches are imported: see `write`.
        """
        database.save(
            [
                Account(id=_account(name), name=name, digest=digest(name), created_at=_SINCE)
                for name in self._names
            ]
        )
        for number, spec in enumerate(self._tournaments()):
            key = _TOURNAMENT.format(number)
            begun = TournamentCreated(tournament=key, name=spec.name, spec=dumps(spec), at=_SINCE)
            database.save([begun, TournamentEnded(tournament=key, at=_SINCE + 1)])
        database.add(self._of_ladder())

    def write(self, path: Path) -> None:
        """Write the other matches as JSON Lines."""
        with path.open("w", encoding="utf-8") as file:
            for stored in itertools.chain(self._of_tournaments(), self._of_people()):
                file.write(jsonl.write(stored))

    def _of_people(self) -> Iterator[StoredMatch]:
        for number in range(self._matches):
            game = GAMES[number % len(GAMES)]
            yield self._match(game, self._pair(), rated=True)

    def _of_ladder(self) -> Iterator[StoredMatch]:
        for number in range(self._ladder_matches):
            first, second = self._random.sample(self._names[:BOTS], 2)
            yield self._match(
                LADDER_GAME,
                (first, second),
                rated=True,
                accounts=(_account(first), _account(second)),
                ladder_pair=f"pair{number // 2}",
                versions=("1", "1"),
            )

    def _of_tournaments(self) -> Iterator[StoredMatch]:
        left = self._tournament_matches
        for number, spec in enumerate(self._tournaments()):
            for pair in formats.load(spec).pairs({}, ()):
                one, other = (spec.entrants[place].name for place in pair.entrants)
                for leg in LEGS:
                    left -= 1
                    if left < 0:
                        return
                    yield self._match(
                        pair.game,
                        (one, other) if leg == 1 else (other, one),
                        rated=True,
                        tournament=_TOURNAMENT.format(number),
                        fixture=str(MatchSlot(pair.key, leg, 1)),
                    )

    def _tournaments(self) -> Iterator[TournamentSpec]:
        each = ENTRANTS * (ENTRANTS - 1) // 2
        rounds = _PAIRS // each
        for number in range(math.ceil(self._tournament_matches / (2 * rounds * each))):
            first = number * ENTRANTS % (PLAYERS - ENTRANTS)
            yield TournamentSpec(
                name=f"cup {number + 1}",
                games=(GAMES[number % len(GAMES)],),
                format="round_robin",
                entrants=tuple(
                    Entrant(name, "1") for name in self._names[first : first + ENTRANTS]
                ),
                rounds=rounds,
                clock="none",
            )

    def _pair(self) -> tuple[str, str]:
        first, second = self._random.choices(self._names, cum_weights=self._weights, k=2)
        return (first, second) if first != second else self._pair()

    def _match(self, game: str, players: tuple[str, str], **fields: object) -> StoredMatch:
        number = next(self._ids)
        match, at = _MATCH.format(number), _SINCE + number * _STEP_S
        moves = self._choose(game, players)
        return StoredMatch(
            started=MatchStarted(
                **flat(
                    match=match,
                    game=game,
                    players=players,
                    sessions=("", ""),
                    clock="none",
                    illegal_moves=3,
                    credit_cap_s=0.1,
                    at=at,
                    **fields,
                )
            ),
            moves=tuple(
                MovePlayed(
                    match=match,
                    ply=ply,
                    seat=1 if ply % 2 == 0 else 2,
                    action=action,
                    at=at + ply,
                )
                for ply, action in enumerate(moves.actions)
            ),
            ended=MatchEnded(
                **flat(
                    match=match,
                    winner=moves.winner,
                    returns=moves.returns,
                    reason=Reason.RULES,
                    text="",
                    at=at + len(moves.actions),
                )
            ),
        )

    def _choose(self, game: str, players: tuple[str, str]) -> _Moves:
        """Return a random match, which the stronger player wins more often."""
        one, other = self._random.choices(self._drawn[game], k=2)
        if one.winner == other.winner or -1 in (one.winner, other.winner):
            return one
        ahead = self._strength[players[0]] - self._strength[players[1]]
        wanted = 1 if self._random.random() < 1 / (1 + math.exp(-ahead)) else 2
        return one if one.winner == wanted else other

    def _draw(self, game: Game) -> list[_Moves]:
        return [self._playout(game) for _ in range(_DRAWN)]

    def _playout(self, game: Game) -> _Moves:
        actions, state = random_moves(game, game.max_plies, self._random)
        first, second = game.returns(state)
        return _Moves(tuple(actions), game.winner(state), (first, second))


def _account(name: str) -> str:
    return f"id-{name.rpartition(' ')[2]}"


# The addresses of a server's pages and API, as the site itself tells them.
#
# The links of the first page lead to the other pages, and the error for an unknown address of the
# API names its lists. The error for an unknown parameter names the parameters of an address, and
# the error for a wrong value the allowed values.


_LINK = re.compile(r'href="(/[^"?#]*)')
_FORM = re.compile(r'action="(/[^"?#]*)')
_ALLOWED = re.compile(r"allowed are ([\w, ]+)")
_CHOICES = re.compile(r"must be one of ([\w, ]+), not")
_API_LIST = re.compile(r"/api/\w+")
_PAGES = re.compile(r"Page \d+ of (\d+)")
#: A parameter that no address has, and a value that no parameter allows.
_UNKNOWN = "unknown-1"


class Site:
    """The pages and the API of a server on this machine."""

    def __init__(self, port: int) -> None:
        self._root = f"http://127.0.0.1:{port}"

    def get(self, address: str) -> tuple[int, str]:
        """Return the status and the body of a response."""
        try:
            with urllib.request.urlopen(self._root + address) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def seconds(self, address: str) -> float:
        """Return the seconds of a response. Raises ClickException if its status is not 200."""
        began = time.perf_counter()
        status, text = self.get(address)
        took = time.perf_counter() - began
        if status != 200:
            raise click.ClickException(f"{address} has the status {status}: {text[:300]}")
        return took


def page_addresses(
    site: Site, items: Mapping[str, str], values: Mapping[str, str]
) -> Iterator[str]:
    """Yield the addresses of pages, one of each kind, with each of its parameters.

    `items`: for each list, the last segment of the address of one item. `values`: those of the
    parameters that allow any value.
    """
    seen, left = {"/"}, ["/"]
    while left:
        path = left.pop(0)
        yield from _with_parameters(site, path, values)
        _, text = site.get(path)
        for link in [*_LINK.findall(text), *_FORM.findall(text)]:
            kind = link.split("/")[1]
            is_item = link.count("/") > 1 and kind in items
            address = f"/{kind}/{items[kind]}" if is_item else link
            if kind != "static" and address not in seen and (is_item or link.count("/") == 1):
                seen.add(address)
                left.append(address)


def api_addresses(site: Site, items: Mapping[str, str], values: Mapping[str, str]) -> Iterator[str]:
    """Yield the addresses of the API: each list with its parameters, and one item of each."""
    _, text = site.get("/api")
    for path in _API_LIST.findall(text):
        yield from _with_parameters(site, path, values)
        if item := items.get(path.rpartition("/")[2]):
            yield f"{path}/{item}"


def _with_parameters(site: Site, path: str, values: Mapping[str, str]) -> Iterator[str]:
    """Yield an address as it is, and with each of its parameters."""
    yield path
    _, error = site.get(f"{path}?{_UNKNOWN}=1")
    allowed = _ALLOWED.search(error)
    for name in allowed[1].split(", ") if allowed else ():
        if name == "page":
            chosen = [_last_page(site.get(path)[1])]
        elif choices := _CHOICES.search(site.get(f"{path}?{name}={_UNKNOWN}")[1]):
            chosen = choices[1].split(", ")
        elif name in values:
            chosen = [values[name]]
        else:
            raise click.ClickException(f"{path} has a parameter {name!r} without a value here")
        yield from (f"{path}?{urlencode({name: value})}" for value in chosen)


def _last_page(text: str) -> str:
    """Return the number of the last page of a list, from a page or from JSON."""
    if text.startswith("{"):
        return str(json.loads(text)["pages"])
    found = _PAGES.search(text)
    return found[1] if found else "1"
