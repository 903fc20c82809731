"""The turns of connections, in a loop whose time the test sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from playout.server.net.driver import NEW_INPUT_S, TURN_S, WAITING_INPUT_S, Turns
from playout.server.runtime.reactor import STEP_S, LoopTime

FRAME_S = TURN_S / 2


class TurnsLoop:
    """An event loop; handling a frame takes `FRAME_S`."""

    def __init__(self) -> None:
        self.at = 100.0
        self.time = LoopTime(lambda: self.at)
        self.turns = Turns(self, self.time)
        self._due: list[Callable[[], None]] = []
        self.handled: list[FloodingPeer] = []
        self.stalls: list[float] = []
        self.time.watch(lambda: True, self.stalls.append)
        self.time.wait(0.0)
        self.time.wake()

    def callLater(self, delay: float, function: Callable[[], None], /) -> Any:
        assert delay == 0
        self._due.append(function)

    def iterate(self, *readable: FloodingPeer) -> None:
        """Handle timers, then new input, as the reactor does."""
        due, self._due = self._due, []
        for call in due:
            call()
        self.time.wait(0.0)
        self.time.wake()
        for each in readable:
            if not each.waits and not each.must_wait():
                each.read()


class FloodingPeer:
    """A connection with frames to be handled."""

    def __init__(self, loop: TurnsLoop, address: str, frames: int = 10**6) -> None:
        self.frames = frames
        self.waits = False
        self._loop = loop
        self._address = address

    def address(self) -> str:
        return self._address

    def take_turn(self) -> None:
        self.waits = False
        self.read()

    def must_wait(self) -> bool:
        if self._loop.turns.is_over(self):
            self.waits = True
            self._loop.turns.wait(self)
        return self.waits

    def read(self) -> None:
        while self.frames:
            self.frames -= 1
            self._loop.at += FRAME_S
            self._loop.handled.append(self)
            if self.frames and self.must_wait():
                return


def test_input_is_handled_at_once_while_there_is_time() -> None:
    loop = TurnsLoop()
    loop.iterate(*(FloodingPeer(loop, f"192.0.2.{n}", frames=1) for n in range(5)))
    assert len(loop.handled) == 5


def test_an_honest_sender_waits_an_iteration_whatever_another_address_sends() -> None:
    loop = TurnsLoop()
    flood = [FloodingPeer(loop, "192.0.2.7") for _ in range(250)]
    for _ in range(100):
        loop.iterate(*flood)
    for _ in range(20):
        honest = FloodingPeer(loop, "192.0.2.8", frames=1)
        began = loop.at
        loop.iterate(*flood, honest)
        while honest not in loop.handled:
            loop.iterate(*flood)
        assert loop.at - began <= 2 * (NEW_INPUT_S + WAITING_INPUT_S + TURN_S)


def test_connections_of_an_address_and_addresses_take_turns() -> None:
    loop = TurnsLoop()
    senders = [FloodingPeer(loop, address) for address in ("a", "a", "a", "b", "c")]
    for _ in range(300):
        loop.iterate(*senders)
    counted = Counter(each.address() for each in loop.handled)
    assert max(counted.values()) <= 1.2 * min(counted.values())
    each = Counter(map(id, (s for s in loop.handled if s.address() == "a")))
    assert max(each.values()) <= 1.2 * min(each.values())


def test_a_flood_is_no_stall() -> None:
    loop = TurnsLoop()
    flood = [FloodingPeer(loop, f"192.0.2.{n}") for n in range(100)]
    began, told = loop.at, loop.time.now()
    for _ in range(200):
        loop.iterate(*flood)
    assert loop.stalls == []
    assert loop.time.now() - told > 0.9 * (loop.at - began)
    assert NEW_INPUT_S + WAITING_INPUT_S + TURN_S <= STEP_S
