"""Reads a tournament's file, and says all that is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

from games import Game
from games.core import spec as spelling
from server.model import names
from server.model.tournament_spec import (
    FORMATS,
    MODELS,
    Adjudication,
    Entrant,
    Openings,
    Sprt,
    TournamentSpec,
)
from server.tournament import opening_file, validators, version
from server.tournament.toml_lines import lines_of
from server.tournament.toml_table import Faults, TomlTable
from server.tournament.validators import Check
from server.tournament.version import Files

MOST_ROUNDS = 1_000_000
#: What newcomers to TOML mostly mean, by the beginning of what tomllib says.
_REMEDIES = {
    "Invalid value": " (text stands in quotes)",
    "Illegal character '\\n'": " (the quotes are not closed)",
    "Cannot declare ('entrants',) twice": " (each entrant begins with [[entrants]])",
    "Cannot overwrite a value": " (the key is there twice)",
}
_AT_LINE = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)


class TournamentSpecError(ValueError):
    """A file that cannot be used: a line of text for each error, `SPEC.toml:7: ...`."""


def read(
    text: str,
    *,
    where: str = "SPEC.toml",
    files: Files = lambda path: None,
    code: str = "",
) -> TournamentSpec:
    """The tournament that a file describes. Raises SpecError.

    `where`: the name of the file, for errors. `files`: what other files have in them, for openings
    and for versions, by path relative to the folder of this one; None where there is none. `code`:
    which players and games are installed, for versions too.
    """
    try:
        text.encode()
        values = tomllib.loads(text)
        faults = Faults(where, lines_of(text))
    except tomllib.TOMLDecodeError as error:
        raise TournamentSpecError(f"{where}:{_located(str(error), text)}") from None
    except RecursionError:
        raise TournamentSpecError(
            f"{where}:1: lists and tables are too deep in each other"
        ) from None
    except ValueError:
        raise TournamentSpecError(
            f"{where}:1: a number with thousands of digits, or no UTF-8"
        ) from None
    spec = _tournament(TomlTable(values, (), "a tournament", faults), files, code)
    if faults.found:
        in_order = sorted(faults.found, key=lambda fault: fault[0])
        raise TournamentSpecError("\n".join(text for _, text in in_order))
    return spec


def _located(error: str, text: str) -> str:
    """An error of tomllib with its line, what stands there and, if it is a usual one, a remedy."""
    found = _AT_LINE.fullmatch(error)
    if not found:
        return f"1: {error}"
    lines = text.split("\n")
    number = min(int(found[2] or len(lines)), len(lines))
    remedy = next((text for start, text in _REMEDIES.items() if found[1].startswith(start)), "")
    shown = lines[number - 1].strip()
    return f"{number}: {found[1]}{remedy}" + (f": {shown[:60]}" if shown.isprintable() else "")


def _tournament(top: TomlTable, files: Files, code: str) -> TournamentSpec:
    format_ = top.need("format", validators.one_of("format", FORMATS), "")
    fewest = 0 if format_ == "sprt" else 1
    loaded = _games(top)
    entrants = _entrants(top, format_, files, code)
    spec = TournamentSpec(
        name=top.need("name", validators.visible(200), ""),
        games=tuple(loaded),
        format=format_,
        entrants=entrants,
        rounds=top.take("rounds", validators.whole(fewest, MOST_ROUNDS), fewest),
        clock=top.take("clock", validators.clock_, "0.1/move"),
        concurrency=top.take("concurrency", validators.whole(0, 1024), 0),
        seed=top.take("seed", validators.whole(*validators.WHOLE), 0),
        openings=_openings(top, loaded, files),
        adjudication=_adjudication(top),
        sprt=_sprt(top, format_),
        anchor=top.take("anchor", validators.one_of_names([each.name for each in entrants]), None),
    )
    top.close()
    return spec


def _games(top: TomlTable) -> dict[str, Game]:
    """By their one spelling."""
    loaded: dict[str, Game] = {}
    for place, game in enumerate(top.elements("games", validators.game, None)):
        if game and str(game) in loaded:
            top.fault(f"games: {game} is there twice", "games", place)
        elif game:
            loaded[str(game)] = game
    return loaded


def _entrants(top: TomlTable, format_: str, files: Files, code: str) -> tuple[Entrant, ...]:
    entrants: list[Entrant] = []
    alike: dict[str, str] = {}
    for table in top.tables("entrants", "an entrant"):
        entrant = _entrant(table, files, code)
        entrants.append(entrant)
        skeleton = names.skeleton(entrant.name)
        if skeleton in alike:
            other = alike[skeleton]
            how = "has this name" if other == entrant.name else f"is called {other!r}, much alike"
            table.fault(f"name: {entrant.name!r} is taken: another entrant {how}", "name")
        elif skeleton:
            alike[skeleton] = entrant.name
    if len(entrants) == 1:
        top.fault("entrants: there must be two or more, not 1", "entrants")
    elif format_ in ("match", "sprt") and len(entrants) > 2:
        top.fault(f"entrants: two for the format {format_!r}, not {len(entrants)}", "entrants")
    return tuple(entrants)


def _entrant(table: TomlTable, files: Files, code: str) -> Entrant:
    player = table.take("player", validators.player, None)
    command = table.take("command", validators.command, None)
    if "player" in table and "command" in table:
        table.fault("an entrant has a player or a command, not both", "command")
    digest = ""
    if player:
        digest = version.of_player(player, files, code)
    elif command:
        digest = version.of_command(command, files)
    entrant = Entrant(
        name=table.need("name", validators.name, ""),
        version=table.take("version", validators.visible(64), digest),
        player=player,
        command=command,
        threads=table.take("threads", validators.whole(1, 1024), _threads(player)),
    )
    table.close(above=TournamentSpec.__dataclass_fields__, what="the first [[entrants]]")
    return entrant


def _threads(player: str | None) -> int:
    """As many as the player's own option says."""
    option = spelling.parse(player).options.get("threads", "") if player else ""
    return int(option) if re.fullmatch("[1-9][0-9]{0,2}", option) else 1


def _openings(top: TomlTable, loaded: Mapping[str, Game], files: Files) -> Openings:
    table = top.table("openings", "openings")
    plies = table.take("plies", validators.whole(0, 100), 0)
    no_file: dict[str, str] = {}
    paths = table.take("file", _paths(loaded), no_file)
    table.close()
    if "plies" in table and "file" in table:
        table.fault("openings have plies or a file, not both", "file")
    for name, game in loaded.items():
        if plies >= game.max_plies:
            table.fault(f"plies: {name} lasts at most {game.max_plies} plies", "plies")
    lines = {name: _lines(table, path, loaded[name], files) for name, path in paths.items()}
    return Openings(plies, lines)


def _lines(table: TomlTable, path: str, game: Game, files: Files) -> tuple[tuple[int, ...], ...]:
    """The openings of one file."""
    content = files(path)
    if content is None:
        table.fault(f"file: there is no file {path!r}", "file")
        return ()
    try:
        text = content.decode()
    except UnicodeDecodeError:
        table.fault(f"file: {path!r} is no text in UTF-8", "file")
        return ()
    lines: list[tuple[int, ...]] = []
    for number, opening in opening_file.read(text, game):
        if isinstance(opening, tuple):
            lines.append(opening)
        else:
            table.fault_elsewhere("file", f"{path}:{number}", str(opening))
    if not lines:
        table.fault(f"file: {path!r} has no opening that could be played", "file")
    return tuple(lines)


def _adjudication(top: TomlTable) -> Adjudication:
    table = top.table("adjudication", "adjudication")
    adjudication = Adjudication(
        max_plies=table.take("max_plies", validators.whole(0, MOST_ROUNDS), 0),
        proofs=table.take("proofs", validators.truth, False),
    )
    table.close()
    return adjudication


def _sprt(top: TomlTable, format_: str) -> Sprt | None:
    table = top.table("sprt", "sprt")
    usual = Sprt()
    sprt = Sprt(
        elo0=table.take("elo0", validators.number(-1000, 1000), usual.elo0),
        elo1=table.take("elo1", validators.number(-1000, 1000), usual.elo1),
        alpha=table.take("alpha", validators.risk, usual.alpha),
        beta=table.take("beta", validators.risk, usual.beta),
        model=table.take("model", validators.one_of("model", MODELS), usual.model),
    )
    table.close()
    if format_ == "sprt":
        if sprt.elo0 >= sprt.elo1:
            table.fault(f"sprt: elo0 must be below elo1, not {sprt.elo0:g} and {sprt.elo1:g}")
        return sprt
    if "sprt" in top and format_:
        top.fault(f"sprt: only for the format 'sprt', not for {format_!r}", "sprt")
    return None


def _paths(loaded: Mapping[str, Game]) -> Check[dict[str, str]]:
    """For each game the path of its file: one for all, or a table of them."""

    path = validators.visible(500)

    def check(value: object) -> dict[str, str]:
        if not isinstance(value, dict):
            return dict.fromkeys(loaded, path(value))
        paths = {str(validators.game(game)): path(file) for game, file in value.items()}
        for game in paths.keys() - loaded.keys():
            raise spelling.unknown("game of the tournament", game, loaded)
        for game in loaded.keys() - paths.keys():
            raise ValueError(f"there must be a file for {game} too")
        return paths

    return check
