"""The parser of tournament files: makes a specification, or reports all faults with their lines.

`spec_validation` checks the values of a specification. The parser adds everything that only a file
has: TOML and its types, unknown keys, files of openings, versions that follow from other files.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar

import tomli_w

from playout.commands import toml_table
from playout.commands.toml_table import Check, Faults, TomlTable
from playout.games import Game
from playout.games.core import spec as notation
from playout.protocol import sgf, versions
from playout.protocol.text_files import TextFileError, decoded
from playout.protocol.tournament_spec import (
    Adjudication,
    Betting,
    Entrant,
    Openings,
    Sprt,
    TournamentSpec,
)
from playout.protocol.versions import Files
from playout.ratings import book
from playout.sandbox import settings
from playout.server.tournament import formats, opening_file, spec_validation
from playout.server.tournament.opening_file import PlayableOpening
from playout.server.tournament.spec_validation import FIELDS

T = TypeVar("T")


#: Maximum size of positions in the message that sends a tournament, of 128 KiB.
_POSITION_BYTES = 96 * 1024
#: Maximum number of errors of one file of openings that are shown.
MOST_SHOWN = 10


@dataclass(frozen=True)
class ClusterSettings:
    """The table `[cluster]`, which decides where the entrants are started.

    `dask`: the address of a scheduler, or "local"; None for this machine. `files`: files and
    folders, relative to the folder of the tournament's file, that the entrants need there.
    """

    dask: str | None = None
    files: tuple[str, ...] = ()


def read(
    text: str,
    *,
    where: str = "SPEC.toml",
    files: Files = lambda path: None,
    code: str = "",
    game: Check[Game] = toml_table.game,
) -> tuple[TournamentSpec, Faults]:
    """Return the tournament with the valid values of the file, and defaults elsewhere; its faults.

    `where` is the name of the file, for errors. `files` returns the content of other files, for
    openings and versions, by path relative to the folder of this file; None if a file does not
    exist. `code` identifies the installed players and games, for versions. `game` loads a game.
    Raises TomlError.
    """
    values, faults = toml_table.load(text, where)
    return _checked(values, faults, _Sources(files, code, game)), faults


@dataclass(frozen=True)
class FileKey:
    """A key that a file may have: its path, without places, the check of its value, its default.

    `needed`: it has no default.
    """

    path: tuple[str, ...]
    check: Check[Any]
    default: object
    needed: bool


class _Recorder(TomlTable):
    """A table that notes which keys are taken from it."""

    keys: list[FileKey]

    def take(self, key: str, check: Check[T], default: T, *, needed: bool = False) -> T:
        path = tuple(each for each in self.path if isinstance(each, str))
        self.keys.append(FileKey((*path, key), check, default, needed))
        return super().take(key, check, default)

    def need(self, key: str, check: Check[T], instead: T) -> T:
        return self.take(key, check, instead, needed=True)

    def elements(self, key: str, check: Check[T], instead: T) -> list[T]:
        found = super().elements(key, check, instead)
        self.keys[:] = [replace(each, check=check) if each.path == (*self.path, key) else each
                        for each in self.keys]  # fmt: skip
        return found

    def _inner(self, values: Mapping[str, object], kind: str, *keys: str | int) -> TomlTable:
        inner = _Recorder(values, (*self.path, *keys), kind, self._faults)
        inner.keys = self.keys
        return inner


@functools.cache
def file_keys() -> tuple[FileKey, ...]:
    """Return all keys that `read` takes from a file, in its order; those of `[sandbox]` are not."""
    values: dict[str, object] = {"sprt": {}, "betting": {}, "entrants": [{}]}
    top = _Recorder(values, (), "a tournament", Faults("", {}))
    top.keys = []
    _tournament(top, _Sources(lambda path: None, "", toml_table.game))
    return tuple(top.keys)


def written(spec: TournamentSpec) -> str:
    """Return the file of a specification, without the openings of other files."""
    defaults = TournamentSpec("", (), "", ())
    top = _differences(spec, defaults)
    top |= {"name": spec.name, "games": list(spec.games), "format": spec.format}
    top.pop("machine", None)
    for key in ("lines", "fens"):
        top.get("openings", {}).pop(key, None)
    entrants = [_differences(each, Entrant("", "")) for each in spec.entrants]
    ordered = sorted(top.items(), key=lambda item: isinstance(item[1], dict))
    return tomli_w.dumps({key: value for key, value in ordered if value != {}}
                         | {"entrants": entrants})  # fmt: skip


def _differences(value: Any, default: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from the default, as values of TOML."""
    found: dict[str, Any] = {}
    for each in fields(value):
        held, usual = getattr(value, each.name), getattr(default, each.name)
        if held is None or held == usual or each.name == "entrants":
            continue
        kind: Any = type(held)
        if is_dataclass(held):
            found[each.name] = _differences(held, kind())
        else:
            found[each.name] = list(held) if isinstance(held, tuple) else held
    return found


def of_values(
    values: Mapping[str, object],
    *,
    files: Files = lambda path: None,
    code: str = "",
    game: Check[Game] = toml_table.game,
) -> tuple[TournamentSpec, Faults]:
    """Return the same as `read` for the values of a file; the faults have no places."""
    faults = Faults("", {})
    return _checked(values, faults, _Sources(files, code, game)), faults


@dataclass(frozen=True)
class _Sources:
    """The sources to which a file refers: other files, installed code, and games, as in `read`."""

    files: Files
    code: str
    game: Check[Game]


def _checked(values: Mapping[str, object], faults: Faults, sources: _Sources) -> TournamentSpec:
    spec = _tournament(TomlTable(values, (), "a tournament", faults), sources)
    for fault in spec_validation.faults(spec):
        faults.add_new(fault.path, f"{fault.key}: {fault.text}")
    return spec


def _tournament(top: TomlTable, sources: _Sources) -> TournamentSpec:
    """Return the specification with the valid values of the file, and defaults elsewhere."""
    values = _values(top, TournamentSpec)
    kind = formats.find(values["format"]) if values["format"] else formats.Format
    loaded = top.elements("games", sources.game, None)
    spec = TournamentSpec(
        **values,
        games=tuple(str(game) if game else "" for game in loaded),
        entrants=_entrants(top, sources.files, sources.code),
        rounds=top.take("rounds", spec_validation.rounds_of(values["format"]), kind.least_rounds),
        openings=_openings(
            top, {str(game): game for game in loaded if game}, sources, values["seed"]
        ),
        adjudication=_adjudication(top),
        sprt=_terms(top, "sprt", Sprt) if kind.has_test or "sprt" in top else None,
        betting=_terms(top, "betting", Betting) if kind.has_race or "betting" in top else None,
        anchor=top.take("anchor", toml_table.name, None),
        sandbox=settings.read(top.table("sandbox", "the sandbox")) if "sandbox" in top else None,
    )
    _cluster(top)
    top.close()
    return spec


def cluster_settings(text: str) -> ClusterSettings:
    """Return the valid values of the table `[cluster]` of a file; `read` reports the others."""
    values, faults = toml_table.load(text, "")
    return _cluster(TomlTable(values, (), "a tournament", faults))


def _cluster(top: TomlTable) -> ClusterSettings:
    table = top.table("cluster", "cluster")
    settings = ClusterSettings(
        dask=table.take("dask", toml_table.visible(toml_table.LONGEST_PATH), None),
        files=tuple(
            each
            for each in (
                table.elements("files", toml_table.visible(toml_table.LONGEST_PATH), "")
                if "files" in table
                else ()
            )
            if each
        ),
    )
    table.close()
    return settings


def _values(table: TomlTable, kind: type) -> dict[str, Any]:
    """Return the values of a table that are checked by themselves; "" for a missing one."""
    defaults = {each.name: each.default for each in fields(kind)}
    return {
        key: table.need(key, check, "")
        if defaults[key] is MISSING
        else table.take(key, check, defaults[key])
        for key, check in FIELDS[kind].items()
    }


@dataclass(frozen=True)
class _Defaults:
    """The table `[defaults]`: values for each entrant that has no other."""

    clock: str | None = None
    threads: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def _entrants(top: TomlTable, files: Files, code: str) -> tuple[Entrant, ...]:
    table = top.table("defaults", "defaults")
    defaults = _Defaults(
        clock=table.take("clock", FIELDS[Entrant]["clock"], None),
        threads=table.take("threads", FIELDS[Entrant]["threads"], None),
        options=table.take("options", toml_table.options, dict[str, str]()),
    )
    table.close()
    return tuple(
        _entrant(each, defaults, files, code) for each in top.tables("entrants", "an entrant")
    )


def _entrant(table: TomlTable, defaults: _Defaults, files: Files, code: str) -> Entrant:
    if not table.take("defaults", toml_table.truth, True):
        defaults = _Defaults()
    player = _player(table, defaults)
    command = table.take("command", toml_table.command, None)
    program = {key: table.take(key, FIELDS[Entrant][key], None) for key in ("protocol", "folder")}
    digest = ""
    if player:
        digest = versions.of_player(player, files, code, program["folder"])
    elif command:
        digest = versions.of_command(command, files, program["folder"], code)
    entrant = Entrant(
        name=table.need("name", toml_table.name, ""),
        version=table.take("version", FIELDS[Entrant]["version"], digest),
        player=player,
        command=command,
        threads=table.take("threads", FIELDS[Entrant]["threads"], _threads(player, defaults)),
        clock=table.take("clock", FIELDS[Entrant]["clock"], defaults.clock),
        **program,
        sandbox=table.take("sandbox", toml_table.truth, False),
        since=table.take("since", FIELDS[Entrant]["since"], 1),
    )
    table.close(above=TournamentSpec.__dataclass_fields__, what="the first [[entrants]]")
    return entrant


def _player(table: TomlTable, defaults: _Defaults) -> str | None:
    """Return the player with the options of its text, its table of options and the defaults.

    They take precedence in this order; an option must not be in both of the first two.
    """
    player = table.take("player", toml_table.player, None)
    own = table.take("options", toml_table.options, dict[str, str]())
    if player is None:
        if own:
            table.fault("options: only for an entrant with a player", "options")
        return None
    wanted = notation.parse(player)
    for key in own.keys() & wanted.options.keys():
        table.fault(f"options: {key} is given with the player, too", "options", key)
    options = {**wanted.options, **own}
    options |= {key: value for key, value in defaults.options.items() if key not in options}
    if len(options) == len(wanted.options):
        return player
    text = str(notation.Spec(wanted.name, options))
    if len(text) > notation.MAX_LENGTH:
        table.fault(f"player: with its options, it has more than {notation.MAX_LENGTH} characters")
        return player
    return text


def _threads(player: str | None, defaults: _Defaults) -> int:
    """Return the number of threads by the player's own option, or by the defaults."""
    option = notation.parse(player).options.get("threads", "") if player else ""
    return int(option) if re.fullmatch("[1-9][0-9]{0,2}", option) else defaults.threads or 1


def _openings(top: TomlTable, loaded: Mapping[str, Game], sources: _Sources, seed: int) -> Openings:
    table = top.table("openings", "openings")
    no_file: dict[str, str] = {}
    values = _values(table, Openings)
    paths = table.take("file", _paths(loaded, sources.game), no_file)
    is_shipped = table.take("shipped", toml_table.truth, False)
    if "order" in table and not ("file" in table or is_shipped):
        table.fault("order: needs file or shipped, whose openings it orders", "order")
    table.close()
    if paths and is_shipped:
        table.fault("shipped: openings are shipped ones or those of a file, not both", "shipped")
    most = values["plies"]
    if is_shipped:
        lines = {name: book.shipped(name) for name in loaded if book.shipped(name)}
        for name in () if most else sorted(loaded.keys() - lines):
            table.fault(
                f"shipped: {name} has no shipped openings: write a file of some by "
                f"'playout-tournament openings {name}', or add plies for random ones",
                "shipped",
            )
        # The games without a shipped book have random moves.
        plies = 0 if loaded.keys() == lines.keys() else most
        return Openings(**values | {"plies": plies}, lines=lines)
    if not paths:
        return Openings(**values)
    if values["near"]:
        table.fault("near: is for random moves, and these openings are those of a file", "near")
        values["near"] = 0
    found = {
        name: _lines(table, path, loaded[name], sources.files, most) for name, path in paths.items()
    }
    share = _POSITION_BYTES // len(found)
    for name, path in paths.items():
        found[name] = _fitting(table, path, found[name], share, values["order"], seed)
    lines = {name: tuple(each.actions for each in some) for name, some in found.items()}
    fens = {
        name: tuple(each.fen for each in some)
        for name, some in found.items()
        if any(each.fen for each in some)
    }
    return Openings(**values | {"plies": 0}, lines=lines, fens=fens)


def _fitting(
    table: TomlTable,
    path: str,
    openings: tuple[PlayableOpening, ...],
    most_bytes: int,
    order: str,
    seed: int,
) -> tuple[PlayableOpening, ...]:
    """Return as many openings of a book of positions as fit into a message."""
    sizes = [len(each.fen) + 2 * len(each.actions) + 4 for each in openings]
    if not any(each.fen for each in openings) or sum(sizes) <= most_bytes:
        return openings
    places = list(range(len(openings)))
    if order == "shuffled":
        random.Random(seed).shuffle(places)
    total = itertools.accumulate(sizes[place] for place in places)
    used = [place for place, size in zip(places, total, strict=True) if size <= most_bytes]
    how = "drawn by the seed" if order == "shuffled" else "the first ones"
    table.note(
        f"{path}: {len(used):,} of {len(openings):,} openings are used, {how}: more do not fit "
        "into the message that sends the tournament to the server"
    )
    return tuple(openings[place] for place in sorted(used))


def _lines(
    table: TomlTable, path: str, game: Game, files: Files, most: int
) -> tuple[PlayableOpening, ...]:
    """Return the valid openings of one file, each with at most `most` moves."""
    content = files(path)
    if content is None:
        table.fault(f"file: there is no file {path!r}", "file")
        return ()
    try:
        is_sgf = path.lower().endswith(".sgf")
        text = sgf.decoded(content) if is_sgf else decoded(content, names_matter=False)
    except TextFileError as error:
        table.fault(f"file: {path!r} {error}", "file")
        return ()
    lines: list[PlayableOpening] = []
    wrong: list[tuple[str, str]] = []
    for number, opening in opening_file.read(path, text, game, most):
        if isinstance(opening, PlayableOpening):
            lines.append(opening)
        else:
            wrong.append((f"{path}:{number}", str(opening)))
    kind = opening_file.kind_of(path, text)
    if wrong and lines and kind in opening_file.LENIENT:
        of = "games" if kind in opening_file.OF_GAMES else "positions"
        left_out = f"{len(wrong)} of {len(wrong) + len(lines)} {of} cannot be used"
        table.note(f"{path}: {left_out}, as {': '.join(wrong[0])}")
        wrong.clear()
    for place, fault in wrong[:MOST_SHOWN]:
        table.fault_elsewhere("file", place, fault)
    if len(wrong) > MOST_SHOWN:
        table.fault_elsewhere("file", path, f"{len(wrong) - MOST_SHOWN} more openings are wrong")
    if not lines:
        table.fault(f"file: {path!r} has no opening that could be played", "file")
    return tuple(lines)


def _adjudication(top: TomlTable) -> Adjudication:
    table = top.table("adjudication", "adjudication")
    adjudication = Adjudication(**_values(table, Adjudication))
    table.close()
    return adjudication


def _terms(top: TomlTable, key: str, kind: type[T]) -> T:
    """Return the terms of a test from the table of that key."""
    table = top.table(key, key)
    terms = kind(**_values(table, kind))
    table.close()
    return terms


def _paths(loaded: Mapping[str, Game], load: Check[Game]) -> Check[dict[str, str]]:
    """Return the check of the paths of files: one for all games, or a table of them."""

    path = toml_table.visible(toml_table.LONGEST_PATH)

    def check(value: object) -> dict[str, str]:
        if not isinstance(value, dict):
            return dict.fromkeys(loaded, path(value))
        paths = {str(load(game)): path(file) for game, file in value.items()}
        for game in paths.keys() - loaded.keys():
            raise notation.unknown("game of the tournament", game, loaded)
        for game in loaded.keys() - paths.keys():
            raise ValueError(f"there must be a file for {game} too")
        return paths

    return check
