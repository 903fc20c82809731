"""What a client of a site does while the server of the site is started again."""

from __future__ import annotations

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from playout.bots import site_client
from playout.bots.site_client import SiteClient, SiteUnreachable


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
