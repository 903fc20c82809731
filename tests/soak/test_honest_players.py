"""Two honest players are not affected by slow writers and by floods of connections."""

from __future__ import annotations

import contextlib
import select
import struct
from collections.abc import Iterator, Sequence

import msgpack
import pytest

from soak.honest_players import playing
from support.commands import RunningServer, running_server
from support.raw_client import RawClient
from support.two_clients import TwoClients
from support.waiting import wait_until
from testbed.server_process import PLAYOUT, ServerProcess, serving

HOST = "127.0.0.1"


@contextlib.contextmanager
def disturbed(*options: str) -> Iterator[ServerProcess]:
    """Run a server with a match in progress, whose players must not be affected."""
    with (
        serving([*PLAYOUT, "--database=none", *options]) as server,
        playing(server.port, size=9) as honest_players,
    ):
        yield server
        seen = honest_players.finish()
    assert not seen.fault
    assert seen.matches >= 1


def connected_clients(
    server: ServerProcess, count: int, address: str, stack: contextlib.ExitStack
) -> list[RawClient]:
    return [stack.enter_context(RawClient(HOST, server.port, address)) for _ in range(count)]


def spoken_to(clients: Sequence[RawClient], seconds: float = 0.0) -> list[RawClient]:
    """Return the clients with unread data."""
    by_socket = {client.socket: client for client in clients}
    poll = select.poll()
    for each in by_socket:
        poll.register(each, select.POLLIN)
    ready = {number for number, _ in poll.poll(seconds * 1000)}
    return [client for each, client in by_socket.items() if each.fileno() in ready]


def those_refused(clients: Sequence[RawClient], count: int) -> list[RawClient]:
    """Wait until a number of clients have data to read, and return them."""
    wait_until(lambda: len(spoken_to(clients)) >= count, f"{count} answers")
    return spoken_to(clients)


def sent_away(client: RawClient) -> tuple[str, str]:
    """Return code and text of the error, which must be the only message of a client."""
    error = client.hear()
    assert client.is_closed()
    return error["code"], error["text"]


@pytest.mark.usefixtures("copied_processes")
def test_a_peer_that_sends_one_byte_per_second_is_disconnected_in_time() -> None:
    body = msgpack.packb({"type": "hello", "protocol_min": 1, "protocol_max": 1, "name": "Slow"})
    with disturbed("--hello-s=2") as server, contextlib.ExitStack() as stack:
        clients = connected_clients(server, 50, HOST, stack)
        for byte in struct.pack(">I", len(body)) + body:
            for client in clients:
                client.socket.sendall(bytes([byte]))
            if spoken_to(clients, seconds=1.0):
                break
        else:
            pytest.fail("the server waited for the whole hello")
        for client in clients:
            assert sent_away(client) == ("timeout", "no hello within 2 seconds")


@pytest.mark.usefixtures("copied_processes")
def test_a_flood_of_connections_is_accepted_up_to_the_limit() -> None:
    limits = ("--connections=250", "--connections-per-address=100")
    with disturbed(*limits) as server, contextlib.ExitStack() as stack:
        for address, count, taken, text in (
            ("127.0.0.2", 300, 100, "your address has 100 connections already"),
            ("127.0.0.3", 100, 100, ""),
            # 8 more may say hello, in case they are an administrator's.
            ("127.0.0.4", 100, 48 + 8, "the server has 250 connections and accepts no more"),
        ):
            clients = connected_clients(server, count, address, stack)
            away = those_refused(clients, count - taken)
            assert {sent_away(client) for client in away} == (
                {("too_many", text)} if text else set()
            )
            rest = [client for client in clients if client not in away]
            assert len(rest) == taken
            assert all(client.is_alive() for client in rest)


# Behind a proxy.


@pytest.fixture(scope="module")
def proxied() -> Iterator[RunningServer]:
    with running_server("--proxy-protocol", "--connections-per-address", "2") as server:
        yield server
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log, log


def client(server: RunningServer, address: str) -> RawClient:
    """Return a client with a remote address, as given by the proxy."""
    family = "TCP6" if ":" in address else "TCP4"
    here = "2001:db8::1" if ":" in address else "192.0.2.1"
    line = f"PROXY {family} {address} {here} 50000 4242\r\n"
    return RawClient(server.host, server.port, first=line.encode())


def test_behind_a_proxy_the_address_counts_that_it_announces(proxied: RunningServer) -> None:
    with contextlib.ExitStack() as stack:
        ann, bob = (
            stack.enter_context(client(proxied, f"198.51.100.{number}")) for number in (1, 2)
        )
        two_clients = TwoClients(ann, bob)
        two_clients.play(2)
        for address in ("203.0.113.1", "2001:db8::7"):
            one, two, three = (stack.enter_context(client(proxied, address)) for _ in range(3))
            assert one.is_alive()
            assert two.is_alive()
            three.say("ping")
            assert sent_away(three) == ("too_many", "your address has 2 connections already")
        two_clients.finish()


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"PROXY TCP4 somewhere\r\n",
        b"PROXY TCP4 a b c d\r\n",
        b"PROXY TCP4 999.1.1.1 192.0.2.1 50000 4242\r\n",
        b"\r\n" * 60,
    ],
)
def test_a_connection_without_a_proxy_header_is_rejected(
    proxied: RunningServer, first: bytes
) -> None:
    with RawClient(proxied.host, proxied.port, first=first) as stranger:
        with contextlib.suppress(ConnectionError):
            stranger.say("ping")
        assert stranger.is_closed()
