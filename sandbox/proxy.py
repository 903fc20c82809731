"""The network of a sandbox: a proxy to the hosts that an operator allows; a program of its own.

    python -I -S proxy.py PARENT READY PROCESS PORT HOST...

The sandbox has a network of its own, without a way out. This program listens in that network, which
is that of PROCESS, at PORT of 127.0.0.1, and connects outside: so a program in the sandbox reaches
the hosts by CONNECT or plain HTTP, and nothing else. The port of a HOST is 443, or follows a colon.
READY is a descriptor that gets a line when this program listens. It exits with the process PARENT,
which started it.

A host's name is looked up once, here. Its private addresses, such as those of this machine, are not
used: only an operator who writes such an address allows it, as the HOST, or as NAME=ADDRESS.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import ipaddress
import os
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

_HTTPS, _HTTP = 443, 80
#: Maximum number of bytes of all connections in both directions, and connections at once.
_MOST_BYTES, _MOST_CONNECTIONS = 2**29, 64
#: Seconds for the head of a request, and for a connection to a host.
_HEAD_S, _CONNECT_S = 30.0, 10.0
_CHUNK, _NICENESS = 65536, 10
_PR_SET_PDEATHSIG = 1
_KILLED = 128 + signal.SIGKILL
_NS_GET_USERNS = 0xB701
_libc = ctypes.CDLL(None, use_errno=True)


class _Refused(Exception):
    """A request is not allowed, or cannot be carried out: its status with the reason."""


class HostProxy:
    """Passes bytes between a sandbox and the allowed hosts."""

    def __init__(self, hosts: list[str]) -> None:
        pairs = [each.partition("=") for each in hosts]
        self._allowed = {_place(name, _HTTPS) for name, _, _ in pairs}
        #: The addresses of the hosts that were looked up or given.
        self._addresses = {
            _place(name, _HTTPS)[0]: [address] for name, _, address in pairs if address
        }
        self._left = _MOST_BYTES
        self._connections = 0

    async def serve(self, listener: socket.socket, ready: int) -> None:
        """Serve until this process is ended."""
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))  # which looks names up
        server = await asyncio.start_server(self._connected, sock=listener, limit=_CHUNK)
        os.write(ready, b"\n")
        os.close(ready)
        await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            await self._answer(reader, writer)
        except _Refused as refused:
            writer.write(f"HTTP/1.1 {refused}\r\nConnection: close\r\n\r\n".encode())
            with contextlib.suppress(OSError):
                await writer.drain()
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass  # the connection ends
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry out the request of a connection. Raises _Refused."""
        if self._connections > _MOST_CONNECTIONS:
            raise _Refused(f"503 there are more than {_MOST_CONNECTIONS} connections")
        if self._left < 0:
            raise _Refused(f"503 more than {_MOST_BYTES >> 20} MiB were transferred")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_S)
        first, *fields = head.decode("latin-1").rstrip().split("\r\n")
        method, target, *_ = [*first.split(" "), "", ""]
        if method == "CONNECT":
            place, begun = _place(target, _HTTPS), b""
        else:
            url = urlsplit(target)
            place = _place(url.netloc, _HTTP)
            path = f"{url.path or '/'}{'?' if url.query else ''}{url.query}"
            # A further request of this connection could be for another host.
            kept = [each for each in fields if "connection" not in each.partition(":")[0].lower()]
            lines = (f"{method} {path} HTTP/1.1", *kept, "Connection: close", "", "")
            begun = "\r\n".join(lines).encode("latin-1")
        if place not in self._allowed:
            raise _Refused(f"403 the operator does not allow {place[0]}:{place[1]}")
        its_reader, its_writer = await self._connect(*place)
        try:
            its_writer.write(begun)
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 connected\r\n\r\n")
            ways = ((reader, its_writer), (its_reader, writer))
            tasks = [asyncio.create_task(self._copy(*each)) for each in ways]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for each in tasks:
                each.cancel()
            await asyncio.wait(tasks)
        finally:
            its_writer.close()

    async def _connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the first address of a host that answers. Raises _Refused."""
        if host not in self._addresses:
            self._addresses[host] = await _addresses(host)
        for address in self._addresses[host]:
            with contextlib.suppress(OSError):
                return await asyncio.wait_for(asyncio.open_connection(address, port), _CONNECT_S)
        raise _Refused(f"502 {host} has no public address that answers")

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy bytes until the end, or the limit of all connections."""
        with contextlib.suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                self._left -= len(chunk)
                if self._left < 0:
                    break
                writer.write(chunk)
                await writer.drain()


async def _addresses(host: str) -> list[str]:
    """Return the addresses of a host that may be used; an address is its own."""
    with contextlib.suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    all_ = [ipaddress.ip_address(each[4][0]) for each in found]
    return [str(each) for each in all_ if each.is_global and not each.is_multicast]


def _place(text: str, port: int) -> tuple[str, int]:
    """Return the host and the port of HOST or HOST:PORT. Raises ValueError."""
    split = urlsplit(f"//{text}")
    return split.hostname or "", split.port or port


def _listener(process: int, port: int) -> socket.socket:
    """Return a socket that listens in the network of another process. Raises OSError.

    A child enters that network, and the namespace of users to which it belongs.
    """
    ours, its = socket.socketpair()
    if (child := os.fork()) == 0:
        try:
            with open(f"/proc/{process}/ns/net", "rb") as network:
                users = fcntl.ioctl(network, _NS_GET_USERNS)
                for each in (users, network.fileno()):
                    if _libc.setns(each, 0):
                        number = ctypes.get_errno()
                        raise OSError(number, os.strerror(number))
            with socket.create_server(("127.0.0.1", port), backlog=_MOST_CONNECTIONS) as listener:
                socket.send_fds(its, [b"\n"], [listener.fileno()])
        except OSError as error:
            its.sendall(f"{error.strerror}\n".encode())
        finally:
            os._exit(0)
    its.close()
    text, descriptors, _, _ = socket.recv_fds(ours, 200, 1)
    os.waitpid(child, 0)
    if not descriptors:
        raise OSError(f"the network of the sandbox cannot be entered: {text.decode().strip()}")
    return socket.socket(fileno=descriptors[0])


def main(parent: int, ready: int, process: int, port: int, hosts: list[str]) -> int:
    """Serve a sandbox until the parent of this process exits; return the exit code."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it exited before the call
        os._exit(_KILLED)
    os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    try:
        listener = _listener(process, port)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
        return 1
    asyncio.run(HostProxy(hosts).serve(listener, ready))
    return 0


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:5]]
    sys.exit(main(numbers[0], numbers[1], numbers[2], numbers[3], sys.argv[5:]))
