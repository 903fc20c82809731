"""Bytes to messages and back: one map a message, as MessagePack over TCP, as JSON over WebSocket.

How messages are marked off from each other is the transport's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Any, cast, get_args

import msgpack
import msgspec

from server.model.messages import EVENTS, REQUESTS, Code, Event, Request, RequestId

#: The longest frame in bytes, without its length; and that of an administrator, who may hold a
#: tournament with a book of openings.
MAX_FRAME = 64 * 1024
ADMINISTRATORS_FRAME = 4 * 2**20

_LIMITS = {
    "max_str_len": 4096,
    "max_bin_len": 4096,
    "max_ext_len": 64,
    "max_array_len": 4096,
    "max_map_len": 64,
}
_ADMINISTRATORS_LIMITS = _LIMITS | {"max_array_len": ADMINISTRATORS_FRAME}


def _by_tag(union: UnionType) -> dict[str, Any]:
    return {kind.__struct_config__.tag: kind for kind in get_args(union)}


_ENCODER = msgspec.msgpack.Encoder()
_JSON_ENCODER = msgspec.json.Encoder()
_JSON_DECODER = msgspec.json.Decoder()
_REQUESTS = _by_tag(REQUESTS)
_EVENTS = _by_tag(EVENTS)


@dataclass(frozen=True, eq=False)
class MessageFormat:
    """How messages look on a line: events as they are sent, requests without what marks them off.

    `decode` is told whether it is an administrator's, and raises Unreadable.
    """

    encode: Callable[[Event], bytes]
    decode: Callable[[bytes, bool], Request]


class Unreadable(ValueError):
    """A frame that is no message: its code, and the id of the request if that much was clear."""

    def __init__(self, code: Code, text: str, request_id: RequestId | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.request_id = request_id


def encode(message: Request | Event) -> bytes:
    """The map of a message, without the frame's length."""
    return _ENCODER.encode(message)  # six times as fast as msgpack.packb of its fields


def encode_json(message: Request | Event) -> bytes:
    """The map of a message as JSON."""
    return _JSON_ENCODER.encode(message)


def decode_request(frame: bytes, administrator: bool = False) -> Request:
    """What a client says; an administrator's lists are as long as the frame has room for.

    Raises Unreadable, whatever the bytes.
    """
    limits = _ADMINISTRATORS_LIMITS if administrator else _LIMITS
    try:
        raw = msgpack.unpackb(frame, strict_map_key=True, **limits)
    except Exception as error:  # the codec raises half a dozen kinds for hostile bytes
        detail = str(error) or type(error).__name__
        raise Unreadable(Code.MALFORMED, f"the frame is not MessagePack: {detail}") from error
    return _request(raw)


def decode_json_request(frame: bytes, administrator: bool = False) -> Request:
    """What a client says in JSON; all else as of `decode_request`.

    Of a key that is there twice, the last one counts, as in MessagePack.
    """
    try:
        raw = _JSON_DECODER.decode(frame)
        _require_limits(raw, _ADMINISTRATORS_LIMITS if administrator else _LIMITS)
    except (ValueError, RecursionError) as error:  # of msgspec's own, each is a ValueError
        raise Unreadable(Code.MALFORMED, f"the message cannot be read as JSON: {error}") from error
    return _request(raw)


def _require_limits(raw: object, limits: dict[str, int]) -> None:
    """Raises ValueError where there is more of something than MessagePack's decoder allows."""
    unseen = [raw]
    while unseen:
        match unseen.pop():
            case int() as number if not -(2**63) <= number < 2**64:
                raise ValueError("a whole number of more than 64 bits")
            case str() as text if len(text) > limits["max_str_len"]:
                raise ValueError(f"a string of {len(text)} characters is too long")
            case list() as items:
                if len(items) > limits["max_array_len"]:
                    raise ValueError(f"a list of {len(items)} items is too long")
                unseen += items
            case dict() as entries:
                if len(entries) > limits["max_map_len"]:
                    raise ValueError(f"a map of {len(entries)} entries is too large")
                unseen += entries
                unseen += entries.values()


def _request(raw: object) -> Request:
    if not isinstance(raw, dict):
        raise Unreadable(Code.MALFORMED, f"a message is a map, not {type(raw).__name__}")
    tag = raw.get("type")
    if not isinstance(tag, str) or tag not in _REQUESTS:
        known = ", ".join(sorted(_REQUESTS))
        # Not the repr of anything: that of deeply nested lists exceeds the stack.
        shown = repr(tag[:50]) if isinstance(tag, str) else f"({type(tag).__name__})"
        text = f"unknown message type {shown}; there are: {known}"
        raise Unreadable(Code.UNKNOWN_TYPE, text, _request_id(raw))
    try:
        return cast(Request, msgspec.convert(raw, _REQUESTS[tag]))
    except (msgspec.ValidationError, ValueError, OverflowError) as error:
        raise Unreadable(Code.INVALID, f"{tag}: {error}", _request_id(raw)) from error


def decode_event(frame: bytes) -> Event:
    """What the server says. Raises ValueError."""
    try:
        raw = msgpack.unpackb(frame)
        return cast(Event, msgspec.convert(raw, _EVENTS[raw["type"]]))
    except (msgspec.ValidationError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the server said something this client does not know: {error}") from error


def _request_id(raw: dict[str, Any]) -> RequestId | None:
    try:
        return cast(RequestId | None, msgspec.convert(raw.get("id"), RequestId | None))
    except msgspec.ValidationError:
        return None
