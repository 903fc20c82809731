"""The connections to clients, as the driver uses them."""

from __future__ import annotations

from typing import Protocol

from playout.protocol.codec import MessageFormat


class ClientTransport(Protocol):
    """A connection to one client, over TCP or WebSocket."""

    #: A unique number: see `Driver.new_number`.
    number: int
    #: The encoding of its messages.
    format: MessageFormat

    def address(self) -> str | None:
        """Return the client's IP address; None until a proxy has announced it."""

    def send(self, data: bytes, *, when_idle: bool = False) -> None:
        """Send encoded messages; with `when_idle`, when nothing else is to be done."""

    def close(self, *, at_once: bool = False) -> None:
        """Close it when all output was sent, at the latest after some seconds.

        With `at_once`, drop output that the system does not accept now. Then, as at any other end,
        `Driver.disconnected` is called.
        """

    def set_frame_limit(self, most: int) -> None:
        """Allow frames of up to `most` bytes, now that the client has said hello."""

    def pause_reading(self) -> None:
        """Stop reading from the peer until `resume_reading`."""

    def resume_reading(self) -> None:
        """Read from the peer again, after `pause_reading`."""

    def lag_s(self) -> float:
        """Return the round-trip time in seconds; 0 if it is unknown."""
