"""The file `bot.toml`: the protocol of a bot, and how it is built and started.

A folder without it has one Python file with a class of Playout's `Player`.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import msgspec

import playout
from playout.commands import toml_table
from playout.commands.subprocesses import python_path, script_fault
from playout.commands.toml_table import TomlTable
from playout.games.core import plugins
from playout.games.core.compilation_cache import OTHER_CACHES, caches
from playout.protocol.tournament_spec import Entrant, SandboxSettings
from playout.server.tournament.competition_file import BOT_PROTOCOLS

FILE = "bot.toml"
_MOST_BYTES = 2**16
#: A program of the folder in a command of the shell.
_OWN_PROGRAM = re.compile(r"(?<![^\s;&|])\./[^\s;&|\"']+")


class BotFileError(ValueError):
    """The files do not say how the bot is started; the message has a line for each fault."""


class BotFile(msgspec.Struct, frozen=True):
    """How a bot is started: its command, or for the protocol "python" the file of its class.

    `build` is a command of the shell that runs once, before; empty for none.
    """

    protocol: str
    command: str
    build: str = ""

    def entrant(self, name: str, version: str, folder: Path, *, sandbox: bool = True) -> Entrant:
        """Return the bot in a folder as an entrant, which runs in a sandbox unless told not to."""
        command, protocol = self.command, self.protocol
        if protocol == "python":
            command, protocol = shlex.join([*_python(), self.command]), "lines"
        return Entrant(
            name, version, command=command, protocol=protocol, folder=str(folder), sandbox=sandbox
        )

    def sandbox(self, given: SandboxSettings) -> SandboxSettings:
        """Return the settings of its sandbox: a Python player also reads Python and Playout."""
        if self.protocol != "python":
            return given
        caches().mkdir(parents=True, exist_ok=True)
        folders = dict.fromkeys((*given.reads, *_playout_folders(), str(caches())))
        return replace(given, reads=tuple(folders))


def read(folder: Path) -> BotFile:
    """Return what the file in a folder says, or follows from its Python file.

    Raises BotFileError.
    """
    path = folder / FILE
    if path.is_file():
        return _described(path)
    programs = sorted(each.name for each in folder.glob("*.py") if each.is_file())
    if len(programs) == 1:
        return BotFile("python", programs[0])
    raise BotFileError(
        f"there must be a {FILE}, or exactly one Python file with a Player, not {len(programs)}"
    )


def _described(path: Path) -> BotFile:
    if path.stat().st_size > _MOST_BYTES:
        raise BotFileError(f"{FILE} must have at most {_MOST_BYTES} bytes")
    try:
        values, faults = toml_table.load(toml_table.text_of(path, FILE), FILE)
    except toml_table.TomlError as error:
        raise BotFileError(str(error)) from error
    table = TomlTable(values, (), f"a {FILE}", faults)
    found = BotFile(
        protocol=table.need("protocol", toml_table.one_of("protocol", BOT_PROTOCOLS), "lines"),
        command=table.need("command", toml_table.command, "false"),
        build=table.take("build", toml_table.visible(1000), ""),
    )
    table.close()
    if found.protocol == "python" and not (path.parent / found.command).is_file():
        table.fault("command: for protocol = 'python', it is the name of a Python file", "command")
    for key, command in (("command", found.command), ("build", found.build)):
        for program in _OWN_PROGRAM.findall(command):
            if fault := script_fault(path.parent / program):
                table.fault(f"{key}: {program} {fault}", key)
    if faults.found:
        raise BotFileError(faults.text())
    return found


def _python() -> list[str]:
    """Return the command that plays a class of a Python file.

    It copies the compiled rules from the cache of this user: the sandbox shows it, and lets nobody
    write to it. The module of a registered game must be in the folder of the bot, as the sandbox
    shows no other folder of its author.
    """
    variables = {
        **plugins.environment(),
        OTHER_CACHES: str(caches()),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": python_path(),
    }
    words = [f"{key}={value}" for key, value in variables.items()]
    return ["env", *words, sys.executable, "-P", "-m", "playout.bots.python_bot"]


def _playout_folders() -> tuple[str, ...]:
    """Return the folders from which a Python process here imports Playout and its libraries."""
    package = Path(playout.__file__).parent
    linked = (str(each.resolve()) for each in package.iterdir() if each.is_symlink())
    return tuple(dict.fromkeys((sys.prefix, sys.base_prefix, str(package.parent), *linked)))
