"""A program with the least work of a match server: it sends each player's frames to both players.

It pairs connections in the order of their arrival. It knows no messages, rules or clocks; with
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
    """A connection of one player; the first of a pair is paused until the second connects."""

    transport: Any

    def __init__(self, pair: list[RelayPlayer]) -> None:
        self._pair = pair

    def connectionMade(self) -> None:
        """Add this player to the pair."""
        self.transport.setTcpNoDelay(True)
        self._pair.append(self)
        if len(self._pair) == 1:
            self.transport.pauseProducing()
        else:
            self._pair[0].transport.resumeProducing()

    def stringReceived(self, frame: bytes) -> None:
        """Send a frame to both players of the pair."""
        for player in self._pair:
            player.sendString(frame)  # type: ignore[no-untyped-call]


class RepackingPlayer(RelayPlayer):
    """A relay player that decodes and encodes each frame."""

    def stringReceived(self, frame: bytes) -> None:
        """Decode a frame, and send its encoding to both players."""
        super().stringReceived(msgpack.packb(msgpack.unpackb(frame)))


class RelayPairs(Factory):
    """Creates the connections, and pairs them in the order of arrival."""

    noisy = False

    def __init__(self, player: type[RelayPlayer]) -> None:
        self._player = player
        self._pair: list[RelayPlayer] = []

    def buildProtocol(self, addr: object) -> RelayPlayer:
        """Return the protocol of a new connection, with its pair."""
        if len(self._pair) == 2:
            self._pair = []
        return self._player(self._pair)


def main() -> None:
    """Print the port, and relay frames until killed."""
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    pairs = RelayPairs(RepackingPlayer if "--repack" in sys.argv else RelayPlayer)
    port = reactor.listenTCP(0, pairs, interface="127.0.0.1", backlog=1000)
    print(f"relay: listening on 127.0.0.1:{port.getHost().port}", flush=True)
    reactor.run()


if __name__ == "__main__":
    main()
