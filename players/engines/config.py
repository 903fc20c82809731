"""Reads `engines.toml`: the commands, protocols and options of the engines of this machine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import user_config_path

from playout import games
from playout.commands import toml_table
from playout.commands.subprocesses import script_fault
from playout.commands.toml_table import Faults, TomlTable
from playout.games import Game, SpecError
from playout.games.core import spec
from playout.protocol.tournament_spec import PROGRAM_PROTOCOLS
from playout.sandbox import machine, settings
from playout.sandbox.bubblewrap import SEARCH_PATH, Sandbox
from playout.sandbox.machine import SandboxError

FILE = "engines.toml"
#: Seconds that an engine may take to start by default.
START_S = 30.0
#: The least part of a move's time that is kept back by default, in seconds.
MOVE_MARGIN_S = 0.05
PROTOCOLS = (*PROGRAM_PROTOCOLS, "gnubg", "json", "xboard")
#: For each protocol, the least time in seconds to which an engine can be limited: some have whole
#: seconds.
SHORTEST_S = dict.fromkeys(PROTOCOLS, 0.0) | {"gtp": 1.0, "xboard": 1.0}

_NAME = re.compile(r"[A-Za-z0-9_-]{1,27}")
#: The value of an option of an engine.
Value = str | int | float | bool
Options = Mapping[str, Value]


@dataclass(frozen=True)
class EngineConfig:
    """A table of `engines.toml`.

    `command` has the words of a command, run in `folder`. `options` are sent when the engine has
    started, `short` before a move of less than `short_s` seconds. `margin_s` is the least part of
    a move's time that is kept back. `games` restricts the games; () is all. `variant` is the
    UCI_Variant. In GTP, `first_row` is the place of row 1, top or bottom, and `column_i` says
    whether there is a column I, yes or no; "" is what is usual at the game. `sandbox` is where it
    runs, None for none. `candidates` is the number of moves that an analysis compares, which the
    table does not set.
    """

    name: str
    command: tuple[str, ...]
    protocol: str
    folder: Path
    games: tuple[str, ...] = ()
    options: Options = field(default_factory=dict)
    short_s: float = 0.0
    short: Options = field(default_factory=dict)
    start_s: float = START_S
    margin_s: float = MOVE_MARGIN_S
    variant: str = ""
    first_row: str = ""
    column_i: bool | None = None
    sandbox: Sandbox | None = None
    candidates: int = 1

    @property
    def digest_words(self) -> tuple[str, ...]:
        """The settings in the table that affect the engine's play, as words."""
        options = (*sorted(self.options.items()), self.short_s, *sorted(self.short.items()))
        return (*self.command, self.protocol, self.variant, *map(str, options))

    def require_game(self, game: Game) -> None:
        """Raise SpecError unless `games` has the game, by its name and parameters.

        A game in `games` need not have all parameters.
        """
        name, options = spec.parse(str(game)).name, _options_of(game)
        allowed = map(spec.parse, self.games)
        if self.games and not any(
            each.name == name and each.options.items() <= options.items() for each in allowed
        ):
            listed = ", ".join(self.games)
            raise SpecError(f"the engine {self.name!r} is for {listed}, not for {game}")

    def require_program(self) -> None:
        """Raise SpecError unless the command can be run on this machine, and in its sandbox."""
        if not self.folder.is_dir():
            raise SpecError(f"the engine {self.name!r}: there is no folder {self.folder}")
        if self._path is None:
            raise SpecError(
                f"the engine {self.name!r}: there is no program {self.command[0]!r} that can be run"
            )
        if fault := script_fault(self._path):
            raise SpecError(f"the engine {self.name!r}: {self._path} {fault}")
        if self.sandbox:
            self._require_sandbox(self.sandbox, self._path)

    def _require_sandbox(self, sandbox: Sandbox, path: str) -> None:
        try:
            machine.require(sandbox.settings)
        except SandboxError as error:
            raise SpecError(f"the engine {self.name!r}: {error}") from error
        if not sandbox.shows(path):
            raise SpecError(
                f"the engine {self.name!r}: its sandbox does not show the program "
                f"{os.path.realpath(path)}: name its folder in reads of the sandbox"
            )

    @property
    def words(self) -> tuple[str, ...]:
        """The command with the path of its program, within its sandbox."""
        words = (self._path or "", *self.command[1:])
        return tuple(self.sandbox.words(words)) if self.sandbox else words

    @property
    def uses(self) -> Path | None:
        """The file for the program's resource usage in each match, if any."""
        if self.sandbox and self.sandbox.settings.uses:
            return self.sandbox.base / self.sandbox.settings.uses
        return None

    @property
    def _path(self) -> str | None:
        """The path of the program; None if it cannot be run."""
        path = SEARCH_PATH if self.sandbox else search_path()
        return shutil.which(self._program, path=path)

    @property
    def _program(self) -> str:
        name = self.command[0]
        return str(self.folder / name) if os.sep in name else name


def find(name: str, file: str = "") -> EngineConfig:
    """Return the engine of that name from `file`. Raises SpecError.

    Without `file`, it is searched in `engines.toml` of the current folder, and then of the user's
    configuration folder.
    """
    known: list[str] = []
    for path in [Path(file)] if file else default_files():
        if file or path.is_file():
            engines = read(path)
            if name in engines:
                return engines[name]
            known.extend(engines)
    if not known:
        places = file or " or ".join(map(str, default_files()))
        raise SpecError(
            f"there is no engine {name!r}: describe it in {places}; see docs/engines.md"
        )
    raise spec.unknown("engine", name, known)


def default_files() -> tuple[Path, Path]:
    """Return the files in which engines are searched, in this order."""
    return Path(FILE), user_config_path("playout") / FILE


def read(path: Path) -> dict[str, EngineConfig]:
    """Return the engines of a file by name. Raises SpecError with a line for each fault."""
    try:
        values, faults = toml_table.load(toml_table.text_of(path), str(path))
    except toml_table.TomlError as error:
        raise SpecError(str(error)) from error
    root = TomlTable(values, (), "the file", faults)
    engines = {name: _engine(name, root, path, faults) for name in values}
    if faults.found:
        raise SpecError(faults.text())
    return engines


def _engine(name: str, root: TomlTable, path: Path, faults: Faults) -> EngineConfig:
    """Return the engine of a table; if that has faults, the result is not used."""
    table = root.table(name, f"the engine {name}")
    if not _NAME.fullmatch(name):
        table.fault(f"the name {name!r} must be at most 27 letters A-Z, a-z, digits, - and _")
    protocol = table.need("protocol", toml_table.one_of("protocol", PROTOCOLS), "gtp")
    base = path.absolute().parent
    folder = table.take("folder", toml_table.text, None)
    config = EngineConfig(
        name=name,
        command=tuple(shlex.split(table.need("command", toml_table.command, "false"))),
        protocol=protocol,
        folder=base / (folder or "."),
        games=tuple(table.elements("games", _game, "")) if "games" in table else (),
        options=_options(table, "options"),
        short_s=table.take("short_s", toml_table.number(0, 3600), SHORTEST_S[protocol]),
        short=_options(table, "short"),
        start_s=table.take("start_s", toml_table.number(0.1, 3600), START_S),
        margin_s=table.take("margin_s", toml_table.number(0, 3600), MOVE_MARGIN_S),
        variant=table.take("variant", toml_table.visible(100), ""),
        first_row=table.take("first_row", toml_table.one_of("first_row", ("top", "bottom")), ""),
        column_i=table.take("column_i", toml_table.truth, None),
        sandbox=_sandbox(table, base, folder),
    )
    table.close()
    for key, text in (*_misplaced(config), *_unusable(config)):
        table.fault(text, key)
    return config


def _sandbox(table: TomlTable, base: Path, folder: str | None) -> Sandbox | None:
    """Return the sandbox of an engine, which shows the folder only if the table names it."""
    if "sandbox" not in table:
        return None
    limits = settings.read(table.table("sandbox", "the sandbox"))
    return Sandbox(limits, base, base / folder if folder else None)


def _options(table: TomlTable, key: str) -> Options:
    """Return the options in a table within the table of an engine."""
    options: dict[str, Value] = {}
    nothing: dict[str, object] = {}
    for name, value in table.take(key, toml_table.table, nothing).items():
        if not isinstance(value, Value):
            table.fault(f"{key}: {name} must be text, a number, true or false", key, name)
        elif "\n" in f"{name}{value}" or "\r" in f"{name}{value}":
            table.fault(f"{key}: {name} must be one line", key, name)
        else:
            options[name] = value
    return options


def _misplaced(config: EngineConfig) -> Iterator[tuple[str, str]]:
    """Yield the keys of another protocol, each with its fault."""
    for key, value, protocol in (
        ("variant", config.variant, "uci"),
        ("first_row", config.first_row, "gtp"),
        ("column_i", config.column_i, "gtp"),
    ):
        if value not in ("", None) and config.protocol != protocol:
            yield key, f"{key} is for protocol = {protocol!r}, not for {config.protocol!r}"


def _unusable(config: EngineConfig) -> Iterator[tuple[str, str]]:
    """Yield the keys that do not fit a protocol over a connection, each with its fault."""
    if config.protocol == "gnubg":
        if config.sandbox:
            yield "sandbox", "sandbox: it does not show the socket that 'gnubg' needs"
        if config.short:
            yield "short", "short cannot be sent to gnubg, which reads settings at its start only"
    if config.protocol != "json":
        return
    if not any("{port}" in word for word in config.command):
        yield "command", "command: a client needs {host} and {port}, to which it has to connect"
    if config.sandbox:
        yield "sandbox", f"sandbox: it has no network, which {config.protocol!r} needs"
    for key, value in (("options", config.options), ("short", config.short)):
        if value:
            yield key, f"{key} cannot be sent to a client of the original system: see its command"


def search_path() -> str:
    """Return the folders in which programs are searched, including Debian's folder for games."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/games", "/usr/games"])


def _options_of(game: Game) -> Mapping[str, str]:
    """Return all parameters of a game with their values as texts."""
    declared = {key: each.default for key, each in spec.parameters_of(type(game)).items()}
    values = {key: spec.spelled(value) for key, value in {**declared, **game.defaults}.items()}
    return {**values, **spec.parse(str(game)).options}


def _game(value: object) -> str:
    """Return a game, with or without parameters. Raises SpecError."""
    text = toml_table.text(value)
    name = spec.parse(text).name
    if name not in games.names():
        raise spec.unknown("game", name, games.names())
    return text
