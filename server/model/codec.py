"""Encodes and decodes messages: each is one map, as MessagePack over TCP, as JSON over WebSocket.

The transports frame them: with a length over TCP, as text messages over WebSocket.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import msgpack
import msgspec

from server.model.messages import EVENTS, REQUESTS, Code, Event, Request, RequestId

#: The longest frame in bytes, without its length; an administrator's may be longer, because it may
#: contain a book of openings.
MAX_FRAME = 64 * 1024
ADMINISTRATORS_FRAME = 72 * 1024

#: From this length on, collections of cycles would make decoding slower.
_LONG_FRAME = 4096

_LIMITS = {
    "max_str_len": 4096,
    "max_bin_len": 4096,
    "max_ext_len": 64,
    "max_array_len": 4096,
    "max_map_len": 64,
}
_ADMINISTRATORS_LIMITS = _LIMITS | {"max_array_len": ADMINISTRATORS_FRAME}


K = TypeVar("K", Request, Event)


def _by_tag(kinds: Iterable[type[K]]) -> dict[str, type[K]]:
    return {kind.tag(): kind for kind in kinds}


_ENCODER = msgspec.msgpack.Encoder()
_JSON_ENCODER = msgspec.json.Encoder()
_JSON_DECODER = msgspec.json.Decoder()
_REQUESTS = _by_tag(REQUESTS)
_EVENTS = _by_tag(EVENTS)


@dataclass(frozen=True, eq=False)
class MessageFormat:
    """How a transport encodes events, framing included, and decodes requests, framing excluded.

    The second argument of `decode` says whether an administrator sent the request. It raises
    Unreadable.
    """

    encode: Callable[[Event], bytes]
    decode: Callable[[bytes, bool], Request]


class Unreadable(ValueError):
    """A frame that is not a valid request: the error code, and the request's id if it has one."""

    def __init__(self, code: Code, text: str, request_id: RequestId | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.request_id = request_id


def encode(message: Request | Event) -> bytes:
    """Returns a message as MessagePack, without the length of the frame."""
    return _ENCODER.encode(message)  # six times as fast as msgpack.packb of its fields


def encode_json(message: Request | Event) -> bytes:
    """Returns a message as JSON in UTF-8."""
    return _JSON_ENCODER.encode(message)


@contextmanager
def _collector_paused(frame: bytes) -> Iterator[None]:
    """Pause the collection of cycles, of which there are none in what is decoded, for a long frame.

    A frame of 64 KiB holds up to 65,000 lists; several collections would take 50 ms.
    """
    if len(frame) < _LONG_FRAME or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def decode_request(frame: bytes, administrator: bool = False) -> Request:
    """Decodes a client's MessagePack; an administrator's lists may be as long as the frame allows.

    Raises Unreadable, and nothing else, for any bytes.
    """
    with _collector_paused(frame):
        return _decode(frame, _ADMINISTRATORS_LIMITS if administrator else _LIMITS)


def _decode(frame: bytes, limits: dict[str, int]) -> Request:
    try:
        raw = msgpack.unpackb(frame, strict_map_key=True, **limits)
    except Exception as error:  # the codec raises half a dozen kinds for hostile bytes
        detail = str(error) or type(error).__name__
        raise Unreadable(Code.MALFORMED, f"the frame is not MessagePack: {detail}") from error
    return _request(raw)


def decode_json_request(frame: bytes, administrator: bool = False) -> Request:
    """Decodes a client's JSON, otherwise like `decode_request`.

    If a key occurs twice, the last value counts, as in MessagePack.
    """
    with _collector_paused(frame):
        return _decode_json(frame, _ADMINISTRATORS_LIMITS if administrator else _LIMITS)


def _decode_json(frame: bytes, limits: dict[str, int]) -> Request:
    try:
        raw = _JSON_DECODER.decode(frame)
        _require_limits(raw, limits)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise Unreadable(Code.MALFORMED, f"the message cannot be read as JSON: {error}") from error
    return _request(raw)


def _require_limits(raw: object, limits: dict[str, int]) -> None:
    """Raises ValueError if a value exceeds a limit that MessagePack's decoder enforces itself."""
    strings, lists, maps = (limits[f"max_{each}_len"] for each in ("str", "array", "map"))
    unseen = [raw]
    while unseen:
        value = unseen.pop()
        if isinstance(value, list):
            if len(value) > lists:
                raise ValueError(f"a list of {len(value)} items is too long")
            unseen += value
        elif isinstance(value, int):
            if not -(2**63) <= value < 2**64:
                raise ValueError("a whole number of more than 64 bits")
        elif isinstance(value, str):
            if len(value) > strings:
                raise ValueError(f"a string of {len(value)} characters is too long")
        elif isinstance(value, dict):
            if len(value) > maps:
                raise ValueError(f"a map of {len(value)} entries is too large")
            unseen += value
            unseen += value.values()


def _request(raw: object) -> Request:
    if not isinstance(raw, dict):
        raise Unreadable(Code.MALFORMED, f"a message is a map, not {type(raw).__name__}")
    tag = raw.get("type")
    if not isinstance(tag, str) or tag not in _REQUESTS:
        known = ", ".join(sorted(_REQUESTS))
        # Not the repr of any value: that of deeply nested lists overflows the stack.
        shown = repr(tag[:50]) if isinstance(tag, str) else f"({type(tag).__name__})"
        text = f"unknown message type {shown}; known types: {known}"
        raise Unreadable(Code.UNKNOWN_TYPE, text, _request_id(raw))
    try:
        return msgspec.convert(raw, _REQUESTS[tag])
    except (msgspec.ValidationError, ValueError, OverflowError) as error:
        raise Unreadable(Code.INVALID, f"{tag}: {error}", _request_id(raw)) from error


def decode_event(frame: bytes) -> Event:
    """Decodes an event of the server. Raises ValueError, and nothing else, for any bytes."""
    try:
        raw = msgpack.unpackb(frame)
        return msgspec.convert(raw, _EVENTS[raw["type"]])
    except (msgspec.ValidationError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the server sent an event that cannot be decoded: {error}") from error


def _request_id(raw: dict[str, Any]) -> RequestId | None:
    try:
        return cast(RequestId | None, msgspec.convert(raw.get("id"), RequestId | None))
    except msgspec.ValidationError:
        return None
