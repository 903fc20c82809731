"""docs/laboratory.md: its commands are run in their order, with its files."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

from playout.laboratory.lab_file import Conditions, QueueTerms
from playout.laboratory.trial import NOT_STRONGER, STRONGER, UNDECIDED
from support.commands import run
from support.lab_queues import QUICK, QueueServer
from support.repositories import LINES_TOML, BotRepository

GUIDE = (Path(__file__).parents[2] / "docs" / "laboratory.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
#: What differs from run to run: versions, numbers, and addresses.
_VARYING = re.compile(r"[0-9a-f]{7,}|[+-]?\d+(\.\d+)?(:\d\d)*|[#.]{20}")


def told(text: str) -> str:
    return _VARYING.sub("N", text)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_from_git_init_to_a_verdict(tmp_path: Path) -> None:
    made = BotRepository(tmp_path / "bot")
    made.write({"bot.py": PROGRAMS[0]})
    first, second, _ = re.findall(r"```console\n(.*?)```", GUIDE, re.DOTALL)
    for block in re.split(r"^\$ ", first + second, flags=re.MULTILINE)[1:]:
        line, *expected = block.rstrip("\n").split("\n")
        program, *words = shlex.split(line)
        if program == "git":
            made.git(*words)
            continue
        if words[0] == "test":
            made.write({"bot.py": PROGRAMS[1]})
            words += ["--http", "none", "--laboratories", str(tmp_path / "laboratories")]
        code, output = run(program, *words, cwd=made.top)
        assert code == 0, output
        shown = {told(each) for each in output.splitlines()}
        for each in expected:
            if not each.startswith("Watch it") and "at most" not in each and " Elo " not in each:
                assert told(each) in shown, output


@pytest.mark.long
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_test_is_handed_in_as_the_guide_does(tmp_path: Path) -> None:
    (server_file,) = re.findall(r"conditions:\n\n```toml\n(.*?)```", GUIDE, re.DOTALL)
    *_, block = re.findall(r"```console\n\$ (.*?)```", GUIDE, re.DOTALL)
    line, *expected = block.rstrip("\n").split("\n")
    queue = QueueServer(tmp_path)
    queue.file.write_text(f'{server_file}isolate = "never"\n{QUICK}')
    token = queue.account("Ada")
    made = BotRepository(tmp_path / "bot")
    made.commit({"bot.toml": LINES_TOML, "bot.py": PROGRAMS[0], "lab.toml": 'games = ["nim"]\n'})
    made.write({"bot.py": PROGRAMS[1]})
    program, *words = shlex.split(line)
    words[words.index("ada.token")] = str(token)
    with queue.running():
        summary = tmp_path / "summary.md"
        more = ("--site", queue.site, "--summary", str(summary))
        code, output = run(program, *words, *more, cwd=made.top)
        test = queue.told(1)
    assert code == 0, output
    assert (test["state"], test["author"], test["tried"]) == ("stronger", "Ada", 0)
    states = [each["state"] for each in test["history"]]
    assert states == ["waiting", "building", "running", "stronger"]
    assert test["verdict"] in summary.read_text()
    shown = {told(each) for each in output.splitlines()}
    assert {told(each) for each in expected if " cores" not in each and "Elo" not in each} <= shown


def test_the_keys_and_the_exit_codes_are_those_of_the_code() -> None:
    keys = set(re.findall(r"^\| `(\w+)` \| .*\| .* \|$", GUIDE, re.MULTILINE))
    limits = {each.name for each in fields(QueueTerms)}
    own = {each.name for each in fields(Conditions)} - {"sources", "queue"}
    assert keys == own | {"isolate"} | limits
    codes = re.findall(r"^\| (\d+) \| ", GUIDE, re.MULTILINE)
    assert codes == [*map(str, (STRONGER, NOT_STRONGER, UNDECIDED)), "2", "130"]
    default = Conditions(())
    assert f"| `host` | `{default.queue.host}` |" in GUIDE
    for key in limits - {"authors", "dask", "host"}:
        assert f"| `{key}` | `{getattr(default.queue, key):g}` |" in GUIDE
    for key in ("clock", "elo1", "alpha", "beta", "pairs", "confirm", "seed"):
        shown = re.search(rf"^\| `{key}` \| `(.*?)` \|", GUIDE, re.MULTILINE)
        assert shown, key
        value = getattr(default, key)
        assert shown[1] == (f"{value:g}" if isinstance(value, float) else str(value))
