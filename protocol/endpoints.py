"""Endpoints that the server listens on: plain or with TLS, direct or behind a proxy.

A proxy announces the address of the client with a header of the PROXY protocol, version 1 or 2:
https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt. It is read here, because Twisted's
reader raises an unhandled error for ports that are no numbers, and takes any text for an address.
"""

from __future__ import annotations

import errno
import ipaddress
import re
import struct
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from OpenSSL import SSL, crypto
from twisted.internet import address as addresses
from twisted.internet import ssl
from twisted.internet.endpoints import TCP4ServerEndpoint, TCP6ServerEndpoint
from twisted.internet.interfaces import IStreamServerEndpoint
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from zope.interface import implementer

_V1_MAX = 107
_V1_TCP = re.compile(rb"PROXY TCP([46]) (\S+) (\S+) (\d{1,5}) (\d{1,5})")
_V1_UNKNOWN = re.compile(rb"PROXY UNKNOWN( .*)?", re.DOTALL)
_V2_SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
_V2_HEAD = struct.Struct("!12sBBH")
_LOCAL, _PROXY = 0x20, 0x21
_STREAM_4, _STREAM_6 = 0x11, 0x21
#: The longest header, in bytes; those of proxies have less than 600.
_V2_MAX = 4096


class ProxyHeaderError(ValueError):
    """Bytes are not a header of the PROXY protocol."""


class ProxyHeader(NamedTuple):
    """What a header announces: the client's address and port, or None; and its length in bytes."""

    source: tuple[IPv4Address | IPv6Address, int] | None
    size: int


def parse_header(data: bytes) -> ProxyHeader | None:
    """Return the header at the start of `data`; None if more bytes are needed.

    Raises ProxyHeaderError.
    """
    start = data[: len(_V2_SIGNATURE)]
    if _V2_SIGNATURE.startswith(start):
        return _parse_v2(data)
    if b"PROXY ".startswith(data[:6]):
        return _parse_v1(data)
    raise ProxyHeaderError("no header")


def _parse_v1(data: bytes) -> ProxyHeader | None:
    line, end, _ = data[:_V1_MAX].partition(b"\r\n")
    if not end:
        if len(data) < _V1_MAX:
            return None
        raise ProxyHeaderError("too long")
    size = len(line) + len(end)
    if _V1_UNKNOWN.fullmatch(line):
        return ProxyHeader(None, size)
    match = _V1_TCP.fullmatch(line)
    if match is None:
        raise ProxyHeaderError("not a header of version 1")
    kind = IPv4Address if match[1] == b"4" else IPv6Address
    ports = int(match[4]), int(match[5])
    try:
        source, _ = kind(match[2].decode()), kind(match[3].decode())
    except (AddressValueError, UnicodeDecodeError) as error:
        raise ProxyHeaderError("not an address") from error
    if max(ports) > 65535:
        raise ProxyHeaderError("not a port")
    return ProxyHeader((source, ports[0]), size)


def _parse_v2(data: bytes) -> ProxyHeader | None:
    if len(data) < _V2_HEAD.size:
        return None
    _, command, family, length = _V2_HEAD.unpack_from(data)
    size = _V2_HEAD.size + length
    if command not in (_LOCAL, _PROXY) or size > _V2_MAX:
        raise ProxyHeaderError("not a header of version 2")
    if len(data) < size:
        return None
    if command == _LOCAL or family not in (_STREAM_4, _STREAM_6):
        return ProxyHeader(None, size)
    kind, layout = (IPv4Address, "!4s4sHH") if family == _STREAM_4 else (IPv6Address, "!16s16sHH")
    if length < struct.calcsize(layout):
        raise ProxyHeaderError("too short for its addresses")
    source, _, port, _ = struct.unpack_from(layout, data, _V2_HEAD.size)
    return ProxyHeader((kind(source), port), size)


class ProxiedProtocol(ProtocolWrapper):
    """Reads the header of a connection, then passes on what follows.

    Its peer is the client that the header announces.
    """

    transport: Any
    wrappedProtocol: Any
    _peer: Any = None

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._head: bytes | None = b""

    def dataReceived(self, data: bytes) -> None:
        """Called by Twisted: pass bytes on after the header. A bad header ends the connection."""
        if self._head is None:
            self.wrappedProtocol.dataReceived(data)
            return
        self._head += data
        try:
            header = parse_header(self._head)
        except ProxyHeaderError:
            self.loseConnection()  # type: ignore[no-untyped-call]
            return
        if header is None:
            return
        rest, self._head = self._head[header.size :], None
        if header.source:
            ip, port = header.source
            kind = addresses.IPv4Address if ip.version == 4 else addresses.IPv6Address
            self._peer = kind("TCP", str(ip), port)
        if rest:
            self.wrappedProtocol.dataReceived(rest)

    def getPeer(self) -> Any:
        """Return the address of the client."""
        return self._peer or self.transport.getPeer()


class _ProxiedFactory(WrappingFactory):
    protocol = ProxiedProtocol
    noisy = False


@implementer(IStreamServerEndpoint)
class ProxiedEndpoint:
    """An endpoint whose connections begin with a header of the PROXY protocol."""

    def __init__(self, endpoint: Any) -> None:
        self._endpoint = endpoint

    def listen(self, factory: Any) -> Any:
        """Listen, and wrap the protocols of `factory`; returns a Deferred of an IListeningPort."""
        wrapped = _ProxiedFactory(factory)  # type: ignore[no-untyped-call]
        return self._endpoint.listen(wrapped)


#: Connections that may wait to be accepted.
BACKLOG = 1000


class TlsError(Exception):
    """A certificate or its key cannot be used; the message is for the operator."""


def endpoint(reactor: Any, host: str, port: int, *, proxied: bool) -> Any:
    """Return an IStreamServerEndpoint for an address and port.

    `proxied`: each connection begins with a header of the PROXY protocol.
    """
    kind = TCP6ServerEndpoint if ":" in host else TCP4ServerEndpoint
    plain: Any = kind(reactor, port, interface=host, backlog=BACKLOG)
    return ProxiedEndpoint(plain) if proxied else plain


def encrypted(factory: Any, certificate: Path, key: Path) -> Any:
    """Return a factory whose connections use TLS 1.2 or newer. Raises TlsError."""
    chain, private = _chain(certificate), _key(key)
    try:
        options: Any = ssl.CertificateOptions(
            privateKey=private,
            certificate=chain[0],
            extraCertChain=chain[1:],
            raiseMinimumTo=ssl.TLSVersion.TLSv1_2,
        )
        options.getContext().check_privatekey()
    except SSL.Error as error:
        text = f"cannot use {certificate} with {key}: they do not belong together"
        raise TlsError(text) from error
    return TLSMemoryBIOFactory(options, False, factory)


def host_of(given: str | None, *, encrypted: bool) -> str:
    """Return the address to listen on: if none is `given`, all with TLS, otherwise loopback."""
    return given or ("0.0.0.0" if encrypted else "127.0.0.1")


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_and_port(text: str) -> tuple[str, int] | None:
    """Parse `HOST:PORT`, with an IPv6 address in brackets; return None for any other text."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        return None
    return host.strip("[]"), int(port)


def spelled(host: str, port: int) -> str:
    """Format an address as `HOST:PORT`, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def page_address(host: str, port: int) -> str:
    """Return the URL of a server that listens there, for a browser on this machine."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{spelled(reached, port)}/"


def why_not_listening(failure: Failure, free: str) -> str:
    """Return why listening failed; `free` is the option that takes a free port."""
    text = failure.getErrorMessage()
    if getattr(getattr(failure.value, "socketError", None), "errno", None) != errno.EADDRINUSE:
        return text
    return f"{text.rstrip('.')}; choose another port, or {free} for any free one"


def _chain(path: Path) -> list[crypto.X509]:
    """Return the certificates of a PEM file. Raises TlsError."""
    try:
        found = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        text = f"cannot use {path} for --tls-cert: expected certificates in PEM form ({error})"
        raise TlsError(text) from error
    return [crypto.X509.from_cryptography(each) for each in found]


def _key(path: Path) -> crypto.PKey:
    """Return the private key of a PEM file. Raises TlsError."""
    try:
        found: Any = load_pem_private_key(path.read_bytes(), password=None)
        return crypto.PKey.from_cryptography_key(found)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        text = (
            f"cannot use {path} for --tls-key: expected a private key in PEM form, without a "
            f"password ({error})"
        )
        raise TlsError(text) from error
