"""Event files, read by a small decoder of TFRecord and protocol buffers."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from playout.players.training import record


def records(content: bytes) -> Iterator[bytes]:
    """The records of a file, whose checksums are checked."""
    while content:
        (length, crc), content = struct.unpack("<QI", content[:12]), content[12:]
        assert crc == record.masked_crc(struct.pack("<Q", length))
        found, crc_bytes, content = content[:length], content[length:][:4], content[length + 4 :]
        assert struct.unpack("<I", crc_bytes)[0] == record.masked_crc(found)
        yield found


def varint(content: bytes) -> tuple[int, bytes]:
    number = shift = 0
    while True:
        byte, content = content[0], content[1:]
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, content


def fields(content: bytes) -> Iterator[tuple[int, object]]:
    """The numbers and values of a protocol buffer's fields."""
    while content:
        key, content = varint(content)
        match key & 7:
            case 0:
                value, content = varint(content)
                yield key >> 3, value
            case 1:
                yield key >> 3, struct.unpack("<d", content[:8])[0]
                content = content[8:]
            case 2:
                length, content = varint(content)
                yield key >> 3, content[:length]
                content = content[length:]
            case 5:
                yield key >> 3, struct.unpack("<f", content[:4])[0]
                content = content[4:]


def test_the_checksum_is_crc32c_with_the_mask_of_tfrecord() -> None:
    crc = 0xE3069283  # of RFC 3720's polynomial, for the digits 1 to 9
    assert record.masked_crc(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32


def test_a_file_has_the_version_and_the_values_of_each_step() -> None:
    content = record.event_header(1000.5) + record.event(1001.5, 300, {"loss": 0.5, "b": -2})
    head, event = (dict(fields(each)) for each in records(content))
    assert head == {1: 1000.5, 3: b"brain.Event:2"}
    assert event[1] == 1001.5
    assert event[2] == 300
    summary = event[5]
    assert isinstance(summary, bytes)
    values = [dict(fields(value)) for _, value in fields(summary) if isinstance(value, bytes)]
    assert values == [{1: b"loss", 2: 0.5}, {1: b"b", 2: -2.0}]
