"""`playout-tournament` as a process, with a server that is there already or with its own."""

from __future__ import annotations

import operator
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError

import msgspec
import pytest
import trustme

from playout.protocol.codec import ADMINISTRATORS_FRAME
from playout.protocol.tournament_spec import loads
from playout.server.storage import Database
from support.commands import PATIENCE_S, RunningServer, finish, run, running_server, start
from support.given_accounts import accounts_in
from support.organizer import SPEC, book_of_openings, read_file
from support.raw_client import RawClient


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
    tokens = accounts_in(url, "Zoe", ["Ada"])
    with running_server("--database", url) as server:
        yield Elsewhere(server, url, tokens)


def _organize(
    file: Path, *options: str, token: str, patience_s: float = PATIENCE_S, **env: str
) -> tuple[int, str]:
    """`run`, as a process of its own which waits so long for a server."""
    environment = os.environ | {"PLAYOUT_TOKEN": token} | env
    patience = {"playout.server.organizer.launch._PATIENCE_S": patience_s}
    return run("playout-tournament", "run", str(file), *options, env=environment, changed=patience)


def test_a_server_that_is_not_there(spec_folder: Path) -> None:
    code, said = _organize(
        spec_folder / "SPEC.toml", "--server", "127.0.0.1:1", token="x", patience_s=1.5
    )
    assert code == 1
    assert said.count("There is no server at 127.0.0.1:1: ") == 1
    assert "Trying again for 1.5 s ..." in said
    assert "the server cannot be reached" in said
    assert "Traceback" not in said


def test_an_organizer_without_permission_gets_the_reason(
    spec_folder: Path, elsewhere: Elsewhere
) -> None:
    for token, file, why in (
        ("wrong", spec_folder / "SPEC.toml", "does not let the organizer in: "),
        (elsewhere.tokens["Ada"], spec_folder / "SPEC.toml",
         "create_tournament is for administrators; the operator of the server makes"),
        (elsewhere.tokens["Ada"], book_of_openings(spec_folder, 20_000),
         "the server takes at most 65,536 from an account that is no administrator; the operator"),
    ):  # fmt: skip
        code, said = _organize(file, *elsewhere.asked_by("Ada"), token=token)
        assert code == 1
        assert why in said
        assert "Traceback" not in said


def test_two_players_are_compared_without_a_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    words = ("tic_tac_toe", "flat(simulations=9)", "flat(simulations=9)", "--pairs", "2")
    options = ("--clock", "60/move", "--http", "none", "--database", url)
    options += ("--pgn", str(tmp_path / "matches.pgn"))
    code, output = run("playout-tournament", "match", *words, *options)
    assert code == 0, output
    assert "\nflat(simulations=9) 1 against flat(simulations=9) 2\n" in output
    assert "4 of 4  tic_tac_toe: " in output
    assert "likelihood of superiority" in output
    assert (tmp_path / "matches.pgn").read_text().count("[GameId ") == 4


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Elsewhere, str]]:
    """One that has a certificate for localhost, and the file of the authority that gave it."""
    folder = tmp_path_factory.mktemp("secure")
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    certificate.private_key_and_cert_chain_pem.write_to_path(str(folder / "own.pem"))
    url = f"sqlite:///{folder}/its.db"
    tokens = accounts_in(url, "Zoe", ["Ann", "Bob"])
    pems = ("--tls-cert", str(folder / "own.pem"), "--tls-key", str(folder / "own.pem"))
    with running_server("--database", url, *pems) as server:
        yield Elsewhere(server, url, tokens), str(folder / "ca.pem")


def test_over_tls_the_organizer_and_those_that_it_starts_know_the_server(
    spec_folder: Path, secure: tuple[Elsewhere, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, ca = secure
    code = "from playout.players.client.player_command import main; main()"
    own_way = f"{sys.executable} -c '{code}' any random"
    file = spec_folder / "tls.toml"
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


def test_a_server_of_its_own_that_others_reach_uses_tls(spec_folder: Path) -> None:
    file = spec_folder / "own.toml"
    file.write_text(
        'name = "own"\ngames = ["nim"]\nformat = "match"\nrounds = 1\nclock = "30/move"\n'
        'concurrency = 1\nopenings = { plies = 2 }\n'
        '[[entrants]]\nname = "Ann"\nplayer = "random(seed=1)"\n'
        '[[entrants]]\nname = "Bob"\nplayer = "random(seed=2)"\n'
    )  # fmt: skip
    folder = spec_folder / "temporary"
    folder.mkdir()
    code, said = run(
        "playout-tournament", "run", str(file), "--host", "127.0.0.1", "--http", "none",
        "--database", f"sqlite:///{spec_folder}/own.db", env=os.environ | {"TMPDIR": str(folder)},
        changed={"playout.server.organizer.local_server.is_loopback": partial(operator.eq, "")},
    )  # fmt: skip
    assert code == 0, said
    assert "2 of 2  nim" in said
    assert list(folder.glob("playout-certificate*")) == [], "the key is deleted"


def test_a_server_that_cannot_be_trusted_is_told_nothing(
    spec_folder: Path, secure: tuple[Elsewhere, str]
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
        code, said = _organize(
            spec_folder / "SPEC.toml", *words, token=server.tokens["Zoe"], patience_s=4.0
        )
        assert code == 1
        assert told in said
        assert "Traceback" not in said


def test_a_book_of_thousands_of_openings_is_taken(spec_folder: Path, elsewhere: Elsewhere) -> None:
    read = read_file(book_of_openings(spec_folder, 20_000))
    told = msgspec.to_builtins(read)
    server = elsewhere.server
    with RawClient(server.host, server.port) as zoe, RawClient(server.host, server.port) as ann:
        welcome = zoe.hello("Zoe", token=elsewhere.tokens["Zoe"])
        assert welcome["frame_bytes"] == ADMINISTRATORS_FRAME
        assert "frame_bytes" not in ann.hello("Ann")
        answer = zoe.ask("create_tournament", spec=told)
        assert answer["spec"]["openings"] == {
            "plies": 0,
            "near": 0,
            "lines": {},
            "fens": {},
            "order": "shuffled",
        }
        ann.say("create_tournament", spec=told)
        assert ann.hear()["code"] == "frame_too_large"
    held = Database(elsewhere.url).tournament(answer["tournament"])
    assert held
    assert loads(held.created.spec).openings == read.openings


def test_on_a_server_an_administrator_concludes_it(spec_folder: Path, elsewhere: Elsewhere) -> None:
    token, server = elsewhere.tokens["Zoe"], elsewhere.server
    with RawClient(server.host, server.port) as zoe:
        zoe.hello("Zoe", token=token)
        told = msgspec.to_builtins(read_file(spec_folder / "SPEC.toml"))
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
