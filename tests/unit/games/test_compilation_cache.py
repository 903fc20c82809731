"""playout.games.core.compilation_cache: what is compiled again after which change."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FunctionType

import numba
import pytest

import playout
from playout import games
from playout.commands.subprocesses import own_environment
from playout.games.core import compilation_cache, spec
from playout.games.core.compilation_cache import folder_of

#: A package with a game that imports a helper by one of the possible spellings.
FILES = {
    "__init__.py": "",
    "game.py": "{spelling}\n",
    "lines.py": "from playout.games.core import random\n",
    "other.py": "",
}

SPELLINGS = [
    "from package_of_a_game.lines import random",
    "from package_of_a_game import lines",
    "from package_of_a_game import (\n    other,\n    lines,\n)",
    "import package_of_a_game.lines as lines",
    "from . import lines",
    "from .lines import random",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the package, whose modules are forgotten in the end."""
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "package_of_a_game"
    package.mkdir()
    yield package
    for name in [each for each in sys.modules if each.startswith(package.name)]:
        del sys.modules[name]
    forget()


def forget() -> None:
    """Forget what was read from files, as another process would not know it."""
    compilation_cache._digest.cache_clear()
    compilation_cache._imports.cache_clear()


def folder_after(package: Path, **files: str) -> Path:
    """Return the cache of the game after its files have changed."""
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    forget()
    return folder_of("package_of_a_game.game")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_only_a_change_of_what_a_file_imports_compiles_it_again(
    folder: Path, spelling: str
) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text.format(spelling=spelling))
    importlib.import_module("package_of_a_game.game")
    before = folder_after(folder)
    assert folder_after(folder, a_new_game="") == before
    changed = folder_after(folder, lines="from playout.games.core import random  # changed")
    assert changed != before
    assert folder_after(folder, game=f"{spelling}  # changed") not in (before, changed)


def test_the_rules_of_a_game_do_not_depend_on_other_games() -> None:
    for name in ("ultimate_tic_tac_toe", "othello", "connect_four"):
        games.load(name)
    assert "playout.games.tic_tac_toe" in compilation_cache._closure(
        "playout.games.ultimate_tic_tac_toe"
    )
    assert "playout.games.core.random" in compilation_cache._closure("playout.games.othello")
    assert "playout.games.connect_four" not in compilation_cache._closure("playout.games.othello")


#: Loads a game, and prints what is announced, whether SciPy is imported, and the file of its rules.
LOAD = """
import contextlib, sys
from playout import games

@contextlib.contextmanager
def announced(text):
    print(text)
    yield

games.announce_compilation(announced)
games.load("nim")
print("scipy.linalg" in sys.modules)
print(sys.modules["playout.games.nim"].__file__)
"""


def test_another_copy_of_the_same_sources_finds_what_the_first_has_compiled(
    tmp_path: Path,
) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    announced: list[set[str]] = []
    for copy in ("first", "second"):
        package = tmp_path / copy / "playout"
        package.mkdir(parents=True)
        shutil.copy(Path(playout.__file__), package)
        shutil.copytree(Path(games.__file__).parent, package / "games")
        done = subprocess.run(
            [sys.executable, "-P", "-c", LOAD],
            env=environment | {"PYTHONPATH": str(package.parent)},
            capture_output=True,
            text=True,
            check=True,
        )
        *texts, imported, path = done.stdout.splitlines()
        assert imported == "False"
        assert Path(path) == package / "games" / "nim.py"
        announced.append({text.split()[1] for text in texts})
    assert announced == [{"playout.games.core.random", "playout.games.nim"}, set()]


def test_each_of_several_threads_has_the_folder_of_its_function() -> None:
    def folders(function: FunctionType) -> set[str]:
        found = set()
        for _ in range(1000):
            with compilation_cache.cached(function):
                os.sched_yield()  # other threads run
                found.add(numba.config.CACHE_DIR)
        return found

    functions = [folder_of, games.describe.__wrapped__, spec.parse]
    with ThreadPoolExecutor(len(functions)) as threads:
        for function, found in zip(functions, threads.map(folders, functions), strict=True):
            assert found == {str(folder_of(function.__module__))}


def test_folders_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    """The home folder, and the folder of the sources, as for a user without a home."""
    (tmp_path / "own").mkdir()
    program = (
        "import sys; from playout.commands import entry_points; "
        "from playout.games.core import compilation_cache as cache; "
        "cache._LOCATORS = cache._LOCATORS.partition(',')[0]; "
        "sys.argv[0] = 'playout-player'; entry_points.player()"
    )
    words = [sys.executable, "-c", program, "connect_four", "uct", "--check"]
    environment = own_environment() | {"HOME": "/proc", "XDG_CACHE_HOME": ""}
    failed = subprocess.run(
        words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1, failed.stdout
    assert "Traceback" not in failed.stderr
    last = failed.stderr.splitlines()[-1]
    assert last.startswith("playout-player: compiled functions cannot be kept in /proc/.cache/")
    assert "XDG_CACHE_HOME" in last
