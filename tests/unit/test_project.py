"""Checks over the whole project: imports, names of classes and test files, docstrings, clocks."""

from __future__ import annotations

import ast
import functools
import graphlib
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
#: The folders of the package: the links in `src/playout`.
PACKAGES = sorted(each.name for each in (ROOT / "src" / "playout").iterdir() if each.is_symlink())

#: The definition of a class; text is searched in a tenth of the time in which it is parsed.
CLASS = re.compile(r"^ *class (?P<name>\w+)[(:]", re.MULTILINE)
#: Public classes that are defined in two files, each with the reason.
DEFINED_TWICE: dict[str, str] = {}

FEWEST_WORDS = 5

#: Test files of units that are not named after one module, and what they are about.
ABOUT_SEVERAL = {
    "test_boards": "the drawings of all games",
    "test_decisive": "the kernel `decisive` of the games that have it",
    "test_every_game": "what every game fulfils",
    "test_known_counts": "published numbers of positions and matches",
    "test_offer_sequences": "offers and takebacks in random sequences, with storage and restarts",
    "test_project": "the whole project",
    "test_scripts": "the JavaScript of the pages",
    "test_style": "the style sheet of the pages",
}


@functools.cache
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("playout", cache_dir=None)


def python_files(*folders: str) -> Iterator[Path]:
    """The Python files of the project below some folders."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "node_modules" not in path.parts:
                yield path


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_public(name: str) -> bool:
    return not name.startswith("_")


# Imports.


def with_packages(module: str) -> Iterator[str]:
    """A module and the packages around it."""
    parts = module.split(".")
    return (".".join(parts[:number]) for number in range(1, len(parts) + 1))


def circles(depth: int | None) -> list[str]:
    """A circle of imports, if there is one, of modules whose names are cut after some parts."""
    graph, found = imports(), defaultdict[str, set[str]](set)
    for module in graph.modules:
        around = set(with_packages(module))
        for name in graph.find_modules_directly_imported_by(module):
            # Packages around a module are imported before it.
            for imported in set(with_packages(name)) - around:
                pair = [".".join(each.split(".")[:depth]) for each in (module, imported)]
                if pair[0] != pair[1]:
                    found[pair[0]].add(pair[1])
    try:
        graphlib.TopologicalSorter(found).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(depth=None) == []


def test_no_folders_import_each_other_in_a_circle() -> None:
    assert circles(depth=2) == []
    assert circles(depth=3) == []


#: New files, each of which breaks a contract: its folder, and what it imports.
BREAKS_A_CONTRACT = {
    "server/core": "twisted.internet.defer",
    "server": "playout.players.core",
    "players": "playout.server.model",
    "players/client": "playout.server.net",
    "protocol": "playout.commands",
}


def test_new_files_with_forbidden_imports_break_the_contracts(tmp_path: Path) -> None:
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "static", "templates")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    shutil.copytree(ROOT / "src", tmp_path / "src", symlinks=True)
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    for folder, imported in BREAKS_A_CONTRACT.items():
        (tmp_path / folder / "brand_new.py").write_text(f"import {imported}\n")
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    for folder, imported in BREAKS_A_CONTRACT.items():
        importer = f"playout.{folder.replace('/', '.')}.brand_new"
        # Of another project, only the name of its package is reported.
        assert f"{importer} -> {imported.removesuffix('.internet.defer')}" in done.stdout


def test_the_server_has_no_module_outside_its_folders_but_its_entry_points() -> None:
    modules = {path.name for path in (ROOT / "server").glob("*.py")}
    assert modules == {"__init__.py", "app.py", "server_command.py"}


# Names.


def test_a_public_class_name_is_defined_once() -> None:
    defined = defaultdict[str, set[str]](set)
    for path in python_files(*PACKAGES, "scripts", "tests"):
        for found in CLASS.finditer(path.read_text(encoding="utf-8")):
            if is_public(found["name"]):
                defined[found["name"]].add(str(path.relative_to(ROOT)))
    twice = {name: places for name, places in defined.items() if len(places) > 1}
    assert {name: twice[name] for name in twice.keys() - DEFINED_TWICE.keys()} == {}
    assert DEFINED_TWICE.keys() <= twice.keys()


def test_a_test_file_of_units_begins_with_the_name_of_the_module_it_tests() -> None:
    """A module with several subjects may have a file for each: `test_reactor_loop_time.py`."""
    modules = {path.stem for path in python_files(*PACKAGES, "scripts")}
    modules |= {path.parent.name for path in python_files(*PACKAGES, "scripts")}

    def tests_a_module(name: str) -> bool:
        words = name.split("_")
        return any("_".join(words[:count]) in modules for count in range(1, len(words) + 1))

    stray = {
        path.stem
        for path in python_files("tests/unit")
        if path.stem.startswith("test_") and not tests_a_module(path.stem.removeprefix("test_"))
    }
    assert stray - ABOUT_SEVERAL.keys() == set()
    assert ABOUT_SEVERAL.keys() <= stray


# Docstrings.


def documented(path: Path) -> Iterator[tuple[str, str]]:
    """The public definitions of a file that have docstrings, and these."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

    def below(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield name, text
        if isinstance(node, ast.Module | ast.ClassDef):
            for child in node.body:
                if isinstance(child, kinds) and is_public(child.name):
                    yield from below(child, f"{name}:{child.name}")

    yield from below(parsed(path), path.relative_to(ROOT).as_posix())


def test_a_public_docstring_has_more_than_four_words() -> None:
    short = {
        name: text
        for path in python_files(*PACKAGES, "scripts")
        for name, text in documented(path)
        if len(text.split()) < FEWEST_WORDS
    }
    assert short == {}


# Decoders.


def test_a_named_type_is_decoded_by_a_decoder_made_at_import() -> None:
    """msgspec prepares a type at its first use: two threads at a time end the process by that."""
    used = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(keyword.value)}"
        for path in python_files(*PACKAGES)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("msgspec.json.decode", "msgspec.msgpack.decode")
        for keyword in node.keywords
        if keyword.arg == "type" and ast.unparse(keyword.value) != "kind"
    ]
    assert used == []


# Clocks.


#: What no test uses of the modules `time` and `asyncio`.
CLOCKS = {"sleep", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"}


def clocks_in(tree: ast.Module) -> list[str]:
    """Return the line and the name of each clock that a module imports or reads."""
    modules = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in ("time", "asyncio")
    }
    yields = {  # `sleep(0)` of asyncio lets other tasks run
        node.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        if [each.value for each in node.args if isinstance(each, ast.Constant)] == [0]
    }
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="time" | "asyncio" as module):
                names = [alias.name for alias in node.names if alias.name in CLOCKS]
                found += [f"{node.lineno}: {module}.{name}" for name in names]
            case ast.Attribute(value=ast.Name(id=name), attr=clock) if (
                name in modules and node not in yields
            ):
                found += [f"{node.lineno}: {modules[name]}.{clock}"] if clock in CLOCKS else []
    return found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import time\ntime.sleep(1)", ["2: time.sleep"]),
        ("import time as t\nt.monotonic()", ["2: time.monotonic"]),
        ("from time import perf_counter as now", ["1: time.perf_counter"]),
        ("import asyncio\nasyncio.sleep(0)\nasyncio.sleep(1)", ["3: asyncio.sleep"]),
        ("import time\ntime.time()\nreactor.sleep()", []),
    ],
)
def test_each_way_to_a_clock_is_found(text: str, found: list[str]) -> None:
    assert clocks_in(ast.parse(text)) == found


def test_tests_neither_sleep_nor_read_a_clock() -> None:
    """They wait for conditions with `wait_until`, whose time limit only ends what hangs.

    Those of `tests/soak` run for a time, and measure delays.
    """
    used = [
        f"{path.relative_to(ROOT)}:{clock}"
        for path in python_files("tests")
        if path != ROOT / "tests" / "support" / "waiting.py"
        if ROOT / "tests" / "soak" not in path.parents
        if any(clock in path.read_text(encoding="utf-8") for clock in CLOCKS)  # few are parsed
        for clock in clocks_in(parsed(path))
    ]
    assert used == []


def test_an_old_python_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    with pytest.raises(SystemExit, match=r"^Playout needs Python 3\.11 or newer"):
        runpy.run_path(str(ROOT / "setup.py"))
    configuration = (ROOT / "setup.cfg").read_text()
    assert "python_requires = >=3.11\n" in configuration
