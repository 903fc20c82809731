"""A client like those of the original system: lines of JSON, one match, then it leaves."""

from __future__ import annotations

import json
import random
import socket
from typing import Any, Self

from support.original_boards import BOARDS
from support.raw_client import TIMEOUT_S

Json = dict[str, Any]


class OriginalClient:
    """Plays at random. It answers each position in which it is to move."""

    def __init__(self, game: str, port: int, seed: int = 1) -> None:
        self.board = BOARDS[game]()
        self.player: int | None = None
        self.history: list[Any] = []
        self.received: list[Json] = []
        self.said = 0
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self._lines = self.socket.makefile("rb")
        self._random = random.Random(seed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self.socket.close()

    def hear(self) -> Json:
        """Return the next message. Raises EOFError at the end."""
        line = self._lines.readline()
        if not line:
            raise EOFError
        assert line.endswith(b"\r\n"), line
        message = json.loads(line)
        assert isinstance(message, dict)
        self.received.append(message)
        return message

    def hear_until(self, kind: str) -> Json:
        while (message := self.hear())["type"] != kind:
            pass
        return message

    def send(self, data: object) -> None:
        self.socket.sendall(f"{json.dumps(data)}\r\n".encode())

    def action(self) -> Json:
        """Return its answer in the newest position."""
        action = self._random.choice(self.board.legal_actions(self.history))
        extras = {"games": 12, "max_depth": 3, "time": "0:00:01", "actions": [{"percent": 62.5}]}
        message = self.board.to_json_action(action)
        return {"type": "action", "message": message, "extras": extras}

    def next_turn(self) -> bool:
        """Wait for its turn; return False at the end of the match."""
        while True:
            message = self.hear()
            match message["type"]:
                case "player":
                    assert self.player is None
                    self.player = message["message"]
                case "decline":
                    return False
                case "update":
                    self._updated(message)
                    if message.get("winners") is not None:
                        return False
                    assert message["state"]["player"] == self.player
                    return True
                case kind:
                    raise AssertionError(f"the server says {kind}: {message}")

    def play(self) -> Json:
        """Play to the end, and return the last message, after which the line is closed."""
        while self.next_turn():
            self.send(self.action())
            self.said += 1
        assert self._lines.readline() == b""
        return self.received[-1]

    def _updated(self, message: Json) -> None:
        assert message["board"] is None
        self.history.append(self.board.to_compact_state(message["state"]))
        if "last_action" in message:
            last = message["last_action"]
            assert set(last) == {"player", "action", "sequence"}
            assert last["player"] == message["state"]["previous_player"]
            self.board.to_compact_action(last["action"])
