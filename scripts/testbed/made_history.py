"""A long history of matches, made for benchmarks: of people, of tournaments and of a ladder.

The moves are those of a few random matches of each game, which are used again and again under other
names: only their number matters. Who plays is drawn so that few play most, as on a real server.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import click

from playout import games
from playout.games import Game
from playout.protocol.messages import Reason
from playout.protocol.tournament_spec import Entrant, TournamentSpec, dumps
from playout.server.core.accounts import digest
from playout.server.export import jsonl
from playout.server.model.records import (
    Account,
    LadderMatch,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    StoredMatch,
    TournamentCreated,
    TournamentEnded,
)
from playout.server.storage import Database
from playout.server.tournament import formats
from playout.server.tournament.state import LEGS, MatchSlot

#: Short ones, so that the files do not become larger than needed.
GAMES = ("tic_tac_toe", "nim", "connect_four", "mnk(m=4,n=4,k=3)")
LADDER_GAME = "connect_four"
#: How many of each ten matches belong to tournaments, and how many to the ladder.
_OF_TOURNAMENTS, _OF_LADDER = 1, 1
PLAYERS, BOTS, ENTRANTS = 300, 20, 8
#: The ids of matches and of tournaments.
_MATCH, _TOURNAMENT = "m{:08}", "t{:05}"
#: The most pairs of a tournament.
_PAIRS = 500
#: The random matches of each game.
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
    """The same matches for each number of them and seed."""

    def __init__(self, matches: int, seed: int = 1) -> None:
        self._random = random.Random(seed)
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

        The rest is imported: see `write`.
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
                ladder=LadderMatch(f"pair{number // 2}", ("1", "1")),
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
        terms = {"accounts": (None, None)} | fields
        return StoredMatch(
            started=MatchStarted(
                match=match,
                game=game,
                players=players,
                sessions=("", ""),
                clock="none",
                illegal_moves=3,
                credit_cap_s=0.1,
                at=at,
                **terms,  # type: ignore[arg-type]
            ),
            moves=tuple(
                MovePlayed(
                    match=match,
                    ply=ply,
                    seat=1 if ply % 2 == 0 else 2,
                    action=action,
                    clocks=None,
                    info=None,
                    at=at + ply,
                )
                for ply, action in enumerate(moves.actions)
            ),
            ended=MatchEnded(
                match=match,
                winner=moves.winner,
                returns=moves.returns,
                reason=Reason.RULES,
                text="",
                at=at + len(moves.actions),
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
        state, actions = game.initial_state(), list[int]()
        while not game.winner(state):
            actions.append(self._random.choice(game.legal_actions(state)))
            state = game.next_state(state, actions[-1])
        first, second = game.returns(state)
        return _Moves(tuple(actions), game.winner(state), (first, second))


def _account(name: str) -> str:
    return f"id-{name.rpartition(' ')[2]}"


# The addresses of a server's pages and API, found by asking the site itself.
#
# Pages are found by their links, from the first page on, and lists of the API in the error for an
# unknown address. The error for an unknown parameter names those that an address has, and the error
# for a wrong value the allowed ones.


_LINK = re.compile(r'href="(/[^"?#]*)')
_FORM = re.compile(r'action="(/[^"?#]*)')
_ALLOWED = re.compile(r"allowed are ([\w, ]+)")
_CHOICES = re.compile(r"must be one of ([\w, ]+), not")
_API_LIST = re.compile(r"/api/\w+")
_PAGES = re.compile(r"Page \d+ of (\d+)")
#: Stands for a parameter that no address has, and for a value that none allows.
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
        """Return how long a response took. Raises ClickException if its status is not 200."""
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

    `items`: the last segment of the page of one item, by the list that it is in. `values`: of the
    parameters that take any value.
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
