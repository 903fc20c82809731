"""What the server and the process that stores for it say to each other.

Frames over a socket: a 4-byte big-endian length and MessagePack. First the server says which
database (`Use`), and is told that it is there (`Ready`) or why not (`Unusable`). Then it sends
records, and is told what has become of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import get_args

import msgspec
from msgspec import Raw, Struct

from server.model.records import Account, Record

_KINDS: tuple[type[Record], ...] = get_args(Record)
_PLACES = {kind: place for place, kind in enumerate(_KINDS)}


class OpenDatabase(Struct, frozen=True):
    """Store in this database. `revision`: of the accounts that are known; None for all."""

    url: str
    revision: int | None


class DatabaseReady(Struct, frozen=True, tag=True):
    """The database is open, and nobody else's. `revision`: from which on changes are told."""

    revision: int


class DatabaseUnusable(Struct, frozen=True, tag=True):
    """The database cannot be used."""

    reason: str


class RecordsStored(Struct, frozen=True, tag=True):
    """All records up to a number are safe; the last transaction had so many, and took so long."""

    number: int
    records: int
    seconds: float


class StorageFailed(Struct, frozen=True, tag=True):
    """Nothing can be stored at the moment; it is tried again and again."""

    reason: str


class AccountChanged(Struct, frozen=True, tag=True):
    """An operator has changed an account."""

    account: Account
    revision: int


Report = DatabaseReady | DatabaseUnusable | RecordsStored | StorageFailed | AccountChanged

#: Before each frame.
LENGTH = struct.Struct(">I")

encode = msgspec.msgpack.Encoder().encode
decode_use = msgspec.msgpack.Decoder(OpenDatabase).decode
decode_report = msgspec.msgpack.Decoder(Report).decode
_decode_batch = msgspec.msgpack.Decoder(tuple[int, list[tuple[int, Raw]]]).decode
_DECODERS = tuple(msgspec.msgpack.Decoder(kind).decode for kind in _KINDS)


def framed(frame: bytes) -> bytes:
    """With its length."""
    return LENGTH.pack(len(frame)) + frame


def encode_records(records: Sequence[tuple[int, Record]]) -> bytes:
    """Records with their numbers, of which each is one more than the one before."""
    return encode((records[0][0], [(_PLACES[type(record)], record) for _, record in records]))


def decode_records(frame: bytes) -> Iterator[tuple[int, Record]]:
    """The same records with their numbers."""
    first, batch = _decode_batch(frame)
    for number, (place, raw) in enumerate(batch, first):
        yield number, _DECODERS[place](raw)
