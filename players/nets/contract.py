"""The contract of an ONNX file that is a net of a game, and its checks: docs/nets.md.

The file is read with the package onnx, which only parses it, before any runtime reads it.
Everything that could read other files, run endlessly or run foreign code is refused: external data,
subgraphs (loops), functions, operators that are not ONNX's own.

The size of the file bounds the memory that parsing takes: 83 times the size, if the file consists
of empty messages of 2 bytes each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from playout.games import Game
from playout.players.nets.encoding import NAME, VERSION, board_shape
from playout.players.nets.files import NetError, read_limited, require

if TYPE_CHECKING:
    import onnx

INPUT = "planes"
POLICY, VALUE = OUTPUTS = ("policy", "value")

#: Maximum size of a file, in bytes: a net of 256 filters has 95 MB with 20 blocks, stored as
#: float32, and with 40 blocks, stored as float16.
LARGEST = 128 << 20

#: Maximum number of operators, arrays and other messages in a file: a net has a few thousand.
MOST_PARTS = 100_000

#: Oldest accepted opset; those newer than the installed onnx are refused, too.
OLDEST_OPSET = 13

#: Metadata that every net has: its author, its licence, and how and how long it was trained.
FOR_PEOPLE = ("author", "licence", "trained")

#: Maximum length of a text of the metadata, in characters.
LONGEST_TEXT = 10_000

_KIND = "an ONNX file"
_OWN_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class CheckedModel:
    """An ONNX model that fulfils the contract: the data for runtimes, and the metadata."""

    data: bytes
    metadata: Mapping[str, str]


def expected_shapes(game: Game) -> dict[str, tuple[int, ...]]:
    """Return the shape of the input and the outputs for one position, by their names."""
    return {INPUT: board_shape(game), POLICY: (game.num_actions,), VALUE: (1,)}


def expected_metadata(game: Game) -> dict[str, str]:
    """Return the metadata that are equal in all nets of `game`."""
    return {
        "playout.game": str(game),
        "playout.encoding": NAME,
        "playout.encoding_version": str(VERSION),
    }


def complete(metadata: Mapping[str, str], game: Game) -> dict[str, str]:
    """Return `metadata` with the entries that are equal in all nets of `game`."""
    return dict(metadata) | expected_metadata(game)


def read(path: Path, game: Game) -> CheckedModel:
    """Read and check an ONNX file. Raises NetError, also if the package onnx is missing."""
    onnx = require("onnx", "nets")
    from google.protobuf.message import DecodeError

    data = read_limited(path, LARGEST, _KIND)
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError as error:
        raise _refused(path, "it is not ONNX, or it is truncated", _KIND) from error
    model.DiscardUnknownFields()  # so that a runtime gets nothing that was not checked
    metadata = check(model, path, game)
    return CheckedModel(model.SerializeToString(), metadata)


def check(model: onnx.ModelProto, path: Path, game: Game) -> dict[str, str]:
    """Return the metadata of a model if it fulfils the contract; `path` is for messages.

    Raises NetError for the first fault.
    """
    if not model.graph.node:
        raise _refused(path, "it is not ONNX, or it is truncated: it has no operators", _KIND)
    parts = _parts(model, path)
    _check_texts(parts, path)
    metadata = _check_metadata(model, path, game)
    _check_opset(model, path)
    _check_contents(parts, path)
    _check_interface(model.graph, path, game)
    _check_operators(model, path)
    return metadata


def _refused(path: Path, wrong: str, expected: str) -> NetError:
    return NetError(f"{path}: {wrong}; expected {expected}")


def _parts(model: onnx.ModelProto, path: Path) -> list[Any]:
    """Return the model and all messages inside it. Raises NetError if these are too many."""
    from google.protobuf.message import Message

    found: list[Any] = [model]
    for part in found:  # which grows
        for field, value in part.ListFields():
            if field.message_type is None:
                continue
            inside = [value] if isinstance(value, Message) else value
            if len(found) + len(inside) > MOST_PARTS:
                wrong = f"it has more than {MOST_PARTS:,} operators, arrays and other parts"
                raise _refused(path, wrong, "fewer operators")
            found.extend(inside)
    return found


def _check_texts(parts: list[Any], path: Path) -> None:
    """Check that all texts are UTF-8; the package onnx gives others as bytes. Raises NetError."""
    for part in parts:
        for field, value in part.ListFields():
            texts = [value] if isinstance(value, bytes) else value
            if field.type == field.TYPE_STRING and any(isinstance(each, bytes) for each in texts):
                raise _refused(path, f"its {field.full_name} is no text", "UTF-8")


def _check_metadata(model: onnx.ModelProto, path: Path, game: Game) -> dict[str, str]:
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    for key, value in expected_metadata(game).items():
        if key not in metadata:
            raise _refused(path, f"its metadata have no {key}", f"{key} = {value}")
        if metadata[key] != value:
            raise _refused(path, f"its {key} is {_short(metadata[key])}", _short(value))
    for key in FOR_PEOPLE:
        if not metadata.get(key, "").strip():
            raise _refused(
                path, f"its metadata have no {key}", f"texts for {', '.join(FOR_PEOPLE)}"
            )
    for key, value in metadata.items():  # terminals and pages show them
        if len(value) > LONGEST_TEXT or not _printable(key) or not _printable(value):
            wanted = f"printable text of at most {LONGEST_TEXT:,} characters"
            raise _refused(path, f"its metadata {_short(key)} is {_short(value)}", wanted)
    return metadata


def _check_opset(model: onnx.ModelProto, path: Path) -> None:
    newest = require("onnx", "nets").defs.onnx_opset_version()
    versions = [each.version for each in model.opset_import if each.domain in _OWN_DOMAINS]
    if len(versions) != 1 or not OLDEST_OPSET <= versions[0] <= newest:
        found = ", ".join(map(str, versions)) or "none"
        raise _refused(path, f"its opset is {found}", f"one from {OLDEST_OPSET} to {newest}")


def _check_contents(parts: list[Any], path: Path) -> None:
    """Check every part of the file, at any depth. Raises NetError."""
    onnx = require("onnx", "nets")
    graphs = 0
    for part in parts:
        match part:
            case onnx.TensorProto():
                _check_tensor(part, path)
            case onnx.NodeProto() if part.domain not in _OWN_DOMAINS:
                wrong = f"it has the operator {_short(f'{part.domain}.{part.op_type}')}"
                raise _refused(path, wrong, "operators of ONNX only")
            case onnx.AttributeProto() if not np.isfinite([part.f, *part.floats]).all():
                wrong = f"its attribute {_short(part.name)} has NaN or infinity"
                raise _refused(path, wrong, "finite numbers")
            case onnx.GraphProto():
                graphs += 1
            case onnx.FunctionProto() | onnx.SparseTensorProto():
                kind = type(part).__name__.removesuffix("Proto").lower()
                raise _refused(path, f"it has a {kind}", "operators and dense arrays only")
    if graphs > 1:
        wrong = "it has operators with subgraphs, such as loops and conditions"
        raise _refused(path, wrong, "one graph")


def _check_tensor(tensor: onnx.TensorProto, path: Path) -> None:
    onnx = require("onnx", "nets")
    name = _short(tensor.name or "without a name")
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
        where = ", ".join(_short(each.value) for each in tensor.external_data[:1])
        wrong = f"its array {name} is in another file ({where or 'not named'})"
        raise _refused(path, wrong, "all numbers inside it, as onnx.save puts them")
    try:
        with np.errstate(all="ignore"):
            numbers = onnx.numpy_helper.to_array(tensor).astype(np.float32)
    except Exception as error:  # onnx and numpy raise many kinds for wrong sizes and types
        wrong = f"its array {name} cannot be read ({_short(str(error))})"
        raise _refused(path, wrong, "as many numbers as its shape says") from error
    if not np.isfinite(numbers).all():
        raise _refused(path, f"its array {name} has NaN or infinity", "finite numbers of float32")


def _check_interface(graph: onnx.GraphProto, path: Path, game: Game) -> None:
    """Check names, types and shapes of the input and the outputs. Raises NetError."""
    arrays = {tensor.name for tensor in graph.initializer}
    inputs = {each.name: each for each in graph.input if each.name not in arrays}
    outputs = {each.name: each for each in graph.output}
    for kind, found, names in (("input", inputs, (INPUT,)), ("output", outputs, OUTPUTS)):
        if found.keys() != set(names):
            wrong = f"its {kind}s are called {_short(', '.join(found) or 'nothing')}"
            raise _refused(path, wrong, f"the {kind}{'s' * (len(names) > 1)} {', '.join(names)}")
        for name in names:
            _check_value(found[name], path, game, exact=kind == "input")


def _check_value(info: onnx.ValueInfoProto, path: Path, game: Game, exact: bool) -> None:
    """Check type and shape of an input or output; unless `exact`, unknown sizes are accepted."""
    onnx = require("onnx", "nets")
    tensor = info.type.tensor_type
    wanted = expected_shapes(game)[info.name]
    shown = f"float32 [N, {', '.join(map(str, wanted))}] for {game}, with any N"
    if tensor.elem_type != onnx.TensorProto.FLOAT:
        numbers = onnx.TensorProto.DataType.items()
        kind = next((name for name, number in numbers if number == tensor.elem_type), "unknown")
        raise _refused(path, f"its {info.name} has the type {kind}", shown)
    sizes = [each.dim_value if each.HasField("dim_value") else None for each in tensor.shape.dim]
    unknown_or_right = len(sizes) == len(wanted) + 1 and all(
        size == right or (size is None and not exact)
        for size, right in zip(sizes[1:], wanted, strict=True)
    )
    if not unknown_or_right or sizes[0] is not None:
        found = ", ".join("N" if size is None else str(size) for size in sizes)
        raise _refused(path, f"its {info.name} has the shape [{_short(found)}]", shown)


def _check_operators(model: onnx.ModelProto, path: Path) -> None:
    """Check that ONNX knows the operators and their attributes. Raises NetError."""
    checker = require("onnx", "nets").checker
    try:
        checker.check_model(model)
    except Exception as error:  # ValidationError, and ValueError of the serializer
        wrong = f"its graph is not valid ONNX ({_short(str(error))})"
        raise _refused(path, wrong, "operators and attributes as ONNX defines them") from error


def _printable(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


def _short(text: str) -> str:
    """Return the beginning of a text as one line without control characters."""
    line = " ".join(text.split())
    shown = "".join(each if each.isprintable() else "?" for each in line)
    return shown if len(shown) <= 120 else f"{shown[:117]}..."
