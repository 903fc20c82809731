"""Webhooks: signed requests about ends of matches and tournaments, each at least once."""

from __future__ import annotations

import base64
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from playout.server.server_command import main
from support.commands import RunningServer, running_server
from support.posts import Post, receiving
from support.raw_client import TIMEOUT_S, RawClient


def event_of(post: Post, secret: str) -> dict[str, Any]:
    """Return the event of a request, after a check of its signature (Standard Webhooks 1.0)."""
    headers = post.headers
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + post.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.digest(key, content, "sha256")).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["content-type"] == "application/json"
    event = json.loads(post.body)
    assert isinstance(event, dict)
    return event


def resigned_match(server: RunningServer) -> str:
    """Play a match in which Ann resigns at once; return its id."""
    with (
        RawClient(server.host, server.port) as ann,
        RawClient(server.host, server.port) as bob,
    ):
        ann.hello("Ann")
        bob.hello("Bob")
        seek = ann.ask("seek", game="nim", clock="none", seat=1)["seek"]
        bob.ask("accept", seek=seek)
        match = ann.hear_until("started")["match"]
        ann.ask("resign", match=match)
        bob.hear_until("ended", match=match)
    assert isinstance(match, str)
    return match


def test_an_event_is_told_until_it_is_taken_also_after_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "webhooks"
    database = ("--database", f"sqlite:///{tmp_path}/playout.db")
    with receiving(503) as program:
        options = (*database, "--webhooks", str(folder), "--webhook", f"{program.origin}/told")
        with running_server(*options) as server:
            first = resigned_match(server)
            refused = program.posts.get(timeout=TIMEOUT_S)
        secret = (folder / "secret").read_text().strip()
        assert (folder / "secret").stat().st_mode & 0o077 == 0
        assert event_of(refused, secret)["data"]["match"] == first
        program.status = 204
        with running_server(*options) as server:
            taken = program.posts.get(timeout=TIMEOUT_S)
            while taken.status == 503:  # refused again before the kill
                taken = program.posts.get(timeout=TIMEOUT_S)
            second = resigned_match(server)
            next_ = program.posts.get(timeout=TIMEOUT_S)
        event = event_of(taken, secret)
        assert taken.path == "/told"
        assert taken.headers["webhook-id"] == f"match.ended.{first}"
        assert (event["type"], event["data"]["match"]) == ("match.ended", first)
        assert event["data"]["players"] == ["Ann", "Bob"]
        assert event["data"]["reason"] == "resignation"
        assert event_of(next_, secret)["data"]["match"] == second
        assert program.posts.empty()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--webhook", "http://127.0.0.1:1/"], "belong together"),
        (["--webhooks", "folder"], "belong together"),
        (["--webhook", "example.org"], "'example.org' is not like https://example.org/told"),
        (["--webhook", "file:///etc/passwd"], "is not like"),
        (["--webhook", "http://a/", "--webhooks", "f", "--database", "none"], "needs a database"),
    ],
)
def test_options_that_are_no_use_are_refused(options: list[str], text: str) -> None:
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 2
    assert text in " ".join(result.output.split())


def test_a_secret_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("no secret")
    words = ["--webhook", "http://127.0.0.1:1/", "--webhooks", str(tmp_path)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert f"{tmp_path} cannot be used" in " ".join(result.output.split())
