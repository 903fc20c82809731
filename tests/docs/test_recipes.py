"""docs/architecture.md, "Where do I add": to write what it names is enough for the checks to pass.

A copy of the repository gets a game, a player, a message and a benchmark, in the files that the
table names. Then the tests of the repository find and check them in the copy.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.documents import program

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "tests" / "data" / "recipes"
#: What a copy does without: history, environments and what commands have written. It has the
#: compiled modules, but none that another process is writing.
LEFT_OUT = shutil.ignore_patterns(".*", "*.pyc.*", "node_modules", "screenshots", "*.egg-info")

GAME_ROW = "| `four_in_a_square` | none | 18 | 16 cells | 16 | The cell, row by row. |"
MESSAGE = '''class Nod(Request, frozen=True, kw_only=True):
    """Ask for a `pong`, and say why."""

    sent_by: ClassVar = SESSIONS

    why: Text = ""


'''
HANDLER = '''    @handles(Nod)
    def nod(self, request: Nod, origin: RequestContext) -> None:
        """Answer a nod with a pong."""
        self._context.send((origin.connection.number,), Pong(re=request.id))

'''
MESSAGE_SECTION = """### nod

Asks the server for a `pong`, and says why.

| Field | Type | Default | Meaning |
| --- | --- | --- | --- |
| `why` | string of at most 500 characters | `""` | The reason. |

```json
{"type": "nod", "id": 6, "why": "to agree"}
```

"""
MESSAGE_ROW = "| `nod` | no | yes | yes |"
BENCHMARK = "* `additions`: additions of whole numbers per second.\n"

#: The tests that check each, and a part of the names of those that have to pass.
CHECKS = {
    "game": (
        "tests/unit/games/test_every_game.py",
        "tests/unit/games/test_symmetries.py",
        "tests/search/test_encoding.py",
    ),
    "player": ("tests/unit/players/test_player_command_options.py",),
    "message": (
        "tests/unit/protocol/test_codec.py",
        "tests/unit/core/test_hub.py",
        "tests/unit/core/test_sessions_dispatch.py",
        "tests/soak/test_fuzz.py",
        "tests/docs/test_protocol_document.py",
    ),
    "benchmark": ("tests/docs/test_performance_document.py",),
}
NAMES = {
    "game": ("four_in_a_square", "test_the_table_of_games"),
    "player": ("by_number",),
    "message": (
        "Nod",
        "nod",
        "test_every_message_has_an_example",
        "test_every_request_has_a_handler",
        "test_messages_of_every_type",
        "test_each_message_has_its_section",
        "test_table_of_allowed_messages",
    ),
    "benchmark": ("test_each_benchmark_is_listed",),
}


class Repository:
    """A copy of the working tree, without history and caches.

    It uses the compiled functions of the working tree, since the sources are the same.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(ROOT, root, symlinks=True, ignore=LEFT_OUT)

    def add(self, path: str, source: str) -> None:
        """Add a file from the folder of sources."""
        shutil.copyfile(SOURCES / source, self.root / path / source)

    def insert(self, path: str, text: str, before: str) -> None:
        """Insert a text into a file, before another one that is there once."""
        file = self.root / path
        old = file.read_text(encoding="utf-8")
        assert old.count(before) == 1, f"{path} has {before!r} {old.count(before)} times"
        file.write_text(old.replace(before, text + before), encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the copy, and return what it printed."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
        env["PYTHONPATH"] = os.pathsep.join(str(self.root / each) for each in ("src", "scripts"))
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def changed(self) -> set[str]:
        """Return the files that differ from those of the working tree."""
        files = (path for path in self.root.rglob("*") if path.is_file() and path.suffix != ".pyc")
        names = {str(path.relative_to(self.root)) for path in files}
        return {
            name
            for name in names
            if not (ROOT / name).exists() or not filecmp.cmp(ROOT / name, self.root / name)
        }


def rows() -> dict[str, set[str]]:
    """Return the files and folders that the table names for each kind of addition."""
    document = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    found = {}
    for row in re.findall(
        r"^\| (.*) \|$", document.partition("## Where do I add")[2], re.MULTILINE
    ):
        kind, write, _, update = (cell.strip() for cell in row.split("|"))
        links = (f"docs/{name}" for name in re.findall(r"\]\(([\w-]+\.md)\)", write + update))
        found[kind] = {*re.findall(r"`([\w/-]+/[\w.-]*)`", write + update), *links}
    return found


def lines_added(repository: Repository, path: str) -> list[str]:
    """Return the lines that a file of the copy has in addition."""
    old = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [
        line
        for line in (repository.root / path).read_text(encoding="utf-8").splitlines()
        if line not in old
    ]


@pytest.mark.long
def test_an_addition_needs_only_the_steps_of_the_table(tmp_path: Path) -> None:
    repository, named = Repository(tmp_path / "copy"), rows()
    changed: dict[str, set[str]] = {}

    source = program("docs/writing-a-game.md", '"""Four in a square')
    (repository.root / "games" / "four_in_a_square.py").write_text(source, encoding="utf-8")
    repository.insert("docs/protocol-games.md", f"{GAME_ROW}\n", "| `tic_tac_toe` | ")
    changed["game"] = repository.changed()
    assert changed["game"] == {"games/four_in_a_square.py", "docs/protocol-games.md"}
    assert lines_added(repository, "docs/protocol-games.md") == [GAME_ROW]

    repository.add("players", "by_number.py")
    changed["player"] = repository.changed() - changed["game"]

    before = repository.changed()
    (handlers,) = (
        path.relative_to(ROOT)
        for folder in named["message"]
        if (ROOT / folder).is_dir()
        for path in (ROOT / folder).glob("*.py")
        if "@handles(Ping)" in path.read_text(encoding="utf-8")
    )
    repository.insert("protocol/messages.py", MESSAGE, "class Ping(Request")
    imports = "from playout.protocol.messages import "
    repository.insert(str(handlers), f"{imports}Nod\n", imports)
    repository.insert(str(handlers), HANDLER, "    @handles(Ping)\n")
    repository.insert("docs/protocol-messages.md", MESSAGE_SECTION, "### ping\n")
    repository.insert("docs/protocol.md", f"{MESSAGE_ROW}\n", "| `ping` | yes ")
    changed["message"] = repository.changed() - before

    before = repository.changed()
    repository.add("scripts/benchmarks", "additions.py")
    repository.insert("docs/performance.md", BENCHMARK, "* `workers`: ")
    changed["benchmark"] = repository.changed() - before

    for kind, files in changed.items():
        print(f"{kind}: {', '.join(sorted(files))}")
        for file in files:
            assert any(file == each or file.startswith(each) for each in named[kind]), file

    wanted = [name for names in NAMES.values() for name in names]
    checks = [file for files in CHECKS.values() for file in files]
    checked = repository.run(
        *("-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", " or ".join(wanted), *checks)
    )
    assert checked.returncode == 0, checked.stdout
    passed = "\n".join(re.findall(r"^(tests/.*) PASSED", checked.stdout, re.MULTILINE))
    assert [name for name in wanted if name not in passed] == []
    assert [file for file in checks if file not in passed] == []

    start = "from playout.commands import entry_points; entry_points"
    options = repository.run("-c", f"{start}.player()", "--options", "by_number").stdout
    assert "highest=false  true or false  whether to play the highest number" in options
    benchmarks = repository.run("-c", f"{start}.run('benchmarks.__main__')").stdout
    assert "additions  Additions of integers per second: a benchmark that ends at" in benchmarks
