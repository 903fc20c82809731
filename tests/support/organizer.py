"""A specification file and other material of tests of `playout-tournament`."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from playout.commands.toml_table import TomlError
from playout.protocol.tournament_spec import TournamentSpec
from playout.protocol.versions import files_in, installed
from playout.server.organizer.progress import TournamentProgress
from playout.server.organizer.tournament_command import main
from playout.server.tournament import spec_parser
from playout.server.tournament.ledger import Ledger
from support.fixtures import spec

SPEC = """\
name = "a try"
games = ["tic_tac_toe", "nim"]
format = "round_robin"
rounds = 5
clock = "0.1/move"
concurrency = 2
[[entrants]]
name = "Ann"
command = "cat bot.txt"
[[entrants]]
name = "Bob"
"""


class SpecFaults(ValueError):
    """The faults of a specification file, a line for each."""


def read(text: str, **options: Any) -> TournamentSpec:
    """Return the tournament of a text. Raises SpecFaults."""
    try:
        found, faults = spec_parser.read(text, **options)
    except TomlError as error:
        raise SpecFaults(str(error)) from None
    if faults.found:
        raise SpecFaults(faults.text())
    return found


def read_file(path: Path) -> TournamentSpec:
    """Return the tournament of a file, whose entrants are not checked."""
    return read(path.read_text(), files=files_in(path.parent), code=installed())


def invoke(*arguments: str) -> Result:
    """Call `playout-tournament` in this process."""
    return CliRunner().invoke(main, arguments)


def database_option(folder: Path) -> tuple[str, str]:
    """Return the option for a database in a folder."""
    return "--database", f"sqlite:///{folder}/t.db"


def book_of_openings(folder: Path, lines: int) -> Path:
    """Write a specification with that many openings, each of two moves on a board of 225 fields."""
    moves = ([one, other] for one in range(225) for other in range(225) if one != other)
    (folder / "book.txt").write_text("\n".join(map(str, itertools.islice(moves, lines))))
    file = folder / "book.toml"
    text = SPEC.replace('"tic_tac_toe", "nim"', '"gomoku"')
    file.write_text(text.replace("rounds", 'openings = { file = "book.txt" }\nrounds'))
    return file


def new_progress(**fields: Any) -> TournamentProgress:
    """Return the progress of a tournament that has just started, at 100 s."""
    return TournamentProgress(Ledger("t", spec(**fields)), 100.0)
