"""Nets of AlphaZero_Gomoku give the same results as ONNX files."""

from __future__ import annotations

import functools
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import convolve

from playout import games
from playout.games import Game, Position
from playout.players.nets.alphazero_gomoku import convert, game_of, read_arrays
from playout.players.nets.encoding import Encoding
from playout.players.nets.files import NetError
from playout.players.nets.net import load
from support.nets import METADATA

FOLDER = Path(__file__).parents[1] / "data" / "alphazero_gomoku"

#: For the empty board: the value, and the two most likely moves with their probabilities. A move is
#: counted as there, from the bottom row.
GOLDEN = {
    "best_policy_6_6_4.model": (0.275247, {14: 0.248987, 15: 0.242583}),
    "best_policy_6_6_4.model2": (0.322305, {20: 0.267474, 21: 0.255606}),
    "best_policy_8_8_5.model": (0.287360, {36: 0.198294, 35: 0.184153}),
    "best_policy_8_8_5.model2": (-0.045010, {43: 0.141525, 20: 0.133427}),
}

Result = tuple[dict[int, float], float]


def their_move(game: Game, action: int) -> int:
    """The number that a cell has there: rows are counted from the bottom."""
    view = game.view(game.initial_state())
    row, column = divmod(action, view.columns)
    return (view.rows - 1 - row) * view.columns + column


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the four nets as ONNX files."""
    folder = tmp_path_factory.mktemp("nets")
    for name in GOLDEN:
        convert(FOLDER / name, folder / f"{name}.onnx", game_of(Path(name)), METADATA)
    return folder


def evaluated(path: Path, game: Game, actions: Sequence[int], backend: str) -> Result:
    """Probabilities by their numbers of the moves, and the value, after some actions."""
    state = Position(game, actions).state
    net = load(path, game, backend, precision="f32")
    last = np.array([actions[-1] if actions else -1])
    logits, values = net.evaluate(Encoding(game).encode(np.array([state]), last))
    weights = np.exp(logits[0] - logits.max())
    probabilities = weights / weights.sum()
    return {their_move(game, a): p for a, p in enumerate(probabilities.tolist())}, float(values[0])


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("name", GOLDEN)
def test_the_empty_board_has_the_known_values(converted: Path, name: str, backend: str) -> None:
    value, moves = GOLDEN[name]
    found, found_value = evaluated(converted / f"{name}.onnx", game_of(Path(name)), (), backend)
    assert found_value == pytest.approx(value, abs=1e-4)
    likely = sorted(found, key=lambda move: found[move], reverse=True)[:2]
    assert {move: found[move] for move in likely} == pytest.approx(moves, abs=1e-4)


# The same by numpy, as their program does it: their planes, Theano's convolution.


def their_planes(side: int, moves: Sequence[int]) -> NDArray[np.float64]:
    planes = np.zeros((4, side, side))
    for ply, move in enumerate(moves):
        planes[(len(moves) - ply) % 2][move // side, move % side] = 1
    if moves:
        planes[2][moves[-1] // side, moves[-1] % side] = 1
    if len(moves) % 2 == 0:
        planes[3][:, :] = 1
    return planes[:, ::-1, :]


@functools.cache
def arrays_of(name: str) -> list[NDArray[np.float32]]:
    return read_arrays(FOLDER / name)


def their_result(name: str, side: int, moves: Sequence[int]) -> Result:
    arrays = iter(arrays_of(name))

    def convolved(x: NDArray[np.float64]) -> NDArray[np.float64]:
        w, b = next(arrays), next(arrays)
        same = functools.partial(convolve, mode="constant")
        sums = [sum(map(same, x, out)) for out in w]
        return np.maximum(np.array(sums) + b[:, None, None], 0)

    def dense(x: NDArray[np.float64]) -> NDArray[np.float64]:
        w, b = next(arrays), next(arrays)
        return x @ w + b

    x = convolved(convolved(convolved(their_planes(side, moves))))
    logits = dense(convolved(x).ravel())
    value = np.tanh(dense(np.maximum(dense(convolved(x).ravel()), 0)))
    weights = np.exp(logits - logits.max())
    return dict(enumerate((weights / weights.sum()).tolist())), float(value[0])


@pytest.mark.parametrize("name", ["best_policy_6_6_4.model2", "best_policy_8_8_5.model"])
def test_positions_in_a_match_have_the_values_of_their_program(converted: Path, name: str) -> None:
    game, rng = game_of(Path(name)), random.Random(1)
    side = game.view(game.initial_state()).rows
    for plies in (1, 2, 5):
        actions = rng.sample(range(game.num_actions), plies)
        found, value = evaluated(converted / f"{name}.onnx", game, actions, "onnxruntime")
        moves = [their_move(game, action) for action in actions]
        expected, expected_value = their_result(name, side, moves)
        assert value == pytest.approx(expected_value, abs=1e-5)
        assert found == pytest.approx(expected, abs=1e-5)


def test_the_name_of_a_file_tells_its_game() -> None:
    assert str(game_of(Path("x/best_policy_6_6_4.model2"))) == "mnk(m=6,n=6,k=4)"
    assert str(game_of(Path("current_policy_8_8_5.pickle"))) == "mnk(m=8,n=8)"
    for name in ("net.model", "best_policy_8_8.model", "best_policy_99_99_5.model"):
        with pytest.raises(NetError, match="does not tell its game"):
            game_of(Path(name))


def test_a_net_is_refused_for_a_board_that_it_does_not_fit(tmp_path: Path) -> None:
    source = FOLDER / "best_policy_6_6_4.model"
    for spec, text in {
        "mnk(m=8,n=8,k=5)": r"is not a net of AlphaZero_Gomoku for mnk\(m=8,n=8\); expected its 16",
        "mnk(m=4,n=9,k=3)": "expected an mnk game on a square board",
        "connect_four": "expected an mnk game on a square board",
    }.items():
        with pytest.raises(NetError, match=text):
            convert(source, tmp_path / "net.onnx", games.load(spec), METADATA)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "best_policy_6_6_4.model"
    shutil.copy(FOLDER / source.name, source)
    with source.open("r+b") as file:
        file.truncate(400_000)
    with pytest.raises(NetError, match="is refused"):
        convert(source, tmp_path / "net.onnx", game_of(source), METADATA)
