"""Many hostile peers at once against one server: their inputs, and the faults that they find."""

from __future__ import annotations

import contextlib
import math
import os
import random
import selectors
import socket
import struct
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgpack
import msgspec

from playout.protocol.messages import REQUESTS, Request
from playout.server.tournament import formats
from testbed.server_process import ServerProcess
from testbed.traffic import Message, split

# Inputs: messages about existing things, with mutated bytes.


#: Names that many peers try to register.
NAMES = [f"Peer {number}" for number in range(40)]
GAMES = ("tic_tac_toe", "nim", "nim(chips=3)", "connect_four", "mnk(m=3,n=3,k=3)", "shogi", "nim(")
CLOCKS = ("none", "300+3", "1/move", "0.05/move", "600+5x30", "0+3", "1/year", "")
LARGEST = 64 * 1024
STREAMS = 0.06


class Input(NamedTuple):
    """Bytes for a connection, the kind of mutation, and whether a frame may follow them."""

    kind: str
    data: bytes
    aligned: bool = True


def _recent() -> deque[Any]:
    return deque(maxlen=30)


@dataclass
class KnownValues:
    """Names and identifiers for messages, learned from the server's messages."""

    names: list[str] = field(default_factory=lambda: list(NAMES))
    matches: deque[str] = field(default_factory=_recent)
    seeks: deque[str] = field(default_factory=_recent)
    sessions: deque[str] = field(default_factory=_recent)
    #: The token of each account, by name.
    tokens: dict[str, str] = field(default_factory=dict)

    def learn(self, event: Message) -> None:
        """Add the names and identifiers of a message of the server."""
        kind = event["type"]
        if kind == "welcome":
            self.sessions.append(event["session"])
            if token := event.get("token"):
                self.tokens[event["name"]] = token
        elif kind == "seeking":
            self.seeks.append(event["seek"])
        elif kind == "started":
            self.matches.append(event["match"])
        elif kind == "listing":
            self.matches.extend(each["match"] for each in event["matches"][:3])


def turn(event: Message) -> Turn | None:
    """Return the match of an event and its present ply, if the event contains them."""
    if event["type"] == "started":
        return event["match"], len(event["moves"])
    return (event["match"], event["ply"] + 1) if event["type"] == "update" else None


#: A match and its present ply.
Turn = tuple[str, int]
Way = tuple[str, Callable[[Message], Input]]


class Mutator:
    """Generates inputs without end; equal seeds and equal known values give equal inputs."""

    def __init__(self, seed: int, known: KnownValues) -> None:
        self.random = random.Random(seed)
        self.known = known
        self._values: dict[str, Callable[[], Any]] = {
            "id": lambda: self._pick([0, 7, -1, 2**53 - 1, "seven", "x" * 64]),
            "protocol_min": lambda: self._pick([0, 1, 1, 1, 2]),
            "protocol_max": lambda: self._pick([0, 1, 1, 1, 2**53 - 1]),
            "name": self._name,
            "role": lambda: self._pick(["bot", "human", "spectator"]),
            "software": lambda: "fuzz " * self._below(13),
            "token": lambda: self._pick([*self.known.tokens.values(), "0" * 32]),
            "guest": lambda: self._pick([True, False]),
            "session": lambda: self._pick([*self.known.sessions, "0" * 32]),
            "legal_actions": lambda: self._pick([True, False]),
            "views": lambda: self._pick([True, False]),
            "game": lambda: self._pick(GAMES),
            "clock": lambda: self._pick(CLOCKS),
            "names": lambda: [self._name() for _ in range(1 + self._below(3))],
            "new_name": self._name,
            "locked": lambda: self._pick([True, False]),
            "search": self._name,
            "rated": lambda: self._pick([True, False]),
            "opponent": self._name,
            "player": lambda: self._pick(["random", "--help", "uct(time=1e9)"]),
            "moves": lambda: self._pick([(), (4, 0), (0, 1, 2), (99,)]),
            "bot": lambda: self._pick(["random", "--help"]),
            "seconds": lambda: self._pick([0, 0.1, 1e9]),
            "played": lambda: self._below(10),
            "analysis": lambda: self._pick([*self.known.matches, "a"]),
            "core_set": lambda: self._pick([1, 2, 10_000, 0]),
            "process": lambda: self._pick([1, 2, 10_000, 0]),
            "seat": lambda: self._pick([1, 2]),
            "matches": lambda: self._pick([1, 1, 1, 2, 100]),
            "seek": lambda: self._pick([*self.known.seeks, "s"]),
            "match": lambda: self._pick([*self.known.matches, "m"]),
            "ply": lambda: self._below(10),
            "offer": lambda: self._pick(["draw", "takeback"]),
            "preview": lambda: self._pick([True, False]),
            "accept": lambda: self._pick([True, False]),
            "action": lambda: self._below(10),
            "info": self._thought,
            "text": lambda: "enough " * self._below(9),
            "tournament": lambda: self._pick([*self.known.matches, "t"]),
            "from_now": lambda: self._pick([True, False]),
            "entrant": self._name,
            "version": lambda: self._pick(["1", "2.1", ""]),
            "spec": self._spec,
            "winner": lambda: self._pick([1, 2, -1]),
            "workers": lambda: [{"host": self._name(), "core_sets": [1, self._below(3)]}],
            "waiting": lambda: self._below(3),
            "matches_per_hour": lambda: self._pick([0, 0.5, 1e9, math.inf]),
            "dashboard": lambda: self._pick(["https://lab1:8787/status", "javascript:1"]),
        }
        self._frames: list[Way] = [
            *[("untouched", lambda message: framed(packed(message)))] * 4,
            ("bits flipped", lambda message: framed(self._flipped(packed(message)))),
            ("cut", lambda message: framed(self._cut(packed(message)))),
            ("inserted", lambda message: framed(self._inserted(packed(message)))),
            ("spliced", self._spliced),
            ("another type", self._retyped),
            ("a field more or less", self._more_or_less),
            ("deep", self._deep),
            ("huge lengths", self._huge),
            ("noise in a frame", lambda message: framed(self._noise(200))),
            ("large", lambda message: framed(self._noise(LARGEST))),
            ("many at once", self._many),
        ]
        self._streams: list[Way] = [
            ("wrong header", self._misled),
            ("stopped in a frame", self._stopped),
            ("noise", lambda message: Input("", self._noise(300), aligned=False)),
        ]

    def input(self, turns: Sequence[Turn] = (), streams: float = STREAMS) -> Input:
        """Return the next input: a random message with a mutation; some moves are for `turns`.

        `streams` is the share of inputs after which the start of a frame is unknown.
        """
        ways = self._streams if self.random.random() < streams else self._frames
        kind, way = self._pick(ways)
        message = self.message()
        if message["type"] == "move" and turns and self.random.random() < 0.7:
            message["match"], message["ply"] = self._pick(turns)
        made: Input = way(message)
        return made._replace(kind=kind)

    def hello(self) -> Input:
        """Return a `hello` that the server accepts in most cases."""
        name = self._name()
        message: Message = {"type": "hello", "protocol_min": 1, "protocol_max": 1, "name": name}
        chance = self.random.random()
        if chance < 0.5:
            message |= {"guest": True, "name": f"Guest {self._below(1000)}"}
        elif chance < 0.7:
            message |= {"guest": True, "role": "spectator", "name": f"Guest {self._below(1000)}"}
        elif chance < 0.8:
            message["session"] = self._values["session"]()
        elif token := self.known.tokens.get(name):
            message["token"] = token
        return framed(packed(message))._replace(kind="hello")

    def message(self) -> Message:
        """Return a message of a random type with valid fields and half of the optional ones."""
        kind: type[Request] = self._pick(REQUESTS)
        message: Message = {"type": kind.__struct_config__.tag}
        for each in msgspec.structs.fields(kind):
            if each.required or self._pick([True, False]):
                message[each.name] = self._value(each)
        return message

    def _value(self, field: msgspec.structs.FieldInfo) -> Any:
        """Return a value for a field: by its name where one is known, or else by its type."""
        if field.name in self._values:
            return self._values[field.name]()
        kind = msgspec.inspect.type_info(field.type)
        while isinstance(kind, msgspec.inspect.UnionType):
            kind = self._pick(kind.types)
        made: dict[type[msgspec.inspect.Type], Callable[[], Any]] = {
            msgspec.inspect.BoolType: lambda: self._pick([True, False]),
            msgspec.inspect.IntType: lambda: self._below(10),
            msgspec.inspect.FloatType: self.random.random,
            msgspec.inspect.StrType: self._name,
        }
        return made[type(kind)]() if type(kind) in made else None

    def _pick(self, things: Any) -> Any:
        return self.random.choice(things)

    def _below(self, bound: int) -> int:
        return self.random.randrange(bound)

    def _name(self) -> Any:
        return self._pick(self.known.names)

    def _noise(self, most: int) -> bytes:
        return self.random.randbytes(self._below(most) + 1)

    def _thought(self) -> Message:
        return {
            "win_rate": self.random.random(),
            "simulations": self._below(10**6),
            "pv": [self._below(9) for _ in range(self._below(100))],
            "actions": [[self._below(9), self._below(99), 0.5] for _ in range(self._below(40))],
        }

    def _spec(self) -> Message:
        return {
            "name": self._name(),
            "games": [self._pick(GAMES) for _ in range(self._below(3))],
            "format": self._pick([*formats.names(), "league"]),
            "entrants": [{"name": self._name(), "version": ""} for _ in range(self._below(5))],
            "rounds": self._below(10**6),
            "openings": {"plies": self._below(9), "lines": {self._pick(GAMES): [[0, 1], [9]]}},
            "sprt": {"elo0": 5.0, "elo1": self._pick([5.0, -1e308, 1e308])},
        }

    def _flipped(self, body: bytes) -> bytes:
        flipped = bytearray(body)
        for _ in range(1 + self._below(8)):
            flipped[self._below(len(body))] ^= 1 << self._below(8)
        return bytes(flipped)

    def _cut(self, body: bytes) -> bytes:
        return body[: self._below(len(body))]

    def _inserted(self, body: bytes) -> bytes:
        at = self._below(len(body) + 1)
        return body[:at] + self._noise(20) + body[at:]

    def _spliced(self, message: Message) -> Input:
        return framed(self._cut(packed(message)) + packed(self.message())[self._below(20) :])

    def _retyped(self, message: Message) -> Input:
        return framed(packed(message | {self._field(message): self._pick(JUNK)}))

    def _more_or_less(self, message: Message) -> Input:
        message.pop(self._field(message))
        return framed(packed(message | {self._pick([*self._values, "colour"]): self._pick(JUNK)}))

    def _deep(self, message: Message) -> Input:
        depth = self._pick([10, 100, 1000, 10_000])
        nest = self._pick([b"\x91", b"\x81\xa1a", b"\xdc\x00\x01", b"\x81\xa4type"])
        return framed(packed(message, {self._field(message): nest * depth + b"\xc0"}))

    def _huge(self, message: Message) -> Input:
        header = self._pick(HEADERS) + struct.pack(">I", self._pick(HUGE)) + self._noise(40)
        return framed(packed(message, {self._field(message): header}))

    def _many(self, message: Message) -> Input:
        messages = [message, *(self.message() for _ in range(self._below(20)))]
        return Input("", b"".join(framed(packed(each)).data for each in messages))

    def _misled(self, message: Message) -> Input:
        body = packed(message)
        length = self._pick([len(body) - 1, len(body) + 1, 0, LARGEST, LARGEST + 1, 2**32 - 1])
        return Input("", struct.pack(">I", length) + body, aligned=False)

    def _stopped(self, message: Message) -> Input:
        return Input("", self._cut(framed(packed(message)).data), aligned=False)

    def _field(self, message: Message) -> Any:
        return self._pick(list(message))


#: Values of every type, many of them at the limits of MessagePack.
JUNK: list[Any] = [
    None, True, False, 0, -1, 2**31, 2**53, 2**63 - 1, 2**64 - 1, -(2**63),
    0.5, -0.0, math.nan, math.inf, 1e308, "", "x", "x" * 5000, "\0", "é" * 40, "\u202e", "null",
    b"", b"x" * 5000, [], [[]], [0] * 5000, {}, {"type": "ping"}, {1: 2},
    {str(number): 0 for number in range(100)}, msgpack.ExtType(5, b"x"), msgpack.Timestamp(0),
]  # fmt: skip
#: The headers of strings, binaries, lists, maps and extensions with a length of 4 bytes.
HEADERS = (b"\xdb", b"\xc6", b"\xdd", b"\xdf", b"\xc9")
HUGE = (2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1)


def packed(message: Message, raw: Mapping[str, bytes] | None = None) -> bytes:
    """Return a message of at most 15 fields as MessagePack; `raw` gives fields as raw bytes."""
    fields = {key: msgpack.packb(value) for key, value in message.items()} | dict(raw or {})
    items = (msgpack.packb(key) + value for key, value in fields.items())
    return bytes([0x80 | len(fields)]) + b"".join(items)


def framed(body: bytes) -> Input:
    """Return a frame: the body after its length."""
    return Input("", struct.pack(">I", len(body)) + body)


# Peers that send the inputs.


#: Number of peers at a time, and the most inputs of each.
AT_ONCE = 12
LONGEST = 60
#: Share of the peers that send whole frames only, and ten times more inputs.
STEADY = 0.03
#: A peer that waits longer for an answer, or for the end of its connection, has found a fault.
PATIENCE_S = 60.0
#: Number of most recent peers whose inputs are shown when a fault is found.
SUSPECTS = 2 * AT_ONCE
#: Texts in the server's log that show a fault.
FAULTS = (b"Traceback", b"cannot handle", b" error: ", b" critical: ")
LAST = framed(packed({"type": "ping", "id": "the last"}))


@dataclass(eq=False)
class HostilePeer:
    """A connection with its inputs, sent and unsent."""

    connection: socket.socket
    left: int
    steady: bool
    inputs: list[Input] = field(default_factory=list)
    unsent: bytes = b""
    unread: bytes = b""
    aligned: bool = True
    turns: deque[Turn] = field(default_factory=lambda: deque(maxlen=4))
    #: The time from which it has sent all inputs and waits for the end.
    silent_at: float | None = None
    #: Whether it has received the answer to its last request, or was disconnected.
    over: bool = False

    def append(self, input_: Input) -> None:
        """Append an input to those to be sent."""
        self.inputs.append(input_)
        self.unsent += input_.data
        self.aligned = self.aligned and input_.aligned

    def send(self, most: int) -> None:
        """Send at most that number of bytes, as far as the socket accepts them."""
        try:
            sent = self.connection.send(self.unsent[:most])
            self.unsent = self.unsent[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self.over = True

    def receive(self) -> list[Message]:
        """Return the messages that have arrived."""
        try:
            data = self.connection.recv(1 << 18)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        self.over = self.over or not data
        payloads, self.unread = split(self.unread + data)
        return [msgpack.unpackb(payload) for payload in payloads]


class FuzzFault(NamedTuple):
    """A fault of the server, and the inputs before it, the last first."""

    what: str
    inputs: list[Input]

    def __str__(self) -> str:
        lines = (f"{each.kind}: {each.data.hex()}" for each in self.inputs)
        return "\n".join([self.what, "after these inputs, newest first:", *lines])


class Fuzzer:
    """Runs peers that send inputs of a `Mutator`; a new peer replaces each that has finished."""

    def __init__(self, served: ServerProcess, seed: int, names: list[str]) -> None:
        """`names` are those of other players, which inputs may contain."""
        self.inputs: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.peers = 0
        self.faults: list[FuzzFault] = []
        self._served = served
        self._seed = seed
        self._known = KnownValues()
        self._known.names += names
        self._mutator = Mutator(seed, self._known)
        self._random = self._mutator.random
        self._suspects: deque[HostilePeer] = deque(maxlen=SUSPECTS)
        self._connections_before = _connections(served.pid)
        self._log_read = 0
        self._left = 0

    def run(self, inputs: int) -> None:
        """Send that number of further inputs, and wait until all peers have disconnected."""
        self._left = inputs
        with selectors.DefaultSelector() as selector:
            while self._left > 0 or selector.get_map():
                while len(selector.get_map()) < AT_ONCE and self._left > 0:
                    peer = self._new_peer()
                    selector.register(peer.connection, selectors.EVENT_READ, peer)
                for key in list(selector.get_map().values()):
                    self._send(key.data)
                for key, _ in selector.select(0.0005):
                    self._receive(key.data)
                now = time.monotonic()
                for key in list(selector.get_map().values()):
                    if self._is_done(key.data, now):
                        selector.unregister(key.fileobj)
                        key.data.connection.close()
                        self._read_log()

    def connections_left(self) -> int:
        """Wait until the server has closed all connections; return the number of open ones."""
        until = time.monotonic() + PATIENCE_S
        while (left := _connections(self._served.pid) - self._connections_before) > 0:
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        return left

    def _new_peer(self) -> HostilePeer:
        try:
            connection = socket.create_connection(("127.0.0.1", self._served.port), PATIENCE_S)
        except OSError as error:
            fault = self._found(f"the server refuses connections: {error}", self._suspects)
            raise click.ClickException(str(fault)) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        steady = self._random.random() < STEADY
        most = 10 * LONGEST if steady else LONGEST
        peer = HostilePeer(connection, 1 + self._random.randrange(most), steady)
        if self._random.random() < 0.85:
            self._append(peer, self._mutator.hello())
        self._suspects.append(peer)
        self.peers += 1
        return peer

    def _append(self, peer: HostilePeer, input_: Input) -> None:
        self._left -= 1
        self.inputs[input_.kind] += 1
        peer.append(input_)
        if not input_.aligned:
            peer.left = min(peer.left, self._random.randrange(4))

    def _send(self, peer: HostilePeer) -> None:
        """Create inputs and send them, whole or up to a random byte."""
        if self._left <= 0:
            peer.left = 0
        while peer.left and len(peer.unsent) < 1000 and self._random.random() < 0.7:
            peer.left -= 1
            streams = 0.0 if peer.steady else STREAMS
            self._append(peer, self._mutator.input(peer.turns, streams))
        if not peer.left and peer.silent_at is None:
            peer.silent_at = time.monotonic()
            if peer.aligned:
                peer.append(LAST)
        if peer.unsent:
            whole = self._random.random() < 0.7
            peer.send(len(peer.unsent) if whole else 1 + self._random.randrange(len(peer.unsent)))
        if peer.silent_at and not peer.unsent and not peer.aligned:
            with contextlib.suppress(OSError):
                peer.connection.shutdown(socket.SHUT_WR)

    def _receive(self, peer: HostilePeer) -> None:
        for message in peer.receive():
            kind = message["code"] if message["type"] == "error" else message["type"]
            self.answers[kind] += 1
            self._known.learn(message)
            if stands := turn(message):
                peer.turns.append(stands)
            if kind == "internal":
                self._found(f"the server answered {message}", [peer])
            peer.over = peer.over or message.get("re") == "the last"

    def _is_done(self, peer: HostilePeer, now: float) -> bool:
        if not peer.over and peer.silent_at and now - peer.silent_at > PATIENCE_S:
            self._found(f"no answer within {PATIENCE_S:g} seconds", [peer])
            return True
        return peer.over

    def _read_log(self) -> None:
        """Read the new part of the server's log, and look for faults."""
        log = self._served.log.fileno()
        written = os.pread(log, 1 << 20, self._log_read)
        if any(mark in written for mark in FAULTS):
            text = written.decode(errors="replace")
            self._found(f"the server's log has:\n{text}", self._suspects)
        self._log_read += len(written)

    def _found(self, what: str, peers: Iterable[HostilePeer]) -> FuzzFault:
        """Record a fault that one of these peers has caused."""
        inputs = [each for peer in reversed(list(peers)) for each in reversed(peer.inputs)]
        fault = FuzzFault(f"seed {self._seed}: {what}", inputs)
        self.faults.append(fault)
        return fault


def _connections(pid: int) -> int:
    """Return the number of open TCP sockets of a process, without those to its own processes."""
    lines = [
        line
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii").splitlines()[1:]
    ]
    sockets = {f"socket:[{line.split()[9]}]" for line in lines}
    count = 0
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed just now
            count += os.readlink(file) in sockets
    return count
