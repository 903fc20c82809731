"""playout.games.core.compilation_cache: what is compiled again after which change."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playout import games
from playout.games.core import compilation_cache
from playout.games.core.compilation_cache import announce_compilation, folder_of

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


def test_each_module_that_is_compiled_is_announced_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text.format(spelling=SPELLINGS[0]))
    importlib.import_module("package_of_a_game.game")
    earlier: list[str] = []
    announced: list[str] = []
    announce_compilation(earlier.append)
    announce_compilation(announced.append)
    monkeypatch.setattr(compilation_cache, "_announced", set())
    monkeypatch.setattr(compilation_cache, "_caches", lambda: tmp_path / "caches")
    folder_of("package_of_a_game.game").mkdir(parents=True)
    for _ in range(2):
        folder_of("package_of_a_game.game")
        folder_of("package_of_a_game.lines")
    assert earlier == []
    assert [text.split()[1] for text in announced] == [
        "package_of_a_game.game",
        "package_of_a_game.lines",
    ]
