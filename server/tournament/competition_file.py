"""The file of a competition: its games, dates, limits and house bots, checked with line numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from playout.commands import toml_table
from playout.commands.toml_table import TomlError, TomlTable
from playout.games.core import spec
from playout.protocol.names import BadName, normalised, skeleton
from playout.protocol.text_files import TextFileError, decoded
from playout.protocol.time_control import parse_time_control
from playout.protocol.tournament_spec import PROGRAM_PROTOCOLS, SandboxSettings
from playout.sandbox import settings
from playout.server.tournament import formats
from playout.server.tournament.spec_validation import MOST_GAMES

#: What a bot speaks over its standard input and output; "python" is a class of Playout's `Player`.
BOT_PROTOCOLS = ("python", *PROGRAM_PROTOCOLS)
#: The team of administrators: its bots are tested, and play on no ladder and in no final.
STAFF = "Staff test"
#: Names of competitions that are addresses of their site.
RESERVED = ("static", "texts")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_SITE = re.compile(r"https?://[a-z0-9.-]+(:\d+)?")
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


#: The columns of a roster, and what separates its cells.
_COLUMNS = ("account", "team", "name")
_NEEDED = "needs a first line with account, team, name"
_SEPARATORS = (",", ";", "\t", "|")
_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?', re.IGNORECASE)
_BLANK = " \t,;|"


@dataclass(frozen=True)
class HouseBot:
    """A player of Playout that plays in a competition as a yardstick."""

    name: str
    player: str


@dataclass(frozen=True)
class Final:
    """The tournament of the last accepted versions: its format and its rounds of pairs."""

    format: str = "round_robin"
    rounds: int = 2
    seed: int = 0


@dataclass(frozen=True)
class LadderCluster:
    """The Dask cluster whose workers play the ladder, by the address of its scheduler.

    The workers reach this server at `server`, with TLS unless `tls` is false. `ca` is the file with
    the certificate of a private authority.
    """

    dask: str
    server: tuple[str, int]
    tls: bool = True
    ca: Path | None = None


@dataclass(frozen=True)
class Contestant:
    """A person of the roster: the account that hands in, its team, and its name for grades."""

    account: str
    team: str
    name: str


@dataclass(frozen=True)
class Competition:
    """The content of a competition's file; `name` is that of the file.

    `opens` and `deadline` are in seconds since 1970. `roster` is by the skeleton of the account's
    name; None if every account may hand in. `protocols` are the allowed ones. Builds reach
    `build_hosts`, each as HOST or HOST:PORT. `pages` is the address of the server's pages, if that
    does not follow from its options. `folder` holds everything that is handed in. `pause_s`
    is the maximum wait of a bot between two pairs, in seconds. `cores` is the number of processor
    cores of a match, 0 for all.
    """

    name: str
    title: str
    games: tuple[str, ...]
    clock: str
    opens: float
    deadline: float
    folder: Path
    house: tuple[HouseBot, ...]
    roster: Mapping[str, Contestant] | None = None
    protocols: tuple[str, ...] = BOT_PROTOCOLS
    builds: bool = True
    build_hosts: tuple[str, ...] = ()
    submission_mb: int = 16
    submissions_per_day: int = 20
    visible: bool = True
    pages: str = ""
    pause_s: float = 60.0
    cores: int = 1
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    final: Final = field(default_factory=Final)
    cluster: LadderCluster | None = None

    def contestant(self, account: str) -> Contestant | None:
        """Return the contestant of an account, by name; None if it may not hand in."""
        if self.roster is not None:
            return self.roster.get(skeleton(account))
        if self.is_house(account):
            return None
        return Contestant(account, account, account)

    def is_house(self, name: str) -> bool:
        """Return whether a name is, or looks like, that of a house bot or of STAFF."""
        return skeleton(name) in {skeleton(each) for each in self.others}

    @property
    def others(self) -> tuple[str, ...]:
        """The names of players that are no contestants: the house bots and STAFF."""
        return (*(each.name for each in self.house), STAFF)

    @property
    def names(self) -> frozenset[str]:
        """The skeletons of the names of its house bots, and of its roster's teams and accounts."""
        people = (self.roster or {}).values()
        named = (name for each in people for name in (each.team, each.account))
        return frozenset(map(skeleton, (*named, *self.others)))


class CompetitionFileError(ValueError):
    """A competition's file has faults; the message has a line for each, `NAME.toml:7: ...`."""


def read(path: Path) -> Competition:
    """Return the competition that a file describes. Raises CompetitionFileError with all faults."""
    try:
        values, faults = toml_table.load(toml_table.text_of(path), str(path))
    except TomlError as error:
        raise CompetitionFileError(str(error)) from error
    table = TomlTable(values, (), "a competition", faults)
    competition = _competition(table, path.absolute())
    table.close()
    if faults.found:
        raise CompetitionFileError(faults.text())
    return competition


def _competition(table: TomlTable, path: Path) -> Competition:
    """Return the competition of a table; if that has faults, the result is not used."""
    if not _NAME.fullmatch(path.stem):
        table.fault(
            f"the file's name, {path.stem!r}, must be at most 32 letters a-z, digits, - and _: it "
            "is part of addresses"
        )
    if not path.suffix:
        table.fault(
            f"the file's name, {path.name!r}, must have an extension, as {path.name}.toml: the "
            f"folder {path.name} beside it is for submissions"
        )
    if path.stem in RESERVED:
        table.fault(f"the file's name, {path.stem!r}, is an address of the site: choose another")
    opens = table.take("opens", toml_table.moment, _EARLIEST)
    deadline = table.need("deadline", toml_table.moment, datetime.max.replace(tzinfo=UTC))
    if opens >= deadline:
        table.fault("deadline must be after opens", "deadline")
    protocols = tuple(
        table.elements("protocols", toml_table.one_of("protocol", BOT_PROTOCOLS), "lines")
        if "protocols" in table
        else BOT_PROTOCOLS
    )
    competition = Competition(
        name=path.stem,
        title=table.take("title", toml_table.visible(100), path.stem),
        games=_games(table),
        clock=table.take("clock", _clock, "10+1"),
        opens=opens.timestamp(),
        deadline=deadline.timestamp(),
        folder=path.with_suffix(""),
        house=_house(table),
        roster=_roster(table, path.parent),
        protocols=protocols,
        builds=table.take("builds", toml_table.truth, True),
        build_hosts=tuple(
            table.elements("build_hosts", settings.host, "") if "build_hosts" in table else ()
        ),
        submission_mb=table.take("submission_mb", toml_table.whole(1, 1024), 16),
        submissions_per_day=table.take("submissions_per_day", toml_table.whole(1, 10_000), 20),
        pause_s=table.take("pause_s", toml_table.number(0, 86_400), 60.0),
        visible=table.take("visible", toml_table.truth, True),
        pages=table.take("pages", _site, ""),
        cores=table.take("cores", toml_table.whole(0, 1024), 1),
        sandbox=_sandbox(table, path.parent),
        final=_final(table),
        cluster=_cluster(table, path.parent) if "cluster" in table else None,
    )
    if competition.build_hosts and competition.sandbox.command:
        table.fault("build_hosts needs bubblewrap: leave out the command of the sandbox", "sandbox")
    for each in (competition.roster or {}).values():
        if competition.is_house(each.team):
            table.fault(f"roster: {each.team!r} looks like a name of the house", "roster")
    return competition


def _games(table: TomlTable) -> tuple[str, ...]:
    """Return the games of the key `games`, or the one of the key `game`."""
    if "games" not in table:
        return (table.need("game", _game, ""),)
    if "game" in table:
        table.fault("game: the games are in 'games': leave one of both out", "game")
        table.take("game", _game, "")
    found = tuple(table.elements("games", _game, ""))
    if len(found) > MOST_GAMES:
        table.fault(f"games: there may be at most {MOST_GAMES}", "games")
    if twice := next((each for each in found if each and found.count(each) > 1), None):
        table.fault(f"games: {twice} is listed twice", "games")
    return found


def _game(value: object) -> str:
    """Return the canonical name of a game; raise SpecError for none."""
    return str(toml_table.game(value))


def _clock(value: object) -> str:
    """Return a time control; raise ValueError for none, with which a match may never end."""
    clock = toml_table.clock(value)
    if parse_time_control(clock) is None:
        raise ValueError("must limit the time of a match, as 10+1 does")
    return clock


def _sandbox(table: TomlTable, folder: Path) -> SandboxSettings:
    """Return the settings of the sandbox, whose paths are relative to the file."""
    found = settings.read(table.table("sandbox", "the sandbox"))
    if found.uses:
        table.fault("sandbox: uses is not for competitions, which store that anyway", "sandbox")
    return replace(found, reads=tuple(str(folder / each) for each in found.reads))


def _house(table: TomlTable) -> tuple[HouseBot, ...]:
    """Return the house bots, of which there is at least one: submissions play against the first."""
    found: dict[str, HouseBot] = {}
    for each in table.tables("house", "a house bot"):
        name = each.need("name", toml_table.name, "house")
        bot = HouseBot(name, each.need("player", toml_table.player, "random"))
        if skeleton(name) in found:
            each.fault(f"name: {name!r} looks like the name of another house bot", "name")
        found[skeleton(name)] = bot
        each.close()
    return tuple(found.values())


def _final(table: TomlTable) -> Final:
    final = table.table("final", "the final")
    default = Final()
    chosen = Final(
        final.take("format", toml_table.one_of("format", formats.names()), default.format),
        final.take("rounds", toml_table.whole(1, 1000), default.rounds),
        final.take("seed", toml_table.whole(0, 2**31 - 1), default.seed),
    )
    final.close()
    return chosen


def _cluster(top: TomlTable, folder: Path) -> LadderCluster:
    table = top.table("cluster", "the cluster")
    ca = table.take("ca", toml_table.visible(toml_table.LONGEST_PATH), "")
    if ca and not (folder / ca).is_file():
        table.fault(f"ca: there is no file {ca}", "ca")
    found = LadderCluster(
        dask=table.need("dask", toml_table.scheduler, ""),
        server=table.need("server", _address, ("", 0)),
        tls=table.take("tls", toml_table.truth, True),
        ca=folder / ca if ca else None,
    )
    table.close()
    return found


def _site(value: object) -> str:
    """Return the address of a site; raise ValueError for other values."""
    found = toml_table.text(value)
    if not _SITE.fullmatch(found):
        raise ValueError(f"must be an address, as in https://play.example, not {found!r}")
    return found


def _address(value: object) -> tuple[str, int]:
    """Return a host and a port; raise ValueError for other values."""
    host, _, port = toml_table.text(value).rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) <= 65535):
        raise ValueError(f"must be HOST:PORT, as in play.example:4242, not {value!r}")
    return host.strip("[]"), int(port)


def _roster(table: TomlTable, folder: Path) -> Mapping[str, Contestant] | None:
    """Return the roster in the CSV file that a key names; None without the key."""
    name = table.take("roster", toml_table.visible(toml_table.LONGEST_PATH), "")
    if not name:
        return None
    found: dict[str, Contestant] = {}
    try:
        for line, row in _rows(decoded((folder / name).read_bytes())):
            _add_row(table, found, row, f"{folder / name}:{line}")
    except OSError as error:
        table.fault(f"roster: {name} cannot be read: {error.strerror}", "roster")
    except (TextFileError, csv.Error) as error:
        table.fault(f"roster: {name} {error}", "roster")
    return found


def _rows(text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the line and the cells of each row that is not empty, by their columns.

    The text is CSV as spreadsheets of all countries write it: with commas, semicolons, tabs or
    bars. A line `sep=;` may name them. Raises csv.Error.
    """
    before, lines = 0, text.split("\n")
    while before < len(lines) and not lines[before].strip(_BLANK):
        before += 1
    first = lines[before].strip() if before < len(lines) else ""
    chosen = _SEPARATOR.fullmatch(first)
    before += chosen is not None
    between = chosen[1] if chosen else max(_SEPARATORS, key=re.sub('"[^"]*"', "", first).count)
    source = io.StringIO("\n".join(lines[before:]), newline="")
    rows = csv.reader(source, delimiter=between, skipinitialspace=True, strict=True)
    columns: list[str] = []
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            break
        except csv.Error as error:
            fault = f"cannot be read at line {before + rows.line_num}: {error}"
            raise csv.Error(f"{fault}; every cell with quotes begins and ends with them") from None
        given = [_FORMULA.sub(r"\1", cell.strip()) for cell in cells]
        if not any(given):
            continue
        if not columns:
            columns = _columns(given)
            continue
        if any(given[len(columns) :]):
            where = f"line {before + rows.line_num} has {len(given)} cells"
            raise csv.Error(
                f"{where} for {len(columns)} columns: a text with {between!r} needs quotes"
            )
        named = [*zip(columns, [*given, *[""] * len(columns)], strict=False)]
        if any(cell for name, cell in named if not name):
            raise csv.Error(f"line {before + rows.line_num} has a cell in a column without a name")
        yield before + rows.line_num, {name: cell for name, cell in named if name}
    if not columns:
        raise csv.Error(f"is empty: it {_NEEDED}")


#: A text as spreadsheets write it that it stays one, as `="007"`.
_FORMULA = re.compile(r'^="([^"]*)"$')


def _columns(cells: list[str]) -> list[str]:
    """Return the names of columns in lower case. Raises csv.Error for other columns."""
    while cells and not cells[-1]:
        cells.pop()
    columns = [cell.casefold() for cell in cells]
    if "account" not in columns:
        raise csv.Error(f"{_NEEDED}, not {', '.join(cells)[:100]!r}")
    for place, column in enumerate(columns):
        if column and column not in _COLUMNS:
            raise csv.Error(f"has an {spec.unknown('column', cells[place][:50], _COLUMNS)}")
        if column and column in columns[:place]:
            raise csv.Error(f"has two columns {column!r}")
    return columns


def _add_row(
    table: TomlTable, found: dict[str, Contestant], row: Mapping[str, str], place: str
) -> None:
    if not row["account"]:
        table.fault_elsewhere("roster", place, "the account is missing")
        return
    try:
        account = normalised(row["account"])
        team = normalised(row.get("team") or account)
    except BadName as error:
        table.fault_elsewhere("roster", place, str(error))
        return
    same = (each.team for each in found.values() if skeleton(each.team) == skeleton(team))
    team = next(same, team)
    if skeleton(account) in found:
        table.fault_elsewhere("roster", place, f"{account!r} is listed before")
    found[skeleton(account)] = Contestant(account, team, row.get("name") or account)
