"""Encodes and decodes messages: each is one map, as MessagePack over TCP, as JSON over WebSocket.

The transports frame them: with a length over TCP, as text messages over WebSocket.
"""

from __future__ import annotations

import functools
import gc
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from types import UnionType
from typing import Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

import msgpack
import msgspec

from playout.protocol.faults_in_words import in_words
from playout.protocol.messages import (
    EVENTS,
    REQUESTS,
    Code,
    CreateTournament,
    Event,
    Request,
    RequestId,
)
from playout.protocol.tournament_spec import TournamentSpec

#: The longest frame in bytes, without its length; an administrator's may be longer, as it may
#: contain a book of openings.
MAX_FRAME = 64 * 1024
ADMINISTRATORS_FRAME = 128 * 1024

#: The length from which on garbage collections make decoding slower.
_LONG_FRAME = 4096


K = TypeVar("K", Request, Event)


def _by_tag(kinds: Iterable[type[K]]) -> dict[str, type[K]]:
    return {kind.tag(): kind for kind in kinds}


class _Head(msgspec.Struct):
    """The fields of a request that are read first; the others are skipped."""

    type: msgspec.Raw = msgspec.Raw()
    id: msgspec.Raw = msgspec.Raw()


_ENCODER = msgspec.msgpack.Encoder()
_JSON_ENCODER = msgspec.json.Encoder()
_EVENTS = _by_tag(EVENTS)
for _kind in EVENTS:  # prepared before threads decode them
    msgspec.msgpack.Decoder(_kind)


@dataclass(frozen=True, eq=False)
class MessageFormat:
    """How a transport encodes events, framing included, and decodes requests, framing excluded.

    `decode` raises Unreadable, and nothing else, for any bytes.
    """

    encode: Callable[[Event], bytes]
    decode: Callable[[bytes], Request]


class Unreadable(ValueError):
    """A frame that is not a valid request: the error code, and the request's id if it has one."""

    def __init__(self, code: Code, text: str, request_id: RequestId | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.request_id = request_id


class UnknownEvent(ValueError):
    """An event of a type that this version does not know, from a later server: to be ignored."""


def encode(message: Request | Event) -> bytes:
    """Return a message as MessagePack, without the length of the frame."""
    return _ENCODER.encode(message)  # six times as fast as msgpack.packb of its fields


def encode_json(message: Request | Event) -> bytes:
    """Return a message as JSON in UTF-8."""
    return _JSON_ENCODER.encode(message)


def _only_known_fields(kind: Any) -> Any:
    """Return a type for values of `kind` whose dataclasses have no unknown fields.

    Values without dataclasses are skipped: a book of openings is long.
    """
    if is_dataclass(kind):
        types = get_type_hints(kind)
        known = [
            (each.name, _only_known_fields(types[each.name]), None)
            if _has_dataclasses(types[each.name])
            else (each.name, msgspec.Raw, None)
            for each in fields(kind)
        ]
        return msgspec.defstruct(kind.__name__, known, forbid_unknown_fields=True)  # type: ignore[union-attr]
    inner: Any = tuple(map(_only_known_fields, get_args(kind)))
    if get_origin(kind) is UnionType:
        return functools.reduce(operator.or_, inner)
    return tuple.__class_getitem__(inner) if get_origin(kind) is tuple else kind


def _has_dataclasses(kind: Any) -> bool:
    """Whether values of `kind` are dataclasses, or contain some."""
    return is_dataclass(kind) or any(map(_has_dataclasses, get_args(kind)))


#: By kind of request, a type for its fields that are dataclasses. Events have the same dataclasses,
#: in which fields of later servers are ignored.
_ONLY_KNOWN: Mapping[type[Request], Any] = {
    CreateTournament: msgspec.defstruct(
        "Known", [("spec", _only_known_fields(TournamentSpec))], module=__name__
    )
}


class _Decoder(Protocol):
    def decode(self, data: bytes | msgspec.Raw, /) -> Any: ...


class _RequestDecoder:
    """Decodes requests of one form. It makes no objects for values of a wrong type.

    So a frame full of empty lists in place of a text takes no longer than any other.
    """

    def __init__(self, form: str, decoder: Callable[[Any], _Decoder]) -> None:
        """`form`: its name in errors; `decoder`: makes a decoder of a type."""
        self._form = form
        self._any = decoder(functools.reduce(operator.or_, REQUESTS))
        self._head = decoder(_Head)
        self._tag = decoder(str)
        self._id = decoder(RequestId | None)
        self._kinds = {tag: decoder(kind) for tag, kind in _by_tag(REQUESTS).items()}
        self._known = {kind: decoder(known) for kind, known in _ONLY_KNOWN.items()}

    def decode(self, frame: bytes) -> Request:
        """Return the request of a frame. Raises Unreadable, and nothing else, for any bytes."""
        if len(frame) < _LONG_FRAME:
            return self._decode(frame)
        with _collector_paused():
            return self._decode(frame)

    def _decode(self, frame: bytes) -> Request:
        try:
            return self._checked(self._any, frame)  # in half the time of the steps
        except (ValueError, RecursionError):
            return self._decode_in_steps(frame)

    def _decode_in_steps(self, frame: bytes) -> Request:
        """Find the fault of a frame, and the request that it belongs to. Raises Unreadable."""
        try:
            head = self._head.decode(frame)
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            text = f"the message cannot be read as {self._form}: {in_words(error)}"
            raise Unreadable(Code.MALFORMED, text) from error
        tag = _value(self._tag, head.type)
        decoder = self._kinds.get(tag or "")
        if decoder is None:
            known = ", ".join(sorted(self._kinds))
            shown = "(no text)" if tag is None else repr(tag[:50])
            text = f"unknown message type {shown}; known types: {known}"
            raise Unreadable(Code.UNKNOWN_TYPE, text, _value(self._id, head.id))
        try:
            return self._checked(decoder, frame)
        except (ValueError, RecursionError) as error:
            text = f"{tag}: {in_words(error, _KINDS[tag or ''])}"
            raise Unreadable(Code.INVALID, text, _value(self._id, head.id)) from error

    def _checked(self, decoder: _Decoder, frame: bytes) -> Request:
        """Return the request of a frame. Raises ValueError, also for an unknown field in a spec."""
        request: Request = decoder.decode(frame)
        if known := self._known.get(type(request)):
            known.decode(frame)
        return request


def _value(decoder: _Decoder, field: msgspec.Raw) -> Any:
    """Return a field of the head; None if it is missing or of another type."""
    try:
        return decoder.decode(field)
    except (ValueError, RecursionError):
        return None


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collection for a long frame, whose values have no cycles.

    A book of openings has tens of thousands of tuples.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


_KINDS = _by_tag(REQUESTS)
_MESSAGEPACK_REQUESTS = _RequestDecoder("MessagePack", msgspec.msgpack.Decoder)
_JSON_REQUESTS = _RequestDecoder("JSON", msgspec.json.Decoder)


def decode_request(frame: bytes) -> Request:
    """Decode a client's MessagePack. Raises Unreadable, and nothing else, for any bytes."""
    return _MESSAGEPACK_REQUESTS.decode(frame)


def decode_json_request(frame: bytes) -> Request:
    """Decode a client's JSON, otherwise like `decode_request`.

    If a key occurs twice, the last value counts, as in MessagePack; `type` must occur once.
    """
    return _JSON_REQUESTS.decode(frame)


def decode_event(frame: bytes) -> Event:
    """Decode an event of the server. Raises ValueError, and nothing else, for any bytes.

    The error is an UnknownEvent if only the type is unknown.
    """
    try:
        raw = msgpack.unpackb(frame)
        kind = raw["type"]
        if isinstance(kind, str) and kind not in _EVENTS:
            raise UnknownEvent(f"the server sent an event of the unknown type {kind[:50]!r}")
        return msgspec.convert(raw, _EVENTS[kind])
    except UnknownEvent:
        raise
    except (msgspec.ValidationError, ValueError, KeyError, TypeError) as error:
        text = f"the server sent an event that cannot be decoded: {in_words(error)}"
        raise ValueError(text) from error
