"""Files that are no nets, nets of other games, and hostile files are refused in one sentence."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from playout import games
from playout.players.nets import contract
from playout.players.nets.files import NetError
from support.nets import METADATA, SMALL, write_small_net

GAME = games.load("tic_tac_toe")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a net."""
    return write_small_net(tmp_path_factory.mktemp("nets") / "net.onnx", GAME).read_bytes()


def refusal(path: Path, game: games.Game = GAME) -> str:
    """The sentence that says why a file is refused, without its path."""
    with pytest.raises(NetError) as caught:
        contract.read(path, game)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert text.isprintable()
    assert "; expected " in text
    return text.removeprefix(str(path))


def refusal_of(model: onnx.ModelProto, path: Path) -> str:
    path.write_bytes(model.SerializeToString())
    return refusal(path)


def test_a_text_that_is_not_utf_8_is_refused(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "net.onnx"
    for text in (b"stem/w", b"Ada", b"Conv", b"planes"):
        path.write_bytes(whole.replace(text, b"\xff" * len(text)))
        assert refusal(path).endswith(" is no text; expected UTF-8")


def test_a_net_is_accepted_and_its_metadata_are_returned(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(whole)
    model = contract.read(path, GAME)
    assert model.metadata == METADATA | contract.expected_metadata(GAME)
    assert onnx.load_from_string(model.data).graph.node


# Files that are no nets.


def test_bytes_that_are_no_onnx_model_are_refused(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "net.onnx"
    contents = {
        "random bytes": random.Random(1).randbytes(5000),
        "text": b"This is no net.",
        "zeros": bytes(5000),
        "half of a net": whole[: len(whole) // 2],
        "without its last byte": whole[:-1],
    }
    for what, data in contents.items():
        path.write_bytes(data)
        assert "it is not ONNX, or it is truncated" in refusal(path), what


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").touch()
    (tmp_path / "huge.onnx").touch()
    os.truncate(tmp_path / "huge.onnx", 5 << 30)
    for name, text in {
        "missing.onnx": "cannot be read (No such file or directory); expected an ONNX file",
        "empty.onnx": "is empty; expected an ONNX file",
        "huge.onnx": "has 5,120 MiB; expected an ONNX file of at most 128 MiB",
        "": "is not a plain file; expected an ONNX file",
    }.items():
        assert text in refusal(tmp_path / name)


@given(st.data())
def test_a_file_with_changed_bytes_is_accepted_or_refused(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "changed.onnx"
    path.write_bytes(changed[: data.draw(st.integers(1, len(whole)))])
    with suppress(NetError):
        contract.read(path, GAME)


def test_a_million_empty_operators_are_refused_before_they_are_checked(tmp_path: Path) -> None:
    graph = b"\x0a\x00" * 1_000_000  # two million bytes
    path = tmp_path / "net.onnx"
    path.write_bytes(b"\x3a\x80\x89\x7a" + graph)  # the length, 7 bits a byte
    assert "it has more than 100,000 operators, arrays and other parts; expected fewer" in refusal(
        path
    )


# Nets of something else.


def set_metadata(model: onnx.ModelProto, **texts: str) -> None:
    now = {entry.key: entry.value for entry in model.metadata_props}
    helper.set_model_props(model, now | {key.replace("__", "."): texts[key] for key in texts})


def test_the_net_of_another_game_is_refused(tmp_path: Path) -> None:
    path = write_small_net(tmp_path / "net.onnx", GAME)
    assert refusal(path, games.load("mnk(m=3,n=3,k=3)")) == (
        ": its playout.game is tic_tac_toe; expected mnk(m=3,n=3,k=3)"
    )


def test_the_size_in_the_graph_counts_not_only_the_metadata(tmp_path: Path) -> None:
    path = write_small_net(tmp_path / "net.onnx", games.load("gomoku(size=9)"))
    model = onnx.load(path)
    set_metadata(model, playout__game="tic_tac_toe")
    assert refusal_of(model, path) == (
        ": its planes has the shape [N, 6, 9, 9]; "
        "expected float32 [N, 6, 3, 3] for tic_tac_toe, with any N"
    )


def other_encoding(model: onnx.ModelProto) -> None:
    set_metadata(model, playout__encoding="pieces")


def other_version(model: onnx.ModelProto) -> None:
    set_metadata(model, playout__encoding_version="2")


def no_metadata(model: onnx.ModelProto) -> None:
    del model.metadata_props[:]


def no_author(model: onnx.ModelProto) -> None:
    set_metadata(model, author="")


def escape_sequence(model: onnx.ModelProto) -> None:
    set_metadata(model, author="\x1b[2J")


def long_metadata(model: onnx.ModelProto) -> None:
    set_metadata(model, trained="very " * 3000)


def old_opset(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 9


def new_opset(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 999


def no_opset(model: onnx.ModelProto) -> None:
    del model.opset_import[:]


def thirty_planes(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 30


def one_position_only(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1


def three_sizes(model: onnx.ModelProto) -> None:
    del model.graph.input[0].type.tensor_type.shape.dim[0]


def no_shape(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.ClearField("shape")


def double_input(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE


def unknown_type(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = 99


def other_input_name(model: onnx.ModelProto) -> None:
    model.graph.input[0].name = "board"


def second_input(model: onnx.ModelProto) -> None:
    model.graph.input.add().CopyFrom(
        helper.make_tensor_value_info("temperature", TensorProto.FLOAT, [])
    )


def no_policy(model: onnx.ModelProto) -> None:
    del model.graph.output[0]


def policy_for_ten_actions(model: onnx.ModelProto) -> None:
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 10


def unknown_operator(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = "Telepathy"


def other_attribute(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.append(helper.make_attribute("colour", "red"))


def missing_value(model: onnx.ModelProto) -> None:
    model.graph.node[1].input[0] = "nowhere"


# Hostile files.


def operator_of_others(model: onnx.ModelProto) -> None:
    model.graph.node[0].domain = "com.evil"


def local_function(model: onnx.ModelProto) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    opsets = [helper.make_operatorsetid("", 17)]
    model.functions.append(helper.make_function("ai.onnx", "Twice", ["x"], ["y"], [relu], opsets))


def loop(model: onnx.ModelProto) -> None:
    body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"])], "body", [], [])
    model.graph.node.append(helper.make_node("Loop", ["", ""], ["never"], body=body))


def training(model: onnx.ModelProto) -> None:
    model.training_info.add().algorithm.name = "more"


def external(tensor: TensorProto, location: str = "../../etc/passwd") -> TensorProto:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return tensor


def external_array(model: onnx.ModelProto) -> None:
    external(model.graph.initializer[0])


def external_array_nowhere(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL


def external_constant(model: onnx.ModelProto) -> None:
    tensor = external(numpy_helper.from_array(np.zeros(1, np.float32), "hidden"))
    model.graph.node.insert(0, helper.make_node("Constant", [], ["hidden"], value=tensor))


def external_array_in_a_subgraph(model: onnx.ModelProto) -> None:
    tensor = external(numpy_helper.from_array(np.zeros(1, np.float32), "hidden"))
    body = helper.make_graph([], "body", [], [], [tensor])
    model.graph.node.append(helper.make_node("If", ["c"], ["d"], then_branch=body))


def external_array_in_a_function(model: onnx.ModelProto) -> None:
    local_function(model)
    tensor = external(numpy_helper.from_array(np.zeros(1, np.float32), "hidden"))
    model.functions[0].node.append(helper.make_node("Constant", [], ["hidden"], value=tensor))


def sparse_array(model: onnx.ModelProto) -> None:
    values = numpy_helper.from_array(np.ones(1, np.float32), "sparse")
    places = numpy_helper.from_array(np.zeros(1, np.int64), "places")
    size = [1 << 40]
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, size))


def set_number(model: onnx.ModelProto, number: float) -> None:
    array = numpy_helper.to_array(model.graph.initializer[2]).copy()
    array.flat[3] = number
    tensor = numpy_helper.from_array(array, model.graph.initializer[2].name)
    model.graph.initializer[2].CopyFrom(tensor)


def nan(model: onnx.ModelProto) -> None:
    set_number(model, np.nan)


def infinity(model: onnx.ModelProto) -> None:
    set_number(model, -np.inf)


def nan_attribute(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.append(helper.make_attribute("alpha", float("nan")))


def fewer_numbers(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-4]


def a_million_million_numbers(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].dims[:] = [1 << 20, 1 << 20]


def texts(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(helper.make_tensor("text", TensorProto.STRING, [1], [b"a"]))


REFUSED: dict[Callable[[onnx.ModelProto], None], str] = {
    other_encoding: "its playout.encoding is pieces; expected cells",
    other_version: "its playout.encoding_version is 2; expected 1",
    no_metadata: "its metadata have no playout.game; expected playout.game = tic_tac_toe",
    no_author: "its metadata have no author; expected texts for author, licence, trained",
    escape_sequence: "its metadata author is ?[2J; expected printable text",
    long_metadata: "expected printable text of at most 10,000 characters",
    old_opset: "its opset is 9; expected one from 13 to",
    new_opset: "its opset is 999; expected one from 13 to",
    no_opset: "its opset is none",
    thirty_planes: "its planes has the shape [N, 30, 3, 3]; expected float32 [N, 6, 3, 3]",
    one_position_only: "its planes has the shape [1, 6, 3, 3]; expected float32 [N, 6, 3, 3]",
    three_sizes: "its planes has the shape [6, 3, 3]",
    no_shape: "its planes has the shape []; expected float32 [N, 6, 3, 3]",
    double_input: "its planes has the type DOUBLE; expected float32",
    unknown_type: "its planes has the type unknown",
    other_input_name: "its inputs are called board; expected the input planes",
    second_input: "its inputs are called planes, temperature; expected the input planes",
    no_policy: "its outputs are called value; expected the outputs policy, value",
    policy_for_ten_actions: "its policy has the shape [N, 10]; expected float32 [N, 9]",
    unknown_operator: "its graph is not valid ONNX (No Op registered for Telepathy",
    other_attribute: "its graph is not valid ONNX (Unrecognized attribute: colour",
    missing_value: "its graph is not valid ONNX (Nodes in a graph must be topologically sorted",
    operator_of_others: "it has the operator com.evil.Conv; expected operators of ONNX only",
    local_function: "it has a function; expected operators and dense arrays only",
    loop: "it has operators with subgraphs, such as loops and conditions; expected one graph",
    training: "it has operators with subgraphs",
    external_array: "is in another file (../../etc/passwd); expected all numbers inside it",
    external_array_nowhere: "is in another file (not named)",
    external_constant: "its array hidden is in another file (../../etc/passwd)",
    external_array_in_a_subgraph: "its array hidden is in another file (../../etc/passwd)",
    external_array_in_a_function: "; expected ",
    sparse_array: "it has a sparsetensor",
    nan: "its array block0/w1 has NaN or infinity; expected finite numbers",
    infinity: "its array block0/w1 has NaN or infinity",
    nan_attribute: "its attribute alpha has NaN or infinity",
    fewer_numbers: "its array stem/w cannot be read",
    a_million_million_numbers: "its array stem/w cannot be read",
    texts: "its array text cannot be read",
}


@pytest.mark.parametrize(
    ("change", "text"), REFUSED.items(), ids=lambda each: getattr(each, "__name__", "")
)
def test_a_changed_net_is_refused(
    tmp_path: Path, whole: bytes, change: Callable[[Any], None], text: str
) -> None:
    model = onnx.load_from_string(whole)
    change(model)
    assert text in refusal_of(model, tmp_path / "net.onnx")


def test_an_output_of_unknown_sizes_is_accepted(tmp_path: Path, whole: bytes) -> None:
    model = onnx.load_from_string(whole)
    model.graph.output[0].type.tensor_type.shape.dim[1].Clear()
    model.graph.output[1].type.tensor_type.shape.dim[1].dim_param = "one"
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    contract.read(path, GAME)


def test_unknown_fields_do_not_reach_a_runtime(tmp_path: Path, whole: bytes) -> None:
    secret = b"\xd2\x3f\x06secret"  # field 1018, which ONNX does not have
    path = tmp_path / "net.onnx"
    path.write_bytes(whole + secret)
    assert b"secret" not in contract.read(path, GAME).data


def test_parameters_listed_among_the_inputs_are_accepted(tmp_path: Path, whole: bytes) -> None:
    """Older exporters list them."""
    model = onnx.load_from_string(whole)
    shape = SMALL.shapes(GAME)["stem/w"]
    model.graph.input.append(helper.make_tensor_value_info("stem/w", TensorProto.FLOAT, shape))
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    contract.read(path, GAME)
