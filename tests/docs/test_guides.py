"""The guides for the first hour: their length, their commands, and what these print."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from playout.bridges.bridge_command import main as bridge
from playout.competition.competition_command import main as competition
from playout.competition.submit_command import main as submit
from playout.players.client.player_command import COMMANDS
from playout.players.client.player_command import main as player
from playout.players.training.training_command import main as training
from playout.server.organizer.tournament_command import main as tournament
from playout.server.server_command import main as server
from support.commands import invoke, run
from support.documents import ROOT, program

GUIDES = (
    *("first-bot", "first-class", "first-engine", "first-game"),
    *("first-tournament", "first-server", "first-net"),
)
#: Most words of a guide, and of everything that a student reads before the first verdict.
MOST_WORDS, MOST_BEFORE = 900, 1500
PROGRAMS = {
    "playout-bridge": bridge,
    "playout-competition": competition,
    "playout-player": player,
    "playout-server": server,
    "playout-submit": submit,
    "playout-tournament": tournament,
    "playout-train": training,
}


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def commands(guide: str) -> Iterator[list[str]]:
    """Yield the words of each command in the sh blocks of a guide."""
    for block in re.findall(r"^```sh\n(.*?)^```", text_of(f"docs/{guide}.md"), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            yield shlex.split(line, comments=True)


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_is_short(guide: str) -> None:
    assert len(text_of(f"docs/{guide}.md").split()) <= MOST_WORDS


@pytest.mark.parametrize("guide", GUIDES)
def test_a_role_succeeds_soon(guide: str) -> None:
    """The README up to the end of the installation, and the whole guide."""
    installed = text_of("README.md").partition("## Play")[0]
    assert len(installed.split()) + len(text_of(f"docs/{guide}.md").split()) <= MOST_BEFORE


def test_a_student_knows_soon_which_version_is_stronger() -> None:
    """The README up to the end of the installation, and the guide up to the verdict."""
    installed = text_of("README.md").partition("## Play")[0]
    verdict = text_of("docs/first-bot.md").partition("the new version is stronger")[0]
    assert len(installed.split()) + len(verdict.split()) <= MOST_BEFORE


@pytest.mark.parametrize("guide", GUIDES)
def test_the_options_of_a_guide_exist(guide: str) -> None:
    for words in commands(guide):
        command: click.Command | None = PROGRAMS.get(words[0])
        if command is None:
            continue
        rest = words[1:]
        if words[0] == "playout-player" and rest[0] in COMMANDS:
            command = COMMANDS[rest.pop(0)]
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            command = command.get_command(click.Context(command), rest.pop(0))
        assert command, words
        known = {word for each in command.get_params(click.Context(command)) for word in each.opts}
        assert {word for word in rest if word.startswith("--")} <= known, words


@pytest.mark.parametrize("guide", ["first-bot", "first-game"])
def test_the_commands_of_a_guide_succeed(guide: str, tmp_path: Path) -> None:
    folder = tmp_path
    for words in commands(guide):
        match words:
            case ["cd", name]:
                folder /= name
            case ["cp", old, new]:
                shutil.copy(folder / old, folder / new)
                better = program("docs/first-bot.md", '"""A bot that looks two moves ahead')
                (folder / old).write_text(better)
            case ["python", *rest]:
                subprocess.run([sys.executable, *rest], cwd=folder, check=True, timeout=60)
            case ["playout-server", *_]:
                continue  # it runs until it is stopped
            case _:
                code, output = run(*words, cwd=folder)
                assert code == 0, output
                assert "Traceback" not in output
                if "old_bot:MyBot" in words:
                    assert re.search(r"\+\d+ to \+\d+ +100.0%", output), output


def test_the_file_of_the_competition_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = next(each for each in commands("first-class") if each[0] == "playout-competition")
    code, output = invoke(*words)
    assert code == 0, output
    assert (tmp_path / "autumn.toml").is_file()
