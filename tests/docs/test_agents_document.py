"""docs/agents.md: its benchmark is run, with fewer pairs; its keys are those of the code."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from playout.agents.benchmark_file import (
    ANCHORS,
    KEYS,
    MODEL_KEYS,
    PROMPT_KEYS,
    Benchmark,
    ModelConfig,
    read,
)
from playout.agents.models import MOST_BYTES
from support.commands import run
from support.forked import BIN

TEXT = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
TOML = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
#: What differs from run to run: numbers and the width of columns.
_VARYING = re.compile(r"[+-]?\d+(\.\d+)?|\s+")


def told(text: str) -> str:
    return _VARYING.sub(lambda found: " " if found[0].isspace() else "N", text).strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with the files of the document."""
    programs = re.findall(r"`(\w+\.py)`[^`]*```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(programs) == 2
    for name, text in programs:
        (tmp_path / name).write_text(text)
    few = (
        TOML[0]
        .replace("pairs = 20", "pairs = 4\ncalibration = 1\nsolved = 10")
        .replace("y = 2", "y = 1")
    )
    assert few != TOML[0]
    (tmp_path / "benchmark.toml").write_text(few)
    return tmp_path


def test_the_benchmark_of_the_document(folder: Path) -> None:
    (block,) = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
    line, *expected = block.rstrip().split("\n")
    program, *words = shlex.split(line.removeprefix("$ "))
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])  # as in an activated environment
    code, output = run(program, *words, cwd=folder, env=os.environ | {"PATH": path})
    assert code == 0, output
    # The order of players with equal strength, and the opponent nearest to one, may differ.
    shown = {re.sub("Medium|Easy|random", "player", told(each)) for each in output.splitlines()}
    for each in expected[: expected.index("Forfeits")]:
        assert re.sub("Medium|Easy|random", "player", told(each)) in shown, output


def test_the_keys_and_their_defaults_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|(.*?)\| .* \|$", TEXT, re.MULTILINE)
    defaults = {key: text.strip() for keys, text in rows for key in re.findall(r"\w+", keys)}
    assert defaults.keys() == {
        *KEYS,
        *MODEL_KEYS,
        *(each.name for each in (*fields(ModelConfig), *fields(Benchmark))),
    }
    for default, keys in ((Benchmark("", (), ()), KEYS), (ModelConfig(""), MODEL_KEYS)):
        for key in keys:
            value = getattr(default, key)
            if isinstance(value, int | float) and value:
                assert defaults[key] == f"`{value:g}`"
            elif isinstance(value, str) and value:
                assert f"`{value}`" in defaults[key]
    assert defaults["opponents"] == f"`{list(ANCHORS)}`".replace("'", '"')
    (forms,) = (each for each in TOML if "[[prompts]]" in each)
    assert {*re.findall(r"^(\w+) =", forms, re.MULTILINE)} == {*PROMPT_KEYS}
    assert f"{MOST_BYTES // 1024} KiB" in TEXT


def test_the_tables_of_the_document_are_a_file(folder: Path) -> None:
    (model,) = (each for each in TOML if "endpoint" in each)
    (forms,) = (each for each in TOML if "[[prompts]]" in each)
    path = folder / "whole.toml"
    path.write_text("\n".join([TOML[0], model, forms]))
    found = read(path)
    assert [each.name for each in found.models] == ["guessing", "searching", "small"]
    assert [str(each) for each in found.prompts] == ["text", "json, legal moves not listed"]
