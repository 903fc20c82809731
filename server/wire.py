"""Bytes to messages and back: one MessagePack map a message.

A frame is a 4-byte big-endian length, which the transport deals with, and such a map.
"""

from __future__ import annotations

import typing
from typing import Any, cast

import msgpack
import msgspec

from server.messages import EVENTS, REQUESTS, Code, Event, Request

#: The longest frame in bytes, without its length.
MAX_FRAME = 64 * 1024

_LIMITS = {
    "max_str_len": 4096,
    "max_bin_len": 4096,
    "max_ext_len": 64,
    "max_array_len": 4096,
    "max_map_len": 64,
}
_TYPES = {
    kind.__struct_config__.tag: kind
    for union in (REQUESTS, EVENTS)
    for kind in typing.get_args(union)
}
_REQUEST_TAGS = {kind.__struct_config__.tag for kind in typing.get_args(REQUESTS)}


class Unreadable(ValueError):
    """A frame that is no message: its code, and the id of the request if that much was clear."""

    def __init__(self, code: Code, text: str, request_id: int | str | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.request_id = request_id


def encode(message: Request | Event) -> bytes:
    """The map of a message, without the frame's length."""
    return cast(bytes, msgpack.packb(msgspec.to_builtins(message)))


def decode_request(frame: bytes) -> Request:
    """What a client says. Raises Unreadable, whatever the bytes."""
    try:
        raw = msgpack.unpackb(frame, strict_map_key=True, **_LIMITS)
    except Exception as error:  # the codec raises half a dozen kinds for hostile bytes
        detail = str(error) or type(error).__name__
        raise Unreadable(Code.MALFORMED, f"the frame is not MessagePack: {detail}") from error
    if not isinstance(raw, dict):
        raise Unreadable(Code.MALFORMED, f"a message is a map, not {type(raw).__name__}")
    request_id = raw.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, int | str):
        request_id = None
    tag = raw.get("type")
    if not isinstance(tag, str) or tag not in _REQUEST_TAGS:
        known = ", ".join(sorted(_REQUEST_TAGS))
        shown = repr(tag)[:50]
        text = f"unknown message type {shown}; there are: {known}"
        raise Unreadable(Code.UNKNOWN_TYPE, text, request_id)
    try:
        return cast(Request, _convert(raw, tag))
    except (msgspec.ValidationError, ValueError, OverflowError) as error:
        raise Unreadable(Code.INVALID, f"{tag}: {error}", request_id) from error


def decode_event(frame: bytes) -> Event:
    """What the server says. Raises ValueError."""
    try:
        raw = msgpack.unpackb(frame)
        return cast(Event, _convert(raw, raw["type"]))
    except (msgspec.ValidationError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the server said something this client does not know: {error}") from error


def _convert(raw: dict[str, Any], tag: str) -> object:
    return msgspec.convert(raw, _TYPES[tag])
