"""Files of evaluations: numpy archives (.npz) of at most 1 MiB, with a card.

The entries are the fields of `Tables`, or those of a `Perceptron` for a game with chance, and
`card`, the bytes of a JSON object. Weights are 16-bit floats. A file may come from anybody: its
sizes are checked before it is unpacked, and its numbers before they are used.
"""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from playout.commands.durable_files import write_atomically
from playout.commands.text import beginning
from playout.games import Game
from playout.games.core.plugins import as_argument
from playout.players.evaluations.perceptron import Perceptron
from playout.players.evaluations.tables import FEATURE_VALUES, Tables, ends_of
from playout.players.nets.files import NetError, read_limited

MOST_BYTES = 1 << 20
#: The value of an option that names the evaluation shipped with the game instead of a file.
SHIPPED = "shipped"
#: Maximum number of bytes of an unpacked file.
_MOST_UNPACKED = 64 << 20
#: Maximum number of characters of a library's error that are shown.
_LONGEST_FAULT = 200
#: Maximum weight: the hyperbolic tangent of more is 1.
_GREATEST = 100.0
#: Maximum number of hidden units of a net.
_MOST_HIDDEN = 1024
#: Held while numpy reads a file: it parses Python, which fails in CPython 3.11 while another thread
#: does the same.
_parsing = threading.Lock()
_KIND = "an evaluation, a file made by playout-train export"


class EvaluationError(Exception):
    """An evaluation cannot be used; the text says in a sentence which file, and why."""


class Card(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The origin of an evaluation: `games` of self-play in `seconds`, and who made it."""

    game: str
    author: str = ""
    licence: str = ""
    command: str = ""
    games: int = 0
    positions: int = 0
    seconds: float = 0.0


_decode_card = msgspec.json.Decoder(Card).decode


def write(path: Path, evaluation: Tables | Perceptron, card: Card) -> None:
    """Write a file, complete or not at all. Raises OSError; EvaluationError if it is too big."""
    entries = {
        name: each.astype(np.float16) if each.dtype == np.float32 else each
        for name, each in evaluation._asdict().items()
    }
    entries["card"] = np.frombuffer(msgspec.json.encode(card), dtype=np.uint8)
    packed = io.BytesIO()
    np.savez_compressed(packed, **entries)
    if len(packed.getvalue()) > MOST_BYTES:
        raise EvaluationError(f"{path} would have more than {MOST_BYTES >> 20} MiB")
    write_atomically(path, packed.getvalue())


def read(path: Path, game: Game) -> tuple[Tables, Card]:
    """Return the tables of a file and its card. Raises EvaluationError."""
    fields, card = _fields_of(path, game, Tables._fields)
    if (fault := _fault(fields, game.observed_words)) is not None:
        raise EvaluationError(f"{path}: {fault}; expected {_KIND}")
    weights = np.ascontiguousarray(fields.pop("weights"), dtype=np.float32)
    numbers = {name: np.ascontiguousarray(each) for name, each in fields.items()}
    return Tables(**numbers, weights=weights), card


def read_net(path: Path, game: Game) -> tuple[Perceptron, Card]:
    """Return the net of a file for a game with chance, and its card. Raises EvaluationError."""
    fields, card = _fields_of(path, game, Perceptron._fields)
    if (fault := _fault_of_net(fields, game.num_inputs)) is not None:
        raise EvaluationError(f"{path}: {fault}; expected {_KIND}")
    weights = {n: np.ascontiguousarray(each, dtype=np.float32) for n, each in fields.items()}
    return Perceptron(**weights), card


def _fields_of(path: Path, game: Game, names: Sequence[str]) -> tuple[dict[str, np.ndarray], Card]:
    """Return some entries of a file and its card. Raises EvaluationError."""
    try:
        data = read_limited(path, MOST_BYTES, _KIND)
    except NetError as error:
        raise EvaluationError(str(error)) from error
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MOST_UNPACKED:
                raise EvaluationError(f"{path} is too big when it is unpacked")
        with _parsing, np.load(io.BytesIO(data), allow_pickle=False) as entries:
            card = _decode_card(entries["card"].tobytes())
            fields = {name: entries[name] for name in names}
    except EvaluationError:
        raise
    except Exception as error:  # of zip, numpy and JSON
        fault = beginning(str(error), _LONGEST_FAULT)
        raise EvaluationError(f"{path} cannot be read ({fault}); expected {_KIND}") from error
    if card.game != (wanted := _evaluated(game)):
        raise EvaluationError(f"{path} is for {card.game}, not for {wanted}")
    return fields, card


def _evaluated(game: Game) -> str:
    """Return the game that the evaluations of a game have learned."""
    return game.net_game or str(game)


def shipped(game: Game) -> Path | None:
    """Return the file that comes with Playout for a game, or None."""
    path = Path(str(files("playout.players.evaluations") / "learned" / f"{_evaluated(game)}.npz"))
    return path if path.exists() else None


def load(game: Game, name: str) -> Tables:
    """Return the tables of a file, or the `shipped` ones of a game. Raises EvaluationError."""
    return read(_path(game, name), game)[0]


def load_net(game: Game, name: str) -> Perceptron:
    """Return the net of a file, or the `shipped` one of a game with chance.

    Raises EvaluationError.
    """
    return read_net(_path(game, name), game)[0]


def _path(game: Game, name: str) -> Path:
    path = shipped(game) if name == SHIPPED else Path(name)
    if path is None:
        raise EvaluationError(
            f"there is no evaluation of {game} yet; learn one: "
            f'playout-train new "{as_argument(_evaluated(game))}" DIR --evaluation, '
            "then run, export, and evaluation=FILE"
        )
    return path


def _fault(fields: dict[str, np.ndarray], state: int) -> str | None:
    """Return why tables cannot be used for states of a length, None if they can."""
    for name, array in fields.items():
        kind = np.float16 if name == "weights" else np.int64
        if array.dtype != kind or array.ndim != (2 if name == "groups" else 1):
            return f"{name} has the wrong type or number of dimensions"
    groups, lengths, offsets, codes = (fields[n] for n in ("groups", "lengths", "offsets", "codes"))
    if not (len(groups) == len(lengths) == len(offsets) > 0) or len(fields["numbers"]) != 4:
        return "groups, lengths and offsets differ in number"
    _, values, size, removing = (int(each) for each in fields["numbers"])
    if not (1 <= values <= 64 and 0 < size <= 1 << 24 and len(codes) and removing in range(3)):
        return "the number of values or of weights is out of range"
    if codes.min() < 0 or codes.max() >= FEATURE_VALUES:
        return "a code is out of range"
    if lengths.min() < 1 or lengths.max() > groups.shape[1]:
        return "the length of a group is out of range"
    places = np.concatenate([groups.ravel(), fields["cells"]])
    if places.min() < 0 or places.max() >= state:
        return "a cell is not in the state"
    if offsets.min() < 0 or offsets.max() >= size:
        return "an offset is out of range"
    ends = ends_of(lengths, offsets, values, int(codes.max()) + 1)
    weights = fields["weights"]
    if ends.max() > size or len(weights) != 2 * (len(fields["cuts"]) + 1) * size:
        return "the number of weights is not that of the groups"
    return _fault_of_weights(weights)


def _fault_of_net(fields: dict[str, np.ndarray], inputs: int) -> str | None:
    """Return why a net cannot be used for a number of inputs, None if it can."""
    for name, array in fields.items():
        if array.dtype != np.float16 or array.ndim != (2 if name == "inputs" else 1):
            return f"{name} has the wrong type or number of dimensions"
    hidden = len(fields["hidden"])
    if not 1 <= hidden <= _MOST_HIDDEN or hidden & hidden - 1:
        return f"the number of hidden units is no power of two up to {_MOST_HIDDEN}"
    if fields["inputs"].shape != (inputs, hidden) or len(fields["output"]) != hidden + 1:
        return f"the net has other sizes than {inputs} inputs and {hidden} hidden units"
    return next(filter(None, map(_fault_of_weights, fields.values())), None)


def _fault_of_weights(weights: np.ndarray) -> str | None:
    if not np.isfinite(weights).all() or np.abs(weights.astype(float)).max() > _GREATEST:
        return "a weight is not a number, or too big"
    return None
