"""How long each request holds the server's event loop, at its limits, legal and illegal.

While the loop is held, the server announces no moves. For each type of request, the largest legal
instance is built: with the most matches, openings or entrants that the limits allow, or on a server
with hundreds of sessions. The illegal instance is a frame of the greatest length, with the value
that takes longest to decode in a field of that request, as MessagePack and as JSON. Long work is
done in slices, and the longest slice counts. The time is the processor's; see `testbed.timed_hub`.

Pages and the API are requested from a real server, at their largest: a match of 900 moves with the
largest analyses, a tournament of 64 entrants, a ladder of 200 versions. The time is the longest
that another client waits for the answer to a ping meanwhile, of the first request and of later
ones, which find some pages in a cache; the row `nothing` is the lower bound.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from subprocess import PIPE, Popen
from typing import Any, NamedTuple, TypeVar

import click
import msgspec

from playout import games
from playout.protocol.codec import ADMINISTRATORS_FRAME, MAX_FRAME, encode
from playout.protocol.messages import (
    REQUESTS,
    Abort,
    Adjudicate,
    Analyse,
    Analysis,
    Cancel,
    ChallengeBot,
    ClockState,
    Code,
    CreateAccounts,
    CreateTournament,
    EndTournament,
    Error,
    Event,
    Hello,
    Join,
    Kick,
    List,
    ListAccounts,
    Move,
    Ping,
    Reason,
    Request,
    Resign,
    Seat,
    Seek,
    Seeking,
    Started,
    SubscribeLobby,
    TakeOver,
    Tournament,
    Unwatch,
    Watch,
    WatchTournament,
    Withdraw,
)
from playout.protocol.tournament_spec import Entrant, Openings, TournamentSpec, dumps
from playout.server.core.accounts import digest
from playout.server.core.view import DELAY_PLIES
from playout.server.model.offered_bots import parse_offered_bots
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
from playout.server.runtime import process
from playout.server.storage import Database
from playout.server.storage.queries import Reader
from playout.server.storage.rating_keeper import RatingKeeper
from playout.server.tournament.formats.swiss import MOST_ROUNDS
from playout.server.tournament.spec_validation import MOST_ENTRANTS
from playout.server.tournament.state import TournamentState
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.server_process import PAGE, SERVER, UNLIMITED, serving
from testbed.timed_hub import TimedHub
from testbed.traffic import HELLO, TrafficPlayer, connect

LONGEST_MS = Target("worst_ms", at_most=20)
COLUMNS = (
    Column("request", "request"),
    Column("instance", "instance"),
    Column("worst_ms", "worst, ms", ".1f"),
)
#: Of several requests after the first one, the shortest, as other work only makes it longer.
LONGEST_WAIT_MS = Target("wait_ms", at_most=20)
PAGE_COLUMNS = (
    Column("path", "path"),
    Column("first_ms", "first, ms", ".1f"),
    Column("wait_ms", "later, ms", ".1f"),
)
#: The game with the largest positions and the most actions.
LARGEST = "gomoku(size=19)"
#: Sessions on a large server, without those of the request.
CROWD = 500
MATCHES = 100

E = TypeVar("E", bound=Event)


class Instance(NamedTuple):
    """A hub that is ready for a request, the connection of the sender, and the request."""

    hub: TimedHub
    sender: int
    request: Request


#: Builds an instance.
Make = Callable[[Bench], Instance]


def run(bench: Bench) -> list[ResultTable]:
    """Return tables of the longest times that requests hold the loop, and delay others."""
    return bench.tables(messages=_messages, pages=_pages)


def _pages(bench: Bench) -> ResultTable:
    """Request every page and address of the API, and measure the waits of another client."""
    rounds = bench.pick(9, 3)
    table = ResultTable("How long an HTTP request delays another client", PAGE_COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/playout.db"
        fill(url, versions=bench.pick(200, 30), entrants=bench.pick(64, 16))
        with timed_site(url) as site:
            for path in bench.track([None, *paths()]):
                first_ms, *more_ms = (1000 * site.longest_s(path) for _ in range(rounds))
                shown = (path or "nothing").partition("&moves")[0]
                target = LONGEST_WAIT_MS if path else None
                table.add(target, path=shown, first_ms=first_ms, wait_ms=min(more_ms))
    return table


def _messages(bench: Bench) -> ResultTable:
    """Measure the largest legal requests, and illegal ones."""
    rounds = bench.pick(20, 2)
    for name in games.names():
        games.load(games.describe(name).example)
    games.load(LARGEST)
    table = ResultTable("How long a request holds the event loop", COLUMNS)
    process.exclude_existing_objects()
    for about, make in bench.track(LEGAL, label=lambda legal: legal[0]):
        worst_s, tag = max(_legal(make(bench)) for _ in range(rounds))
        table.add(LONGEST_MS, request=tag, instance=about, worst_ms=1000 * worst_s)
    for kind in bench.track(REQUESTS, label=lambda kind: kind.tag()):
        for form, json in (("MessagePack", False), ("JSON", True)):
            worst_s = max(_illegal_s(kind, json=json) for _ in range(rounds))
            instance = f"illegal, {form}"
            table.add(LONGEST_MS, request=kind.tag(), instance=instance, worst_ms=1000 * worst_s)
    return table


def _legal(instance: Instance) -> tuple[float, str]:
    """Return the seconds for a legal request, and its type."""
    hub, sender, request = instance
    seconds = hub.time(sender, encode(request))
    codes = {each.code for each in hub.events if isinstance(each, Error)}
    assert codes <= {Code.BAD_TOURNAMENT, Code.KICKED}, codes
    return seconds, request.tag()


def _illegal_s(kind: type[Request], *, json: bool) -> float:
    """Return the seconds for a frame of the greatest length that holds nested empty lists."""
    hub = TimedHub()
    sender = hub.client("Zoe", administrator=True)
    most = ADMINISTRATORS_FRAME if kind.administrators_only else MAX_FRAME
    field = kind.__struct_fields__[-1]
    unit = 3 * 4000 + 2 if json else 4003
    value: list[list[list[object]]] = [[[]] * 4000] * ((most - 100) // unit)
    message = {"type": kind.tag(), field: value}
    frame = msgspec.json.encode(message) if json else msgspec.msgpack.encode(message)
    assert len(frame) <= most
    return hub.time(sender, frame, json=json)


# The largest legal instances.


def _by_player(hub: TimedHub, request: Request) -> Instance:
    return Instance(hub, hub.client("Ann"), request)


def _by_administrator(hub: TimedHub, request: Request) -> Instance:
    return Instance(hub, hub.client("Zoe", administrator=True), request)


def _crowded(bench: Bench) -> TimedHub:
    """Return a hub with many sessions, each with a seek that fits no other."""
    hub = TimedHub()
    for number in range(bench.pick(CROWD, 100)):
        client = hub.client(f"crowd {number}", account=True)
        hub.ask(client, Seek(game=LARGEST, clock="60+1", opponent=f"nobody {number}"))
    return hub


def _playing(hub: TimedHub, **hello: bool) -> tuple[int, int, list[Started]]:
    """Return two connections, and their matches as the second one was sent them."""
    first, second = (hub.client(name, account=True, **hello) for name in ("Ann", "Bob"))
    hub.ask(first, Seek(game=LARGEST, seat=1, matches=MATCHES))
    events = hub.ask(second, Seek(game=LARGEST, seat=2, matches=MATCHES))
    started = [each for each in events if isinstance(each, Started) and each.seat == 2]
    assert len(started) == MATCHES
    return first, second, started


def _one(events: list[Event], kind: type[E]) -> E:
    return next(each for each in events if isinstance(each, kind))


def _hello(bench: Bench) -> Instance:
    hub = TimedHub()
    first, *_ = _playing(hub, views=True, legal_actions=True)
    hub.disconnect(first)
    request = Hello(protocol_min=1, protocol_max=1, name="Ann", token="0" * 32,
                    session=hub.tokens[first], views=True, legal_actions=True)  # fmt: skip
    return Instance(hub, hub.connect(), request)


def _seek(bench: Bench) -> Instance:
    hub = TimedHub()
    first, second = (hub.client(name, views=True, legal_actions=True) for name in ("Ann", "Bob"))
    hub.ask(first, Seek(game=LARGEST, matches=MATCHES))
    return Instance(hub, second, Seek(game=LARGEST, matches=MATCHES))


def _cancel(bench: Bench) -> Instance:
    hub = _crowded(bench)
    number = hub.client("Ann")
    seeking = _one(hub.ask(number, Seek(game=LARGEST, opponent="Bob")), Seeking)
    return Instance(hub, number, Cancel(seek=seeking.seek))


def _analysed(plies: int) -> tuple[TimedHub, int, str, Move]:
    """Return a hub whose only match has a spectator, a player, the match, and the next move.

    That many moves were made, each with an analysis at its limits.
    """
    hub = TimedHub()
    players = [hub.client(name, views=True, legal_actions=True) for name in ("Ann", "Bob")]
    hub.ask(players[0], Seek(game=LARGEST, seat=1))
    match = _one(hub.ask(players[1], Seek(game=LARGEST, seat=2)), Started).match
    hub.ask(hub.client("Eve", role="spectator", views=True), Watch(match=match))
    actions = tuple((action % 361, 10**6, 0.5) for action in range(400))
    info = Analysis(win_rate=0.5, pv=tuple(range(100, 200)), actions=actions)
    moves = [Move(match=match, ply=ply, action=20 * ply, info=info) for ply in range(plies + 1)]
    for move in moves[:-1]:
        hub.ask(players[move.ply % 2], move)
    return hub, players[plies % 2], match, moves[-1]


def _move(bench: Bench) -> Instance:
    hub, player, _, move = _analysed(DELAY_PLIES)
    return Instance(hub, player, move)


def _resign_analysed(bench: Bench) -> Instance:
    hub, player, match, _ = _analysed(DELAY_PLIES)
    return Instance(hub, player, Resign(match=match))


def _resign(bench: Bench) -> Instance:
    hub = TimedHub()
    first, _, started = _playing(hub)
    return Instance(hub, first, Resign(match=started[0].match))


def _take_over(bench: Bench) -> Instance:
    hub = TimedHub()
    first, _, started = _playing(hub)
    other = hub.client("Ann", account=True, views=True)
    hub.disconnect(first)
    hub.wait(30)
    return Instance(hub, other, TakeOver(match=started[0].match))


def _challenge_bot(bench: Bench) -> Instance:
    hub = TimedHub(bots=4, offered=parse_offered_bots(["random"]))  # type: ignore[arg-type]
    return _by_player(hub, ChallengeBot(player="random", game=LARGEST))


def _analyse(bench: Bench) -> Instance:
    hub = TimedHub(offered=parse_offered_bots(["uct"]))  # type: ignore[arg-type]
    _playing(hub)
    return Instance(hub, hub.client("Zoe"), Analyse(game=LARGEST, moves=tuple(range(361))))


def _watch(bench: Bench) -> Instance:
    hub = TimedHub()
    _, _, started = _playing(hub)
    watcher = hub.client("Eve", role="spectator", views=True, legal_actions=True)
    return Instance(hub, watcher, Watch(match=started[0].match))


def _unwatch(bench: Bench) -> Instance:
    hub, watcher, request = _watch(bench)
    assert isinstance(request, Watch)
    hub.ask(watcher, request)
    return Instance(hub, watcher, Unwatch(match=request.match))


def _entrants(count: int) -> tuple[Entrant, ...]:
    return tuple(Entrant(f"entrant number {each}", "1.0", "uct(time=2)") for each in range(count))


def _spec(name: str, entrants: int, **fields: object) -> TournamentSpec:
    values = {"games": (LARGEST,), "clock": "none", "concurrency": MATCHES} | fields
    return TournamentSpec(name, format=name, entrants=_entrants(entrants), **values)  # type: ignore[arg-type]


SWISS = _spec("swiss", MOST_ENTRANTS, rounds=MOST_ROUNDS)
LONG_MATCH = _spec("match", 2, rounds=20_000)


def _created(spec: TournamentSpec) -> tuple[TimedHub, int, str]:
    """Return a hub, the connection of an administrator, and the tournament's id."""
    hub = TimedHub()
    administrator = hub.client("Zoe", administrator=True)
    events = hub.ask(administrator, CreateTournament(spec=spec))
    return hub, administrator, _one(events, Tournament).tournament


def _create(name: str, entrants: int, **fields: object) -> Make:
    """Return a function that builds the request for a tournament."""
    request = CreateTournament(spec=_spec(name, entrants, **fields))
    return lambda bench: _by_administrator(TimedHub(), request)


def _create_openings(bench: Bench) -> Instance:
    openings = tuple(itertools.islice(_openings(), bench.pick(14_000, 500)))
    return _create_book(openings)(bench)


def _create_short_openings(bench: Bench) -> Instance:
    return _create_book(((3,),) * bench.pick(60_000, 500))(bench)


def _create_book(lines: tuple[tuple[int, ...], ...]) -> Make:
    openings = Openings(lines={"connect_four": lines})
    return _create("match", 2, games=("connect_four",), openings=openings)


def _openings() -> Iterator[tuple[int, ...]]:
    return (
        line for line in itertools.product(range(7), repeat=8)
        if max(map(line.count, range(7))) < 3
    )  # fmt: skip


def _joined(spec: TournamentSpec, entrants: int) -> tuple[TimedHub, int, str, list[Event]]:
    """Return the results of `_created`, and the events until that many entrants have joined."""
    hub, administrator, tournament = _created(spec)
    events: list[Event] = []
    for entrant in spec.entrants[:entrants]:
        number = hub.client(entrant.name, account=True)
        events += hub.ask(number, Join(matches=MATCHES))
    return hub, administrator, tournament, events


def _join(bench: Bench) -> Instance:
    spec = _spec("match", 2, rounds=20_000, openings=Openings(plies=40))
    hub, *_ = _joined(spec, 1)
    other = hub.client(spec.entrants[1].name, account=True, views=True)
    return Instance(hub, other, Join(matches=MATCHES))


def _join_in_vain(bench: Bench) -> Instance:
    spec = _spec("gauntlet", MOST_ENTRANTS, rounds=78)
    hub, _, _ = _created(spec)
    for entrant in spec.entrants[1:-1]:
        hub.ask(hub.client(entrant.name, account=True), Join())
    return Instance(hub, hub.client(spec.entrants[-1].name, account=True), Join())


def _watch_tournament(bench: Bench) -> Instance:
    spec = _spec("match", 2, rounds=20_000, games=("nim",))
    hub, administrator, tournament, events = _joined(spec, 2)
    for _ in range(bench.pick(9, 1)):
        matches = sorted({each.match for each in events if isinstance(each, Started)})
        aborted = [hub.ask(administrator, Abort(match=each)) for each in matches]
        events = [event for each in aborted for event in each]
    watcher = hub.client("Eve", role="spectator")
    return Instance(hub, watcher, WatchTournament(tournament=tournament))


def _withdraw(spec: TournamentSpec) -> Make:
    def make(bench: Bench) -> Instance:
        hub, administrator, tournament = _created(spec)
        request = Withdraw(tournament=tournament, entrant=spec.entrants[1].name)
        return Instance(hub, administrator, request)

    return make


def _end_tournament(bench: Bench) -> Instance:
    hub, administrator, tournament, _ = _joined(LONG_MATCH, 2)
    return Instance(hub, administrator, EndTournament(tournament=tournament))


def _adjudicate(bench: Bench) -> Instance:
    hub, administrator, _, events = _joined(LONG_MATCH, 2)
    match = _one(events, Started).match
    return Instance(hub, administrator, Adjudicate(match=match, ply=0, winner=1))


def _abort(bench: Bench) -> Instance:
    hub = TimedHub()
    _, _, started = _playing(hub)
    return _by_administrator(hub, Abort(match=started[0].match))


def _kick(bench: Bench) -> Instance:
    hub = TimedHub()
    _playing(hub)
    return _by_administrator(hub, Kick(name="Ann"))


def _create_accounts(bench: Bench) -> Instance:
    names = tuple(f"pupil number {number}" for number in range(200))
    return _by_administrator(_crowded(bench), CreateAccounts(names=names))


def _list_accounts(bench: Bench) -> Instance:
    hub = TimedHub()
    for number in range(bench.pick(100_000, 1_000)):
        account = Account(id=f"{number}", name=f"pupil {number}", digest="d", created_at=0.0)
        hub.hub.accounts.put(account)
    return _by_administrator(hub, ListAccounts(search="pupil"))


#: A description of each instance, and the function that builds it.
LEGAL: tuple[tuple[str, Make], ...] = (
    ("100 matches are resumed, with views", _hello),
    ("100 matches begin at once, with views", _seek),
    (
        "Among 500 seeks that do not fit",
        lambda bench: _by_player(_crowded(bench), Seek(game=LARGEST, clock="60+1")),
    ),
    ("Among 500 seeks", _cancel),
    ("The only match, with views, and an analysis at its limits", _move),
    ("One of 100 matches", _resign),
    ("The only match, with views, and ten analyses at their limits", _resign_analysed),
    ("Among 500 sessions", lambda bench: _by_player(_crowded(bench), Ping(id=1))),
    ("One of 100 matches, with views", _take_over),
    ("Of a game that is not loaded yet", _challenge_bot),
    ("Of a long match, while 100 matches are played", _analyse),
    ("Among 500 sessions and seeks", lambda bench: _by_player(_crowded(bench), List())),
    ("A match of the largest board, with views", _watch),
    ("One of 100 matches", _unwatch),
    ("Among 500 sessions and seeks", lambda bench: _by_player(_crowded(bench), SubscribeLobby())),
    ("100 matches begin, with random openings of 40 plies", _join),
    ("A gauntlet of 19,890 pairs whose first entrant is missing", _join_in_vain),
    ("Of 1,000 matches", _watch_tournament),
    ("Round robin with 200 entrants", _create("round_robin", 200)),
    (
        "Swiss with 256 entrants, 16 rounds",
        _create("swiss", MOST_ENTRANTS, rounds=MOST_ROUNDS),
    ),
    ("Knockout with 256 entrants", _create("knockout", MOST_ENTRANTS)),
    (
        "Refused: an anchor that is none of 256 entrants",
        _create("knockout", MOST_ENTRANTS, anchor="entrant number 256"),
    ),
    (
        "Match of 20,000 rounds with openings of 100 plies",
        _create("match", 2, rounds=20_000, openings=Openings(plies=100)),
    ),
    (
        "Nim, of which no opening is balanced",
        _create("match", 2, games=("nim",), openings=Openings(plies=12)),
    ),
    ("14,000 openings of eight plies", _create_openings),
    ("60,000 openings of one ply", _create_short_openings),
    ("From a round robin of 19,900 pairs", _withdraw(_spec("round_robin", 200))),
    ("From a Swiss with 256 entrants", _withdraw(SWISS)),
    ("With 100 running matches", _end_tournament),
    ("One of 100 matches of a tournament", _adjudicate),
    ("One of 100 matches", _abort),
    ("A player of 100 matches", _kick),
    ("200 names, among 500 sessions", _create_accounts),
    ("Of 100,000 accounts", _list_accounts),
)


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
    """A running server, and a client that sends it pings.

    The client sends one ping after the other over TCP while another process sends the HTTP request:
    the longest wait for an answer is the time for which the event loop, or another thread with the
    interpreter, held up everybody.
    """

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
