"""The wire: every message there and back, and whatever else somebody may send."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.protocol.codec import (
    UnknownEvent,
    Unreadable,
    decode_event,
    decode_json_request,
    decode_request,
    encode,
    encode_json,
)
from playout.protocol.messages import (
    EVENTS,
    REQUESTS,
    Abort,
    Adjudicate,
    Analyse,
    Analysis,
    AnalysisQueued,
    AnalysisUpdate,
    AnswerOffer,
    AttemptPuzzle,
    Cancel,
    ChallengeBot,
    ClockState,
    Closing,
    ClusterWorker,
    Code,
    CreateTournament,
    Ended,
    EndTournament,
    EnterLadder,
    Error,
    Event,
    Fixture,
    Hello,
    Join,
    Kick,
    LadderNews,
    LeaveLadder,
    List,
    Listing,
    LobbyTotals,
    Move,
    MoveAnalysis,
    News,
    Notice,
    Offer,
    OfferClosed,
    Offered,
    Ok,
    OpenOffer,
    Outcome,
    Overview,
    Person,
    Ping,
    Pong,
    Presence,
    Reason,
    ReportCluster,
    Request,
    Resign,
    Seek,
    Seeking,
    ServerPing,
    SpectatorCount,
    Started,
    StopAnalysis,
    SubscribeLobby,
    Summary,
    TakenBack,
    TakeOver,
    TimeControl,
    Tournament,
    Unwatch,
    Update,
    Watch,
    WatchLadder,
    WatchTournament,
    Welcome,
    Withdraw,
    WithdrawOffer,
)
from playout.protocol.tournament_spec import Adjudication, Entrant, Openings, Sprt, TournamentSpec
from support.protocol_document import examples_of

THOUGHT = Analysis(
    win_rate=0.5,
    simulations=1200,
    seconds=0.25,
    depth=9,
    proven=-1,
    pv=(4, 0, 8),
    actions=((4, 700, 0.625), (0, 500, 0.25)),
    policy=((4, 0.5), (0, 0.125)),
)
SPEC = TournamentSpec(
    name="is it better?",
    games=("nim", "othello(size=6)"),
    format="sprt",
    entrants=(
        Entrant("Zoë", "1", player="uct(c=1.2,threads=2)", threads=2),
        Entrant("Bob", "2", command="python bob.py"),
        Entrant("Cy", ""),
    ),
    rounds=0,
    clock="0.1/move",
    concurrency=2,
    seed=7,
    openings=Openings(lines={"nim": ((0,), (1, 2))}),
    adjudication=Adjudication(max_plies=60, proofs=True),
    sprt=Sprt(elo0=-5.0, elo1=0.0, model="logistic"),
    anchor="Bob",
)
REQUEST_EXAMPLES: list[Request] = [
    Hello(protocol_min=1, protocol_max=1, name="Ann"),
    Hello(
        id="a",
        protocol_min=0,
        protocol_max=9,
        name="Zoë ♞",
        role="spectator",
        software="mine 1.0",
        token="e" * 32,
        guest=True,
        session="f" * 32,
        legal_actions=True,
    ),
    Seek(game="nim"),
    Seek(
        id=1,
        game="mnk(m=3,n=3,k=3)",
        clock="300+3",
        rated=True,
        opponent="Bob",
        seat=2,
        matches=100,
    ),
    Cancel(seek="ab"),
    Move(match="m", ply=0, action=0),
    Move(id=2**53 - 1, match="m", ply=2**53 - 1, action=2**31 - 1, info=THOUGHT),
    Resign(id=-5, match="m"),
    Offer(match="m", offer="draw", ply=12),
    AnswerOffer(match="m", offer="takeback", ply=12, accept=False),
    WithdrawOffer(match="m"),
    TakeOver(match="m"),
    Watch(match="m"),
    Unwatch(match="m"),
    ChallengeBot(player="uct(time=0.3)", game="nim", clock="60+1", seat=2),
    Analyse(id=9, game="nim", moves=(2, 1), bot="uct", seconds=0.5, played=1),
    StopAnalysis(analysis="a"),
    AttemptPuzzle(puzzle="p", moves=(3, 4)),
    SubscribeLobby(id=3),
    List(),
    Ping(id=""),
    Abort(match="m", text="a mistake"),
    Kick(name="Bob"),
    Join(),
    Join(id="e", tournament="t", matches=4),
    EnterLadder(game="nim", version="2.1", matches=2),
    LeaveLadder(game="nim"),
    CreateTournament(spec=SPEC),
    WatchTournament(tournament="t"),
    Withdraw(tournament="t", entrant="Bob"),
    EndTournament(tournament="t"),
    WatchLadder(game="nim"),
    ReportCluster(tournament="t", workers=(ClusterWorker(host="lab1", speed=2.5),), waiting=1),
    Adjudicate(match="m", ply=30, winner=-1),
    *(each for kind in REQUESTS for each in examples_of(kind)),
]
EVENT_EXAMPLES: list[Event] = [
    Welcome(re="a", protocol=1, session="f" * 32, name="Ann", software="x", games=("nim",)),
    Seeking(seek="s", name="Ann", game="nim"),
    Seeking(
        seek="s",
        name="Ann",
        game="nim",
        clock="none",
        rated=True,
        opponent="Bob",
        seat=1,
        matches=3,
    ),
    Started(
        match="m",
        game="nim",
        players=("Ann", "Bob"),
        seat=2,
        clock="10+3",
        time_control=TimeControl(10.0, 3.0, 0, 0.0),
        clocks=(ClockState(10.0, 0), ClockState(9.5, 0)),
        rated=True,
        moves=(1, 2),
        state=(1, 0, 10),
        to_move=1,
        legal_actions=(0, 1, 2),
    ),
    Started(
        match="m", game="nim", players=("A", "B"), clock="none", moves=(), state=(1, 0), to_move=1
    ),
    Update(match="m", ply=3, player=1, action=2, state=(2, 0, 7), to_move=2),
    MoveAnalysis(match="m", ply=3, player=1, info=THOUGHT, pv=("a1",)),
    Started(
        match="m",
        game="nim",
        players=("A", "B"),
        seat=1,
        clock="none",
        moves=(0, 1),
        state=(1, 0),
        to_move=1,
        offers=(OpenOffer("draw", 2, 2),),
    ),
    Offered(match="m", offer="draw", player=1, ply=12),
    OfferClosed(match="m", offer="draw", player=1, ply=12, how="declined"),
    AnalysisQueued(re=9, analysis="a", bot="Max", seconds=0.5, place=2),
    AnalysisUpdate(analysis="a", info=Analysis(win_rate=0.5)),
    AnalysisUpdate(analysis="a", over=True, text="others wait"),
    SpectatorCount(match="m", spectators=3),
    Presence(match="m", player=2, connected=False, seconds=60.0),
    TakenBack(re=4, match="m", ply=2, player=1, state=(1, 0, 9), to_move=1),
    Ended(
        match="m",
        winner=-1,
        returns=(0.5, 0.5),
        reason=Reason.RULES,
        text="a tie",
        state=(1, -1, 0),
    ),
    Listing(
        players=(Person("Ann", "bot"),),
        seeks=(Seeking(seek="s", name="Ann", game="nim"),),
        matches=(Summary("m", "nim", ("Ann", "Bob"), "none", 4),),
    ),
    Overview(
        players=(Person("Ann", "bot"),),
        seeks=(Seeking(seek="s", name="Ann", game="nim"),),
        matches=(Summary("m", "nim", ("Ann", "Bob"), "none", 4),),
        outcomes=(Outcome("n", "nim", ("Ann", "Bob"), 7, 1, Reason.RULES, "Ann won"),),
        totals=LobbyTotals(0, 2, spectators=0, seeks=1, matches=1, games={"nim": 1}),
    ),
    News(left=(Person("Ann", "bot", guest=True),), closed=("s",), gone=("m",)),
    Tournament(re=3, tournament="t", spec=SPEC),
    Tournament(tournament="t", spec=SPEC, over=True, withdrawn=(2, 0)),
    LadderNews(game="nim", matches=2, rated=2, playing=1, versions=2, present=2),
    Fixture(
        tournament="t",
        round=1,
        board=1,
        number=2,
        leg=1,
        match="m",
        game="nim",
        players=("Ann", "Bob"),
    ),
    Fixture(
        tournament="t",
        round=1,
        board=1,
        number=2,
        leg=2,
        attempt=2,
        match="m",
        game="nim",
        players=("Ann", "Bob"),
        plies=9,
        winner=-1,
        reason=Reason.ADJUDICATION,
        repeated=True,
    ),
    Ok(re=7),
    Pong(re="x"),
    Closing(seconds=5.0),
    Error(re=1, code=Code.ILLEGAL_ACTION, text="no"),
    ServerPing(seconds=60.0),
    Notice(code="storage_down", text="wait"),
    *(each for kind in EVENTS for each in examples_of(kind)),
]


def test_every_message_has_an_example() -> None:
    assert {type(each) for each in REQUEST_EXAMPLES} == set(REQUESTS)
    assert {type(each) for each in EVENT_EXAMPLES} == set(EVENTS)


@pytest.mark.parametrize("request_", REQUEST_EXAMPLES, ids=repr)
def test_requests_come_back(request_: Request) -> None:
    assert decode_request(encode(request_)) == request_


@pytest.mark.parametrize("event", EVENT_EXAMPLES, ids=repr)
def test_events_come_back(event: Event) -> None:
    assert decode_event(encode(event)) == event


def test_a_client_overlooks_fields_that_it_does_not_know() -> None:
    assert decode_event(msgpack.packb({"type": "pong", "re": 1, "mood": "good"})) == Pong(re=1)


def test_a_message_of_an_unknown_type_is_told_from_one_that_makes_no_sense() -> None:
    with pytest.raises(UnknownEvent, match="'brand_new'"):
        decode_event(msgpack.packb({"type": "brand_new", "mood": "good"}))


@pytest.mark.parametrize(
    "frame", [b"", b"\xc1", b"\xc0", b"\x81\xa4type\xa4ping", msgpack.packb({"type": ["pong"]})]
)
def test_a_client_says_so_when_the_server_makes_no_sense(frame: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be decoded"):
        decode_event(frame)


def test_unknown_fields_of_a_specification_are_ignored_in_an_event() -> None:
    spec = ORGANIZE["spec"] | {"entrants": [ENTRANT], "later": 1}
    event = {"type": "tournament", "tournament": "t", "spec": spec}
    decoded = decode_event(msgpack.packb(event))
    assert isinstance(decoded, Tournament)
    assert decoded.spec.entrants[0].name == "a"


MOVE = {"type": "move", "match": "m", "ply": 0, "action": 0}
HELLO = {"type": "hello", "protocol_min": 1, "protocol_max": 1, "name": "Ann"}
SEEK = {"type": "seek", "game": "nim"}
ENTER = {"type": "join"}
ADJUDICATE = {"type": "adjudicate", "match": "m", "ply": 30, "winner": 1}
ENTRANT = {"name": "a", "version": "", "player": "random", "colour": "red"}
ORGANIZE: dict[str, Any] = {
    "type": "create_tournament",
    "spec": {"name": "a", "games": ["nim"], "format": "match", "entrants": []},
}


def without(message: dict[str, Any], field: str) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key != field}


def unreadable(frame: bytes) -> Unreadable:
    with pytest.raises(Unreadable) as refused:
        decode_request(frame)
    return refused.value


def nested(depth: int) -> bytes:
    return b"\x91" * depth + b"\xc0"


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc1",
        b"\x81",
        b"\x81\xa4type",
        b"\x81\xa4type\xa4ping tail",
        b"\x81\x01\xa4ping",
        b"\xdf\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        msgpack.packb({b"type": "ping"}),
        msgpack.packb(MOVE | {b"ply": 0}),
        nested(2000),
        *(msgpack.packb(value) for value in (None, True, 7, 0.5, "ping", b"ping", [MOVE], [])),
    ],
    ids=lambda frame: repr(frame)[:30],
)
def test_a_value_that_is_no_map_is_malformed(frame: bytes) -> None:
    assert unreadable(frame).code is Code.MALFORMED


def test_a_book_of_openings_may_be_as_long_as_the_frame() -> None:
    lines = {"nim": tuple((number,) for number in range(5000))}
    entrants = (Entrant("Ann", "1"), Entrant("Bob", "1"))
    spec = TournamentSpec("a book", ("nim",), "match", entrants, openings=Openings(lines=lines))
    request = CreateTournament(spec=spec)
    for write, read in ((encode, decode_request), (encode_json, decode_json_request)):
        assert read(write(request)) == request


@pytest.mark.parametrize("kind", REQUESTS)
@pytest.mark.parametrize("field", ["type", "id", "what", None])
def test_unexpected_values_are_skipped_without_objects(
    kind: type[Request], field: str | None
) -> None:
    lists = [[[]] * 4000] * 30
    message = {"type": kind.tag(), field or kind.__struct_fields__[-1]: lists}
    for write, read in (
        (msgspec.msgpack.encode, decode_request),
        (msgspec.json.encode, decode_json_request),
    ):
        frame = write(message)
        tracemalloc.start()
        try:
            with pytest.raises(Unreadable):
                read(frame)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert most < 2 * len(frame)


@pytest.mark.parametrize(
    "tag",
    ["", "Ping", "pong", "welcome", "x" * 4000, None, 1, True, ["ping"], {"ping": 1}, b"ping"],
)
def test_an_unknown_type_is_told_which_there_are(tag: object) -> None:
    refused = unreadable(msgpack.packb({"type": tag, "id": 7}))
    assert refused.code is Code.UNKNOWN_TYPE
    assert refused.request_id == 7
    known = ", ".join(sorted(kind.tag() for kind in REQUESTS))
    assert "abort, accept, adjudicate" in known
    assert known in str(refused)
    assert len(str(refused)) < len(known) + 100


def test_no_type_is_an_unknown_type() -> None:
    assert unreadable(msgpack.packb({})).code is Code.UNKNOWN_TYPE
    assert unreadable(b"\x81\xa4type\xa1\xff").code is Code.UNKNOWN_TYPE


INVALID = [
    # Fields that are missing, unknown, or of another type.
    *((without(HELLO, field), field) for field in ("protocol_min", "protocol_max", "name")),
    *((without(MOVE, field), field) for field in ("match", "ply", "action")),
    (without(SEEK, "game"), "game"),
    (MOVE | {"colour": "red"}, "colour"),
    (MOVE | {"info": {"mood": "good"}}, "mood"),
    (MOVE | {"ply": "0"}, "ply"),
    (MOVE | {"ply": 0.0}, "ply"),
    (MOVE | {"ply": None}, "ply"),
    (MOVE | {"ply": True}, "ply"),
    (MOVE | {"action": False}, "action"),
    (MOVE | {"match": 5}, "match"),
    (MOVE | {"match": b"m"}, "match"),
    (MOVE | {"info": []}, "info"),
    (MOVE | {"info": {"pv": msgpack.ExtType(5, b"x")}}, "pv"),
    (MOVE | {"info": {"actions": [[1, 2]]}}, "actions"),
    (MOVE | {"id": msgpack.Timestamp(1)}, "id"),
    (HELLO | {"legal_actions": 1}, "legal_actions"),
    (HELLO | {"role": "referee"}, "role"),
    (SEEK | {"rated": "yes"}, "rated"),
    (SEEK | {"seat": True}, "seat"),
    (ENTER | {"tournament": 1}, "tournament"),
    (without(ADJUDICATE, "winner"), "winner"),
    (ORGANIZE | {"spec": without(ORGANIZE["spec"], "games")}, "games"),
    (ORGANIZE | {"spec": ORGANIZE["spec"] | {"round": 5}}, "spec.round"),
    (ORGANIZE | {"spec": ORGANIZE["spec"] | {"openings": {"ply": 2}}}, "spec.openings.ply"),
    (ORGANIZE | {"spec": ORGANIZE["spec"] | {"sprt": {"elo": 2}}}, "spec.sprt.elo"),
    (ORGANIZE | {"spec": ORGANIZE["spec"] | {"entrants": [ENTRANT]}}, "spec.entrants[0].colour"),
    (ORGANIZE | {"spec": ORGANIZE["spec"] | {"sprt": 5}}, "sprt"),
    # Values out of bounds.
    (MOVE | {"id": 2**53}, "id"),
    (MOVE | {"id": -(2**53)}, "id"),
    (MOVE | {"ply": -1}, "ply"),
    (MOVE | {"ply": 2**53}, "ply"),
    (MOVE | {"ply": 2**64 - 1}, "ply"),
    (MOVE | {"action": 2**31}, "action"),
    (MOVE | {"action": -(2**63)}, "action"),
    (MOVE | {"match": "m" * 65}, "match"),
    (MOVE | {"info": {"pv": [0] * 101}}, "pv"),
    (HELLO | {"name": ""}, "name"),
    (HELLO | {"name": "A" * 33}, "name"),
    (HELLO | {"software": "mine\n2026-01-01 a line of the log"}, "software"),
    (HELLO | {"software": "mine\n"}, "software"),
    (HELLO | {"software": "\x1b[2J"}, "software"),
    (SEEK | {"seat": 3}, "seat"),
    (SEEK | {"matches": 0}, "matches"),
    (SEEK | {"matches": 101}, "matches"),
    (SEEK | {"game": "x" * 501}, "game"),
    (ADJUDICATE | {"winner": 0}, "winner"),
    (ADJUDICATE | {"winner": 3}, "winner"),
    (ENTER | {"matches": -1}, "matches"),
    (ENTER | {"matches": 101}, "matches"),
    # Numbers that are none: they would not survive JSON, and compare with nothing.
    *(
        (MOVE | {"info": info}, field)
        for number in (math.nan, math.inf, -math.inf, -0.5)
        for field, info in (
            ("win_rate", {"win_rate": number}),
            ("seconds", {"seconds": number}),
            ("actions", {"actions": [[1, 2, number]]}),
        )
    ),
    (MOVE | {"info": {"win_rate": 1.5}}, "win_rate"),
    (MOVE | {"info": {"proven": 2}}, "proven"),
    (MOVE | {"info": {"actions": [[1, 2, 2**64 - 1]]}}, "actions"),
]


@pytest.mark.parametrize(
    ("message", "field"), INVALID, ids=lambda part: repr(part)[-60:] if part else None
)
def test_an_invalid_field_is_named(message: dict[str, Any], field: str) -> None:
    refused = unreadable(msgpack.packb({"id": "q"} | message))
    assert refused.code is Code.INVALID
    assert str(refused).startswith(f"{message['type']}: ")
    assert field in str(refused)


@pytest.mark.parametrize("given_id", [1, "a", 0, -1, 2**53 - 1, -(2**53) + 1, "", "a" * 64])
def test_an_error_repeats_the_id(given_id: int | str) -> None:
    assert unreadable(msgpack.packb({"type": "?", "id": given_id})).request_id == given_id


@pytest.mark.parametrize("given_id", [None, True, False, 1.0, b"a", ["a"], {}, "a" * 65])
def test_an_error_does_not_repeat_what_is_no_id(given_id: object) -> None:
    assert unreadable(msgpack.packb({"type": "?", "id": given_id})).request_id is None


@pytest.mark.parametrize("depth", [1, 10, 500, 990, 1000, 1020, 1100, 5000, 60_000])
@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\x81\xa4type",
        b"\x82\xa4type\xa4ping\xa2id",
        b"\x82\xa4type\xa4move\xa4info",
        b"\x82\xa4type\xa4move\xa4info\x81\xa4line",
        b"\x82\xa4type\xa4ping\xa4what",
    ],
)
def test_no_depth_is_too_deep(head: bytes, depth: int) -> None:
    assert unreadable(head + nested(depth)).code in BECAUSE_UNREADABLE


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            {"type": "hello", "name": "a" * 33},
            "hello: name must be a text of at most 32 characters",
        ),
        (
            {"type": "hello", "name": 5},
            "hello: name must be a text, not a whole number",
        ),
        (
            {"type": "hello", "name": "a", "token": 3},
            "hello: token must be a text or null, not a whole number",
        ),
        (
            {"type": "move", "match": "a", "ply": -3, "action": 1},
            "move: ply must be a whole number of at least 0",
        ),
        ({"type": "seek"}, "seek: game is missing"),
        (
            {"type": "hello", "name": "a", "role": "king"},
            "hello: role must be one of 'bot', 'human', 'spectator', not 'king'",
        ),
        ({"type": "seek", "game": "nim", "seat": 3}, "seek: seat must be one of 1, 2, not 3"),
        ({"type": "ping", "many": 1}, "ping: many is unknown; the fields are id"),
        ({"type": "create_tournament", "spec": {}}, "create_tournament: spec.name is missing"),
        (
            {"type": "move", "match": "m", "ply": 0, "action": 1, "info": {"win_rate": 2}},
            "move: info.win_rate must be a number of at most 1.0",
        ),
        (
            {"type": "move", "match": "m", "ply": 0, "action": 1, "info": {"actions": [[1, 2]]}},
            "move: info.actions[0] must be a list of 3 entries, not 2",
        ),
        ({"type": "watch", "match": None}, "watch: match must be a text, not null"),
    ],
)
def test_a_wrong_value_is_refused_in_a_sentence(message: dict[str, Any], text: str) -> None:
    with pytest.raises(Unreadable) as refused:
        decode_request(msgpack.packb(message))
    assert str(refused.value) == text


BECAUSE_UNREADABLE = {Code.MALFORMED, Code.UNKNOWN_TYPE, Code.INVALID}

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=70)
    | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=10) | st.binary(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
messages = st.sampled_from(REQUEST_EXAMPLES).map(msgspec.to_builtins)
field_names = st.sampled_from(
    sorted({field for kind in REQUESTS for field in kind.__struct_fields__} | {"type"})
)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, object]:
    """A message like those that are sent, but for one field."""
    message = dict(draw(messages))
    message[draw(field_names)] = draw(values)
    return message


def reads_or_says_why(frame: bytes) -> None:
    try:
        request = decode_request(frame)
    except Unreadable as refused:
        if refused.code not in BECAUSE_UNREADABLE or not str(refused):
            raise
    else:
        assert decode_request(encode(request)) == request


@given(st.binary(max_size=200))
def test_any_bytes(frame: bytes) -> None:
    reads_or_says_why(frame)


@given(values)
def test_any_value(value: object) -> None:
    reads_or_says_why(msgpack.packb(value))


@given(damaged())
def test_any_field(message: dict[str, object]) -> None:
    reads_or_says_why(msgpack.packb(message))


@given(messages.map(msgpack.packb), st.data())
def test_any_flipped_byte(frame: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(frame) - 1))
    byte = data.draw(st.integers(0, 255))
    reads_or_says_why(frame[:place] + bytes([byte]) + frame[place + 1 :])


#: What programs of others compare with, which later versions must not rename.
CODES = """
frame_too_large malformed unknown_type invalid not_allowed unsupported_protocol bad_name
name_taken unknown_account bad_token registration_closed not_for_guests unknown_session replaced
kicked bad_game bad_clock unknown_seek too_many rate_limited timeout unknown_match
unknown_tournament bad_tournament not_your_match not_away no_offer not_your_turn wrong_ply
illegal_action match_over closing internal
"""
REASONS = """
rules agreement resignation time abandonment illegal_moves adjudication void administrator
aborted
"""
TYPES = """
abort accept account_list adjudicate analyse analysis_queued analysis_update answer_offer
attempt_puzzle cancel challenge_bot change_account closing create_accounts create_tournament
end_tournament ended enter_ladder error fixture hello inspect_server join kick ladder_news
leave_ladder list list_accounts listing matches_reported move move_analysis news notice offer
offer_closed
offered ok open_session overview ping ping pong presence report_cluster report_matches resign seek
seeking
server_state
session_opened spectator_count started stop_analysis subscribe_lobby subscribe_push take_over
taken_back tournament unsubscribe_push unwatch update watch watch_ladder watch_tournament
welcome withdraw withdraw_offer
"""


def test_codes_reasons_and_types_keep_their_names() -> None:
    assert {*CODES.split()} <= {each.value for each in Code}
    assert {*REASONS.split()} <= {each.value for each in Reason}
    assert {*TYPES.split()} <= {each.__struct_config__.tag for each in (*REQUESTS, *EVENTS)}
