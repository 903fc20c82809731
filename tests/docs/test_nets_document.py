"""docs/nets.md: its tables, programs and error messages are true."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from playout import games
from playout.players.nets import contract, encoding
from playout.players.nets.files import NetError
from playout.players.nets.net import load
from support.nets import write_small_net

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "nets.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
GAME = games.load("mnk(m=6,n=6,k=4)")


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading that starts so, without its first row."""
    below = TEXT[TEXT.index(heading) :]
    rows = re.search(r"(?:^\|.*\n)+", below, flags=re.MULTILINE)
    assert rows
    cells = [re.split(r" *\| *", row)[1:-1] for row in rows[0].splitlines()]
    return cells[2:]


def test_the_metadata_are_those_of_the_contract() -> None:
    keys = [row[0].strip("`") for row in table("The metadata of the model")]
    assert keys == [*contract.expected_metadata(GAME), *contract.FOR_PEOPLE]


def test_the_planes_are_those_of_the_encoding() -> None:
    planes = table("## The planes")
    numbers = range(encoding.PLANES + encoding.BLOCK_PLANES)
    assert [int(number) for number, _ in planes] == list(numbers)
    assert encoding.__doc__
    for _, description in planes:
        assert f"| {description} |" in encoding.__doc__


def test_the_programs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other; that with PyTorch, which is not installed, from the second import on."""
    monkeypatch.chdir(tmp_path)
    write_small_net(tmp_path / "exported.onnx", GAME)
    shutil.copy(ROOT / "tests" / "data" / "alphazero_gomoku" / "best_policy_8_8_5.model", tmp_path)
    names: dict[str, object] = {}
    for program in PROGRAMS:
        if "import torch" in program:
            compile(program, "nets.md", "exec")
            program = "import onnx\n" + program[program.index("model = ") :]
        exec(program, names)
    assert (tmp_path / "mine.onnx").is_file()
    assert load(tmp_path / "gomoku_8.onnx", games.load("mnk(m=8,n=8,k=5)")).metadata["author"]


def test_the_first_error_reads_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_small_net(Path("mine.onnx"), games.load("othello"))
    with pytest.raises(NetError) as caught:
        load("mine.onnx", GAME)
    assert f"    {caught.value}\n" in TEXT
