"""Requests with bodies under attack: competitions, the laboratory, pages, and MCP over HTTP.

The addresses that take a body are those with PUT in the docstrings of the two sites; pages take
none. Honest players play on the same server, and an honest author asks each of the sites.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from playout.competition import site
from playout.laboratory import queue_site
from soak.attacked import ATTACKER, HOST, Attacked, attacked, in_parallel
from support import scale
from support.competitions import FILE, FUTURE, ask, basic, new_account, require_sandbox
from support.repositories import LAB
from support.requirements import need_packages
from support.waiting import wait_until
from testbed.machine import children, own_processor_seconds, reserve_port, runs

pytestmark = pytest.mark.skipif(not scale.slow, reason="an attack takes half a minute: --slow")

#: Seconds of an attack, accounts of the attacker, and the MiB of an upload.
ATTACK_S, ACCOUNTS, UPLOAD_MB = 10.0, 20, 2
#: The most that the memory of a process may grow during an attack.
GROWTH_MB = 64
#: The longest that the process of a site may work for others before it answers a page. The work of
#: the pages' process is that of the honest moves, which are checked.
SITE_WORK_S = 0.5
#: Connections of one address.
LINES = 60
BRIDGE = str(Path(sys.executable).with_name("playout-bridge"))
NAMES = [f"Attacker{number}" for number in range(ACCOUNTS)]


@dataclass
class AttackedPort:
    """A port that takes requests: its process, an address that it answers, and those with PUT."""

    name: str
    port: int
    process: int
    page: str
    puts: list[str]

    def memory_mb(self) -> float:
        """Return the resident memory of its process, without child processes."""
        status = Path(f"/proc/{self.process}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@dataclass
class AttackedSites:
    """The places of a server under attack, its folder, and the tokens of its accounts."""

    under: Attacked
    folder: Path
    tokens: dict[str, str]
    places: list[AttackedPort]

    def head(
        self, place: AttackedPort, method: str, path: str, *more: str, name: str = ""
    ) -> bytes:
        """Return the head of a request, with the token of an account if it has a name."""
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *more]
        if name:
            lines.append(f"Authorization: {basic(name, self.tokens[name])}")
        return "\r\n".join([*lines, "", ""]).encode()

    def stored_bytes(self) -> int:
        """Return the bytes of all files except the database."""
        found = 0
        for path in self.folder.rglob("*"):
            with contextlib.suppress(OSError):
                found += path.stat().st_size if path.is_file() and ".db" not in path.name else 0
        return found


def puts_of(module: Any, **values: str) -> list[str]:
    """Return the paths that take a body, with values for the words in capitals."""
    found = re.findall(r"^ +PUT (/\S+)", module.__doc__, re.MULTILINE)
    assert found, module
    return [re.sub("[A-Z]+", lambda word: values[word[0]], path) for path in found]


def child(server: int, module: str) -> int:
    """Wait for the child process of the server that runs a module."""

    def found() -> int | None:
        return next((each for each in children(server) if runs(each, module)), None)

    process = wait_until(found, module)
    assert process is not None
    return process


@contextlib.contextmanager
def sites(folder: Path) -> Iterator[AttackedSites]:
    """Run a server with a competition and a laboratory, and the honest players."""
    require_sandbox()
    more = f"submission_mb = {UPLOAD_MB}\nsubmissions_per_day = 3"
    text = FILE.format(game="nim", clock="20+5", deadline=FUTURE, more=more)
    (folder / "cup.toml").write_text(text)
    queue = f"[queue]\ncores = 1\nsubmission_mb = {UPLOAD_MB}\nper_day = 3\n"
    (folder / "lab.toml").write_text(LAB + queue)
    database = f"sqlite:///{folder}/playout.db"
    tokens = {name: new_account(database, name) for name in ("Ada", *NAMES)}
    ports = reserve_port(), reserve_port()
    words = (
        *("--database", database, "--competition", str(folder / "cup.toml")),
        *("--competition-http", f"{HOST}:{ports[0]}", "--warm", "nim"),
        *("--lab", str(folder / "lab.toml"), "--lab-http", f"{HOST}:{ports[1]}"),
    )
    with attacked(*words) as under:
        server = under.server

        places = [
            AttackedPort(
                "competitions",
                ports[0],
                child(server.pid, "playout.competition.host"),
                "/cup/state",
                puts_of(site, NAME="cup", FILE="b.tar.gz", ACTION="retry", VALUE="1"),
            ),
            AttackedPort(
                "laboratory",
                ports[1],
                child(server.pid, "playout.laboratory.queue_host"),
                "/api/queue",
                puts_of(queue_site, FILE="t.tar.gz"),
            ),
            AttackedPort(
                "pages", server.page, server.pid, "/matches", ["/matches", "/api/matches"]
            ),
        ]
        for place in places:
            wait_until(partial(answers, place), place.name)
        yield AttackedSites(under, folder, tokens, places)


def answers(place: AttackedPort) -> bool:
    """Return whether a place shows its page."""
    try:
        return ask(place.port, "GET", place.page[1:])[0] == 200
    except OSError:
        return False


# Attacks: each yields what is sent on a connection, by its number.


def _send(
    place: AttackedPort, chunks: Callable[[int], Iterator[bytes]], lines: int = LINES
) -> None:
    """Keep connections open; each sends what `chunks` yields for its number, as fast as it may."""
    end = time.monotonic() + ATTACK_S
    numbers = itertools.count()
    opened: dict[socket.socket, tuple[Iterator[bytes], memoryview]] = {}
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            while len(opened) < lines and time.monotonic() < end:
                made = socket.create_connection((HOST, place.port), 1, (ATTACKER, 0))
                made.setblocking(False)
                opened[made] = chunks(next(numbers)), memoryview(b"")
        for made, (source, rest) in list(opened.items()):
            try:
                rest = rest or memoryview(next(source, b""))
                if rest:
                    rest = rest[made.send(rest) :]
                opened[made] = source, rest
                if not made.recv(2**16):
                    raise ConnectionError
            except BlockingIOError:
                opened[made] = source, rest
            except ConnectionError:
                del opened[made]
                made.close()
        time.sleep(0.001)


def _body(blocks: int) -> Iterator[bytes]:
    block = os.urandom(2**16)
    return itertools.repeat(block, blocks)


def large(under: AttackedSites, place: AttackedPort, number: int) -> Iterator[bytes]:
    name, path = NAMES[number % ACCOUNTS], place.puts[number % len(place.puts)]
    length = UPLOAD_MB * 2**20
    yield under.head(place, "PUT", path, f"Content-Length: {length}", name=name)
    yield from _body(length >> 16)


def of_strangers(under: AttackedSites, place: AttackedPort, number: int) -> Iterator[bytes]:
    path = place.puts[number % len(place.puts)]
    yield under.head(place, "PUT", path, f"Content-Length: {2**40}")
    yield from _body(2**16)


def too_large(under: AttackedSites, place: AttackedPort, number: int) -> Iterator[bytes]:
    name, path = NAMES[number % ACCOUNTS], place.puts[number % len(place.puts)]
    yield under.head(place, "PUT", path, f"Content-Length: {2**40}", name=name)
    yield from _body(2**16)


def slow(under: AttackedSites, place: AttackedPort, number: int) -> Iterator[bytes]:
    name, path = NAMES[number % ACCOUNTS], place.puts[number % len(place.puts)]
    yield under.head(place, "PUT", path, "Content-Length: 1000000", name=name)
    while True:
        yield b"x"


def in_small_chunks(under: AttackedSites, place: AttackedPort, number: int) -> Iterator[bytes]:
    name, path = NAMES[number % ACCOUNTS], place.puts[number % len(place.puts)]
    yield under.head(place, "PUT", path, "Transfer-Encoding: chunked", name=name)
    while True:
        yield b"1\r\nx\r\n" * 10_000


def in_small_chunks_of_strangers(
    under: AttackedSites, place: AttackedPort, number: int
) -> Iterator[bytes]:
    path = place.puts[number % len(place.puts)]
    yield under.head(place, "POST", path, "Transfer-Encoding: chunked")
    while True:
        yield b"1\r\nx\r\n" * 10_000


def left(under: AttackedSites, place: AttackedPort, number: int) -> Iterator[bytes]:
    name, path = NAMES[number % ACCOUNTS], place.puts[number % len(place.puts)]
    yield under.head(place, "PUT", path, "Content-Length: 2000000", name=name)
    yield from _body(16)
    raise ConnectionError


def wrong_tokens(under: AttackedSites, place: AttackedPort, number: int) -> Iterator[bytes]:
    path = place.puts[number % len(place.puts)]
    for attempt in itertools.count():
        wrong = basic("Ada", f"{number}-{attempt}")
        yield under.head(place, "PUT", path, "Content-Length: 1", f"Authorization: {wrong}") + b"x"


def long_heads(under: AttackedSites, place: AttackedPort, number: int) -> Iterator[bytes]:
    for path in itertools.cycle(place.puts):
        many = (f"X{each}: y" for each in range(400))
        yield under.head(place, "PUT", path, "Content-Length: 0", *many)


def small(under: AttackedSites, place: AttackedPort, number: int) -> Iterator[bytes]:
    name = NAMES[number % ACCOUNTS]
    for path in itertools.cycle(place.puts):
        yield under.head(place, "PUT", path, "Content-Length: 1", name=name) + b"x"


ATTACKS = [
    *(large, of_strangers, too_large, slow, in_small_chunks, in_small_chunks_of_strangers),
    *(left, wrong_tokens, long_heads, small),
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_bodies_disturb_neither_players_nor_authors(
    attack: Callable[[AttackedSites, AttackedPort, int], Iterator[bytes]], tmp_path: Path
) -> None:
    with sites(tmp_path) as under:
        stored = under.stored_bytes()
        before_mb = [each.memory_mb() for each in under.places]
        works = [partial(_send, place, partial(attack, under, place)) for place in under.places]
        asked = [SiteVisitor(under, place) for place in under.places]
        in_parallel(*works, *(each.run for each in asked))
        grown_mb = max(
            each.memory_mb() - before for each, before in zip(under.places, before_mb, strict=True)
        )
        grown_bytes = under.stored_bytes() - stored
        print(f"{attack.__name__}: {grown_mb:.0f} MB more, {grown_bytes / 2**20:.1f} MiB of disk")
        for each in asked:
            each.require_short()
    under.under.require_honest_moves()
    assert grown_mb < GROWTH_MB
    # Each account has three uploads a day at each site, and two at once.
    assert grown_bytes <= 2 * ACCOUNTS * 5 * UPLOAD_MB * 2**20


@dataclass
class SiteVisitor:
    """An honest visitor of a site, who writes what each answer took to a file."""

    under: AttackedSites
    place: AttackedPort

    @property
    def file(self) -> Path:
        return self.under.folder / f"{self.place.name}.asked"

    def run(self) -> None:
        found = []
        end = time.monotonic() + ATTACK_S
        while time.monotonic() < end:
            began, work = time.monotonic(), own_processor_seconds(self.place.process)
            status = ask(self.place.port, "GET", self.place.page[1:])[0]
            spent = own_processor_seconds(self.place.process) - work
            found.append((time.monotonic() - began, spent, status))
            time.sleep(0.02)
        self.file.write_text(json.dumps(found))

    def require_short(self) -> None:
        found = json.loads(self.file.read_text())
        worst_s, work_s = (max(each[number] for each in found) for number in (0, 1))
        median_s = sorted(each[0] for each in found)[len(found) // 2]
        print(
            f"{self.place.name}: {len(found)} answers, {median_s * 1e3:.0f} ms, "
            f"worst {worst_s * 1e3:.0f}, work {work_s * 1e3:.0f}"
        )
        assert {each[2] for each in found} == {200}
        assert self.place.name == "pages" or work_s <= SITE_WORK_S


# MCP over HTTP: a bridge is a client of the server, and itself takes bodies.

#: What a bridge may hold more during an attack: each of 200 bodies with the token has up to 3 MB.
BRIDGE_MB = 700
ACCEPT = ("Content-Type: application/json", "Accept: application/json, text/event-stream")


@dataclass
class AttackedBridge:
    """A bridge of Ada, and the head of requests with her token."""

    place: AttackedPort
    token: str

    def head(self, length: int | str, *more: str, token: str = "") -> bytes:
        """Return the head of a request, with a length or another header."""
        framed = f"Content-Length: {length}" if isinstance(length, int) else length
        lines = ("POST /mcp HTTP/1.1", f"Host: {HOST}:{self.place.port}", *ACCEPT, framed, *more)
        lines += (f"Authorization: Bearer {token}",) if token else ()
        return "\r\n".join([*lines, "", ""]).encode()

    def request(self, method: str, *more: str, **parameters: Any) -> bytes:
        """Return a whole request with the token."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
        return self.head(len(body), *more, token=self.token) + body.encode()

    def opened(self) -> tuple[str, str]:
        """Open a session, and return its headers."""
        terms = {"protocolVersion": "2025-06-18", "capabilities": {}}
        about = {"clientInfo": {"name": "soak", "version": "1"}}
        with socket.create_connection((HOST, self.place.port), 60) as line:
            line.sendall(self.request("initialize", "Connection: close", **terms, **about))
            answer = b"".join(iter(lambda: line.recv(2**16), b""))
        found = re.search(rb"(?i)mcp-session-id: (\w+)", answer)
        assert found, answer
        return f"Mcp-Session-Id: {found[1].decode()}", "Mcp-Protocol-Version: 2025-06-18"

    def call(self, session: tuple[str, str], tool: str, **arguments: Any) -> bytes:
        """Return a call of a tool."""
        return self.request("tools/call", *session, name=tool, arguments=arguments)


def held(bridge: AttackedBridge, number: int) -> Iterator[bytes]:
    yield b"POST /mcp HTTP/1.1\r\nX-Long: "


def bodies_without_token(bridge: AttackedBridge, number: int) -> Iterator[bytes]:
    yield bridge.head(2**40)
    yield from _body(2**16)


def chunks_without_token(bridge: AttackedBridge, number: int) -> Iterator[bytes]:
    yield bridge.head("Transfer-Encoding: chunked")
    while True:
        yield b"1\r\nx\r\n" * 10_000


def large_bodies(bridge: AttackedBridge, number: int) -> Iterator[bytes]:
    yield bridge.head(2**40, token=bridge.token)
    yield from _body(2**16)


def deep_json(bridge: AttackedBridge, number: int) -> Iterator[bytes]:
    body = b"[" * 3_000_000 if number % 2 else b'{"a":' * 600_000
    while True:
        yield bridge.head(len(body), token=bridge.token) + body


def many_sessions(bridge: AttackedBridge, number: int) -> Iterator[bytes]:
    terms = {"protocolVersion": "2025-06-18", "capabilities": {}}
    about = {"clientInfo": {"name": "soak", "version": "1"}}
    while True:
        yield bridge.request("initialize", **terms, **about)


def parallel_tools(bridge: AttackedBridge, number: int) -> Iterator[bytes]:
    session = bridge.opened()
    while True:
        yield bridge.call(session, "analyse", match="m", ply=0, seconds=60)
        yield bridge.call(session, "new_match", game="connect_four", opponent="Nobody")
        yield bridge.call(session, "rules", game="chess")


BRIDGE_ATTACKS = [
    *(held, bodies_without_token, chunks_without_token, large_bodies),
    *(deep_json, many_sessions, parallel_tools),
]


@pytest.mark.parametrize("attack", BRIDGE_ATTACKS)
def test_attacked_bridges_disturb_no_players_and_stay_small(
    attack: Callable[[AttackedBridge, int], Iterator[bytes]], tmp_path: Path
) -> None:
    need_packages("mcp")
    database = f"sqlite:///{tmp_path}/playout.db"
    token = new_account(database, "Ada")
    (kept := tmp_path / "ada.token").write_text(token)
    kept.chmod(0o600)
    with attacked("--database", database, "--bots=1", "--bot=random") as under:
        port = reserve_port()
        web = f"http://{HOST}:{under.server.page}"
        words = ("--host", HOST, "--port", f"{under.server.port}", "--web", web, "--name", "Ada")
        command = [BRIDGE, "mcp", *words, "--token-file", str(kept), "--http", str(port)]
        with subprocess.Popen(command) as process:
            try:
                bridge = AttackedBridge(AttackedPort("bridge", port, process.pid, "", []), token)
                wait_until(partial(_listens, port), "the bridge", seconds=120)
                session, before_mb = bridge.opened(), bridge.place.memory_mb()
                in_parallel(partial(_send, bridge.place, partial(attack, bridge), 200))
                grown_mb = bridge.place.memory_mb() - before_mb
                print(f"{attack.__name__}: {grown_mb:.0f} MB more")
                with socket.create_connection((HOST, port), 60) as line:
                    line.sendall(bridge.call(session, "list_games"))
                    assert line.recv(2**16).startswith(b"HTTP/1.1 200")
            finally:
                process.kill()
    under.require_honest_moves()
    assert grown_mb < BRIDGE_MB


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), 5):
        return True
    return False
