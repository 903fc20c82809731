"""The subcommands of `playout-tournament` that start no server: their output and their errors."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from playout.protocol.messages import Reason
from playout.protocol.tournament_spec import TournamentSpec, dumps
from playout.protocol.versions import of_command
from playout.server.cli.database_commands import opened
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Record,
    TournamentCreated,
    TournamentEnded,
    flat,
)
from playout.server.organizer import estimate, spec_file
from playout.server.organizer.tournament_command import main
from playout.server.storage import Database
from playout.server.tournament.report import FORMATS
from support.fixtures import spec
from support.organizer import SPEC, book_of_openings, database_option, invoke, read_file


def test_help_has_examples_for_every_subcommand() -> None:
    assert "Examples:" in invoke("--help").output
    for name in set(main.commands):
        output = invoke(name, "--help").output
        assert "Example" in output
        assert "playout-tournament" in output
    assert set(main.commands) == {
        "run", "match", "compare", "resume", "conclude", "status", "report", "export", "validate",
        "list", "openings", "push",
    }  # fmt: skip


def test_a_good_file_is_described(spec_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "usable_cores", lambda: 2)
    told = invoke("validate", str(spec_folder / "SPEC.toml"))
    version = of_command("cat bot.txt", spec_file.files_in(spec_folder))
    assert told.exit_code == 0
    assert told.output.splitlines() == [
        "a try: round robin of tic_tac_toe, nim",
        "10 pairs, 20 matches, 2 at once, clock 0.1/move",
        "at most 15 s of thinking, if every match is as long as possible",
        "entrants:",
        f"  Ann: cat bot.txt, version {version}",
        "  Bob: logs in from elsewhere",
    ]
    monkeypatch.setattr(estimate, "usable_cores", lambda: 1)
    told = invoke("validate", str(spec_folder / "SPEC.toml"))
    assert told.output.splitlines()[3] == (
        "note: 2 matches at once can keep 2 threads thinking, and this machine has 1 core: players "
        "that think by the clock think less"
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"nim"', '"nym"', "SPEC.toml:2: games: unknown game 'nym'; did you mean 'nim'"),
        ("rounds = 5", "rounds = 0", "SPEC.toml:4: rounds"),
        ("cat bot.txt", "no_such", "SPEC.toml:9: Ann: there is no program 'no_such'"),
        (
            "cat bot.txt",
            "./bot.txt",
            "SPEC.toml:9: Ann: there is no program './bot.txt' that can",
        ),
        ("command = ", "player = ", "SPEC.toml:9: "),
        ('name = "a try"', "name = ", "SPEC.toml:1: "),
    ],
)
def test_errors_of_a_file_are_said_with_their_lines(
    spec_folder: Path, before: str, after: str, told: str
) -> None:
    file = spec_folder / "SPEC.toml"
    file.write_text(SPEC.replace(before, after))
    for command in ("validate", "run"):
        failed = invoke(command, str(file), *database_option(spec_folder)[: 2 * (command == "run")])
        assert failed.exit_code == 2
        assert told in failed.output
        assert "Traceback" not in failed.output


def test_a_player_that_cannot_be_had_is_found_with_all_other_errors(spec_folder: Path) -> None:
    file = spec_folder / "SPEC.toml"
    text = SPEC.replace('command = "cat bot.txt"', 'player = "uct(simulation=1)"')
    file.write_text(text.replace("rounds", "ronds").replace('name = "Bob"', 'name = "Ann"'))
    failed = invoke("validate", str(file))
    assert failed.exit_code == 2
    # On a busy machine there are also lines about what the command is doing.
    errors = [line for line in failed.output.splitlines() if "SPEC.toml:" in line]
    assert [line.partition("SPEC.toml:")[2][:52] for line in errors] == [
        "4: unknown key of a tournament 'ronds'; did you mean",
        "9: Ann: unknown option of uct 'simulation'; did you ",
        "11: name: 'Ann' is taken: another entrant has this n",
    ]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    failed = invoke("run", str(tmp_path / "none.toml"))
    assert failed.exit_code == 2
    assert "none.toml: No such file" in failed.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nym", "uct", "rave"], "games: unknown game 'nym'; did you mean 'nim'"),
        (["nim", "uct", "rav(time=1)"], "rav(time=1): unknown player 'rav'; did you mean 'rave'"),
        (["nim", "uct", "./bot --fast"], "'./bot --fast' is neither a player with its options"),
        (["nim", "uct", ""], "'' is neither a player with its options"),
        (["nim", "uct", "rave", "--clock", "soon"], "clock: "),
        (["nim", "uct", "rave", "--openings", "none.txt"], "there is no file 'none.txt'"),
        (["nim", "uct", "rave", "--openings", "50"], "plies: nim lasts at most 15 plies"),
        (["nim", "uct", "rave", "--sprt", "5", "0"], "elo1"),
        (["nim", "uct", "rave", "--pairs", "0"], "'--pairs'"),
    ],
)
def test_errors_of_a_match_without_a_file_have_no_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    failed = invoke("match", *arguments, *database_option(tmp_path))
    assert failed.exit_code == 2
    assert told in failed.output
    assert "Traceback" not in failed.output
    assert not re.search(r"\w:\d+:", failed.output)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["status"], 1, "there is no tournament in"),
        (["resume"], 1, "there is no tournament in"),
        (["report", "xyz"], 1, "there is no tournament in"),
        (["report", "--format", "pdf"], 2, "'pdf' is not one of"),
        (["export"], 1, "there is no tournament in"),
    ],
)
def test_an_unknown_tournament_is_reported(
    tmp_path: Path, arguments: list[str], code: int, told: str
) -> None:
    with opened(database_option(tmp_path)[1], create=True):
        pass
    failed = invoke(*arguments, *database_option(tmp_path))
    assert failed.exit_code == code
    assert told in failed.output


@pytest.mark.parametrize("command", ["status", "resume", "list", "report", "export"])
def test_a_database_that_is_not_there_is_not_created(tmp_path: Path, command: str) -> None:
    failed = invoke(command, *database_option(tmp_path))
    assert failed.exit_code == 1
    assert f"there is no database {tmp_path}/t.db" in failed.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--server", "nowhere"], "is not HOST:PORT"),
        (["--server", "127.0.0.1:1"], "PLAYOUT_TOKEN must hold the token of organizer"),
        (["--database", "none"], "a tournament needs a database"),
        (["--database", "mysql://x"], "use sqlite:"),
    ],
)
def test_bad_usage_is_explained(spec_folder: Path, options: list[str], told: str) -> None:
    failed = invoke("run", str(spec_folder / "SPEC.toml"), *options)
    assert failed.exit_code in (1, 2)
    assert told in " ".join(failed.output.split())


def test_a_book_that_is_too_long_is_said_to_be(
    spec_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spec_file, "_MAX_BYTES", 1000)
    failed = invoke("validate", str(book_of_openings(spec_folder, 300)))
    assert failed.exit_code == 2
    assert "bytes; at most 1,000 are allowed: use fewer or shorter openings" in failed.output


def _match(number: int, leg: int, actions: Sequence[int], winner: int) -> Iterator[Record]:
    match = f"m{number}{leg}"
    players = ("Ann", "Bob") if leg == 1 else ("Bob", "Ann")
    yield MatchStarted(
        **flat(
            match=match,
            game="tic_tac_toe",
            players=players,
            accounts=(None, None),
            sessions=("", ""),
            clock="none",
            rated=True,
            illegal_moves=0,
            credit_cap_s=0.0,
            tournament="t1",
            fixture=f"{number}.1.1.{leg}.1",
            at=1.0,
        )
    )
    for ply, action in enumerate(actions):
        seat = 1 if ply % 2 == 0 else 2
        yield MovePlayed(match=match, ply=ply, seat=seat, action=action, at=2.0)
    yield MatchEnded(
        **flat(
            match=match,
            winner=winner,
            returns=(1.0, 0.0),
            reason=Reason.RULES,
            text="x won",
            at=3.0,
        )
    )


def _store(folder: Path, spec: TournamentSpec, *, over: bool = False) -> None:
    """A tournament of which a pair was played."""
    database = Database(f"sqlite:///{folder}/t.db")
    database.migrate()
    records: list[Record] = [
        TournamentCreated(tournament="t1", name=spec.name, spec=dumps(spec), at=1.0)
    ]
    records += [*_match(1, 1, (0, 3, 1, 4, 2), 1), *_match(1, 2, (0, 4, 1, 3, 2), 1)]
    if over:
        records.append(TournamentEnded(tournament="t1", at=4.0))
    database.save(records)
    database.close()


def test_stored_tournaments_are_listed_reported_and_exported(tmp_path: Path) -> None:
    _store(tmp_path, spec(rounds=2, games=("tic_tac_toe",)))
    where = database_option(tmp_path)
    assert "a test" in invoke("list", *where).output
    status = invoke("status", *where).output
    assert "Tournament t1, started 1970-01-01 00:00 UTC, is not over" in status
    assert "playout-tournament resume t1" in status
    assert "1 of 2 pairs" in status
    for format_ in FORMATS:
        reported = invoke("report", "t1", "--format", format_, *where)
        assert reported.exit_code == 0
        assert "Ann" in reported.output
    assert json.loads(invoke("report", "--format", "json", *where).output)["done"] == 1
    exported = invoke("export", *where).output
    assert [json.loads(line)["match"] for line in exported.splitlines()] == ["m11", "m12"]
    file = tmp_path / "matches.pgn"
    assert invoke("export", "--format", "pgn", "--output", str(file), *where).exit_code == 0
    assert file.read_text().count("[White") == 2
    assert "see: playout-tournament list" in invoke("report", "t2", *where).output


def test_resume_of_an_ended_tournament_shows_the_report(tmp_path: Path) -> None:
    """So it does after an upgrade of Playout: it upgrades the database, as a server does."""
    _store(tmp_path, spec(), over=True)
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as database:
        database.executescript(
            "drop table identity;"
            "drop index matches_unmeasured; alter table matches drop column luck;"
            "alter table matches drop column reporter; alter table matches drop column delay;"
            "alter table tournaments drop column hosted;"
            "alter table tournaments drop column paused;"
            "update alembic_version set version_num = '0005'"
        )
    told = invoke("resume", *database_option(tmp_path))
    assert told.exit_code == 0, told.output
    assert "Tournament t1 is over." in told.output
    assert "Crosstable" in told.output


def test_one_that_is_abandoned_is_concluded_where_no_server_is(tmp_path: Path) -> None:
    _store(tmp_path, spec(rounds=2, games=("tic_tac_toe",)))
    database = Database(f"sqlite:///{tmp_path}/t.db")
    database.save(list(_match(2, 1, (0, 3), 0))[:-1])
    database.lock()
    told = invoke("conclude", "t1", *database_option(tmp_path))
    assert told.exit_code == 1
    assert "another server uses the database" in told.output
    assert "ask it, with --server HOST:PORT" in " ".join(told.output.split())
    database.close()
    told = invoke("conclude", "t1", *database_option(tmp_path))
    assert (told.exit_code, told.stdout) == (0, "Tournament t1 is over, as it stands.\n")
    assert "is over" in invoke("status", "t1", *database_option(tmp_path)).output
    assert not Database(f"sqlite:///{tmp_path}/t.db").unfinished()
    for again, why in (("t1", "is over already"), ("t2", "there is no tournament 't2'")):
        told = invoke("conclude", again, *database_option(tmp_path))
        assert told.exit_code == 1
        assert why in told.output


def test_changed_entrants_do_not_go_on(spec_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _store(spec_folder, read_file(spec_folder / "SPEC.toml"))
    (spec_folder / "bot.txt").write_text("another bot")
    monkeypatch.chdir(spec_folder)
    for more in ([], ["--spec", "SPEC.toml"]):
        refused = invoke("resume", *more, *database_option(spec_folder))
        assert refused.exit_code == 1
        assert "Ann: not the version with which the tournament began" in refused.output
        assert "--anyway" in refused.output


def test_another_file_is_not_taken_for_the_tournaments_own(spec_folder: Path) -> None:
    _store(spec_folder, read_file(spec_folder / "SPEC.toml"))
    (spec_folder / "SPEC.toml").write_text(SPEC.replace("rounds = 5", "rounds = 6"))
    refused = invoke(
        "resume", "--spec", str(spec_folder / "SPEC.toml"), *database_option(spec_folder)
    )
    assert refused.exit_code == 1
    assert "it differs in rounds" in refused.output
