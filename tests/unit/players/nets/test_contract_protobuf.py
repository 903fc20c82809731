"""The fields of a message are counted without parsing it."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import helper

from playout import games
from playout.players.nets.contract import count_fields
from support.nets import write_small_net

MODEL = onnx.ModelProto.DESCRIPTOR


def fields(message: object) -> int:
    """The number of fields, from the parsed message; packed lists count as one."""
    count = 0
    for field, value in message.ListFields():  # type: ignore[attr-defined]
        repeated = not isinstance(value, (str, bytes, int, float)) and hasattr(value, "__len__")
        packed = field.GetOptions().packed
        values = value if repeated and not packed else [value]
        count += len(values)
        if field.message_type is not None:
            count += sum(fields(each) for each in values)
    return count


def test_the_fields_of_a_net_are_counted(tmp_path: Path) -> None:
    data = write_small_net(tmp_path / "net.onnx", games.load("tic_tac_toe")).read_bytes()
    expected = fields(onnx.load_from_string(data))
    assert count_fields(data, MODEL, 10_000) == expected > 100
    assert count_fields(data, MODEL, expected) == expected
    assert count_fields(data, MODEL, 50) == 51


def test_all_kinds_of_numbers_are_counted() -> None:
    tensor = helper.make_tensor("t", onnx.TensorProto.DOUBLE, [3], [1.0, 2.0, 3.0])
    node = helper.make_node("Op", ["a"], ["b"], size=1.5, places=[1, -1, 1 << 40], value=tensor)
    assert count_fields(node.SerializeToString(), onnx.NodeProto.DESCRIPTOR, 1000) == fields(node)


@pytest.mark.parametrize(
    "data", [b"\x80", b"\x3a\x05\x0a", b"\x3a\x02\x0a\x01", b"\x0b", b"\x80" * 20]
)
def test_truncated_and_malformed_messages_are_errors(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"a (field|number) "):
        count_fields(data, MODEL, 1000)


def test_no_message_has_no_fields() -> None:
    assert count_fields(b"", MODEL, 10) == 0
