"""The messages between a server and its storage process, as frames over a socket.

A frame is a 4-byte big-endian length and MessagePack. First the server names the database
(`OpenDatabase`), and the process answers that it is open (`DatabaseReady`) or why not
(`DatabaseUnusable`). Then the server sends records, and the process reports that they are stored,
or why not. An empty frame (`CHECK`) asks whether records could be stored now, which
`StorageChecked` answers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import get_args

import msgspec
from msgspec import Struct

from playout.server.model.records import Account, Record
from playout.server.storage.engine import FileIdentity


class OpenDatabase(Struct, frozen=True):
    """Store in this database.

    `revision` is that of the accounts that the server knows, None without any. `file` is the file
    that an earlier storage process of this server has used; another file is not opened.
    `keep_analysis_s` seconds after the end of a match its analyses are removed, None for never.
    """

    url: str
    revision: int | None
    file: FileIdentity | None = None
    keep_analysis_s: float | None = None


class DatabaseReady(Struct, frozen=True, tag=True):
    """The database is open and locked; accounts changed after `revision` are reported."""

    revision: int
    file: FileIdentity | None = None


class DatabaseUnusable(Struct, frozen=True, tag=True):
    """The database cannot be used; the process exits."""

    reason: str


class RecordsStored(Struct, frozen=True, tag=True):
    """All records up to `number` are stored; the last transaction had `records` of them."""

    number: int
    records: int
    seconds: float


class StorageFailed(Struct, frozen=True, tag=True):
    """Nothing can be stored at the moment; the process keeps trying."""

    reason: str


class StorageChecked(Struct, frozen=True, tag=True):
    """The answer to `CHECK`: the reason why records cannot be stored now, None if they can.

    `size` is that of the database in bytes.
    """

    fault: str | None
    size: int | None = None


class RecordRejected(Struct, frozen=True, tag=True):
    """The database cannot hold the record of this number, which is not stored."""

    number: int
    reason: str


class AccountChanged(Struct, frozen=True, tag=True):
    """An operator has changed an account; `revision` is the last of all accounts."""

    account: Account
    revision: int


class BrokenRecord(Struct, frozen=True, tag=True):
    """Takes the place of a record of a match or tournament that cannot be encoded or decoded."""

    reason: str
    match: str | None = None
    tournament: str | None = None


class RecordBatch(Struct, frozen=True):
    """Records to be stored; the first has the number `first`, each other the next number."""

    first: int
    records: list[Record | BrokenRecord]


#: A record with its number, as the storage process receives it.
NumberedRecord = tuple[int, Record | BrokenRecord]


class _RawBatch(Struct, frozen=True):
    first: int
    records: list[msgspec.Raw]


Report = (
    DatabaseReady
    | DatabaseUnusable
    | RecordsStored
    | RecordRejected
    | StorageFailed
    | StorageChecked
    | AccountChanged
)

#: The frame that asks whether records could be stored now.
CHECK = b""
#: The length before each frame.
LENGTH = struct.Struct(">I")

encode = msgspec.msgpack.Encoder().encode
decode_open_database = msgspec.msgpack.Decoder(OpenDatabase).decode
decode_report = msgspec.msgpack.Decoder(Report).decode
_decode_batch = msgspec.msgpack.Decoder(RecordBatch).decode
_decode_raw_batch = msgspec.msgpack.Decoder(_RawBatch).decode
_decode_record: Callable[[msgspec.Raw], Record | BrokenRecord]
_decode_record = msgspec.msgpack.Decoder(Record | BrokenRecord).decode
#: The types of records by their tags.
_KINDS: dict[str, type[Record]] = {kind.__name__: kind for kind in get_args(Record)}


def framed(frame: bytes) -> bytes:
    """Return a frame with its length before it."""
    return LENGTH.pack(len(frame)) + frame


def encode_records(records: Sequence[tuple[int, Record]]) -> bytes:
    """Return the frame of numbered records, whose numbers must be consecutive."""
    first = records[0][0]
    kept: list[Record | BrokenRecord] = [record for _, record in records]
    try:
        return encode(RecordBatch(first, kept))
    except (TypeError, ValueError, OverflowError):
        return encode(RecordBatch(first, [_encodable(record) for _, record in records]))


def decode_records(frame: bytes) -> list[NumberedRecord]:
    """Return the numbered records of a frame of `encode_records`."""
    try:
        batch = _decode_batch(frame)
    except msgspec.ValidationError:
        raw = _decode_raw_batch(frame)
        return list(enumerate(map(_decodable, raw.records), raw.first))
    return list(enumerate(batch.records, batch.first))


def _encodable(record: Record) -> Record | BrokenRecord:
    """Return the record if it can be encoded, otherwise a BrokenRecord in its place."""
    try:
        encode(record)
    except (TypeError, ValueError, OverflowError) as error:
        match, tournament = (getattr(record, key, None) for key in ("match", "tournament"))
        return BrokenRecord(f"cannot be encoded: {error}", match, tournament)
    return record


def _decodable(raw: msgspec.Raw) -> Record | BrokenRecord:
    """Return the record if it can be decoded, otherwise a BrokenRecord in its place."""
    try:
        return _decode_record(raw)
    except msgspec.ValidationError as error:
        values = msgspec.msgpack.decode(raw)
        kind = _KINDS[values["type"]]
        names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
        match, tournament = (values.get(names.get(key)) for key in ("match", "tournament"))
        return BrokenRecord(f"cannot be decoded: {error}", match, tournament)
