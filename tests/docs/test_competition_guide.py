"""docs/competitions.md and its guide: the commands are run in their order, with the files."""

from __future__ import annotations

import csv
import re
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest

from playout.bots.archive import MOST_FILES, SUFFIXES
from playout.bots.builder import LONGEST_S, UNPACKED
from playout.competition.submissions import STAGES, read_uses
from playout.server.storage import Database
from playout.server.tournament.competition_file import BOT_PROTOCOLS, Competition
from support.commands import run
from support.competitions import Cup, require_sandbox
from support.documents import ROOT, program
from testbed.handed_in import bot, packed

GUIDE = "\n".join(
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("competitions.md", "first-class.md")
)
#: The commands with a prompt, and those of blocks without output.
COMMANDS = re.findall(r"^(?:\$ )?(playout-(?:competition|submit) [^`\n]*)$", GUIDE, re.MULTILINE)


def block(language: str, number: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)[number]


def test_the_tables_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| `\[*([a-z_]+)\]*` \|([^|]*)\|", GUIDE, re.MULTILINE)
    stages = [name for name, _ in rows if name in STAGES]
    assert stages == list(STAGES)
    for stage, most in LONGEST_S.items():
        assert re.search(rf"^\| `{stage}` \|.*\| {most:g} s \|$", GUIDE, re.MULTILINE)
    keys = {name for name, _ in rows} - set(STAGES)
    known = {each.name for each in fields(Competition)} - {"name", "folder"} | {"game"}
    assert keys == known
    shown = dict(rows)
    for each in fields(Competition):
        if isinstance(each.default, bool | int | float):
            assert shown[each.name].strip(" `") == str(each.default).removesuffix(".0").lower()
    assert f"{MOST_FILES:,} files" in GUIDE
    assert UNPACKED == 8
    assert f"# {', '.join(BOT_PROTOCOLS[:-1])} or {BOT_PROTOCOLS[-1]}" in GUIDE
    assert all(f"`{each}`" in GUIDE for each in SUFFIXES)


@pytest.mark.long
def test_the_guide_from_nothing_to_the_grades(tmp_path: Path) -> None:
    require_sandbox()

    def do(beginning: str, *more: str) -> str:
        command = next(each for each in COMMANDS if each.startswith(beginning)).split()
        code, output = run(*command, *more, cwd=tmp_path)
        assert code == 0, output
        return output

    do("playout-competition new")
    cup = Cup(tmp_path, name="autumn")
    text = cup.file.read_text().replace("# roster", "roster")
    for slow, fast in (
        ("uct(simulations=200)", "random"),
        ("rounds = 2 ", "rounds = 1 "),
    ):
        assert slow in text
        text = text.replace(slow, fast)
    cup.file.write_text(text)
    (tmp_path / "class.csv").write_text(program("docs/first-class.md", language="csv"))
    (tmp_path / "my_bot.py").write_text(block("python"))
    assert "3 accounts on the roster" in do("playout-competition check")
    made = do("playout-competition accounts", "--database", cup.database).splitlines()
    cup.tokens = {each["account"]: each["token"] for each in csv.DictReader(made)}
    assert list(cup.tokens) == ["Ada", "Bob", "Cyd"]
    with closing(Database(cup.database)) as database:
        without_token = {each.name for each in database.accounts()[0] if not each.digest}
    assert without_token == {"Reds", "House random", "House search", "Staff test"}
    (tmp_path / "ada.token").write_text(cup.tokens["Ada"])
    (tmp_path / "ada.token").chmod(0o600)
    cup.account("Eve")
    with cup.running():
        site = ("--site", f"http://127.0.0.1:{cup.port}")
        output = do("playout-submit", *site)
        for each in ("== build", "== matches", "Accepted as version"):
            assert each in output
        status, error = cup.ask("PUT", "submissions/bot.py", "Eve", "x")
        assert (status, error) == (403, "Eve is not on the roster of this competition\n")
        done = cup.ended("Cyd", cup.hand_in("Cyd", bot()))
        assert done["state"] == "accepted", done
        assert cup.ask("GET", "submissions", "Bob")[1][0]["team"] == "Reds"
        assert "2 accepted" in do("playout-competition status")
        assert "The final is" in do("playout-competition close")
        status, error = cup.ask("PUT", "submissions/bot.tar.gz", "Bob", packed(bot()))
        assert (status, error) == (403, "autumn is closed: nothing more is accepted\n")
        assert cup.ask("GET", "final")[0] == 404
        assert cup.ask("GET", "staff/grades.csv", "Bob")[0] == 403
    do("playout-competition export", "--database", cup.database)
    assert {each["team"] for each in grades(tmp_path)} == {"Reds", "Cyd"}  # by the ladder
    do("playout-competition final")
    assert (tmp_path / "autumn" / "final.html").stat().st_size > 1000
    assert "Reds" in (tmp_path / "autumn" / "final.csv").read_text()
    do("playout-competition export", "--database", cup.database)
    by_final = {each["team"]: each for each in grades(tmp_path)}
    reds = by_final["Reds"]
    assert all(0 < float(each["cpu_s"]) < 60 for each in by_final.values())
    assert int(by_final["Cyd"]["memory_mb"]) < 60 < int(reds["memory_mb"])
    uses = read_uses(tmp_path / "autumn" / "final.jsonl")
    assert len(uses) == sum(int(each["matches"]) for each in by_final.values())
    assert {each.seat for each in uses} == {1, 2}
    assert (reds["accounts"], reds["names"]) == ("Ada; Bob", "Ada Lovelace; Robert Boole")
    assert {each["matches"] for each in by_final.values()} == {"6"}
    assert list(grades(tmp_path)[0]) == block("csv").splitlines()[0].split(",")


def grades(folder: Path) -> list[dict[str, str]]:
    with (folder / "grades.csv").open(newline="") as file:
        return list(csv.DictReader(file))
