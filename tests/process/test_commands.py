"""The commands as a stranger finds them: help, versions, exit codes, configuration, stopping."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from playout import games, players
from playout.games.core import compilation_cache
from support.commands import finish, finish_all, invoke, run, running_server, start
from support.forked import BIN, MODULES
from support.raw_client import RawClient
from testbed.machine import reserve_port


@pytest.mark.parametrize("command", MODULES)
def test_help_has_examples_and_the_version_is_known(command: str) -> None:
    code, output = run(command, "--help")
    assert code == 0
    assert re.search(r"Examples\b.*:$", output, re.MULTILINE)
    code, output = run(command, "--version")
    assert code == 0
    assert re.search(r"\d+\.\d+\.\d+", output)


def test_commands_import_no_rules_which_would_be_compiled_for_their_help() -> None:
    code = (
        "import importlib, sys\n"
        "for each in sys.argv[1:]: importlib.import_module(each)\n"
        "for each in sys.modules: print(each)\n"
    )
    words = [sys.executable, "-c", code, *MODULES.values()]
    imported = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    rules = {
        each
        for each in imported
        if each.startswith("playout.games.") and not each.startswith("playout.games.core")
    }
    assert not rules


@pytest.mark.parametrize("name", ["demo", "docs", "release", "test"])
def test_the_scripts_explain_themselves_before_they_install_anything(
    name: str, tmp_path: Path
) -> None:
    """A copy without its neighbours cannot make an environment."""
    script = shutil.copy(Path("scripts") / name, tmp_path)
    shown = subprocess.run(["sh", script, "--help"], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith(f"Usage: scripts/{name} ")
    assert "Examples:" in shown.stdout


#: A program that writes its name and its words to the file programs.txt beside it.
LOGGED = '#!/bin/sh\necho "$(basename "$0") $*" >> "$(dirname "$0")/programs.txt"\n'
FILE = "tests/unit/core/test_clock.py"


@pytest.mark.parametrize(
    ("words", "checks", "tests"),
    [
        ([FILE, "-k", "flag"], [], f"python -m pytest {FILE} -k flag"),
        ([f"{FILE}::test_flag"], [], f"python -m pytest {FILE}::test_flag"),
        (["tests/unit"], [], "python -m pytest -n N --dist worksteal tests/unit"),
        (
            ["--checks", FILE],
            ["ruff check", "ruff format", "lint-imports", "mypy"],
            f"python -m pytest -n N --dist worksteal {FILE}",
        ),
        (
            ["--quick"],
            ["ruff check", "ruff format", "lint-imports"],
            "python -m pytest -n N --dist worksteal -o testpaths=tests/unit",
        ),
        (
            ["-k", "flag"],
            ["ruff check", "ruff format", "lint-imports", "mypy"],
            "python -m pytest -n N --dist worksteal -k flag",
        ),
    ],
)
def test_the_tests_of_a_file_run_alone_unless_checks_are_wanted(
    words: list[str], checks: list[str], tests: str, tmp_path: Path
) -> None:
    """In a copy of the repository in which each program only writes how it was called."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (tmp_path / "tests" / "node").mkdir(parents=True)
    shutil.copytree("scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("*/"))
    for copy in ("setup.cfg", ".venv/installed-plain", ".venv/installed-dev"):
        shutil.copy("setup.cfg", tmp_path / copy)
    for name in ("python", "ruff", "lint-imports", "mypy", "npm"):
        (programs / name).write_text(LOGGED)
        (programs / name).chmod(0o755)
    done = subprocess.run(
        [tmp_path / "scripts" / "test", *words],
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    called = (programs / "programs.txt").read_text().splitlines()
    *_, last = (each for each in called if each.startswith("python"))  # the checks run beside it
    assert re.sub(r"-n \d+", "-n N", last) == tests
    found = [check for check in checks if any(each.startswith(check) for each in called)]
    assert found == checks
    others = ("ruff", "lint-imports", "mypy", "npm")
    assert checks or not any(each.startswith(others) for each in called)
    assert "mypy" in checks or not any(each.startswith("mypy") for each in called)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--stya"], "unknown option --stya"),
        (["nim", "hex"], "one GAME at most, and got nim and hex"),
    ],
)
def test_the_demo_refuses_what_it_does_not_know(words: list[str], text: str) -> None:
    refused = subprocess.run(
        ["scripts/demo", *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert refused.returncode == 2
    assert text in refused.stderr


def test_lines_and_modules_are_counted_by_folder() -> None:
    done = subprocess.run(
        ["scripts/count-lines", "games"], capture_output=True, text=True, check=True
    )
    head, own, *_, total = (line.split() for line in done.stdout.splitlines())
    files = [*Path("games").glob("*.py")]
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    assert head == ["lines", "modules"]
    assert own == ["games", f"{lines:,}", str(len(files))]
    assert total[:3] == ["total", "outside", "tests"]
    assert "games/core" in done.stdout
    refused = subprocess.run(
        ["scripts/count-lines", "/"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "/ is not a folder of the project" in refused.stderr


@pytest.mark.long
def test_the_demo_compiles_only_its_game(tmp_path: Path) -> None:
    """A copy with an environment whose tournament is left out."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copytree("scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("*/"))
    for copy in ("setup.cfg", ".venv/installed-plain"):
        shutil.copy("setup.cfg", tmp_path / copy)
    (programs / "python").symlink_to(sys.executable)
    for part in ("pyvenv.cfg", "lib"):
        (tmp_path / ".venv" / part).symlink_to(BIN.parent / part)
    (programs / "playout-player").symlink_to(BIN / "playout-player")
    (programs / "playout-tournament").symlink_to("/bin/true")
    # The searches are compiled already, for other tests.
    searches = tmp_path / "searches"
    searches.mkdir()
    for folder in compilation_cache.caches().glob("playout.players.*"):
        (searches / folder.name).symlink_to(folder)
    environment = {"XDG_CACHE_HOME": str(tmp_path), compilation_cache.OTHER_CACHES: str(searches)}
    done = subprocess.run(
        [tmp_path / "scripts" / "demo", "nim"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Compiling playout.games.nim for this machine, once ..." in done.stderr
    compiled = {path.name.split("-")[0] for path in (tmp_path / "playout/compiled").iterdir()}
    assert {name for name in compiled if not name.startswith("playout.players.")} == {
        "playout.games.core.random",
        "playout.games.nim",
    }
    assert "playout.players.mcts.search" in compiled


def test_the_help_of_a_player_lists_games_and_players() -> None:
    output = invoke("playout-player", "--help")[1]
    assert "ultimate_tic_tac_toe" in output
    assert {"human", "minimax", "open_spiel_mcts", "random", "rave", "uct"} <= {*players.names()}
    assert ", ".join(players.names()) in " ".join(output.split())


def test_the_options_of_a_player_are_listed_with_their_defaults() -> None:
    code, output = invoke("playout-player", "--options", "uct")
    assert code == 0
    assert re.search(r"fpu=2.0 +a number +first-play urgency", output), "an option of UCT"
    limit = r"memory_mb=256 +a whole number, 1 or more +memory of all trees"
    assert re.search(limit, output), "an option of all tree searches"
    assert "`solver`" not in invoke("playout-player", "--options", "flat")[1]
    assert "No options." in invoke("playout-player", "--options", "human")[1]


def test_all_games_are_listed_with_their_parameters_and_variants() -> None:
    code, output = invoke("playout-player", "--games")
    assert code == 0
    lines = [line for line in output.splitlines() if re.match(r"\w", line)]
    assert sorted(line for line in lines if line[-1] != ":") == games.names()
    assert lines.index("Connection:") < lines.index("hex") < lines.index("Territory:")
    assert re.search(r"^  max_take=3 +most chips that a player may take", output, re.MULTILINE)
    assert re.search(r"^  othello\(size=6\) +A short match", output, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["conect_four", "uct"], "did you mean 'connect_four'"),
        (["human", "connect_four"], "did you mean: playout-player connect_four human"),
        (["uct(c=1.2)", "nim"], "did you mean: playout-player nim 'uct(c=1.2)'"),
        (["othello(size=7)", "uct"], "othello: size must be an even number, not 7"),
        (["nim", "utc"], "did you mean 'uct'"),
        (["nim", "uct", "--option", "tiem=1"], "did you mean 'time'"),
        (["nim", "uct", "--option", "time"], "key=value"),
        (["nim", "uct", "--option", "memory_mb=999999999"], "cannot allocate memory_mb"),
        (["nim", "players:Player"], "does not define choose"),
        (["nim", "no_module:Bot"], "cannot be loaded"),
        (["nim", "json:JSONDecoder"], "not a subclass of Player"),
        (["nim"], "Missing argument 'PLAYER'"),
        (["nim", "uct", "--port", "99999"], "is not in the range"),
        (["nim", "uct", "--retry-s", "nan"], "'nan' is not a finite number"),
        (["--options", "utc"], "did you mean 'uct'"),
        (["nim", "random", "--tree", "tree.txt"], "needs a player that searches a tree"),
        (["nim", "random", "--tree-visits", "5"], "needs --tree"),
        (["any", "random"], "GAME can be any only with --tournament ID"),
        (["nim", "random", "--warm", "nim"], "--warm needs --tournament"),
        (["nim", "random", "--ladder", "nim"], "GAME must be any, not 'nim'"),
        (["any", "random", "--ladder", "nmi"], "did you mean 'nim'"),
        (["any", "random", "--ladder", "nim", "--clock", "1/move"], "leave out --clock"),
        (["any", "random", "--ladder", "nim", "--guest"], "--ladder needs an account"),
        (["any", "random", "--ladder", "nim", "--tournament", "t"], "choose one of"),
        (["nim", "random", "--bot-version", "2"], "--bot-version needs --ladder"),
        (["nim", "random", "--tournament", "any"], "GAME must be any, not 'nim'"),
        (["any", "random", "--tournament", "any"], "--tournament needs an account: --name"),
        (
            ["any", "random", "--tournament", "t", "--seat", "1"],
            "the tournament decides the terms of its matches: leave out --seat",
        ),
        (["any", "random", "--tournament", "t", "--takebacks"], "leave out --takebacks"),
        (["nim", "random", "--check", "--port", "4243"], "plays no match on a server: leave out"),
        (["any", "uct(tme=1)", "--tournament", "t", "--check"], "did you mean 'time'"),
        (
            ["any", "uct(near_first=true)", "--tournament", "t", "--check", "--warm", "nim"],
            "first: nim",
        ),
    ],
)
def test_bad_usage_of_a_player_is_explained(arguments: list[str], told: str) -> None:
    code, output = invoke("playout-player", *arguments)
    assert code == 2
    assert told in " ".join(output.split())
    assert "Traceback" not in output


def test_a_player_can_be_checked_without_a_server() -> None:
    warm = ("--warm", "nim", "--warm", "othello(size=6)")
    player = "uct(threads=2)"
    code, output = run("playout-player", "any", player, "--tournament", "any", "--check", *warm)
    said = [line for line in output.splitlines() if " ..." not in line]  # without the progress
    assert (code, said) == (0, ["threads: 2"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--port", "x"], "not a valid integer"),
        (["--http", "127.0.0.1:\N{SUPERSCRIPT TWO}"], "is not HOST:PORT"),
        (["--reconnect-s", "nan"], "'nan' is not a finite number"),
        (["--credit-cap-s", "nan"], "'nan' is not a finite number"),
        (["--idle-s", "inf"], "'inf' is not a finite number"),
        (["--grace-s", "inf"], "'inf' is not a finite number"),
        (["--default-clock", "5 minutes"], "300+3"),
        (["--illegal-moves", "-1"], "is not in the range"),
        (["--illegal-moves", "99999999999"], "is not in the range 0<=x<=2147483647"),
        (["--illegal-moves", str(10**30)], "is not in the range"),
        (["--bot", "uct(c=\udce4)"], "cannot read"),
        (["--config", "/nowhere.toml"], "No such file"),
        (["--host", ""], "expected an address"),
    ],
)
def test_bad_usage_of_the_server_is_explained(arguments: list[str], told: str) -> None:
    code, output = invoke("playout-server", *arguments)
    assert code == 2
    assert told in " ".join(output.split())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("prot = 4242", "did you mean 'port'"),
        ("port = 'x'", "not a valid integer"),
        ("port = true", "cannot be true"),
        ("reconnect_s = nan", "nan is not a finite number"),
        ("port 4242", "Expected '='"),
        ("default_clock = '5'", "cannot use the clock"),
        ("illegal_moves = 2147483648", "is not in the range"),
        ('bot = ["uct(c=\\u0000)"]', "cannot read"),
    ],
)
def test_a_bad_configuration_is_explained(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "playout.toml"
    file.write_text(text)
    code, output = invoke("playout-server", "--config", str(file))
    assert code == 2
    assert told in " ".join(output.split())


def test_every_wrong_key_of_a_configuration_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "playout.toml"
    file.write_text("prot = 4242\n\nport = true\nhost = 'h'\nlog_jsn = true\n")
    _, output = invoke("playout-server", "--config", str(file))
    found = [line.rpartition("playout.toml:")[2].split(": ")[0] for line in output.splitlines()]
    assert [number for number in found if number.isdigit()] == ["1", "3", "5"]
    file.write_bytes(b"host = '\0'")
    assert "zero bytes" in invoke("playout-server", "--config", str(file))[1]


def test_a_configuration_is_used_and_the_command_line_wins(tmp_path: Path) -> None:
    file = tmp_path / "playout.toml"
    file.write_text('port = 1\ndefault_clock = "60+1"\nlog_json = true\n')
    with running_server("--config", str(file)) as server:
        assert server.port > 1
        players = [start("playout-player", "nim", "random", *server.address) for _ in "12"]
        for code, output in finish_all(*players):
            assert code == 0
            assert "60+1" in output
        code, log = server.stop()
    assert code == 0
    lines = [json.loads(line) for line in log.splitlines()]
    ended = [line for line in lines if line.get("reason") == "rules"]
    assert ended[0]["game"] == "nim"
    assert ended[0]["match"] in ended[0]["text"]
    assert {"time", "level"} <= ended[0].keys()


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for option, value, told in (
            ("--port", port, "cannot listen: "),
            ("--http", f"127.0.0.1:{port}", "cannot listen for HTTP: "),
        ):
            words = ("--port", "0", "--database", "none", option, value)
            code, output = run("playout-server", *words)
            assert code == 1
            assert told in output
            free = "--port 0" if option == "--port" else "--http 127.0.0.1:0"
            assert f"Address already in use; choose another port, or {free}" in output
            assert "Traceback" not in output


def test_files_of_tls_that_are_mistaken_are_said(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued, other = authority.issue_cert("localhost"), authority.issue_cert("localhost")
    paths = {name: str(tmp_path / name) for name in ("cert", "key", "other", "garbage", "secret")}
    issued.cert_chain_pems[0].write_to_path(paths["cert"])
    issued.private_key_pem.write_to_path(paths["key"])
    other.private_key_pem.write_to_path(paths["other"])
    Path(paths["garbage"]).write_bytes(b"\0\xff garbage")
    loaded = load_pem_private_key(issued.private_key_pem.bytes(), None)
    form = Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"password")
    Path(paths["secret"]).write_bytes(loaded.private_bytes(*form))
    for cert, key, told in (
        ("key", "cert", "--tls-cert: expected certificates in PEM form"),
        ("garbage", "key", "--tls-cert: expected certificates in PEM form"),
        ("cert", "cert", "--tls-key: expected a private key in PEM form"),
        ("cert", "garbage", "--tls-key: expected a private key in PEM form"),
        ("cert", "secret", "without a password"),
        ("cert", "other", "they do not belong together"),
    ):
        files = ("--tls-cert", paths[cert], "--tls-key", paths[key])
        code, output = run(
            "playout-server", "--port", "0", "--http", "none", "--database", "none", *files
        )
        assert code == 1
        assert told in output
        assert "Traceback" not in output


@pytest.mark.parametrize("options", [("--host", "0.0.0.0"), ("--http", "0.0.0.0:0")])
def test_other_machines_connect_encrypted_or_by_the_operators_word(
    options: tuple[str, str], tmp_path: Path
) -> None:
    config = tmp_path / "playout.toml"
    config.write_text(f'{options[0].removeprefix("--")} = "{options[1]}"\n')
    for words in (options, ("--config", str(config))):
        code, output = invoke("playout-server", *words)
        assert code == 2
        assert "without encryption" in output
        assert "--insecure" in output
    config.write_text(config.read_text() + "insecure = true\n")
    with running_server("--config", str(config), *options) as server:
        assert RawClient(server.host, server.port).is_alive()


def test_a_password_for_the_metrics_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    option = ("--metrics-password-file", str(file))
    for content, told in (
        (None, "cannot be read"),
        (b"", "is empty"),
        (b"\xff\xfea", "is damaged"),
    ):
        if content is not None:
            file.write_bytes(content)
        code, output = invoke("playout-server", *option)
        assert (code, told in " ".join(output.split())) == (2, True), output
    file.write_text("sesame\n", encoding="utf-8-sig")
    with running_server("--http", "127.0.0.1:0", *option) as server:
        assert server.page
        url = f"http://{server.page[0]}:{server.page[1]}/metrics"
        with pytest.raises(HTTPError) as refused:
            urlopen(url)
        assert refused.value.code == 401
        code_word = base64.b64encode(b"prometheus:sesame").decode()
        with urlopen(Request(url, headers={"Authorization": f"Basic {code_word}"})) as answer:
            assert b"playout_connections" in answer.read()


def test_a_server_that_is_not_there_is_said() -> None:
    with socket.socket() as bound:  # does not listen, and keeps others from this port
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        # Long enough for several attempts.
        retry = ("--port", str(port), "--retry-s", "1.5")
        code, output = run("playout-player", "nim", "random", *retry)
    assert code == 1
    assert output.count("There is no server at 127.0.0.1:") == 1
    assert "Trying again for 1.5 s ... (--retry-s)" in output
    assert "cannot be reached" in output
    assert "playout-server" in output
    assert "Traceback" not in output


def test_players_may_be_started_before_the_server() -> None:
    port = str(reserve_port())
    arguments = ("--port", port, "--retry-s", "120")
    players = [start("playout-player", "nim", "random", *arguments) for _ in "12"]
    with running_server("--port", port):
        for code, output in finish_all(*players):
            assert code == 0, output
            assert "Traceback" not in output


@pytest.mark.parametrize(
    ("number", "database", "told"),
    [
        (signal.SIGTERM, "none", "(aborted)"),
        (signal.SIGINT, "none", "(aborted)"),
        (signal.SIGTERM, None, "continue when it is back"),
    ],
)
def test_a_server_that_is_asked_to_stop_tells_its_players(
    number: signal.Signals, database: str | None, told: str
) -> None:
    stored = ("--database", database) if database else ()
    with running_server("--grace-s", "0.2", *stored) as server:
        players = [
            start("playout-player", "connect_four", "uct(time=30)", "--retry-s", "0.5",
                  *server.address)
            for _ in "12"
        ]  # fmt: skip
        for player in players:
            assert player.stdout
            while "Match" not in (line := player.stdout.readline()):
                assert line
        server.process.send_signal(number)
        code, log = server.finish()
        assert code == 0, log
        assert "Traceback" not in log
        for code, output in finish_all(*players):
            assert code == 1  # a match was asked for, and none was had
            assert "The server is going to stop, in 0.2 s" in output
            assert told in output


def test_running_matches_may_end_before_the_server_stops() -> None:
    with running_server("--grace-s", "200") as server:
        players = [start("playout-player", "nim", "uct(time=0.1)", *server.address) for _ in "12"]
        for player in players:
            assert player.stdout
            while "Match" not in (line := player.stdout.readline()):
                assert line
        server.process.send_signal(signal.SIGTERM)
        for code, output in finish_all(*players):
            assert code == 0
            assert "(rules)" in output
        assert server.finish()[0] == 0


def test_a_bot_that_is_interrupted_resigns_and_leaves() -> None:
    with running_server() as server:
        thinker = start("playout-player", "nim", "uct(time=30)", "--seat", "1", *server.address)
        other = start("playout-player", "nim", "random", *server.address)
        assert thinker.stdout
        while "Match" not in (line := thinker.stdout.readline()):
            assert line
        thinker.send_signal(signal.SIGINT)
        assert finish(thinker)[0] == 130
        code, output = finish(other)
        assert code == 0
        assert "resigned" in output
