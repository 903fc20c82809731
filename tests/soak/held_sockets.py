"""Peers that keep sockets open and do not read, and what others notice of them.

One address opens sockets in one of several ways, keeps all of them, and replaces each one that the
server closes. Meanwhile two honest players play match after match, /healthz is fetched with a new
connection each time, and the open files of the server are counted. Then the address opens no more,
and the time is taken until the server has as many files as before. What the server does until it
answers is measured as processor time: on a busy machine, each answer takes longer.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import select
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import trustme

from soak.honest_players import HonestPlayersReport, playing
from testbed.machine import Helper, HelperReport, helper, own_processor_seconds
from testbed.server_process import PAGE, SERVER, ServerProcess, allow_connections, serving, stored

HOST, ATTACKER = "127.0.0.1", "127.0.0.2"
#: Seconds between two looks at the sockets, and between two requests for health.
PAUSE_S = 0.05
#: Maximum number of sockets that are opened at a look: the others would wait for this process.
AT_ONCE = 25
#: The longest wait for the server to close files, for its answer, and for the next sockets.
PATIENCE_S = 60.0
_CLOSED = select.POLLRDHUP | select.POLLERR | select.POLLHUP

#: The ports of a server: for players, and for HTTP.
Ports = tuple[int, int]


def _open(port: int, sent: bytes, *, small: bool = False) -> socket.socket:
    """Connect to a port and send what the system accepts; `small`: with the smallest buffers."""
    made = socket.socket()
    if small:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    made.bind((ATTACKER, 0))
    made.connect((HOST, port))
    made.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        made.send(sent)
    return made


_PAGE = b"GET /static/board.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
#: By name, the function that opens a socket; for comparison, none is opened.
INPUTS: dict[str, Callable[[Ports], socket.socket] | None] = {
    "none": None,
    "TLS without a handshake": lambda ports: _open(ports[0], b""),
    "frames, answers unread": lambda ports: _open(ports[0], b"\0\0\0\1\xc1" * 20_000, small=True),
    "half requests": lambda ports: _open(ports[1], _PAGE[:-2]),
    "pages, unread": lambda ports: _open(ports[1], _PAGE * 50, small=True),
}
TLS = "TLS without a handshake"


@dataclass
class HeldSockets:
    """Measurements: open files of the server, and its work before it answers others."""

    opened: int = 0
    #: The files above those before: the most, and the seconds until there were none.
    most_files: int = 0
    back_s: float = 0.0
    #: The most processor seconds of the server until it answered a request for health.
    health_work_s: float = 0.0
    unanswered: int = 0
    honest: HonestPlayersReport = field(default_factory=HonestPlayersReport)


@dataclass
class _Opened(HelperReport):
    """The sockets that were opened so far, and whether these are all."""

    count: int = 0
    all: bool = False


def hold_sockets(name: str, count: int, seconds: float) -> HeldSockets:
    """Open `count` sockets in the way of this name, and replace closed ones for some seconds."""
    allow_connections(count)
    with (
        tempfile.TemporaryDirectory() as folder,
        stored() as database,
        serving([SERVER, "--port=0", PAGE, "--hello-s=3", database, *_tls(name, folder)]) as server,
        playing(server.port, size=9, tls=name == TLS) as honest,
    ):
        seen = HeldSockets()
        watch = _Watch(server, seen)
        watch.look()
        wanted = count if INPUTS[name] else 0
        with _attackers(name, (server.port, server.page), wanted) as attackers:
            watch.level = _open_files(server.pid)
            attackers.ask("open")
            watch.until(time.monotonic() + seconds, lambda: False)
            attackers.ask("stop")
            while not (opened := attackers.answer()).all:  # on a busy machine, some follow only now
                watch.count()
            seen.opened = opened.count
            stopped_at = time.monotonic()
            watch.count()
            watch.until(stopped_at + PATIENCE_S, lambda: watch.files() <= 0)
            seen.back_s = time.monotonic() - stopped_at
        seen.honest = honest.finish()
    return seen


class _Watch:
    """Fetches /healthz of a server, and counts its files."""

    def __init__(self, server: ServerProcess, seen: HeldSockets) -> None:
        self.level = 0
        self._server = server
        self._seen = seen

    def files(self) -> int:
        """Return the open files of the server above the level."""
        return _open_files(self._server.pid) - self.level

    def until(self, end: float, done: Callable[[], bool]) -> None:
        """Look again and again, until the time `end` or until it is `done`."""
        while time.monotonic() < end and not done():
            self.look()
            self.count()
            time.sleep(PAUSE_S)

    def count(self) -> None:
        """Count the open files of the server."""
        self._seen.most_files = max(self._seen.most_files, self.files())

    def look(self) -> None:
        """Fetch /healthz once over a new connection."""
        before_s = own_processor_seconds(self._server.pid)
        connection = http.client.HTTPConnection(HOST, self._server.page, timeout=PATIENCE_S)
        try:
            with contextlib.closing(connection):
                connection.request("GET", "/healthz", headers={"Connection": "close"})
                answered = connection.getresponse().read().startswith(b"ok")
        except (OSError, http.client.HTTPException):
            answered = False
        work_s = own_processor_seconds(self._server.pid) - before_s
        self._seen.health_work_s = max(self._seen.health_work_s, work_s)
        self._seen.unanswered += not answered


def _open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def _tls(name: str, folder: str) -> list[str]:
    """Return the options of a server with TLS, if the input needs it."""
    if name != TLS:
        return []
    pem = Path(folder, "own.pem")
    trustme.CA().issue_cert(HOST).private_key_and_cert_chain_pem.write_to_path(str(pem))
    return [f"--host={HOST}", f"--tls-cert={pem}", f"--tls-key={pem}"]


@contextlib.contextmanager
def _attackers(name: str, ports: Ports, count: int) -> Iterator[Helper[_Opened]]:
    run = partial(helper, "the sockets", _attack, answer_s=PATIENCE_S, method="forkserver")
    with run(name, ports, count) as sockets:
        yield sockets


def _attack(name: str, ports: Ports, count: int, pipe: Connection) -> None:
    """Open sockets after the word "open", and none after the next word; keep them to the end.

    At least `count` are opened, if need be after that word, each time with a report of their
    number. This process has the lowest priority, as such peers are on other machines.
    """
    os.nice(19)
    pipe.recv()
    opened, held, poll, make = 0, dict[int, socket.socket](), select.poll(), INPUTS[name]
    while not (stopped := pipe.poll(PAUSE_S)) or opened < count:
        if stopped:
            pipe.send(_Opened(count=opened))
        for number, _ in poll.poll(0):
            poll.unregister(number)
            held.pop(number).close()
        for _ in range(min(AT_ONCE, count - len(held))):
            assert make
            with contextlib.suppress(ConnectionError):
                made = make(ports)
                held[made.fileno()] = made
                poll.register(made, _CLOSED)
                opened += 1
    pipe.recv()
    pipe.send(_Opened(count=opened, all=True))
    pipe.recv()  # until the process is ended
