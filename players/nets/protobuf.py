"""Counts the fields of a protobuf message before it is parsed.

A message of 2 bytes takes 170 bytes of memory when it is parsed, so that a hostile file of 256 MiB
would take 46 GB. What a file really needs is known only after following its lengths, as here.
"""

from __future__ import annotations

from typing import Any

#: Most bytes of a whole number or a length: 64 bits, 7 in each byte.
_LONGEST = 10

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def count_fields(data: bytes, descriptor: Any, limit: int) -> int:
    """Return how many fields a message and all messages inside it have, at most `limit` + 1.

    `descriptor` is the message's. Raises ValueError if the data are truncated or no message.
    """
    count = 0
    waiting = [(0, len(data), descriptor.fields_by_number)]
    while waiting:
        place, end, fields = waiting.pop()
        while place < end:
            count += 1
            if count > limit:
                return count
            key, place = _varint(data, place)
            kind, field = key & 7, fields.get(key >> 3)
            if kind == _VARINT:
                _, place = _varint(data, place)
            elif kind == _BYTES:
                size, place = _varint(data, place)
                if field is not None and field.message_type is not None and place + size <= end:
                    waiting.append((place, place + size, field.message_type.fields_by_number))
                place += size
            elif kind in (_FIXED32, _FIXED64):
                place += 4 if kind == _FIXED32 else 8
            else:
                raise ValueError(f"a field has the unknown kind {kind}")
        if place > end:
            raise ValueError("a field ends after its message")
    return count


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return a number of 7 bits a byte, and the place after it. Raises ValueError."""
    number = 0
    for i, byte in enumerate(data[start : start + _LONGEST]):
        number |= (byte & 127) << 7 * i
        if byte < 128:
            return number, start + i + 1
    raise ValueError("a number has no end")
