"""Options before subcommands, for every command of the project; options without an effect."""

from __future__ import annotations

import configparser
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from playout.commands import entry_points
from playout.commands.options import (
    ImportedCommand,
    OptionGroup,
    add_current_folder,
    registered,
)
from playout.games.core import plugins
from playout.server.organizer.tournament_command import main as tournament
from playout.server.server_command import main as server


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield each installed command with its name."""
    settings = configparser.ConfigParser()
    settings.read("setup.cfg")
    for line in settings["options.entry_points"]["console_scripts"].split("\n"):
        name, _, function = line.partition(" = playout.commands.entry_points:")
        if name:
            source = inspect.getsource(getattr(entry_points, function))
            module = source.partition('run("')[2].partition('"')[0]
            yield name, importlib.import_module(module).main


def descendants(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each subcommand below a group, with its path."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from descendants(command, *path, name)


GROUPS = {name: each for name, each in commands() if isinstance(each, click.Group)}


def test_every_group_handles_the_options_before_a_subcommand() -> None:
    assert len(GROUPS) >= 6
    for name, group in GROUPS.items():
        below = [each for _, each in descendants(group) if isinstance(each, click.Group)]
        assert all(isinstance(each, OptionGroup) for each in (group, *below)), name


@pytest.mark.parametrize("name", GROUPS)
def test_an_option_before_a_subcommand_is_one_of_it_or_refused(name: str) -> None:
    """For each option with a value for the group, and each subcommand."""
    group = GROUPS[name]
    options = [each for each in group.params if each.expose_value]
    for path, command in descendants(group):
        if isinstance(command, click.Group):
            continue
        known = {word for each in command.get_params(click.Context(command)) for word in each.opts}
        for option in options:
            assert isinstance(option, click.Option)
            if known & {*option.opts}:
                assert command.params  # its effect is tested below
                continue
            value = [] if option.is_flag else ["1"] * option.nargs
            refused = CliRunner().invoke(group, [option.opts[-1], *value, *path])
            assert refused.exit_code == 2, (path, option)
            text = "Invalid value" if "Invalid value" in refused.output else "has no effect on"
            assert text in refused.output, (path, option, refused.output)


def filled_in(option: click.Parameter) -> list[str]:
    """The words of an option with a value that its type allows."""
    assert isinstance(option, click.Option)
    if option.is_flag:
        return [option.opts[-1]]
    if option.opts[-1] == "--game":
        return ["--game", "own_game:Own"]
    kind = option.type
    if isinstance(kind, click.Choice):
        return [option.opts[-1], str(kind.choices[0])]
    if isinstance(kind, click.IntRange | click.FloatRange):
        return [option.opts[-1], str(int(kind.min or 0) + 1)]
    return [option.opts[-1], "empty.toml"]


@pytest.mark.parametrize("name", GROUPS)
def test_an_option_has_the_same_effect_before_and_after_a_subcommand(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each option of both: `--game` before `export` exported all games."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_game", raising=False)
    monkeypatch.setenv(plugins.VARIABLE, "{}")
    Path("empty.toml").write_text("")
    Path("own_game.py").write_text("from playout.games.nim import Nim\nclass Own(Nim): pass\n")
    group, called = GROUPS[name], list[dict[str, object]]()
    for path, listed in descendants(group):
        command = listed.imported() if isinstance(listed, ImportedCommand) else listed
        if isinstance(command, click.Group):
            continue
        needed = [each for each in command.params if each.required]
        words = ["empty.toml" for each in needed if isinstance(each, click.Argument)]
        shared = {word for each in command.params for word in each.opts}
        monkeypatch.setattr(command, "callback", lambda **given: called.append(given))
        for option in group.params:
            if shared.isdisjoint(option.opts) or option.name == "version":
                continue
            others = [each for each in needed if isinstance(each, click.Option)]
            more = [word for each in others if each.opts != option.opts for word in filled_in(each)]
            typed, results = filled_in(option), []
            for line in (
                [*typed, *path, *words, *more],
                [*path, *typed, *words, *more],
                [*path, *words, *more, *typed],
            ):
                called.clear()
                done = CliRunner().invoke(group, line)
                values = {key: str(value) for each in called for key, value in each.items()}
                if line[0] != typed[0] or "has another meaning there" not in done.output:
                    results.append((done.exit_code, values))
            assert results[0][0] == 0, (path, option.opts, done.output)
            assert all(each == results[0] for each in results), (path, option.opts, results)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of a database with the account Cyd."""
    url = f"sqlite:///{tmp_path / 'own.db'}"
    made = CliRunner().invoke(server, ["accounts", "create", "Cyd", "--database", url])
    assert made.exit_code == 0, made.output
    return url


@pytest.mark.parametrize("before", ["--database", "--config"])
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["accounts", "revoke", "Cyd", "--lock"], "Cyd is locked"),
        (["accounts", "list"], "1 accounts"),
        (["backup", "copy.db"], "copy.db: "),
    ],
)
def test_a_database_before_a_subcommand_is_used(
    before: str, words: list[str], shown: str, url: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("server.toml").write_text(f'database = "{url}"\nport = 4243\n')
    value = url if before == "--database" else "server.toml"
    done = CliRunner().invoke(server, [before, value, *words])
    assert done.exit_code == 0, done.output
    assert shown in done.output


def test_an_option_after_the_subcommand_overrides_the_one_before(url: str) -> None:
    words = ["--database", "sqlite:////none/x.db", "accounts", "list", "--database", url]
    assert "1 accounts" in CliRunner().invoke(server, words).output


@pytest.mark.parametrize("command", ["run", "match", "resume", "conclude"])
@pytest.mark.parametrize(
    ("option", "value"),
    [("--database", "x"), ("--host", "h"), ("--port", "1"), ("--http", "none"), ("--stay", "")],
)
def test_options_of_a_local_server_are_refused_with_a_running_one(
    command: str, option: str, value: str
) -> None:
    arguments = {"run": ["x.toml"], "match": ["nim", "uct", "rave"], "resume": ["x"]}
    words = [command, *arguments.get(command, ["x"]), "--server", "127.0.0.1:1", option]
    if command == "conclude" and option != "--database":
        return
    refused = CliRunner().invoke(tournament, [*words, value] if value else words)
    assert refused.exit_code == 2
    assert f"no local server and no database: leave out {option}" in refused.output


def test_the_name_of_an_account_is_refused_without_a_running_server() -> None:
    refused = CliRunner().invoke(tournament, ["run", "x.toml", "--name", "Ada"])
    assert "leave out --name" in refused.output


def test_a_file_that_another_module_hides_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is at the end of the path of imports, after the modules of Python."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("random", "own_bot_here"):
        Path(f"{name}.py").write_text("")
    add_current_folder("uct(simulations=5)", "own_bot_here:Bot(x=1)")
    for named in (
        lambda: add_current_folder("random:Bot"),
        lambda: registered("random:Game", tmp_path),
    ):
        with pytest.raises(click.UsageError, match=r"random.py cannot be imported: its name is "):
            named()
