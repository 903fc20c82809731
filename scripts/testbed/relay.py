"""The least that a server of matches does: frames from one player go to both. A program.

Connections are paired in the order in which they come. It knows no messages, rules or clocks; with
`--repack` it unpacks each frame and packs it again.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import msgpack
from twisted.internet.protocol import Factory
from twisted.protocols.basic import Int32StringReceiver


class RelayPlayer(Int32StringReceiver):
    """One of two; the first is heard when the second is there."""

    transport: Any

    def __init__(self, pair: list[RelayPlayer]) -> None:
        self._pair = pair

    def connectionMade(self) -> None:
        """Join the other."""
        self.transport.setTcpNoDelay(True)
        self._pair.append(self)
        if len(self._pair) == 1:
            self.transport.pauseProducing()
        else:
            self._pair[0].transport.resumeProducing()

    def stringReceived(self, frame: bytes) -> None:
        """Say it to both."""
        for player in self._pair:
            player.sendString(frame)  # type: ignore[no-untyped-call]


class Repacked(RelayPlayer):
    """One whose frames are read and written anew."""

    def stringReceived(self, frame: bytes) -> None:
        """Say to both what it means."""
        super().stringReceived(msgpack.packb(msgpack.unpackb(frame)))


class RelayPairs(Factory):
    """Puts players together."""

    noisy = False

    def __init__(self, player: type[RelayPlayer]) -> None:
        self._player = player
        self._pair: list[RelayPlayer] = []

    def buildProtocol(self, addr: object) -> RelayPlayer:
        """The next one."""
        if len(self._pair) == 2:
            self._pair = []
        return self._player(self._pair)


def main() -> None:
    """Relay until killed."""
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    pairs = RelayPairs(Repacked if "--repack" in sys.argv else RelayPlayer)
    port = reactor.listenTCP(0, pairs, interface="127.0.0.1", backlog=1000)
    print(f"relay: listening on 127.0.0.1:{port.getHost().port}", flush=True)
    reactor.run()


if __name__ == "__main__":
    main()
