"""playout.protocol.versions: which files decide how a bot plays."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from playout.commands.subprocesses import own_environment
from playout.protocol import versions

NOTHING = hashlib.sha256().hexdigest()


def test_the_installed_code_is_found_from_any_folder(tmp_path: Path) -> None:
    """The digest is that of the games and players, not of folders of these names."""
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "__init__.py").touch()
    code = "from playout.protocol import versions; print(versions.installed())"
    digests = {
        subprocess.run(
            [sys.executable, *options, "-c", code],
            cwd=folder,
            env=own_environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for folder, options in ((tmp_path, []), (tmp_path, ["-P"]), (Path.cwd(), ["-P"]))
    }
    assert len(digests) == 1
    assert NOTHING not in digests.pop()


#: A bot of each kind: its command, its files, those of them that decide how it plays.
BOTS = {
    "imports": (
        "python my_bot.py",
        {"my_bot.py": b"import a\nfrom pkg import b\nfrom pkg.c import d", "pkg/b.py": b"",
         "a.py": b"def f():\n    from e import g", "e.py": b"", "pkg/c.py": b"from . import b"},
        "my_bot.py a.py e.py pkg/b.py pkg/c.py",
    ),
    "data and names of modules": (
        "python my_bot.py",
        {"my_bot.py": b"load('net.npz'); importlib.import_module('late')", "net.npz": b"",
         "late.py": b"", "my_bot.log": b""},
        "my_bot.py net.npz late.py",
    ),
    "a player of Playout": (
        "playout-player any my_bot:MyBot", {"my_bot.py": b"import a", "a.py": b"", "b.py": b""},
        "my_bot.py a.py",
    ),
    "a package": (
        "python -m bots.mine",
        {"bots/__init__.py": b"", "bots/mine.py": b"from .help import x", "bots/help.py": b""},
        "bots/__init__.py bots/mine.py bots/help.py",
    ),
    "the folder of a script": (
        "python v1/bot.py", {"v1/bot.py": b"import a", "v1/a.py": b"", "v2/a.py": b""},
        "v1/bot.py v1/a.py",
    ),
    "JavaScript": (
        "node bot.js",
        {"bot.js": b"require('./a'); import x from './lib/b.mjs'", "a.js": b"",
         "lib/b.mjs": b"import './c.mjs'", "lib/c.mjs": b"", "other.js": b""},
        "bot.js a.js lib/b.mjs lib/c.mjs",
    ),
    "a script that starts a program": (
        "./run.sh", {"run.sh": b"#!/bin/sh\nexec python3 src/bot.py", "src/bot.py": b"import a",
                     "src/a.py": b""},
        "run.sh src/bot.py src/a.py",
    ),
    "a module of a file with a byte order mark": (
        "python bot.py", {"bot.py": b"\xef\xbb\xbfimport a", "a.py": b""}, "bot.py a.py",
    ),
    "a module of a file in Latin-1": (
        "python bot.py",
        {"bot.py": b"# coding: latin-1\nimport a  # \xe9", "a.py": b""}, "bot.py a.py",
    ),
    "a command line in a word": (
        "sh -c 'exec python v1/bot.py'", {"v1/bot.py": b"", "v2/bot.py": b""}, "v1/bot.py",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BOTS)
def test_the_version_of_a_command_changes_with_the_files_that_it_uses(kind: str) -> None:
    command, files, used = BOTS[kind]
    before = versions.of_command(command, files.get)
    for path, content in files.items():
        changed = {**files, path: content + b"\n#"}
        is_another = versions.of_command(command, changed.get) != before
        assert is_another == (path in used.split()), path


def test_all_files_in_the_folder_of_a_bot_count_but_its_output(tmp_path: Path) -> None:
    (tmp_path / "bot" / "__pycache__").mkdir(parents=True)
    files = versions.files_in(tmp_path)

    def version() -> str:
        return versions.of_command("./engine", files, "bot")

    seen = {version()}
    for count, name in enumerate(("engine", "weights.bin"), start=2):
        (tmp_path / "bot" / name).write_bytes(b"\0")
        seen.add(version())
        assert len(seen) == count
    for name in ("game.log", ".hidden", "__pycache__/x.pyc", "../other.py"):
        (tmp_path / "bot" / name).write_bytes(b"\0")
        assert version() in seen


def test_the_version_of_a_player_has_the_modules_and_the_files_of_its_options() -> None:
    bot = {"my_bot.py": b"import a", "a.py": b"1"}
    assert versions.of_player("my_bot:Bot", bot.get) != versions.of_player(
        "my_bot:Bot", {**bot, "a.py": b"2"}.get
    )
    for player, file in (("alphazero(net=n.onnx)", "n.onnx"), ("engine(name=x)", "engines.toml")):
        old, new = (versions.of_player(player, {file: each}.get) for each in (b"1", b"2"))
        assert old != new


def test_a_module_in_a_folder_of_pythonpath_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shared"))
    before = versions.of_player("my_bot:Bot", versions.files_in(tmp_path))
    (tmp_path / "shared" / "my_bot.py").write_text("class Bot: ...")
    assert versions.of_player("my_bot:Bot", versions.files_in(tmp_path)) != before


def test_other_installed_players_make_another_version_of_a_command_of_playout_only() -> None:
    of = versions.of_command
    assert of("playout-player any uct", {}.get, code="1") != of("playout-player any uct", {}.get)
    assert of("python my_bot.py", {}.get, code="1") == of("python my_bot.py", {}.get)
