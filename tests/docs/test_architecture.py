"""docs/architecture.md is true: its files, functions and layers exist."""

from __future__ import annotations

import ast
import re
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATHS = sorted(
    set(
        re.findall(
            r"`((?:server|players|games|protocol|commands|ratings|cluster|src|bridges|scripts|tests|docs|deploy)/[\w./]*)`",
            DOCUMENT,
        )
    )
)
#: A file, and a class, function or method in it.
STEPS = re.findall(r"`([\w/]+\.py)`:\s+`([\w.]+)`", DOCUMENT)


@cache
def definitions(file: str) -> set[str]:
    """The functions, classes and methods of a module, methods as `Class.method`."""
    found: set[str] = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
            found.update(f"{node.name}.{method.name}" for method in methods)
    return found


@pytest.mark.parametrize("path", PATHS)
def test_a_file_or_folder_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_a_step_of_a_journey_names_a_definition(file: str, name: str) -> None:
    assert name in definitions(file)


@pytest.mark.parametrize(
    ("package", "rows"),
    [
        ("playout", r"^\| (\d+) \| `(\w+)/`"),
        ("playout.server", r"^\| (\d+) \| `server/(\w+)(?:/|\.py)`"),
        ("playout.players", r"^\| (\d+) \| `players/(\w+)/`"),
    ],
)
def test_the_layers_are_those_of_the_import_contract(package: str, rows: str) -> None:
    described: dict[int, set[str]] = {}
    for number, name in re.findall(rows, DOCUMENT, re.MULTILINE):
        described.setdefault(int(number), set()).add(name)
    expected = {place: set(layer) for place, layer in enumerate(layers_of(package), start=1)}
    assert described == expected


def layers_of(package: str) -> list[list[str]]:
    """The layers of the folders of a package, the top one first, as import-linter checks them."""
    settings = ConfigParser()
    settings.read(ROOT / "setup.cfg")
    found: list[list[list[str]]] = []
    for contract in settings.values():
        layers = [layer.split(" | ") for layer in contract.get("layers", "").strip().splitlines()]
        if contract.get("containers") == package:
            found.append(layers)
        elif {name.rpartition(".")[0] for layer in layers for name in layer} == {package}:
            found.append([[name.rpartition(".")[2] for name in layer] for layer in layers])
    (only,) = found
    return only
