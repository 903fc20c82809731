"""A server with a full database, and how long an HTTP request delays its other clients.

The database has a match of 900 moves with the largest analyses, finished and running, a tournament,
and a ladder with many versions. A client sends one ping after the other over TCP while another
process sends the HTTP request: the longest wait for an answer is the time for which the event loop,
or another thread with the interpreter, held up everybody.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from subprocess import PIPE, Popen
from typing import Any

import click

from playout.protocol.messages import Analysis, ClockState, Reason, Seat
from playout.protocol.tournament_spec import Entrant, TournamentSpec, dumps
from playout.server.core.accounts import digest
from playout.server.model.records import (
    Account,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Record,
    TournamentCreated,
    flat,
    stored_analysis,
)
from playout.server.storage import Database
from playout.server.storage.queries import Reader
from playout.server.storage.rating_keeper import RatingKeeper
from playout.server.tournament.state import TournamentState
from testbed.server_process import PAGE, SERVER, UNLIMITED, serving
from testbed.traffic import HELLO, TrafficPlayer, connect

LONG_GAME, LONG_PLIES = "nim(chips=1000)", 900
LADDER_GAME, TOURNAMENT = "connect_four", "t1"
#: A time in seconds since 1970.
AT = 1_700_000_000.0
#: The least time of a measurement.
LEAST_S = 0.1
#: Sends a request when it reads a line, and prints the status.
_GET = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
print("ready", flush=True)
sys.stdin.readline()
connection.request("GET", sys.argv[2], headers={"Accept-Encoding": "gzip"})
response = connection.getresponse()
response.read()
print(response.status, flush=True)
"""


def paths() -> tuple[str, ...]:
    """The addresses of all pages and of the API, at their largest."""
    ladder, player = f"ladders/{LADDER_GAME}", "player%20000"
    return (
        "/", "/matches", "/matches/over", "/matches/running?ply=7", "/matches/over.json",
        "/matches/running.json", "/matches/over.pgn",
        f"/matches/over/positions.json?ply={LONG_PLIES}&moves=" + ",".join("0" * 50),
        "/players?list=everybody", f"/players?game={LADDER_GAME}", f"/players/{player}",
        "/tournaments", f"/tournaments/{TOURNAMENT}", "/ladders", f"/{ladder}",
        f"/{ladder}?part=ladder", "/games", "/games/positions.json",
        "/api/matches?per_page=200", "/api/matches?state=running", "/api/matches/over",
        "/api/matches/running", "/api/players?per_page=200",
        f"/api/players?game={LADDER_GAME}&per_page=200", f"/api/players/{player}",
        "/api/tournaments", f"/api/tournaments/{TOURNAMENT}", "/api/ladders", f"/api/{ladder}",
        f"/api/{ladder}/players/{player}", "/api/games?per_page=200",
        f"/api/bots?game={LADDER_GAME}", "/api/seeks", "/healthz", "/metrics",
    )  # fmt: skip


# The database.


def fill(url: str, versions: int, entrants: int) -> None:
    """Create a database with a ladder of so many versions, and a tournament."""
    database = Database(url)
    database.migrate()
    names = [f"player {number:03}" for number in range(versions)]
    database.save(
        [Account(id=name, name=name, digest=digest(name), created_at=AT) for name in names]
    )
    database.save([*_long_match("over", over=True), *_long_match("running", over=False)])
    database.save(list(_ladder(names)))
    database.save(list(_tournament(entrants)))
    with contextlib.closing(Reader(url)) as reader:
        for records in RatingKeeper(reader).updates():
            database.save(records)
    database.close()


def _long_match(match: str, *, over: bool) -> Iterator[Record]:
    actions = tuple((each % 3, 10**6 + each, 0.123456) for each in range(400))
    policy = tuple((each % 3, 0.123456) for each in range(400))
    info = Analysis(win_rate=0.5, pv=(0,) * 100, actions=actions, policy=policy)
    yield _started(match, LONG_GAME, ("Ann", "Bob"), (None, None), rated=False)
    for ply in range(LONG_PLIES):
        seat: Seat = 1 if ply % 2 == 0 else 2
        yield MovePlayed(
            **flat(
                match=match,
                ply=ply,
                seat=seat,
                action=0,
                clocks=(ClockState(500.123, 0), ClockState(400.321, 0)),
                info=stored_analysis(info),
                at=AT + ply,
            )
        )
    if over:
        yield _ended(match, 1)


def _ladder(names: list[str]) -> Iterator[Record]:
    """Matches of each player against the next eight."""
    for number, name in enumerate(names):
        for step in range(1, 9):
            match, other = f"l{number}x{step}", names[(number + step) % len(names)]
            ladder: dict[str, Any] = {"ladder_pair": match, "versions": ("1", "1")}
            yield _started(match, LADDER_GAME, (name, other), (name, other), **ladder)
            yield _ended(match, 1 + (number + step) % 2)


def _tournament(entrants: int) -> Iterator[Record]:
    """A round robin whose matches have all ended but one."""
    names = [f"entrant {number:03}" for number in range(entrants)]
    spec = TournamentSpec(
        "the largest",
        format="round_robin",
        games=(LADDER_GAME,),
        clock="none",
        entrants=tuple(Entrant(name, "1", "uct") for name in names),
    )
    yield TournamentCreated(tournament=TOURNAMENT, name=spec.name, spec=dumps(spec), at=AT)
    state = TournamentState(TOURNAMENT, spec)
    for _ in state.prepare():
        pass
    due = list(state.due(range(entrants)))
    for number, each in enumerate(due):
        match = f"f{number}"
        first, second = (names[index] for index in each.entrants)
        fixture = str(each.slot)
        yield _started(
            match,
            LADDER_GAME,
            (first, second),
            (None, None),
            tournament=TOURNAMENT,
            fixture=fixture,
        )
        if number < len(due) - 1:
            yield _ended(match, 1 + number % 2)


def _started(
    match: str,
    game: str,
    players: tuple[str, str],
    accounts: tuple[str | None, str | None],
    *,
    rated: bool = True,
    **fields: Any,
) -> MatchStarted:
    return MatchStarted(
        **flat(
            match=match,
            game=game,
            players=players,
            accounts=accounts,
            sessions=(f"{match} 1", f"{match} 2"),
            clock="none" if game == LADDER_GAME else "600+5",
            rated=rated,
            illegal_moves=3,
            credit_cap_s=0.1,
            at=AT,
            **fields,
        )
    )


def _ended(match: str, winner: int) -> MatchEnded:
    returns = (1.0, 0.0) if winner == 1 else (0.0, 1.0)
    text, reason = "the other resigned", Reason.RESIGNATION
    return MatchEnded(
        **flat(match=match, winner=winner, returns=returns, reason=reason, text=text, at=AT + 1000)
    )


# The measurement.


@contextlib.contextmanager
def timed_site(url: str) -> Iterator[TimedSite]:
    """Run a server with this database until the end of the block."""
    options = [each for each in UNLIMITED if each not in ("--http=none", "--reconnect-s=0")]
    # The running match goes on, without its players.
    more = ["--reconnect-s=3600", "--restart-grace-s=3600", PAGE, f"--database={url}"]
    assert options[0] == SERVER
    with serving([*options, *more]) as server, contextlib.ExitStack() as stack:
        client = connect(server.port, 0, "the clock", stack)
        client.send(HELLO | {"name": client.name})
        client.receive("welcome")
        yield TimedSite(server.page, client)


class TimedSite:
    """A running server, and a client that sends it pings."""

    def __init__(self, page: int, client: TrafficPlayer) -> None:
        self._page = page
        self._client = client

    def longest_s(self, path: str | None) -> float:
        """Return the longest wait for an answer to a ping, during a request and for LEAST_S.

        Without a path, nothing is requested. Raises ClickException for a status other than 200.
        """
        command = [sys.executable, "-c", _GET, str(self._page), path or ""]
        with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as getting:
            assert getting.stdin
            assert getting.stdout
            getting.stdout.readline()
            if path:
                print("now", file=getting.stdin, flush=True)
            else:
                getting.kill()
            longest_s, end = 0.0, time.perf_counter() + LEAST_S
            while (began := time.perf_counter()) < end or getting.poll() is None:
                self._client.send({"type": "ping"})
                self._client.receive("pong")
                longest_s = max(longest_s, time.perf_counter() - began)
            status = getting.stdout.read().strip()
        if path and status != "200":
            raise click.ClickException(f"the answer to {path} has the status {status or 'none'}")
        return longest_s
