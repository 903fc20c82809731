"""A service on this machine that receives HTTP requests."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Post(NamedTuple):
    """A request, and the status of its answer; the names of its headers are in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes
    status: int


class PostReceiver:
    """A service that puts requests into a queue, and answers with `status`."""

    def __init__(self, status: int) -> None:
        self.posts: queue.Queue[Post] = queue.Queue()
        self.status = status
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status = service.status  # that of this request, whatever the test sets next
                service.posts.put(Post(self.path, headers, body, status))
                self.send_response(status)
                self.end_headers()

            do_PUT = do_POST

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def receiving(status: int) -> Iterator[PostReceiver]:
    """Run a service until the end of the block."""
    service = PostReceiver(status)
    thread = threading.Thread(target=service.server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield service
    finally:
        service.server.shutdown()
        thread.join()
        service.server.server_close()
