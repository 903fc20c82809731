"""Loading a net: the runtimes, the choice of the faster one, and nets with wrong results."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from playout import games
from playout.players.nets import contract, net
from playout.players.nets.files import NetError
from playout.players.nets.net import Outputs, load
from support.nets import METADATA, random_planes, write_small_net

GAME = games.load("tic_tac_toe")
BACKENDS = ["onnxruntime", "openvino"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A net of tic_tac_toe."""
    return write_small_net(tmp_path_factory.mktemp("nets") / "net.onnx", GAME)


def planes(count: int, seed: int = 1) -> NDArray[np.float32]:
    return random_planes((6, 3, 3), count, seed)


@pytest.mark.parametrize("backend", BACKENDS)
def test_any_number_of_positions_gives_the_results_of_single_ones(path: Path, backend: str) -> None:
    loaded = load(path, GAME, backend, "f32", batch=4)
    assert (loaded.backend, loaded.precision, loaded.path) == (backend, "f32", path)
    positions = planes(9)
    single = [loaded.evaluate(positions[i : i + 1]) for i in range(9)]
    for count in (2, 4, 9):
        logits, values = loaded.evaluate(positions[:count])
        assert logits.shape == (count, 9)
        assert values.shape == (count,)
        assert logits.dtype == values.dtype == np.float32
        assert logits == pytest.approx(
            np.concatenate([each[0] for each in single[:count]]), abs=1e-5
        )
        assert values == pytest.approx(
            np.concatenate([each[1] for each in single[:count]]), abs=1e-5
        )
    loaded.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_stay_when_the_next_positions_are_evaluated(path: Path, backend: str) -> None:
    loaded = load(path, GAME, backend, batch=4)
    for count in (3, 4):
        logits, values = loaded.evaluate(planes(count))
        before = logits.copy(), values.copy()
        loaded.evaluate(planes(count, seed=2))
        np.testing.assert_array_equal(logits, before[0])
        np.testing.assert_array_equal(values, before[1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_threads_evaluate_at_once(path: Path, backend: str) -> None:
    loaded = load(path, GAME, backend, batch=4)
    wrong: list[int] = []

    def work(seed: int) -> None:
        for count in (3, 4):
            expected = results[seed, count]
            for _ in range(50):
                found = loaded.evaluate(planes(count, seed))
                if not all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True)):
                    wrong.append(seed)

    results = {
        (seed, count): loaded.evaluate(planes(count, seed)) for seed in range(4) for count in (3, 4)
    }
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_bfloat16_is_close_to_float32(path: Path) -> None:
    exact, rough = (load(path, GAME, "openvino", each) for each in ("f32", "bf16"))
    assert rough.precision == "bf16"
    for a, b in zip(exact.evaluate(planes(8)), rough.evaluate(planes(8)), strict=True):
        assert a == pytest.approx(b, abs=0.05)


class Timed:
    """A backend that is used up after some evaluations, by a clock that the test sets."""

    precision = "f32"

    def __init__(self, name: str, takes: float, clock: list[float]) -> None:
        self.name, self.takes, self.clock = name, takes, clock
        self.closed = False

    def evaluate(self, planes: NDArray[np.float32]) -> Outputs:
        self.clock[0] += self.takes
        return np.zeros((len(planes), 9), np.float32), np.zeros((len(planes), 1), np.float32)

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("faster", BACKENDS)
def test_auto_takes_the_faster_runtime_and_closes_the_other(
    path: Path, monkeypatch: pytest.MonkeyPatch, faster: str
) -> None:
    clock = [0.0]
    made = {name: Timed(name, 0.001 if name == faster else 0.002, clock) for name in BACKENDS}
    monkeypatch.setattr(net, "_backend", lambda model, name, *options: made[name])
    monkeypatch.setattr(net.time, "perf_counter", lambda: clock[0])
    assert load(path, GAME).backend == faster
    assert {name for name, each in made.items() if each.closed} == set(BACKENDS) - {faster}


def test_auto_takes_what_is_installed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BACKENDS:
        monkeypatch.setattr(net, "installed", lambda name=name: [name])
        assert load(path, GAME).backend == name
    assert load(path, GAME, precision="bf16").backend == "openvino"


def test_missing_packages_are_named_with_the_command_that_installs_them(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for missing, backend, extra in (
        ("openvino", "openvino", "openvino"),
        ("onnxruntime", "onnxruntime", "nets"),
        ("onnx", "auto", "nets"),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(NetError) as caught:
                load(path, GAME, backend)
        assert f"nets need the package {missing} " in str(caught.value)
        assert str(caught.value).endswith(f': pip install ".[{extra}]" in a checkout of Playout')
    monkeypatch.setattr(net, "installed", list)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(NetError, match=r'pip install "\.\[nets\]" in a checkout'):
        load(path, GAME)


def test_neither_players_nor_nets_import_what_is_optional() -> None:
    program = (
        "import sys, playout.players.nets.net, playout.players.nets.graph\n"
        "import playout.players.nets.encoding\n"
        "print({'onnx', 'onnxruntime', 'openvino', 'jax', 'google'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "set()\n"


def test_loading_starts_no_process_and_opens_no_connection(path: Path) -> None:
    """OpenVINO's import forks a process that sends a message to Google Analytics."""
    program = f"""
import sys
watched = "os.fork", "os.posix_spawn", "subprocess.Popen", "socket.connect", "socket.getaddrinfo"
seen = []
sys.addaudithook(lambda event, arguments: event in watched and seen.append(event))
import os, games
from playout.players.nets.net import load
load({str(path)!r}, games.load("tic_tac_toe"), "openvino")
load({str(path)!r}, games.load("tic_tac_toe"), "onnxruntime")
print(seen, "openvino_telemetry" in sys.modules, flush=True)
os._exit(0)  # its thread, if there is one, would wait for the process
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "[] False\n"


def test_wrong_options_are_refused(path: Path) -> None:
    for options, text in (
        ({"backend": "torch"}, "backend of a net is 'torch'; expected auto, onnxruntime, openvino"),
        ({"precision": "f8"}, "precision of a net is 'f8'; expected auto, f32, bf16"),
        ({"backend": "onnxruntime", "precision": "bf16"}, "onnxruntime computes in f32"),
    ):
        with pytest.raises(NetError, match=text):
            load(path, GAME, **options)


# Nets that fulfil the contract in their declarations alone.


def write_net(path: Path, *nodes: onnx.NodeProto) -> Path:
    """Writes operators as a net; they compute `policy` and `value` from `flat`, of 54 numbers."""
    flatten = helper.make_node("Flatten", ["planes"], ["flat"])
    shapes = contract.expected_shapes(GAME)
    values = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", *shape])
        for name, shape in shapes.items()
    }
    constants = {"zero": [0], "one": [1], "nine": [9], "end": [54], "row": [1, 9]}
    tensors = [
        helper.make_tensor(name, TensorProto.INT64, [len(numbers)], numbers)
        for name, numbers in constants.items()
    ]
    graph = helper.make_graph(
        [flatten, *nodes], "net", [values["planes"]], [values["policy"], values["value"]], tensors
    )
    model = helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 17)])
    model.ir_version = 8
    helper.set_model_props(model, contract.complete(METADATA, GAME))
    path.write_bytes(model.SerializeToString())
    return path


def node(operator: str, inputs: str, output: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(operator, inputs.split(), [output], **attributes)


POLICY = node("Slice", "flat zero nine one", "policy")
VALUE = node("ReduceMax", "flat", "value", axes=[1])

COMPUTED = {
    "its policy has NaN or infinity": (
        node("Log", "flat", "log"),
        node("Slice", "log zero nine one", "policy"),
        VALUE,
    ),
    "its value has NaN or infinity": (
        POLICY,
        node("Log", "flat", "log"),
        node("ReduceMin", "log", "value", axes=[1]),
    ),
    "its value 2 is out of range; expected -1 to 1": (
        POLICY,
        node("ReduceMax", "flat", "largest", axes=[1]),
        node("Add", "largest largest", "value"),
    ),
    "cannot run it|its policy is": (node("Slice", "flat zero end one", "policy"), VALUE),
    "cannot run it": (
        node("Slice", "flat zero nine one", "one_position"),
        node("Reshape", "one_position row", "policy"),
        VALUE,
    ),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", COMPUTED)
def test_a_net_that_computes_something_else_is_refused(
    tmp_path: Path, text: str, backend: str
) -> None:
    path = write_net(tmp_path / "net.onnx", *COMPUTED[text])
    with pytest.raises(NetError, match=text) as caught:
        load(path, GAME, backend)
    assert str(caught.value).startswith(str(tmp_path))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_net_of_other_operators_plays(tmp_path: Path, backend: str) -> None:
    loaded = load(write_net(tmp_path / "net.onnx", POLICY, VALUE), GAME, backend)
    positions = planes(3)
    logits, values = loaded.evaluate(positions)
    assert logits.tolist() == positions.reshape(3, -1)[:, :9].tolist()
    assert values.tolist() == [1, 1, 1]


def test_nan_in_the_middle_of_a_match_is_an_error(path: Path) -> None:
    loaded = load(path, GAME, "onnxruntime")
    positions = planes(2)
    positions[1, 0, 0, 0] = np.nan
    with pytest.raises(NetError, match=r"net\.onnx computed NaN or infinity"):
        loaded.evaluate(positions)
