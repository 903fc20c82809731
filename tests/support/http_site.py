"""Requests to the pages and the API of a real server."""

from __future__ import annotations

import contextlib
import http.client
import json
from typing import Any

from support.commands import RunningServer
from support.raw_client import RawClient
from support.seeded_database import SeededDatabase


class SiteAnswer:
    """Status, headers and body of an answer."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self) -> Any:
        assert self.headers["Content-Type"] == "application/json"
        return json.loads(self.body)


def ask(page: tuple[str, int], path: str, method: str = "GET", **headers: str) -> SiteAnswer:
    """Send a server a request for a path, which is not quoted."""
    with contextlib.closing(http.client.HTTPConnection(*page, timeout=60)) as connection:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=sent)
        return SiteAnswer(connection.getresponse())


class HttpSite:
    """A server with the database of an earlier server, in which one match goes on."""

    def __init__(self, server: RunningServer, seeded: SeededDatabase) -> None:
        assert server.page
        self.server = server
        self.seeded = seeded
        self._where = server.page

    def ask(self, path: str, method: str = "GET", **headers: str) -> SiteAnswer:
        """Send a request for a path, which is not quoted."""
        return ask(self._where, path, method, **headers)

    def get(self, path: str) -> Any:
        """Return the JSON at a path below /api."""
        answer = self.ask(f"/api/{path}")
        assert answer.status == 200, answer.body
        return answer.json

    def refused(self, path: str) -> tuple[int, str]:
        answer = self.ask(f"/api/{path}")
        assert set(answer.json) == {"error"}
        return answer.status, answer.json["error"]

    def client(self) -> RawClient:
        return RawClient(self.server.host, self.server.port)

    def ids(self, path: str) -> list[str]:
        return [each["match"] for each in self.get(path)["items"]]
