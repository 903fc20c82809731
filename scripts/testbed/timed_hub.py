"""A hub without sockets that measures how long a request holds the server's event loop.

A request leads to a call of the hub, and perhaps to more calls later: slices of its work, and the
confirmation that its records are stored. Each call is timed with the work of the codec for it, as
`playout.server.net.driver` does it. The time is that of the processor, so that it can be compared
on a machine with other work.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterable

from playout.protocol.codec import Unreadable, decode_json_request, decode_request, encode
from playout.protocol.messages import Event, Hello, Request, Welcome
from playout.server.core.accounts import digest
from playout.server.core.effects import Effect, Send, SendToSpectators, Store, WakeAt
from playout.server.core.hub import Hub
from playout.server.core.policy import Policy
from playout.server.model.records import Account

TOKEN = "0" * 32
#: Calls within this time after a request count as its work.
SOON_S = 0.01


class TimedHub:
    """A hub with connections, whose records are stored at once."""

    def __init__(self, **policy: int) -> None:
        limits = {
            "messages_per_s": 0,
            "registrations_per_hour": 0,
            "connections_per_address": 0,
            "seeks_per_address": 0,
        }
        self.hub = Hub(Policy(**limits | policy), random.Random(1))  # type: ignore[arg-type]
        self.now = 0.0
        self.longest_s = 0.0
        self._alarm: float | None = None
        self._connections = 0
        #: The token that resumes the session, by connection.
        self.tokens: dict[int, str] = {}
        #: The messages that the last request led to, to all clients.
        self.events: list[Event] = []

    def connect(self) -> int:
        """Return the number of a new connection."""
        self._connections += 1
        self._do(lambda: self.hub.connect(self._connections, "127.0.0.1", self.now))
        return self._connections

    def client(
        self, name: str, *, account: bool = False, administrator: bool = False, **hello: object
    ) -> int:
        """Return the number of a new connection that has said hello."""
        number = self.connect()
        if account or administrator:
            known = Account(
                id=name,
                name=name,
                digest=digest(TOKEN),
                created_at=0.0,
                administrator=administrator,
            )
            self._do(lambda: self.hub.account_changed(known, self.now))
            hello["token"] = TOKEN
        fields = {"guest": "token" not in hello} | hello
        request = Hello(protocol_min=1, protocol_max=1, name=name, **fields)  # type: ignore[arg-type]
        for event in self.ask(number, request):
            if isinstance(event, Welcome):
                self.tokens[number] = event.session
        return number

    def ask(self, number: int, request: Request) -> list[Event]:
        """Send a request, and return the messages that it led to, to all clients."""
        self.events = []
        self._do(lambda: self.hub.receive(number, request, self.now))
        self._settle()
        return self.events

    def disconnect(self, number: int) -> None:
        """Close a connection, as a client does."""
        self._do(lambda: self.hub.disconnect(number, self.now))

    def time(self, number: int, frame: bytes, *, json: bool = False) -> float:
        """Return the longest time in seconds that a frame holds the loop."""
        gc.collect()  # removes earlier hubs
        self.longest_s, self.events = 0.0, []
        decode = decode_json_request if json else decode_request

        def handle() -> Iterable[Effect]:
            try:
                request = decode(frame)
            except Unreadable as error:
                return self.hub.refuse(number, error.code, str(error), self.now, error.request_id)
            return self.hub.receive(number, request, self.now)

        self._do(handle)
        self._settle()
        return self.longest_s

    def wait(self, seconds: float) -> None:
        """Let time pass, and call the hub when it is due."""
        self.now += seconds
        self._settle()

    def _settle(self) -> None:
        """Call the hub while it asks for a call soon."""
        while self._alarm is not None and self._alarm <= self.now + SOON_S:
            self.now, self._alarm = max(self.now, self._alarm), None
            self._do(lambda: self.hub.wake(self.now))
        while self.hub.has_pending_moves:
            self._do(lambda: self.hub.show(self.now))

    def _do(self, call: Callable[[], Iterable[Effect]]) -> None:
        """Time a call and the encoding of its messages; then confirm its records."""
        began = time.thread_time()
        effects = call()
        stored = 0
        for effect in effects:
            match effect:
                case Send(_, message):
                    encode(message)
                    self.events.append(message)
                case SendToSpectators(_, messages):
                    for message in messages:
                        encode(message)
                case Store(stored):
                    pass
                case WakeAt(at):
                    self._alarm = at
        self.longest_s = max(self.longest_s, time.thread_time() - began)
        if stored:
            self._do(lambda: self.hub.committed(stored, self.now))
