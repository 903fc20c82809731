"""What a client of a site does while its server is started again, and with hostile answers."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import click
import pytest

from playout.bots import site_client
from playout.bots.site_client import SiteClient, SiteUnreachable
from playout.laboratory.submission import Ticket


def test_a_state_is_asked_again_while_a_proxy_has_no_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = deque([(200, None), (502, None), (503, None), (200, 1.0), (504, None)])

    class ProxyOfSite(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, ended_at = answers.popleft()
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps({"ended_at": ended_at}).encode())

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    monkeypatch.setattr(site_client, "_ASK_S", 0.0)
    with HTTPServer(("127.0.0.1", 0), ProxyOfSite) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        client = SiteClient(f"http://127.0.0.1:{server.server_port}", "Ada", "secret")
        try:
            assert [each["ended_at"] for each in client.states("tests/1")] == [None, 1.0]
            monkeypatch.setattr(site_client, "_PATIENCE_S", -1.0)
            with pytest.raises(SiteUnreachable):
                next(client.states("tests/1"))
        finally:
            server.shutdown()
            thread.join()
    assert not answers


EVIL = "\x1b]52;c;ZXZpbA==\x07\x1b[2Jevil"
ANSWERS = {
    "no object": (200, "[]"),
    "other fields": (200, '{"type": 1}'),
    "a text for a number": (201, '{"test": "x"}'),
    "nested": (200, "[" * 100_000),
    "not JSON": (200, EVIL),
    "an error with commands": (400, EVIL),
    "an error without its text": (409, '{"fault": 1}'),
    "an error that is a list": (409, "[1]"),
    "a long error": (400, "x" * 2_000_000),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_of_a_hostile_site_is_an_error_for_people(kind: str) -> None:
    status, body = ANSWERS[kind]

    class HostileSite(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header(
                "Content-Type", "application/json" if body[0] in "[{" else "text/plain"
            )
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), HostileSite) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        client = SiteClient(f"http://127.0.0.1:{server.server_port}", "Ada", "secret")
        with pytest.raises(click.ClickException) as error:
            Ticket.handed_in(client, b"x", {})
        thread.join()
    assert error.value.message.isprintable()
    assert len(error.value.message) < 2000
