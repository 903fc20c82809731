"""Imports nets of AlphaZero_Gomoku (github.com/junxiaosong/AlphaZero_Gomoku) as ONNX files.

Its file is a pickled list of 16 arrays: weights and biases of the convolutions 4-32-64-128 (3x3)
and, for the policy, 1x1 to 4 planes and a dense layer; for the value, 1x1 to 2 planes and dense
layers to 64 and to 1. Differences to ours, all of which are put into the arrays here:

* Its kernels are Theano's, which are turned by 180 degrees against a convolution in ONNX.
* Its planes are ours without the fourth and the last: own stones, the other's, the last move, ones
  if the first player is to move. Other planes get weights of 0.
* It counts the rows of moves from the bottom, and we from the top. The planes of both have the top
  row first, so that only the columns of the policy's dense layer are reordered.

A pickle is a program that may call any function. The few instructions that numpy's arrays need are
interpreted here, over plain values; an instruction or a name beyond them is an error. So a hostile
file can neither run code nor ask for memory that its own size does not bound.
"""

from __future__ import annotations

import itertools
import math
import pickletools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout import games
from playout.games import Game
from playout.players.nets.contract import INPUT, POLICY, VALUE
from playout.players.nets.encoding import board_shape
from playout.players.nets.files import NetError, read_limited
from playout.players.nets.graph import Layer, Layers, Parameters, write_layers

#: For each plane of theirs, the number of ours.
_PLANES = (0, 1, 2, 4)

_FILE_NAME = re.compile(r"_(\d{1,2})_(\d{1,2})_(\d{1,2})(?!\d)")


def game_of(path: Path) -> Game:
    """Return the game in the name of a file: `best_policy_8_8_5.model` is 8x8, 5 in a row.

    Raises NetError for other names.
    """
    found = _FILE_NAME.search(path.name)
    try:
        if found:
            m, n, k = found.groups()
            return games.load(f"mnk(m={m},n={n},k={k})")
    except games.SpecError:
        pass
    wanted = "a name such as best_policy_8_8_5.model"
    raise NetError(f"the name of {path} does not tell its game; expected {wanted}, or the game")


def convert(source: Path, target: Path, game: Game, metadata: Mapping[str, str]) -> None:
    """Write the net in the file `source` as an ONNX file for `game`, an mnk game.

    `metadata` has at least `author`, `licence` and `trained`. Raises NetError if it is no net for a
    board of this size, and if it cannot be read or written.
    """
    layers = _layers(source, game)
    write_layers(target, game, layers, _parameters(source, game, layers), metadata)


def _layers(path: Path, game: Game) -> Layers:
    planes, rows, columns = board_shape(game)
    if rows != columns or game.num_actions != rows * columns:
        raise NetError(f"{path} cannot be a net for {game}; expected an mnk game on a square board")
    cells = rows * columns
    return (
        Layer("conv1/w", (32, planes, 3, 3), of=INPUT),
        Layer("conv2/w", (64, 32, 3, 3), of="conv1/w"),
        Layer("conv3/w", (128, 64, 3, 3), of="conv2/w"),
        Layer("policy/conv_w", (4, 128, 1, 1), of="conv3/w"),
        Layer("policy/dense_w", (4 * cells, cells), "policy/conv_w", "", output=POLICY),
        Layer("value/conv_w", (2, 128, 1, 1), of="conv3/w"),
        Layer("value/dense1_w", (2 * cells, 64), of="value/conv_w"),
        Layer("value/dense2_w", (64, 1), "value/dense1_w", "Tanh", output=VALUE),
    )


def _parameters(path: Path, game: Game, layers: Layers) -> Parameters:
    """Return the arrays of a file, changed for our planes, actions and convolutions."""
    arrays = read_arrays(path)
    planes, rows, columns = board_shape(game)
    expected = [shape for each in layers for shape in (each.shape, (each.size,))]
    expected[0] = (32, len(_PLANES), 3, 3)
    if [array.shape for array in arrays] != expected:
        wrong = f"{path} is not a net of AlphaZero_Gomoku for {game}"
        raise NetError(f"{wrong}; expected its 16 arrays for a board of {rows}x{columns}")
    if not all(np.isfinite(each).all() for each in arrays):
        raise NetError(f"{path} has NaN or infinity among its weights; expected finite numbers")
    arrays = [each[:, :, ::-1, ::-1] if each.ndim == 4 else each for each in arrays]
    first, policy = arrays[0], arrays[8:10]
    arrays[0] = np.zeros((len(first), planes, 3, 3), np.float32)
    arrays[0][:, _PLANES] = first
    theirs = np.arange(rows * columns).reshape(rows, columns)[::-1].ravel()  # for each of ours
    arrays[8:10] = [each[..., theirs] for each in policy]
    names = [name for each in layers for name in (each.weights, each.bias)]
    return dict(zip(names, arrays, strict=True))


#: Maximum size of a file, in bytes, and number of its instructions: 16 arrays have about 400.
LARGEST = 32 << 20
_MOST_INSTRUCTIONS = 100_000
_MOST_DIMENSIONS = 4

#: The names that a pickle of arrays refers to, of old and new versions of numpy and Python.
_ARRAY, _ARRAY_TYPE, _NUMBER_TYPE, _ENCODE = "array", "array type", "number type", "encode"
_NAMES = {
    "numpy.core.multiarray _reconstruct": _ARRAY,
    "numpy._core.multiarray _reconstruct": _ARRAY,
    "numpy ndarray": _ARRAY_TYPE,
    "numpy dtype": _NUMBER_TYPE,
    "_codecs encode": _ENCODE,  # Python 3 writes bytes so in the format of Python 2
}

_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_VALUES = {
    "BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES",
    "SHORT_BINBYTES",
}  # fmt: skip
_TEXTS = {"BINSTRING", "SHORT_BINSTRING"}  # bytes in Python 2, which pickletools decodes as latin-1
_SIZED_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_GETS = {"BINGET", "LONG_BINGET"}
_PUTS = {"BINPUT", "LONG_BINPUT"}
_IGNORED = {"PROTO", "FRAME"}


class _Name:
    """A name to which the pickle refers."""

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning


class _Built:
    """The result of a call of a name, and the state that was set afterwards."""

    def __init__(self, meaning: str, arguments: tuple[Any, ...]) -> None:
        self.meaning = meaning
        self.arguments = arguments
        self.state: tuple[Any, ...] = ()


class _Described(NamedTuple):
    """An array: its shape, the type of its numbers for numpy, its order, and the numbers."""

    shape: tuple[int, ...]
    number_type: str
    by_columns: bool
    numbers: bytes

    def array(self) -> NDArray[np.float32]:
        flat = np.frombuffer(self.numbers, self.number_type)
        shaped = flat.reshape(self.shape, order="F" if self.by_columns else "C")
        with np.errstate(over="ignore"):  # numbers that are too large become infinite
            return shaped.astype(np.float32)


_MARK = object()


def read_arrays(path: Path) -> list[NDArray[np.float32]]:
    """Return the arrays of a pickled list. Raises NetError for any other file."""
    kind = "a pickled list of numpy arrays"
    data = read_limited(path, LARGEST, kind)
    try:
        content = _interpret(data)
        if not isinstance(content, list):
            raise ValueError("it holds something else")
        return list(_arrays(content, len(data)))
    except ValueError as error:
        reason = " ".join(str(error).split())[:200]
        raise NetError(f"{path} is refused ({reason}); expected {kind}") from error
    except (TypeError, LookupError, AttributeError) as error:
        raise NetError(f"{path} is refused (it is not a pickle); expected {kind}") from error


def _interpret(data: bytes) -> Any:
    """Return the value that a pickle describes. Raises ValueError for other instructions."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    argument: Any
    for opcode, argument, _ in itertools.islice(pickletools.genops(data), _MOST_INSTRUCTIONS):
        name = opcode.name
        if name == "STOP":
            return stack.pop()
        if name in _VALUES:
            stack.append(argument)
        elif name in _TEXTS:
            stack.append(argument.encode("latin-1"))
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _GETS:
            stack.append(memo[argument])
        elif name in _PUTS:
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in _SIZED_TUPLES:
            stack[-_SIZED_TUPLES[name] :] = [tuple(stack[-_SIZED_TUPLES[name] :])]
        elif name not in _IGNORED:
            _change(stack, name, argument)
    raise ValueError(f"it has more than {_MOST_INSTRUCTIONS:,} instructions")


def _change(stack: list[Any], name: str, argument: Any) -> None:
    """Carry out an instruction that depends on the stack."""
    match name:
        case "MARK":
            stack.append(_MARK)
        case "EMPTY_LIST":
            stack.append([])
        case "TUPLE":
            stack.append(tuple(_since_mark(stack)))
        case "APPENDS":
            added = _since_mark(stack)
            stack[-1].extend(added)
        case "APPEND":
            added = stack.pop()
            stack[-1].append(added)
        case "GLOBAL":
            stack.append(_named(argument))
        case "STACK_GLOBAL":
            stack[-2:] = [_named(" ".join(map(_text, stack[-2:])))]
        case "REDUCE":
            made, arguments = stack[-2:]
            stack[-2:] = [_call(made, arguments)]
        case "BUILD":
            state = stack.pop()
            stack[-1].state = state
        case _:
            raise ValueError(f"it has the instruction {name}")


def _since_mark(stack: list[Any]) -> list[Any]:
    """Remove the topmost mark and the values above it, and return these."""
    found = []
    while (value := stack.pop()) is not _MARK:
        found.append(value)
    return found[::-1]


def _named(name: str) -> _Name:
    if name not in _NAMES:
        raise ValueError(f"it refers to {name.replace(' ', '.')!a}")
    return _Name(_NAMES[name])


def _call(made: Any, arguments: Any) -> _Built:
    if not isinstance(made, _Name) or not isinstance(arguments, tuple):
        raise ValueError("it calls something")
    return _Built(made.meaning, arguments)


def _arrays(content: list[Any], size: int) -> Iterator[NDArray[np.float32]]:
    """Yield the arrays of a list; together they have at most `size` bytes of numbers."""
    for value in content:
        described = _describe(value)
        size -= len(described.numbers)
        if size < 0:  # a pickle can refer to the same array any number of times
            raise ValueError("it holds an array several times")
        yield described.array()


def _describe(value: Any) -> _Described:
    """Return the description of an array. Raises ValueError or TypeError if it is not one."""
    if not isinstance(value, _Built) or value.meaning != _ARRAY:
        raise ValueError("the list holds something else than arrays")
    _, shape, number_type, by_columns, numbers = value.state
    if not isinstance(number_type, _Built) or number_type.meaning != _NUMBER_TYPE:
        raise ValueError("an array has no type of numbers")
    kind, order = _text(number_type.arguments[0]), _text(number_type.state[1])
    if kind not in ("f4", "f8") or order not in ("<", ">"):
        raise ValueError("the type of an array is neither float32 nor float64")
    if not isinstance(shape, tuple) or not all(isinstance(n, int) and n > 0 for n in shape):
        raise ValueError("an array has no shape")
    if len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"an array has more than {_MOST_DIMENSIONS} dimensions")
    if isinstance(numbers, _Built) and numbers.meaning == _ENCODE:
        numbers = numbers.arguments[0].encode("latin-1")
    if not isinstance(numbers, bytes) or math.prod(shape) * int(kind[1]) != len(numbers):
        raise ValueError("an array has not as many numbers as its shape says")
    return _Described(shape, order + kind, bool(by_columns), numbers)


def _text(value: Any) -> str:
    """Return a name. Raises ValueError for other values, which may be nested to any depth."""
    if not isinstance(value, str | bytes):
        raise ValueError("a name is no text")
    return value.decode("ascii") if isinstance(value, bytes) else value
