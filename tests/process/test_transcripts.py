"""Recorded conversations of clients with a server are understood by every later server.

A transcript in `tests/data/transcripts` has a line for each step of a client: it `connects` over
TCP or WebSocket, `sends` a message, `hears` the next one, or `hangs_up`. In a message, `$any`
stands for a value that differs from run to run, and another text that begins with `$` for an
identifier: where it is heard first it gets its value. A later server may add fields; it must not
change or leave out those that a client has seen. So a transcript is never recorded again.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.commands import RunningServer, running_server
from support.raw_client import RawClient
from support.web_client import WebClient

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "data" / "transcripts").glob("*.jsonl"))


class TranscriptReplay:
    """The clients of a transcript, and the values of its identifiers."""

    def __init__(self, server: RunningServer, clients: ExitStack) -> None:
        self._server = server
        self._stack = clients
        self._clients: dict[str, RawClient] = {}
        self._values: dict[str, str] = {}

    def step(self, client: str, kind: str, value: Any) -> None:
        """Carry out a step of a client."""
        match kind:
            case "connects":
                self._clients[client] = self._stack.enter_context(self._connected(value))
            case "sends":
                line = self._clients[client]
                line.send(line.encode(self._filled(value)))
            case "hears":
                self._require(value, self._clients[client].receive(), "")
            case "hangs_up":
                self._clients.pop(client).socket.close()
            case _:
                raise AssertionError(f"unknown step {kind!r}")

    def _connected(self, transport: str) -> RawClient:
        if transport == "tcp":
            return RawClient(self._server.host, self._server.port)
        assert self._server.page
        return WebClient(self._server.page)

    def _filled(self, value: Any) -> Any:
        """Return a recorded value with the identifiers of this run."""
        match value:
            case dict():
                return {key: self._filled(each) for key, each in value.items()}
            case list():
                return [self._filled(each) for each in value]
            case str() if value.startswith("$"):
                return self._values[value]
        return value

    def _require(self, recorded: Any, heard: Any, place: str) -> None:
        """Raise AssertionError unless a message has everything that was recorded."""
        match recorded:
            case "$any":
                return
            case str() if recorded.startswith("$"):
                assert heard == self._values.setdefault(recorded, heard), place
            case dict():
                assert recorded.keys() <= heard.keys(), f"{place}: {heard}"
                for key, each in recorded.items():
                    self._require(each, heard[key], f"{place}.{key}")
            case list():
                assert len(heard) == len(recorded), f"{place}: {heard}"
                for number, (each, other) in enumerate(zip(recorded, heard, strict=True)):
                    self._require(each, other, f"{place}[{number}]")
            case _:
                assert (type(heard), heard) == (type(recorded), recorded), place


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_recorded_conversation_goes_as_it_did(path: Path) -> None:
    with running_server("--http", "127.0.0.1:0") as server, ExitStack() as clients:
        replay = TranscriptReplay(server, clients)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            recorded = json.loads(line)
            client = recorded.pop("client")
            ((kind, value),) = recorded.items()
            try:
                replay.step(client, kind, value)
            except (AssertionError, OSError, EOFError) as error:
                raise AssertionError(f"{path.name}:{number}: {error}\n{line}") from error


def test_there_are_transcripts_of_both_transports_with_many_messages() -> None:
    steps = [json.loads(line) for path in TRANSCRIPTS for line in path.read_text().splitlines()]
    assert {each["connects"] for each in steps if "connects" in each} == {"tcp", "websocket"}
    heard = {each["hears"]["type"] for each in steps if "hears" in each}
    assert heard >= {"welcome", "started", "update", "ended", "error", "offered", "taken_back"}
