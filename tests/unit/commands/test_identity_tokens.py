"""commands.identity: other users cannot read tokens; no crash or race damages the file."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from playout.commands.identity import (
    GivenToken,
    SavedAccount,
    TokenError,
    TokenFile,
    given_token,
)
from support.waiting import PATIENCE_S

SERVER = "play.example:4242"


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def file(tmp_path: Path, warnings: list[str]) -> TokenFile:
    return TokenFile(tmp_path / "data" / "playout", warnings.append)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_token_is_kept_by_server_and_name(file: TokenFile) -> None:
    assert file.get(SERVER, "Ada") is None
    file.keep(SERVER, "Ada", "one")
    file.keep(SERVER, "Bob", "two")
    file.keep("localhost:4242", "Ada", "three")
    file.keep(SERVER, "ADA", "four")
    assert file.get(SERVER, "ada") == "four"
    assert file.get(SERVER, "Bob") == "two"
    assert file.get("localhost:4242", "Ada") == "three"


def test_nobody_else_can_read_it(file: TokenFile, warnings: list[str]) -> None:
    file.keep(SERVER, "Ada", "one")
    folder = file.path.parent
    assert mode(folder) == 0o700
    assert {mode(each) for each in folder.iterdir()} == {0o600}
    assert not warnings


def test_a_file_that_others_may_read_is_warned_of_once(
    file: TokenFile, warnings: list[str]
) -> None:
    file.keep(SERVER, "Ada", "one")
    file.path.chmod(0o644)
    assert file.get(SERVER, "Ada") == file.get(SERVER, "Ada") == "one"
    (warning,) = warnings
    assert "chmod 600" in warning
    assert str(file.path) in warning
    file.keep(SERVER, "Bob", "two")
    assert mode(file.path) == 0o600


@pytest.mark.parametrize("text", ["", "{", '["one"]', '{"play.example:4242": {"ada": 1}}', "\xff"])
def test_a_broken_file_is_explained_and_left_alone(file: TokenFile, text: str) -> None:
    file.prepare()
    file.path.write_text(text, encoding="latin-1")
    with pytest.raises(TokenError, match=r"tokens\.json (is broken|cannot be read)"):
        file.get(SERVER, "Ada")
    with pytest.raises(TokenError):
        file.keep(SERVER, "Ada", "one")
    assert file.path.read_text(encoding="latin-1") == text


def test_a_folder_that_cannot_be_had_is_explained(tmp_path: Path, warnings: list[str]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TokenError, match=r"no token can be stored in .*: Not a directory"):
        TokenFile(tmp_path / "file" / "playout", warnings.append).prepare()


def test_many_may_keep_theirs_at_once(file: TokenFile) -> None:
    program = """
import sys
from pathlib import Path
from playout.commands.identity import TokenFile

file = TokenFile(Path(sys.argv[1]), print)
for number in range(20):
    file.keep("server:1", f"{sys.argv[2]}-{number}", "token")
"""
    command = [sys.executable, "-c", program, str(file.path.parent)]
    crowd = [subprocess.Popen([*command, str(each)]) for each in range(2)]
    assert [each.wait(PATIENCE_S) for each in crowd] == [0] * 2
    kept = [file.get("server:1", f"{each}-{number}") for each in range(2) for number in range(20)]
    assert kept == ["token"] * 40
    assert {each.name for each in file.path.parent.iterdir()} == {"tokens.json", "tokens.lock"}


# Tokens that are given.


def test_a_file_wins_over_the_environment(tmp_path: Path, warnings: list[str]) -> None:
    path = tmp_path / "token"
    path.write_text("from-file\n")
    path.chmod(0o600)
    environment = {"PLAYOUT_TOKEN": "t"}
    assert given_token(path, environment, warnings.append) == GivenToken("from-file", str(path))
    assert given_token(None, environment, warnings.append) == GivenToken("t", "PLAYOUT_TOKEN")
    assert given_token(None, {}, warnings.append) is None
    assert not warnings
    for encoding in ("utf-8-sig", "utf-16"):  # as editors and shells of Windows store it
        path.write_text("from-file\n", encoding=encoding)
        assert given_token(path, {}, warnings.append) == GivenToken("from-file", str(path))
    path.chmod(0o640)
    given_token(path, {}, warnings.append)
    assert "chmod 600" in warnings[0]


def test_a_token_that_is_handed_over_can_be_read_once(warnings: list[str]) -> None:
    ours, its = socket.socketpair()
    with its:
        with ours:
            ours.sendall(b"secret\n")
        environment = {"PLAYOUT_TOKEN_FD": str(its.fileno()), "PLAYOUT_TOKEN": "another"}
        found = given_token(None, environment, warnings.append)
        assert found == GivenToken("secret", "PLAYOUT_TOKEN_FD")
        with pytest.raises(TokenError, match="PLAYOUT_TOKEN_FD holds no token"):
            given_token(None, environment, warnings.append)


@pytest.mark.parametrize("number", ["x", "99999", "-1"])
def test_a_descriptor_that_cannot_be_read_is_explained(number: str, warnings: list[str]) -> None:
    with pytest.raises(TokenError, match=f"PLAYOUT_TOKEN_FD={number} cannot be read"):
        given_token(None, {"PLAYOUT_TOKEN_FD": number}, warnings.append)


@pytest.mark.parametrize("text", ["", "\n", "two\nlines", "t" * 65])
def test_invalid_tokens_are_explained_and_not_shown(
    tmp_path: Path, warnings: list[str], text: str
) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(TokenError, match="holds no token") as raised:
        given_token(path, {}, warnings.append)
    assert "lines" not in str(raised.value)
    assert "ttt" not in str(raised.value)


def test_a_token_file_that_is_not_there_is_said(tmp_path: Path, warnings: list[str]) -> None:
    with pytest.raises(TokenError, match="cannot be read"):
        given_token(tmp_path / "nothing", {}, warnings.append)


# Accounts.


def test_a_token_that_is_given_is_used_and_nothing_is_kept(file: TokenFile) -> None:
    file.keep(SERVER, "Ada", "kept")
    account = SavedAccount(file, SERVER, "Ada", GivenToken("given", "PLAYOUT_TOKEN"))
    assert account.token() == "given"
    assert account.origin == "PLAYOUT_TOKEN"


def test_a_token_of_no_use_is_forgotten_until_there_is_another(file: TokenFile) -> None:
    file.keep(SERVER, "Ada", "old")
    account = SavedAccount(file, SERVER, "Ada")
    account.forget("old")
    assert account.token() is None
    file.keep(SERVER, "Ada", "new")  # by another player of the account
    assert account.token() == "new"


def test_an_account_whose_token_could_not_be_kept_is_not_registered(file: TokenFile) -> None:
    (file.path.parent / "tokens.lock").mkdir(parents=True)
    with pytest.raises(TokenError, match="no token can be stored"):
        SavedAccount(file, SERVER, "Ada").token()
