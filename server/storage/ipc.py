"""The messages between a server and its storage process, as frames over a socket.

A frame is a 4-byte big-endian length and MessagePack. First the server says which database
(`OpenDatabase`), and the process answers that it is open (`DatabaseReady`) or why not
(`DatabaseUnusable`). Then the server sends records, and the process reports what becomes of them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from server.model.records import Account, Record


class OpenDatabase(Struct, frozen=True):
    """Store in this database. `revision`: of the accounts that the server knows; None for none."""

    url: str
    revision: int | None


class DatabaseReady(Struct, frozen=True, tag=True):
    """The database is open and locked; accounts changed after `revision` are reported."""

    revision: int


class DatabaseUnusable(Struct, frozen=True, tag=True):
    """The database cannot be used; the process exits."""

    reason: str


class RecordsStored(Struct, frozen=True, tag=True):
    """All records up to `number` are stored; the last transaction had `records` of them."""

    number: int
    records: int
    seconds: float


class StorageFailed(Struct, frozen=True, tag=True):
    """Nothing can be stored at the moment; it is tried again and again."""

    reason: str


class AccountChanged(Struct, frozen=True, tag=True):
    """An operator has changed an account, whose revision is the last one."""

    account: Account
    revision: int


class RecordBatch(Struct, frozen=True):
    """Records to be stored; the first has the number `first`, each other the next number."""

    first: int
    records: list[Record]


Report = DatabaseReady | DatabaseUnusable | RecordsStored | StorageFailed | AccountChanged

#: The length before each frame.
LENGTH = struct.Struct(">I")

encode = msgspec.msgpack.Encoder().encode
decode_open_database = msgspec.msgpack.Decoder(OpenDatabase).decode
decode_report = msgspec.msgpack.Decoder(Report).decode
_decode_batch = msgspec.msgpack.Decoder(RecordBatch).decode


def framed(frame: bytes) -> bytes:
    """Return a frame with its length before it."""
    return LENGTH.pack(len(frame)) + frame


def encode_records(records: Sequence[tuple[int, Record]]) -> bytes:
    """Return the frame of numbered records, whose numbers must be consecutive."""
    return encode(RecordBatch(records[0][0], [record for _, record in records]))


def decode_records(frame: bytes) -> list[tuple[int, Record]]:
    """Return the numbered records of a frame of `encode_records`."""
    batch = _decode_batch(frame)
    return list(enumerate(batch.records, batch.first))
