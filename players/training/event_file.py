"""Numbers over time as an event file, which TensorBoard shows.

An event file is a sequence of records (TFRecord): the length, a masked CRC-32C of it, a protocol
buffer `Event`, and a masked CRC-32C of that. Only the four fields of `Event` that scalars need are
written, so neither TensorFlow nor protobuf is imported.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5


def header(wall_time: float) -> bytes:
    """Return the first record of a file, which names the version of the format."""
    return _record(_double(1, wall_time) + _bytes(3, b"brain.Event:2"))


def scalars(wall_time: float, step: int, values: Mapping[str, float]) -> bytes:
    """Return a record with the values of a step; `wall_time` is in seconds since 1970."""
    summary = b"".join(
        _bytes(1, _bytes(1, tag.encode()) + _key(2, _FLOAT) + struct.pack("<f", value))
        for tag, value in values.items()
    )
    return _record(_double(1, wall_time) + _key(2, _VARINT) + _varint(step) + _bytes(5, summary))


def masked_crc(content: bytes) -> int:
    """Return the CRC-32C (Castagnoli) of bytes as TFRecord masks it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = tuple(map(_table_entry, range(256)))


def _record(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    crcs = (struct.pack("<I", masked_crc(each)) for each in (length, content))
    return length + next(crcs) + content + next(crcs)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _double(field: int, value: float) -> bytes:
    return _key(field, _DOUBLE) + struct.pack("<d", value)


def _bytes(field: int, content: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(content)) + content
