"""Notices through a push service: encrypted for the browser, signed by the server, kept."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import http_ece
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from playout.server.server_command import main
from support.commands import running_server
from support.posts import Post, PostReceiver, receiving
from support.raw_client import TIMEOUT_S, RawClient
from support.waiting import wait_until


@pytest.fixture
def service() -> Iterator[PostReceiver]:
    with receiving(201) as service:
        yield service


class Browser:
    """The keys of a browser's subscription."""

    def __init__(self, endpoint: str, language: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.auth = b"0123456789abcdef"
        public = self.key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        self.fields = {
            "endpoint": endpoint,
            "p256dh": base64.urlsafe_b64encode(public).rstrip(b"=").decode(),
            "auth": base64.urlsafe_b64encode(self.auth).rstrip(b"=").decode(),
            "language": language,
        }

    def read(self, post: Post) -> dict[str, str]:
        """Return the notice of a message, decrypted."""
        assert post.headers["content-encoding"] == "aes128gcm"
        text = http_ece.decrypt(post.body, private_key=self.key, auth_secret=self.auth)
        notice = json.loads(text)
        assert isinstance(notice, dict)
        return notice


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signed_claims(post: Post, key: str) -> dict[str, Any]:
    """Return the claims that the server's key has signed (RFC 8292)."""
    scheme, _, fields = post.headers["authorization"].partition(" ")
    assert scheme == "vapid"
    values = dict(each.strip().split("=", 1) for each in fields.split(","))
    assert values["k"] == key
    signed, _, signature = values["t"].rpartition(".")
    number = decoded(signature)
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(key))
    halves = (int.from_bytes(number[:32], "big"), int.from_bytes(number[32:], "big"))
    point.verify(encode_dss_signature(*halves), signed.encode(), ec.ECDSA(hashes.SHA256()))
    claims = json.loads(decoded(signed.partition(".")[2]))
    assert isinstance(claims, dict)
    return claims


def test_a_player_that_is_away_gets_an_encrypted_notice(
    service: PostReceiver, tmp_path: Path
) -> None:
    folder = tmp_path / "push"
    options = ("--push", str(folder), "--push-contact", "mailto:me@example.org")
    options = (*options, "--push-service", service.origin)
    database = ("--database", f"sqlite:///{tmp_path}/playout.db")
    browser = Browser(f"{service.origin}/send/1", "de")
    chinese = Browser(f"{service.origin}/send/2", "zh-Hans")
    with running_server(*options, *database) as server:
        with RawClient(server.host, server.port) as ann:
            welcome = ann.hello("Ann", guest=False, role="human")
            assert ann.ask("subscribe_push", **browser.fields)["type"] == "ok"
            assert ann.ask("subscribe_push", **chinese.fields)["type"] == "ok"
            elsewhere = browser.fields | {"endpoint": "http://127.0.0.1:1/x"}
            assert ann.ask("subscribe_push", **elsewhere)["code"] == "invalid"
            terms = {"game": "tic_tac_toe", "clock": "259200/move"}
            seek = ann.ask("seek", seat=2, **terms)["seek"]
        with RawClient(server.host, server.port) as bob:
            session = bob.hello("Bob", guest=False)["session"]
            assert bob.ask("accept", seek=seek)["type"] == "ok"
            match = bob.hear_until("started")["match"]
            bob.ask("move", match=match, ply=0, action=4)
        posts = sorted(service.posts.get(timeout=TIMEOUT_S) for _ in range(2))
        assert [post.path for post in posts] == ["/send/1", "/send/2"]
        first, second = (
            one.read(post) for one, post in zip((browser, chinese), posts, strict=True)
        )
        same = {"opponent": "Bob", "path": f"/matches/{match}"}
        assert first == same | {"text": "Sie sind am Zug", "game": "Tic-Tac-Toe"}
        assert second == same | {"text": "轮到您走棋", "game": "井字棋"}
        claims = signed_claims(posts[0], welcome["push_key"])
        assert (claims["aud"], claims["sub"]) == (service.origin, "mailto:me@example.org")
    assert (folder / "key.pem").stat().st_mode & 0o077 == 0
    service.status = 410  # the browser has ended its subscription
    with running_server(*options, *database) as server, RawClient(server.host, server.port) as bob:
        bob.hello("Bob", session=session)
        bob.ask("resign", match=match)
        post = min(service.posts.get(timeout=TIMEOUT_S) for _ in range(2))
        assert browser.read(post)["text"] == "Bob hat aufgegeben"
        wait_until(lambda: (folder / "subscriptions.json").read_text() == "{}")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--push", "folder"], "--push needs --push-contact"),
        (["--push-contact", "me"], "'me' is not like mailto:you@example.org"),
        (["--push-service", "example.org"], "is no site"),
    ],
)
def test_options_that_are_no_use_are_refused(options: list[str], text: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 2
    assert text in result.output


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("no key")
    words = ["--push", str(tmp_path), "--push-contact", "mailto:me@example.org"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert f"{tmp_path} cannot be used" in " ".join(result.output.split())
