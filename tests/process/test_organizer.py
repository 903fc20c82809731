"""`playout-tournament` as a new user meets it, and the processes that it supervises."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.error import URLError

import msgspec
import pytest
import trustme
from click.testing import CliRunner, Result
from rich.console import Console
from support.commands import RunningServer, finish, run, running_server, start
from support.processes import is_gone
from support.raw_client import RawClient
from support.waiting import wait_until

from server.cli.database import opened
from server.core.accounts import digest
from server.model.codec import ADMINISTRATORS_FRAME
from server.model.messages import Fixture, Reason, Tournament
from server.model.records import (
    Account,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Record,
    TournamentCreated,
    TournamentEnded,
)
from server.model.tournament_spec import Entrant, Sprt, TournamentSpec, dumps, loads
from server.organizer import estimate, spec_file
from server.organizer.accounts import organizer_name, prepare_accounts
from server.organizer.console import LineDisplay, result, tables
from server.organizer.local_entrants import initial_processes
from server.organizer.local_server import (
    LocalServer,
    LocalServerError,
    is_free,
)
from server.organizer.main import main
from server.organizer.progress import TournamentProgress
from server.organizer.supervisor import BACK_OFF, CRASHES, Supervisor, starter
from server.runtime.subprocesses import LogFolder
from server.storage import Database, StorageError
from server.tournament import formats
from server.tournament.pairs import PairScore
from server.tournament.report import FORMATS
from server.tournament.version import of_command

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


def spec(
    format_: str = "round_robin", entrants: int | tuple[Entrant, ...] = 2, **fields: Any
) -> TournamentSpec:
    if isinstance(entrants, int):
        names = ("Ann", "Bob", "Cem", "Dee", "Eva", "Fay")[:entrants]
        entrants = tuple(Entrant(name, "") for name in names)
    given: dict[str, Any] = {"name": "a try", "games": ("tic_tac_toe",), "concurrency": 2}
    return TournamentSpec(**(given | {"format": format_, "entrants": entrants} | fields))


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bot.txt").write_text("a bot")
    (tmp_path / "SPEC.toml").write_text(SPEC)
    return tmp_path


# The command.


def test_help_has_examples_for_every_subcommand() -> None:
    assert "Examples:" in invoke("--help").output
    for name in set(main.commands):
        output = invoke(name, "--help").output
        assert "Example" in output
        assert "playout-tournament" in output
    assert set(main.commands) == {
        "run", "resume", "conclude", "status", "report", "export", "validate", "list"
    }  # fmt: skip


def test_a_good_file_is_described(folder: Path) -> None:
    told = invoke("validate", str(folder / "SPEC.toml"))
    version = of_command("cat bot.txt", spec_file.files_in(folder))
    assert told.exit_code == 0
    assert told.output.splitlines() == [
        "a try: round robin of tic_tac_toe, nim",
        "10 pairs, 20 matches, 2 at once, clock 0.1/move",
        "at most 15 s of thinking, if every match is as long as possible",
        "entrants:",
        f"  Ann: cat bot.txt, version {version}",
        "  Bob: logs in from elsewhere",
    ]


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
    folder: Path, before: str, after: str, told: str
) -> None:
    file = folder / "SPEC.toml"
    file.write_text(SPEC.replace(before, after))
    for command in ("validate", "run"):
        failed = invoke(command, str(file), *_database(folder)[: 2 * (command == "run")])
        assert failed.exit_code == 2
        assert told in failed.output
        assert "Traceback" not in failed.output


def test_a_player_that_cannot_be_had_is_found_before_anything_begins(folder: Path) -> None:
    file = folder / "SPEC.toml"
    file.write_text(SPEC.replace('command = "cat bot.txt"', 'player = "utc(c=1)"'))
    failed = invoke("validate", str(file))
    assert failed.exit_code == 2
    assert "SPEC.toml:9: Ann: unknown player 'utc'; did you mean 'uct'" in failed.output


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    failed = invoke("run", str(tmp_path / "none.toml"))
    assert failed.exit_code == 2
    assert "none.toml: No such file" in failed.output


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
def test_what_is_not_there_is_said_not_to_be(
    tmp_path: Path, arguments: list[str], code: int, told: str
) -> None:
    with opened(_database(tmp_path)[1], create=True):
        pass
    failed = invoke(*arguments, *_database(tmp_path))
    assert failed.exit_code == code
    assert told in failed.output


@pytest.mark.parametrize("command", ["status", "resume", "list", "report", "export"])
def test_a_database_that_is_not_there_is_not_created(tmp_path: Path, command: str) -> None:
    failed = invoke(command, *_database(tmp_path))
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
def test_bad_usage_is_explained(folder: Path, options: list[str], told: str) -> None:
    failed = invoke("run", str(folder / "SPEC.toml"), *options)
    assert failed.exit_code in (1, 2)
    assert told in " ".join(failed.output.split())


def _database(folder: Path) -> tuple[str, str]:
    return "--database", f"sqlite:///{folder}/t.db"


# A server that is there already.


class Elsewhere(NamedTuple):
    """A running server, whose administrator is Zoe, with the tokens of its accounts by name."""

    server: RunningServer
    url: str
    tokens: Mapping[str, str]

    def asked_by(self, name: str) -> tuple[str, ...]:
        """The options of a command."""
        return "--server", f"127.0.0.1:{self.server.port}", "--name", name


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    url = f"sqlite:///{tmp_path_factory.mktemp('elsewhere')}/its.db"
    tokens = prepare_accounts(url, "Zoe", ["Ada"])
    with running_server("--database", url) as server:
        yield Elsewhere(server, url, tokens)


def _organize(file: Path, *options: str, token: str, **env: str) -> tuple[int, str]:
    """`run`, as a process of its own which does not wait for long."""
    environment = os.environ | {"PLAYOUT_TOKEN": token} | env
    patience = {"server.organizer.launch._PATIENCE_S": 1.5}
    return run("playout-tournament", "run", str(file), *options, env=environment, changed=patience)


def test_a_server_that_is_not_there(folder: Path) -> None:
    code, said = _organize(folder / "SPEC.toml", "--server", "127.0.0.1:1", token="x")
    assert code == 1
    assert said.count("There is no server at 127.0.0.1:1: ") == 1
    assert "Trying again for 1.5 s ..." in said
    assert "the server cannot be reached" in said
    assert "Traceback" not in said


def test_who_may_not_hold_a_tournament_is_told_why(folder: Path, elsewhere: Elsewhere) -> None:
    for token, file, why in (
        ("wrong", folder / "SPEC.toml", "does not let the organizer in: "),
        (elsewhere.tokens["Ada"], folder / "SPEC.toml",
         "create_tournament is for administrators; the operator of the server makes"),
        (elsewhere.tokens["Ada"], _with_a_book(folder, 20_000),
         "the server takes at most 65,536 from an account that is no administrator; the operator"),
    ):  # fmt: skip
        code, said = _organize(file, *elsewhere.asked_by("Ada"), token=token)
        assert code == 1
        assert why in said
        assert "Traceback" not in said


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Elsewhere, str]]:
    """One that has a certificate for localhost, and the file of the authority that gave it."""
    folder = tmp_path_factory.mktemp("secure")
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    certificate.private_key_and_cert_chain_pem.write_to_path(str(folder / "own.pem"))
    url = f"sqlite:///{folder}/its.db"
    tokens = prepare_accounts(url, "Zoe", ["Ann", "Bob"])
    pems = ("--tls-cert", str(folder / "own.pem"), "--tls-key", str(folder / "own.pem"))
    with running_server("--database", url, *pems) as server:
        yield Elsewhere(server, url, tokens), str(folder / "ca.pem")


def test_over_tls_the_organizer_and_those_that_it_starts_know_the_server(
    folder: Path, secure: tuple[Elsewhere, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, ca = secure
    own_way = f"{sys.executable} -c 'import players.client.main as it; it.main()' any random"
    file = folder / "tls.toml"
    file.write_text(
        SPEC.replace(', "nim"', "").replace("rounds = 5", "rounds = 1").replace("0.1/", "30/")
        .replace("concurrency = 2", "concurrency = 1")
        .replace("cat bot.txt", own_way) + 'player = "random"\n'
    )  # fmt: skip
    monkeypatch.chdir(Path(ca).parent)
    code, said = _organize(
        file, *server.asked_by("Zoe"), "--ca", Path(ca).name, "--tls-name", "localhost",
        token=server.tokens["Zoe"],
        PLAYOUT_TOKEN_ANN=server.tokens["Ann"], PLAYOUT_TOKEN_BOB=server.tokens["Bob"],
    )  # fmt: skip
    assert code == 0, said
    assert "2 of 2  tic_tac_toe" in said


def test_a_server_that_cannot_be_trusted_is_told_nothing(
    folder: Path, secure: tuple[Elsewhere, str]
) -> None:
    server, ca = secure
    for options, told in (
        ((), "is --tls needed?"),
        (
            ("--tls", "--tls-name", "localhost"),
            "is not signed by an authority known to this system",
        ),
        (("--ca", ca), "certificate is not for '127.0.0.1'"),
    ):
        words = (*server.asked_by("Zoe"), *options)
        code, said = _organize(folder / "SPEC.toml", *words, token=server.tokens["Zoe"])
        assert code == 1
        assert told in said
        assert "Traceback" not in said


def _with_a_book(folder: Path, lines: int) -> Path:
    """A tournament with so many openings, each of two moves on a board of 225 fields."""
    moves = ([one, other] for one in range(225) for other in range(225) if one != other)
    (folder / "book.txt").write_text("\n".join(map(str, itertools.islice(moves, lines))))
    file = folder / "book.toml"
    text = SPEC.replace('"tic_tac_toe", "nim"', '"gomoku"')
    file.write_text(text.replace("rounds", 'openings = { file = "book.txt" }\nrounds'))
    return file


def test_a_book_of_thousands_of_openings_is_taken(folder: Path, elsewhere: Elsewhere) -> None:
    read = spec_file.read(_with_a_book(folder, 20_000))
    told = msgspec.to_builtins(read)
    server = elsewhere.server
    with RawClient(server.host, server.port) as zoe, RawClient(server.host, server.port) as ann:
        welcome = zoe.hello("Zoe", token=elsewhere.tokens["Zoe"])
        assert welcome["frame_bytes"] == ADMINISTRATORS_FRAME
        assert "frame_bytes" not in ann.hello("Ann")
        answer = zoe.ask("create_tournament", spec=told)
        assert answer["spec"]["openings"] == {"plies": 0, "lines": {}}
        ann.say("create_tournament", spec=told)
        assert ann.hear()["code"] == "frame_too_large"
    held = Database(elsewhere.url).tournament(answer["tournament"])
    assert held
    assert loads(held.created.spec).openings == read.openings


def test_a_book_that_is_too_long_is_said_to_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spec_file, "_MAX_BYTES", 1000)
    failed = invoke("validate", str(_with_a_book(folder, 300)))
    assert failed.exit_code == 2
    assert "bytes; at most 1,000 are allowed: use fewer or shorter openings" in failed.output


# What is stored.


def _match(number: int, leg: int, actions: Sequence[int], winner: int) -> Iterator[Record]:
    match = f"m{number}{leg}"
    players = ("Ann", "Bob") if leg == 1 else ("Bob", "Ann")
    yield MatchStarted(
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
    for ply, action in enumerate(actions):
        yield MovePlayed(match=match, ply=ply, seat=1 if ply % 2 == 0 else 2, action=action,
                     clocks=None, info=None, at=2.0)  # fmt: skip
    yield MatchEnded(
        match=match,
        winner=winner,
        returns=(1.0, 0.0),
        reason=Reason.RULES,
        text="x won",
        at=3.0,
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


def test_what_is_stored_is_listed_reported_and_exported(tmp_path: Path) -> None:
    _store(tmp_path, spec(rounds=2, games=("tic_tac_toe",)))
    where = _database(tmp_path)
    assert "a try" in invoke("list", *where).output
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


def test_of_a_tournament_that_is_over_resume_shows_the_report(tmp_path: Path) -> None:
    _store(tmp_path, spec(), over=True)
    told = invoke("resume", *_database(tmp_path))
    assert told.exit_code == 0
    assert "Tournament t1 is over." in told.output
    assert "Crosstable" in told.output


def test_one_that_is_abandoned_is_concluded_where_no_server_is(tmp_path: Path) -> None:
    _store(tmp_path, spec(rounds=2, games=("tic_tac_toe",)))
    database = Database(f"sqlite:///{tmp_path}/t.db")
    database.save(list(_match(2, 1, (0, 3), 0))[:-1])
    database.lock()
    told = invoke("conclude", "t1", *_database(tmp_path))
    assert told.exit_code == 1
    assert "another server uses the database" in told.output
    assert "ask it, with --server HOST:PORT" in " ".join(told.output.split())
    database.close()
    told = invoke("conclude", "t1", *_database(tmp_path))
    assert (told.exit_code, told.output) == (0, "Tournament t1 is over, as it stands.\n")
    assert "is over" in invoke("status", "t1", *_database(tmp_path)).output
    assert not Database(f"sqlite:///{tmp_path}/t.db").unfinished()
    for again, why in (("t1", "is over already"), ("t2", "there is no tournament 't2'")):
        told = invoke("conclude", again, *_database(tmp_path))
        assert told.exit_code == 1
        assert why in told.output


def test_on_a_server_an_administrator_concludes_it(folder: Path, elsewhere: Elsewhere) -> None:
    token, server = elsewhere.tokens["Zoe"], elsewhere.server
    with RawClient(server.host, server.port) as zoe:
        zoe.hello("Zoe", token=token)
        told = msgspec.to_builtins(spec_file.read(folder / "SPEC.toml"))
        tournament = zoe.ask("create_tournament", spec=told)["tournament"]
        for name, code, why in (
            ("none", 1, "there is no tournament 'none'"),
            (tournament, 0, "is over, as it stands"),
        ):
            asked = ("conclude", name, *elsewhere.asked_by("Zoe"))
            environment = os.environ | {"PLAYOUT_TOKEN": token}
            ended, said = run("playout-tournament", *asked, env=environment)
            assert ended == code
            assert why in said
        assert zoe.hear_until("tournament")["over"]


def test_changed_entrants_do_not_go_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _store(folder, spec_file.read(folder / "SPEC.toml"))
    (folder / "bot.txt").write_text("another bot")
    monkeypatch.chdir(folder)
    for more in ([], ["--spec", "SPEC.toml"]):
        refused = invoke("resume", *more, *_database(folder))
        assert refused.exit_code == 1
        assert "Ann: not the version with which the tournament began" in refused.output
        assert "--anyway" in refused.output


def test_another_file_is_not_taken_for_the_tournaments_own(folder: Path) -> None:
    _store(folder, spec_file.read(folder / "SPEC.toml"))
    (folder / "SPEC.toml").write_text(SPEC.replace("rounds = 5", "rounds = 6"))
    refused = invoke("resume", "--spec", str(folder / "SPEC.toml"), *_database(folder))
    assert refused.exit_code == 1
    assert "it differs in rounds" in refused.output


def test_a_new_release_of_playout_makes_new_versions(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "SPEC.toml"
    file.write_text(SPEC.replace('command = "cat bot.txt"', 'player = "uct"'))
    before = spec_file.read(file)
    assert spec_file.changed(before.entrants, folder) == []
    monkeypatch.setattr(spec_file, "installed", lambda: "another")
    assert spec_file.changed(before.entrants, folder) == ["Ann"]


def test_what_is_installed_is_what_is_in_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = spec_file.installed.__wrapped__()
    assert first == spec_file.installed.__wrapped__()
    (tmp_path / "players").mkdir()
    (tmp_path / "players" / "__init__.py").write_text("# another")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "players", raising=False)
    assert spec_file.installed.__wrapped__() != first


def test_versions_that_were_given_are_believed(folder: Path) -> None:
    given = Entrant("Ann", "2.1", command="cat bot.txt")
    assert spec_file.changed([given], folder / "elsewhere") == []
    read = spec_file.read(folder / "SPEC.toml").entrants
    assert spec_file.changed(read, folder) == []
    assert spec_file.changed(read, folder / "elsewhere") == ["Ann"]


# What it will be.


@pytest.mark.parametrize("format_", ["round_robin", "gauntlet", "match", "swiss", "knockout"])
@pytest.mark.parametrize("entrants", [2, 3, 5, 6])
def test_so_many_pairs_as_were_announced(format_: str, entrants: int) -> None:
    if format_ == "match" and entrants > 2:
        return
    whole = spec(format_, entrants, rounds=2, games=("nim", "tic_tac_toe"))
    span = estimate.pairs(whole)
    format_of = formats.load(whole)
    results: dict[Any, PairScore] = {}
    while missing := [each for each in format_of.pairs(results) if each.key not in results]:
        results |= {
            pair.key: PairScore(1, 1) if pair.entrants[0] < pair.entrants[1] else PairScore(0, 0)
            for pair in missing
        }
    assert span.least == len(results)
    assert span.most is not None
    assert (span.most == span.least) == (format_ != "knockout")


def test_a_sequential_test_has_no_known_end() -> None:
    test = spec("sprt", rounds=0, sprt=Sprt())
    assert str(estimate.pairs(test)) == "1 or more"
    assert estimate.thinking_s(test) is None
    assert str(estimate.pairs(spec("sprt", rounds=9, sprt=Sprt()))) == "1 to 9"


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [("1/move", 9), ("10+2", 38), ("10+3x5", 85), ("none", None)],
)
def test_thinking_time_at_most(clock: str, seconds: float | None) -> None:
    """Nine plies of tic-tac-toe; one pair of two matches, two at once."""
    assert estimate.thinking_s(spec(clock=clock, rounds=1)) == seconds


def test_threads_that_think_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "cores", lambda: 4)
    plain, two = Entrant("Ann", ""), Entrant("Bob", "", player="uct(threads=2)", threads=2)
    ponders = Entrant("Cem", "", player="uct(ponder=true)")
    assert estimate.concurrency(spec()) == 4
    assert estimate.concurrency(spec(entrants=(plain, two))) == 2
    assert estimate.concurrency(spec(entrants=(plain, ponders))) == 2
    assert estimate.concurrency(spec(entrants=(two, ponders))) == 1
    assert estimate.core_shortage(spec(entrants=(plain, two))) is None
    note = estimate.core_shortage(spec(entrants=(two, ponders)))
    assert note is not None
    assert "keep 6 threads thinking, and this machine has 4 cores" in note


def test_as_many_processes_at_first_as_are_surely_of_use() -> None:
    assert set(initial_processes(spec(concurrency=4)).values()) == {4}
    assert set(initial_processes(spec(entrants=6, concurrency=4)).values()) == {2}
    assert initial_processes(spec("gauntlet", 3, concurrency=3)) == {"Ann": 3, "Bob": 2, "Cem": 2}


# Processes.

FAILS, STAYS = "false", "sleep 60"


class FakeEntrants:
    """Entrants that are commands, and what is said of them."""

    def __init__(self, logs: LogFolder, **commands: str) -> None:
        self.said: list[str] = []
        self.withdrawn: list[str] = []
        self.started = 0
        entrants = [Entrant(name, "", command=command) for name, command in commands.items()]
        start = starter(spec(), Path.cwd(), ("127.0.0.1", 4242), "t1", {"Ann": "secret"})

        def counted(entrant: Entrant, number: int, log: Path) -> Any:
            self.started += 1
            return start(entrant, number, log)

        self.supervisor = Supervisor(
            entrants, counted, logs, self.said.append, self.withdrawn.append
        )
        for name in commands:
            self.supervisor.add(name)

    def poll(self, now: float, *, reachable: bool = True) -> None:
        """After those that end have ended."""
        for process in self.supervisor.processes:
            if process.args != STAYS.split():
                process.wait(10)
        self.supervisor.poll(now, reachable=reachable)


@pytest.fixture
def logs() -> Iterator[LogFolder]:
    logs = LogFolder()
    yield logs
    logs.wanted = False
    logs.close()


def test_a_process_that_exits_is_started_again_after_longer_and_longer(logs: LogFolder) -> None:
    entrants = FakeEntrants(logs, Ann=FAILS)
    now = 0.0
    entrants.poll(now)
    for crashes in range(1, CRASHES):
        entrants.poll(now)
        wait_s = BACK_OFF.wait_s(crashes)
        assert f"it is started again in {wait_s:g} s" in entrants.said[-1]
        entrants.poll(now + wait_s - 0.01)
        assert entrants.started == crashes
        now += wait_s
        entrants.poll(now)
        assert entrants.started == crashes + 1
    assert not entrants.withdrawn
    assert logs.wanted


def test_an_entrant_that_keeps_crashing_is_withdrawn_and_the_others_play_on(
    logs: LogFolder,
) -> None:
    entrants = FakeEntrants(logs, Ann=FAILS, Bob=STAYS)
    for step in range(2 * CRASHES):
        entrants.poll(step * BACK_OFF.longest_s)
    assert entrants.withdrawn == ["Ann"]
    assert f"{CRASHES} times without playing a match: Ann is withdrawn" in entrants.said[-1]
    (process,) = entrants.supervisor.processes
    assert process.poll() is None
    entrants.supervisor.stop()
    assert process.poll() is not None


def test_the_last_line_of_a_process_that_exits_is_shown(logs: LogFolder) -> None:
    said: list[str] = []
    named = [Entrant(name, "", command="cat") for name in ("мир", "мік")]

    def start(entrant: Entrant, number: int, log: Path) -> subprocess.Popen[bytes]:
        log.write_text(f"Starting ...\n{entrant.name}: no such book\n" if number == 1 else "")
        process = subprocess.Popen(["false"])
        process.wait()
        return process

    crew = Supervisor(named, start, logs, said.append, lambda name: None)
    for entrant in named:
        crew.add(entrant.name)
    crew.poll(0.0, reachable=True)
    crew.poll(0.0, reachable=True)
    assert said[0].endswith(": мир: no such book")
    assert said[1].endswith(": мік: no such book")
    crew.add("мир")
    crew.poll(0.1, reachable=True)
    crew.poll(0.1, reachable=True)
    assert said[2].endswith("It has written no output")


def test_a_match_that_was_played_makes_up_for_crashes(logs: LogFolder) -> None:
    entrants = FakeEntrants(logs, Ann=FAILS)
    for step in range(4 * CRASHES):
        entrants.poll(step * BACK_OFF.longest_s)
        if step % CRASHES == 0:
            entrants.supervisor.match_played("Ann")
    assert not entrants.withdrawn


def test_to_end_while_the_server_is_away_is_no_fault(logs: LogFolder) -> None:
    entrants = FakeEntrants(logs, Ann=FAILS)
    for step in range(4 * CRASHES):
        entrants.poll(step * BACK_OFF.longest_s, reachable=False)
    assert entrants.started > CRASHES
    assert not entrants.said
    assert not logs.wanted


def test_a_program_that_is_gone_is_a_crash(logs: LogFolder) -> None:
    entrants = FakeEntrants(logs, Ann="no_such_program")
    for step in range(CRASHES):
        entrants.poll(step * BACK_OFF.longest_s)
    assert "cannot be started: [Errno 2]" in entrants.said[0]
    assert entrants.withdrawn == ["Ann"]


def test_commands_are_told_where_to_play_and_nobody_elses_token(
    logs: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYOUT_TOKEN", "the organizer's")
    monkeypatch.setenv("PLAYOUT_TOKEN_BOB", "Bob's")
    entrants = FakeEntrants(logs, Ann="env", Bob="env")
    entrants.poll(0)
    entrants.poll(0)
    names = enumerate(("Ann", "Bob"), start=1)
    told = {name: logs.of(f"{n}-{name}-1").read_text().splitlines() for n, name in names}
    ours = sorted(line for line in told["Ann"] if line.startswith("PLAYOUT_"))
    assert ours == [
        "PLAYOUT_HOST=127.0.0.1",
        "PLAYOUT_NAME=Ann",
        "PLAYOUT_PORT=4242",
        "PLAYOUT_PROCESS=1",
        "PLAYOUT_TOKEN=secret",
        "PLAYOUT_TOURNAMENT=t1",
    ]
    assert not [line for line in told["Bob"] if "TOKEN" in line]


def test_what_a_process_has_started_ends_with_it(logs: LogFolder) -> None:
    entrants = FakeEntrants(logs, Ann="sh -c 'sleep 60 & echo $!; exit 1'")
    entrants.poll(0)
    entrants.poll(0)
    wait_until(partial(is_gone, int(logs.of("1-Ann-1").read_text())))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a parent's death")
def test_children_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, time\n"
        "from server.runtime.subprocesses import Program\n"
        "here = pathlib.Path.cwd()\n"
        "print(Program(['sleep', '60'], here, os.environ).start(here / 'log').pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    root = Path(spec_file.__file__).parents[2]
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    with parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert Path(f"/proc/{child}").exists()
        parent.send_signal(signal.SIGKILL)
    wait_until(partial(is_gone, child))


def test_logs_are_kept_only_if_there_is_a_reason() -> None:
    logs = LogFolder()
    logs.of("a/b-1").write_text("".join(f"line {n}\n" for n in range(100)))
    assert logs.tail("a/b-1").splitlines()[-1] == "line 99"
    assert logs.tail("unknown") == ""
    folder = logs.folder
    assert not logs.close()
    assert not folder.exists()
    assert not LogFolder().close(), "nothing was ever written"


# Accounts of a server of its own.


def test_accounts_are_made_and_only_digests_of_tokens_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    first = prepare_accounts(url, "organizer", ["Ann", "Bob"])
    database = Database(url)
    known = {each.name: each for each in database.accounts()[0]}
    database.close()
    assert known.keys() == {"organizer", "Ann", "Bob"}
    assert [each.name for each in known.values() if each.administrator] == ["organizer"]
    assert known["Ann"].digest == digest(first["Ann"])
    assert first["Ann"] not in (tmp_path / "t.db").read_bytes().decode(errors="replace")
    assert prepare_accounts(url, "organizer", ["Ann"])["Ann"] != first["Ann"]


def test_an_account_that_is_there_is_taken_over_with_its_name(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    database = Database(url)
    database.migrate()
    old = Account(id="1", name="ANN", digest="x", created_at=1.0, administrator=True, revoked=True)
    database.put_account(old)
    tokens = prepare_accounts(url, "organizer", ["Ann"])
    (ann,) = (each for each in database.accounts()[0] if each.id == "1")
    database.close()
    assert (ann.name, ann.digest) == ("Ann", digest(tokens["Ann"]))
    assert not ann.administrator
    assert not ann.revoked


def test_a_database_that_a_server_uses_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.organizer.accounts._PATIENCE_S", 0.2)
    url = f"sqlite:///{tmp_path}/t.db"
    used = Database(url)
    used.migrate()
    used.lock()
    with pytest.raises(
        StorageError, match=r"another server uses .* use another database: --database"
    ):
        prepare_accounts(url, "organizer", ["Ann"])
    used.close()


def test_a_port_that_is_taken_is_said_to_be(logs: LogFolder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalServerError, match=f"port {port} "):
            LocalServer("sqlite://", port, logs, registration="closed")


def test_the_organizer_has_a_name_of_its_own() -> None:
    assert organizer_name(["Ann"]) == "organizer"
    assert organizer_name(["Organizer"]).startswith("organizer ")


# The page of its own server.


STAYING = """\
name = "a short one"
games = ["nim(chips=3)"]
format = "match"
clock = "10/move"
concurrency = 1
[[entrants]]
name = "Ann"
player = "random"
[[entrants]]
name = "Bob"
player = "random"
"""


def test_a_tournament_is_watched_at_its_page_which_stays_when_asked(tmp_path: Path) -> None:
    file = tmp_path / "short.toml"
    file.write_text(STAYING)
    where = ("--http", "127.0.0.1:0", "--stay", "--database", f"sqlite:///{tmp_path}/t.db")
    process = start("playout-tournament", "run", str(file), *where, stdin=subprocess.DEVNULL)
    assert process.stdout
    try:
        said: list[str] = []
        for line in process.stdout:
            said.append(line)
            if "The server stays" in line:
                break
        (page,) = re.findall(r"Watch it at (\S+)", "".join(said))
        assert f"The server stays, at {page};" in said[-1]
        with urllib.request.urlopen(page, timeout=60) as response:
            assert "a short one" in response.read().decode()
        process.send_signal(signal.SIGINT)
        code, rest = finish(process)
    finally:
        process.kill()
    assert (code, rest) == (0, ""), said
    with pytest.raises(URLError):
        urllib.request.urlopen(page, timeout=60)


def test_the_usual_port_of_the_page_may_be_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert not is_free("127.0.0.1", taken.getsockname()[1])
    assert is_free("127.0.0.1", 0)


# What one sees.


def fixture(leg: Literal[1, 2], winner: int | None, **fields: Any) -> Fixture:
    reason = None if winner is None else Reason.RULES
    players = ("Ann", "Bob") if leg == 1 else ("Bob", "Ann")
    given: dict[str, Any] = {"players": players, "winner": winner, "reason": reason, "plies": 7}
    given |= {"match": f"m{leg}"} | fields
    return Fixture(tournament="t1", round=1, board=1, number=1, game="nim", leg=leg, **given)


def begun(**fields: Any) -> TournamentProgress:
    told = Tournament(tournament="t1", spec=spec(**fields))
    return TournamentProgress(told, 100.0)


def test_progress_knows_what_is_new_and_how_long_it_will_take() -> None:
    progress = begun(rounds=2)
    assert progress.put(fixture(1, 1))
    assert not progress.put(fixture(1, 1)), "the server says all again after a restart"
    progress.catch_up()
    assert progress.remaining_s(110.0) is None, "nothing has ended since"
    assert not progress.put(fixture(2, None))
    assert list(progress.running) == ["m2"]
    assert progress.put(fixture(2, -1))
    assert (progress.ended, progress.matches) == (2, 4)
    assert progress.remaining_s(110.0) == 20.0
    assert progress.report().standings[0].points == 1.5


def test_a_void_attempt_takes_its_pair_out_of_what_has_ended() -> None:
    progress = begun()
    progress.put(fixture(1, 1))
    progress.put(fixture(2, 0, reason=Reason.VOID))
    assert progress.ended == 1
    progress.put(fixture(1, 1, match="m3", attempt=2))
    assert progress.ended == 1
    progress.put(fixture(2, 1, match="m4", attempt=2))
    assert progress.ended == 2
    assert progress.report().voided == 1


def test_a_match_on_a_line() -> None:
    assert result(fixture(1, 2)) == "nim: Bob beat Ann (rules), 7 plies"
    assert result(fixture(2, -1, plies=1)) == "nim: Bob and Ann tied (rules), 1 ply"
    late = fixture(1, 1, reason=Reason.ILLEGAL_MOVES, repeated=True)
    assert result(late) == "nim: Ann beat Bob (illegal moves), 7 plies, as before"
    assert "have no result (void)" in result(fixture(1, 0, reason=Reason.VOID))


def test_lines_now_and_then_have_the_standings(capsys: pytest.CaptureFixture[str]) -> None:
    progress, lines = begun(), LineDisplay()
    lines.refresh(progress, 100.0)
    progress.put(fixture(1, 1))
    lines.match_ended(progress, fixture(1, 1))
    progress.put(fixture(2, 2))
    lines.refresh(progress, 130.0)
    assert capsys.readouterr().out == "1 of 2  nim: Ann beat Bob (rules), 7 plies\n"
    lines.refresh(progress, 161.0)
    assert capsys.readouterr().out.splitlines() == [
        "2 of 2 matches · 0:01:01 so far",
        "  1  Ann  2  2  2  0  0  100.0%",
        "  2  Bob  0  2  0  0  2  0.0%",
    ]
    lines.refresh(progress, 261.0)
    assert capsys.readouterr().out == "", "they are what they were"


def test_a_tournament_whose_lines_nobody_reads_any_more_is_interrupted(folder: Path) -> None:
    code = (
        "import signal, sys; from server.organizer.console import LineDisplay;"
        "signal.signal(signal.SIGTERM, lambda *_: print('terminated', file=sys.stderr));"
        "lines = LineDisplay(); lines.show('first'); input();"
        "lines.show('second'); lines.show('third')"
    )
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "first\n"
        process.stdout.close()
        _, said = process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert said == "terminated\n"


def test_tables_show_all_at_once() -> None:
    progress = begun(format_="sprt", rounds=0, sprt=Sprt())
    progress.put(fixture(1, None, players=("Ann", "Bob[/]")))
    console = Console(width=80)
    with console.capture() as capture:
        console.print(tables(progress, 160.0))
    shown = capture.get()
    assert "a try: sprt of tic_tac_toe" in shown
    assert "0:01:00 so far · LLR 0.00 (-2.94 to 2.94)" in shown
    assert "Ann against Bob[/]" in shown
    assert "points" in shown
