"""An endpoint of chat completions on loopback, which answers by a function."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any, ClassVar


def first_legal(prompt: str) -> str:
    """Returns an answer with the first legal move of a prompt."""
    (listed,) = re.findall(r"^Legal moves: (.*)$", prompt, re.MULTILINE)
    return f"MOVE: {listed.split(', ')[0]}"


def completion(content: str | None, **more: Any) -> bytes:
    """Returns the body of an answer, which cost 100 and 10 tokens."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    message = {"role": "assistant", "content": content}
    return json.dumps({"choices": [{"message": message}], "usage": usage, **more}).encode()


class ChatEndpoint(ThreadingHTTPServer):
    """Answers each request; equal idempotency keys are paid once and get the same answer."""

    daemon_threads = True

    def __init__(self, answer: Callable[[dict[str, Any]], bytes | tuple[int, bytes]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.lock = Condition()
        self._allowed = 10**9
        #: Whether a request waits until more are allowed.
        self.is_holding = False
        #: The answers that were paid, and the number of requests, by idempotency key.
        self.paid: dict[str, bytes] = {}
        self.asked = Counter[str]()
        #: The headers of the last request.
        self.headers: dict[str, str] = {}

    def allow(self, number: int) -> None:
        """Answers requests until that number is paid; further ones wait."""
        with self.lock:
            self._allowed, self.is_holding = number, False
            self.lock.notify_all()

    def hold(self) -> None:
        """Waits until a further answer is allowed; the lock is held."""
        while len(self.paid) >= self._allowed:
            self.is_holding = True
            self.lock.wait()

    @property
    def address(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: ChatEndpoint
    protocol_version: ClassVar[str] = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/chat/completions"
        key, status = self.headers["Idempotency-Key"], 200
        with self.server.lock:
            self.server.headers = dict(self.headers)
            self.server.asked[key] += 1
            if key not in self.server.paid:
                self.server.hold()
            found: Any = self.server.paid.get(key) or self.server.answer(body)
            if isinstance(found, tuple):
                status, found = found
            else:
                self.server.paid[key] = found
        with suppress(OSError):  # the client was killed
            self.send_response(status)
            self.send_header("Content-Length", str(len(found)))
            self.end_headers()
            self.wfile.write(found)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def chat_endpoint(
    answer: Callable[[dict[str, Any]], bytes | tuple[int, bytes]] = lambda body: completion(
        first_legal(body["messages"][0]["content"])
    ),
) -> Iterator[ChatEndpoint]:
    """Serves until the end of the block."""
    with ChatEndpoint(answer) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
