"""How long each request holds the server's event loop, at its limits, legal and illegal.

While the loop is held, no move of anybody is announced. For each type of request, the largest legal
instance is built: with the most matches, openings or entrants that the limits allow, or on a server
with hundreds of sessions. The illegal instance is a frame of the greatest length, with what takes
longest to decode in a field of that request, as MessagePack and as JSON. What takes longer than a
slice is done in slices, and the longest one counts. The time is the processor's; see
`testbed.request_timing`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

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
    Code,
    CreateTournament,
    EndTournament,
    Error,
    Event,
    Hello,
    Join,
    Kick,
    List,
    Move,
    Ping,
    Request,
    Resign,
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
from playout.protocol.tournament_spec import Entrant, Openings, TournamentSpec
from playout.server.model.offered_bots import parse_offered_bots
from playout.server.runtime import process
from playout.server.tournament.formats.swiss import MOST_ROUNDS
from playout.server.tournament.spec_validation import MOST_ENTRANTS
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.request_timing import TimedHub

LONGEST_MS = Target("worst_ms", at_most=20)
COLUMNS = (
    Column("request", "request"),
    Column("instance", "instance"),
    Column("worst_ms", "worst, ms", ".1f"),
)
#: The game with the largest positions and the most actions.
LARGEST = "gomoku(size=19)"
#: Sessions on a large server, without those of the request.
CROWD = 500
MATCHES = 100


class Instance(NamedTuple):
    """A hub that is ready for the request, who sends it, and its frame."""

    hub: TimedHub
    sender: int
    request: Request


def run(bench: Bench) -> list[ResultTable]:
    """Return a table of the longest times that legal and illegal requests hold the loop."""
    rounds = bench.pick(20, 2)
    for name in games.names():
        games.load(games.describe(name).example)
    games.load(LARGEST)
    table = ResultTable("How long a request holds the event loop", COLUMNS)
    process.exclude_existing_objects()
    for name in bench.track(list(LEGAL)):
        made = LEGAL[name]
        worst_s = max(_legal_s(made(bench)) for _ in range(rounds))
        table.add(LONGEST_MS, request=name.partition(":")[0], instance=_about(made),
                  worst_ms=1000 * worst_s)  # fmt: skip
    for kind in bench.track(REQUESTS):
        for form, json in (("MessagePack", False), ("JSON", True)):
            worst_s = max(_illegal_s(kind, json=json) for _ in range(rounds))
            table.add(LONGEST_MS, request=kind.tag(), instance=f"illegal, {form}",
                      worst_ms=1000 * worst_s)  # fmt: skip
    return [table]


def _about(made: Callable[[Bench], Instance]) -> str:
    return (made.__doc__ or "").partition("\n")[0].removesuffix(".")


def _legal_s(instance: Instance) -> float:
    hub, sender, request = instance
    seconds = hub.time(sender, encode(request))
    codes = {each.code for each in hub.events if isinstance(each, Error)}
    assert codes <= {Code.BAD_TOURNAMENT, Code.KICKED}, codes
    return seconds


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


def _crowded(bench: Bench) -> TimedHub:
    hub = TimedHub()
    for number in range(bench.pick(CROWD, 100)):
        client = hub.client(f"crowd {number}", account=True)
        hub.ask(client, Seek(game=LARGEST, clock="60+1", opponent=f"nobody {number}"))
    return hub


def _playing(hub: TimedHub, **hello: bool) -> tuple[int, int, list[Started]]:
    """Return two connections, and their matches as the second one was told."""
    first, second = (hub.client(name, account=True, **hello) for name in ("Ann", "Bob"))
    hub.ask(first, Seek(game=LARGEST, seat=1, matches=MATCHES))
    events = hub.ask(second, Seek(game=LARGEST, seat=2, matches=MATCHES))
    started = [each for each in events if isinstance(each, Started) and each.seat == 2]
    assert len(started) == MATCHES
    return first, second, started


def _one(events: list[Event], kind: type[Event]) -> Event:
    return next(each for each in events if isinstance(each, kind))


def _hello(bench: Bench) -> Instance:
    """100 matches are resumed, with views."""
    hub = TimedHub()
    first, *_ = _playing(hub, views=True, legal_actions=True)
    hub.disconnect(first)
    request = Hello(protocol_min=1, protocol_max=1, name="Ann", token="0" * 32,
                    session=hub.tokens[first], views=True, legal_actions=True)  # fmt: skip
    return Instance(hub, hub.connect(), request)


def _seek(bench: Bench) -> Instance:
    """100 matches begin at once, with views."""
    hub = TimedHub()
    first, second = (hub.client(name, views=True, legal_actions=True) for name in ("Ann", "Bob"))
    hub.ask(first, Seek(game=LARGEST, matches=MATCHES))
    return Instance(hub, second, Seek(game=LARGEST, matches=MATCHES))


def _seek_alone(bench: Bench) -> Instance:
    """Among 500 seeks that do not fit."""
    hub = _crowded(bench)
    return Instance(hub, hub.client("Ann"), Seek(game=LARGEST, clock="60+1"))


def _cancel(bench: Bench) -> Instance:
    """Among 500 seeks."""
    hub = _crowded(bench)
    number = hub.client("Ann")
    seeking = _one(hub.ask(number, Seek(game=LARGEST, opponent="Bob")), Seeking)
    assert isinstance(seeking, Seeking)
    return Instance(hub, number, Cancel(seek=seeking.seek))


def _move(bench: Bench) -> Instance:
    """The only match, with views, and an analysis at its limits."""
    hub = TimedHub()
    first, second = (hub.client(name, views=True, legal_actions=True) for name in ("Ann", "Bob"))
    hub.ask(first, Seek(game=LARGEST, seat=1))
    started = _one(hub.ask(second, Seek(game=LARGEST, seat=2)), Started)
    assert isinstance(started, Started)
    hub.ask(hub.client("Eve", role="spectator", views=True), Watch(match=started.match))
    actions = tuple((action % 361, 10**6, 0.5) for action in range(400))
    info = Analysis(win_rate=0.5, pv=tuple(range(100)), actions=actions)
    return Instance(hub, first, Move(match=started.match, ply=0, action=0, info=info))


def _resign(bench: Bench) -> Instance:
    """One of 100 matches."""
    hub = TimedHub()
    first, _, started = _playing(hub)
    return Instance(hub, first, Resign(match=started[0].match))


def _ping(bench: Bench) -> Instance:
    """Among 500 sessions."""
    return Instance(hub := _crowded(bench), hub.client("Ann"), Ping(id=1))


def _take_over(bench: Bench) -> Instance:
    """One of 100 matches, with views."""
    hub = TimedHub()
    first, _, started = _playing(hub)
    other = hub.client("Ann", account=True, views=True)
    hub.disconnect(first)
    hub.wait(30)
    return Instance(hub, other, TakeOver(match=started[0].match))


def _challenge_bot(bench: Bench) -> Instance:
    """Of a game that is not loaded yet."""
    hub = TimedHub(bots=4, offered=parse_offered_bots(["random"]))  # type: ignore[arg-type]
    return Instance(hub, hub.client("Ann"), ChallengeBot(player="random", game=LARGEST))


def _analyse(bench: Bench) -> Instance:
    """Of a long match, while 100 matches are played."""
    hub = TimedHub(offered=parse_offered_bots(["uct"]))  # type: ignore[arg-type]
    _playing(hub)
    moves = tuple(range(361))
    return Instance(hub, hub.client("Zoe"), Analyse(game=LARGEST, moves=moves))


def _list(bench: Bench) -> Instance:
    """Among 500 sessions and seeks."""
    return Instance(hub := _crowded(bench), hub.client("Ann"), List())


def _subscribe_lobby(bench: Bench) -> Instance:
    """Among 500 sessions and seeks."""
    return Instance(hub := _crowded(bench), hub.client("Ann"), SubscribeLobby())


def _watch(bench: Bench) -> Instance:
    """A match of the largest board, with views."""
    hub = TimedHub()
    _, _, started = _playing(hub)
    watcher = hub.client("Eve", role="spectator", views=True, legal_actions=True)
    return Instance(hub, watcher, Watch(match=started[0].match))


def _unwatch(bench: Bench) -> Instance:
    """One of 100 matches."""
    hub, watcher, request = _watch(bench)
    assert isinstance(request, Watch)
    hub.ask(watcher, request)
    return Instance(hub, watcher, Unwatch(match=request.match))


def _entrants(count: int) -> tuple[Entrant, ...]:
    return tuple(Entrant(f"entrant number {each}", "1.0", "uct(time=2)") for each in range(count))


def _spec(name: str, entrants: int, **fields: object) -> TournamentSpec:
    values = {"games": (LARGEST,), "clock": "none", "concurrency": MATCHES} | fields
    return TournamentSpec(name, format=name, entrants=_entrants(entrants), **values)  # type: ignore[arg-type]


def _created(spec: TournamentSpec) -> tuple[TimedHub, int, str]:
    """Return a hub, the connection of an administrator, and the tournament's id."""
    hub = TimedHub()
    boss = hub.client("Zoe", administrator=True)
    tournament = _one(hub.ask(boss, CreateTournament(spec=spec)), Tournament)
    assert isinstance(tournament, Tournament)
    return hub, boss, tournament.tournament


def _create(spec: TournamentSpec) -> Instance:
    hub = TimedHub()
    return Instance(hub, hub.client("Zoe", administrator=True), CreateTournament(spec=spec))


def _create_entrants(bench: Bench) -> Instance:
    """Round robin with 200 entrants."""
    return _create(_spec("round_robin", 200))


def _create_swiss(bench: Bench) -> Instance:
    """Swiss with 256 entrants, 16 rounds."""
    return _create(_spec("swiss", MOST_ENTRANTS, rounds=MOST_ROUNDS))


def _create_knockout(bench: Bench) -> Instance:
    """Knockout with 256 entrants."""
    return _create(_spec("knockout", MOST_ENTRANTS))


def _create_wrong(bench: Bench) -> Instance:
    """Refused: an anchor that is none of 256 entrants."""
    return _create(_spec("knockout", MOST_ENTRANTS, anchor="entrant number 256"))


def _create_match(bench: Bench) -> Instance:
    """Match of 20,000 rounds with openings of 100 plies."""
    return _create(_spec("match", 2, rounds=20_000, openings=Openings(plies=100)))


def _create_without_openings(bench: Bench) -> Instance:
    """Nim, of which no opening is balanced."""
    return _create(_spec("match", 2, games=("nim",), openings=Openings(plies=12)))


def _create_openings(bench: Bench) -> Instance:
    """14,000 openings of eight plies."""
    return _create_book(tuple(itertools.islice(_openings(), bench.pick(14_000, 500))))


def _create_short_openings(bench: Bench) -> Instance:
    """60,000 openings of one ply."""
    return _create_book(((3,),) * bench.pick(60_000, 500))


def _create_book(lines: tuple[tuple[int, ...], ...]) -> Instance:
    spec = _spec(
        "match", 2, games=("connect_four",), openings=Openings(lines={"connect_four": lines})
    )
    return _create(spec)


def _openings() -> Iterator[tuple[int, ...]]:
    return (
        line for line in itertools.product(range(7), repeat=8)
        if max(map(line.count, range(7))) < 3
    )  # fmt: skip


def _joined(spec: TournamentSpec, entrants: int) -> tuple[TimedHub, int, str, list[Event]]:
    """Return what `_created` does, and the events when so many entrants have joined."""
    hub, boss, tournament = _created(spec)
    events: list[Event] = []
    for entrant in spec.entrants[:entrants]:
        number = hub.client(entrant.name, account=True)
        events += hub.ask(number, Join(matches=MATCHES))
    return hub, boss, tournament, events


def _join(bench: Bench) -> Instance:
    """100 matches begin, with random openings of 40 plies."""
    spec = _spec("match", 2, rounds=20_000, openings=Openings(plies=40))
    hub, *_ = _joined(spec, 1)
    other = hub.client(spec.entrants[1].name, account=True, views=True)
    return Instance(hub, other, Join(matches=MATCHES))


def _join_in_vain(bench: Bench) -> Instance:
    """A gauntlet of 19,890 pairs whose first entrant is missing."""
    spec = _spec("gauntlet", MOST_ENTRANTS, rounds=78)
    hub, _, _ = _created(spec)
    for entrant in spec.entrants[1:-1]:
        hub.ask(hub.client(entrant.name, account=True), Join())
    return Instance(hub, hub.client(spec.entrants[-1].name, account=True), Join())


def _watch_tournament(bench: Bench) -> Instance:
    """Of 1,000 matches."""
    spec = _spec("match", 2, rounds=20_000, games=("nim",))
    hub, boss, tournament, events = _joined(spec, 2)
    for _ in range(bench.pick(9, 1)):
        started = {each.match for each in events if isinstance(each, Started)}
        events = [event for each in sorted(started) for event in hub.ask(boss, Abort(match=each))]
    return Instance(
        hub, hub.client("Eve", role="spectator"), WatchTournament(tournament=tournament)
    )


def _withdraw_swiss(bench: Bench) -> Instance:
    """From a Swiss with 256 entrants."""
    spec = _spec("swiss", MOST_ENTRANTS, rounds=MOST_ROUNDS)
    hub, boss, tournament = _created(spec)
    return Instance(hub, boss, Withdraw(tournament=tournament, entrant=spec.entrants[1].name))


def _withdraw(bench: Bench) -> Instance:
    """From a round robin of 19,900 pairs."""
    spec = _spec("round_robin", 200)
    hub, boss, tournament = _created(spec)
    return Instance(hub, boss, Withdraw(tournament=tournament, entrant=spec.entrants[1].name))


def _end_tournament(bench: Bench) -> Instance:
    """With 100 running matches."""
    hub, boss, tournament, _ = _joined(_spec("match", 2, rounds=20_000), 2)
    return Instance(hub, boss, EndTournament(tournament=tournament))


def _adjudicate(bench: Bench) -> Instance:
    """One of 100 matches of a tournament."""
    hub, boss, _, events = _joined(_spec("match", 2, rounds=20_000), 2)
    started = _one(events, Started)
    assert isinstance(started, Started)
    return Instance(hub, boss, Adjudicate(match=started.match, ply=0, winner=1))


def _abort(bench: Bench) -> Instance:
    """One of 100 matches."""
    hub = TimedHub()
    _, _, started = _playing(hub)
    boss = hub.client("Zoe", administrator=True)
    return Instance(hub, boss, Abort(match=started[0].match))


def _kick(bench: Bench) -> Instance:
    """A player of 100 matches."""
    hub = TimedHub()
    _playing(hub)
    return Instance(hub, hub.client("Zoe", administrator=True), Kick(name="Ann"))


LEGAL: dict[str, Callable[[Bench], Instance]] = {
    "hello": _hello,
    "seek": _seek,
    "seek: alone": _seek_alone,
    "cancel": _cancel,
    "move": _move,
    "resign": _resign,
    "ping": _ping,
    "take_over": _take_over,
    "challenge_bot": _challenge_bot,
    "analyse": _analyse,
    "list": _list,
    "watch": _watch,
    "unwatch": _unwatch,
    "subscribe_lobby": _subscribe_lobby,
    "join": _join,
    "join: in vain": _join_in_vain,
    "watch_tournament": _watch_tournament,
    "create_tournament: entrants": _create_entrants,
    "create_tournament: swiss": _create_swiss,
    "create_tournament: knockout": _create_knockout,
    "create_tournament: refused": _create_wrong,
    "create_tournament: rounds": _create_match,
    "create_tournament: no openings": _create_without_openings,
    "create_tournament: openings": _create_openings,
    "create_tournament: short openings": _create_short_openings,
    "withdraw": _withdraw,
    "withdraw: swiss": _withdraw_swiss,
    "end_tournament": _end_tournament,
    "adjudicate": _adjudicate,
    "abort": _abort,
    "kick": _kick,
}
