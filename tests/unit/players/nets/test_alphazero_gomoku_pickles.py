"""Pickled arrays are read; of any other pickle nothing is carried out."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.players.nets.alphazero_gomoku import LARGEST, read_arrays
from playout.players.nets.files import NetError

RNG = np.random.default_rng(1)
ARRAYS = [
    RNG.standard_normal((2, 3, 4)).astype(np.float32),
    np.asfortranarray(RNG.standard_normal((3, 2)).astype(np.float32)),
    RNG.standard_normal(5).astype(">f4"),
    RNG.standard_normal((1, 2)),
]


#: A tuple of two that are the same tuple of two, and so on: 2**60 letters as text.
DOUBLED = b"\x80\x02X\x01\x00\x00\x00a" + b"q\x00h\x00\x86" * 60
#: A number of 255 bytes.
LONG = b"\x8a\xff" + b"\xff" * 254 + b"\x7f"


def array_of(shape: bytes, number_type: bytes = b"U\x02f4") -> bytes:
    """The pickle of a list with an array, whose shape and type are instructions."""
    kind = b"cnumpy\ndtype\n" + number_type + b"\x85R(K\x03U\x01<tb"
    made = b"cnumpy.core.multiarray\n_reconstruct\n)R"
    return b"\x80\x02](" + made + b"(K\x01" + shape + kind + b"\x89U\x01atbe."


def refusal(path: Path) -> str:
    with pytest.raises(NetError) as caught:
        read_arrays(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert text.isprintable()
    return text


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_arrays_are_read_from_binary_formats(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "net.model"
    path.write_bytes(pickle.dumps(ARRAYS, protocol))
    read = read_arrays(path)
    assert [array.dtype for array in read] == [np.float32] * len(ARRAYS)
    for array, expected in zip(read, ARRAYS, strict=True):
        np.testing.assert_array_equal(array, expected.astype(np.float32))


class Calls:
    """Pickled as a call, which unpickling would carry out."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("function", [os.system, exec, eval, np.load, getattr, os.mkdir])
def test_a_pickle_that_calls_something_is_refused_and_calls_nothing(
    tmp_path: Path, function: Callable[..., Any], protocol: int
) -> None:
    marker = tmp_path / "marker"
    argument = {
        os.system: f"touch {marker}",
        os.mkdir: str(marker),
    }.get(function, f"open({str(marker)!r}, 'w')")
    path = tmp_path / "net.model"
    path.write_bytes(pickle.dumps([*ARRAYS, Calls(function, argument)], protocol))
    assert "refused" in refusal(path)
    assert not marker.exists()


def test_a_refusal_names_what_the_pickle_refers_to(tmp_path: Path) -> None:
    path = tmp_path / "net.model"
    path.write_bytes(pickle.dumps([Calls(os.system, "true")], 2))
    assert refusal(path) == (
        f"{path} is refused (it refers to 'posix.system'); expected a pickled list of numpy arrays"
    )


def test_arguments_of_numpys_functions_are_not_used(tmp_path: Path) -> None:
    """numpy would reserve the memory for such an array before it sees that nothing fills it."""
    path = tmp_path / "net.model"
    path.write_bytes(
        b"\x80\x02]cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nJ\xff\xff\xff\x7f"
        b"J\xff\xff\xff\x7f\x86U\x01b\x87Ra."
    )
    assert "refused" in refusal(path)


def test_other_contents_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.model"
    contents = {
        b"": "is empty",
        b"x": "refused",
        random.Random(1).randbytes(1000): "refused",
        pickle.dumps(ARRAYS, 2)[:-1]: "refused",
        pickle.dumps(ARRAYS, 2)[:100]: "refused",
        pickle.dumps({"a": 1}, 2): "it has the instruction EMPTY_DICT",
        pickle.dumps("text", 2): "it holds something else",
        pickle.dumps(["text"], 2): "the list holds something else than arrays",
        pickle.dumps([np.zeros(2, np.int64)], 2): "neither float32 nor float64",
        pickle.dumps([np.zeros(2, object)], 2): "refused",
        pickle.dumps([np.zeros((0, 2), np.float32)], 3): "an array has no shape",
        pickle.dumps(ARRAYS, 5): "it refers to",  # numpy writes them in another way
        pickle.dumps([ARRAYS[0]] * 9, 2): "it holds an array several times",
        pickle.dumps([()] * 200_000, 2): "more than 100,000 instructions",
        DOUBLED + b"X\x01\x00\x00\x00a\x93.": "a name is no text",
        b"\x80\x02])" + b"\x85" * 50_000 + b"X\x01\x00\x00\x00a\x93.": "a name is no text",
        array_of(b"K\x01\x85", DOUBLED[2:]): "a name is no text",
        array_of(b"(" + LONG + b"q\x01" + b"h\x01" * 90_000 + b"t"): "more than 4 dimensions",
        array_of(LONG + b"\x85"): "not as many numbers as its shape says",
        b"\x80\x02" + b")" * 49_000 + b"(t" * 25_000 + b".": "it holds something else",
        b"hello world": "it is not a pickle",
        b"\x80\x02]r\xff\xff\xff\xff.": "",  # the memo of pickle would get 4 G places
    }
    for data, text in contents.items():
        path.write_bytes(data)
        if text:
            assert text in refusal(path), data[:50]
        else:
            assert read_arrays(path) == []


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "net.model"
    path.touch()
    os.truncate(path, LARGEST + 1)
    assert "has 32 MiB; expected a pickled list of numpy arrays of at most 32 MiB" in refusal(path)


@given(st.data())
def test_a_file_with_changed_bytes_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = pickle.dumps(ARRAYS, data.draw(st.sampled_from([2, 3, 4])))
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "changed.model"
    path.write_bytes(changed)
    with suppress(NetError):
        read_arrays(path)
