"""Endpoints that the server listens on: plain or with TLS, direct or behind a proxy."""

from __future__ import annotations

import errno
import ipaddress
from pathlib import Path
from typing import Any

from OpenSSL import SSL
from twisted.internet import ssl
from twisted.internet.endpoints import TCP4ServerEndpoint, TCP6ServerEndpoint
from twisted.protocols.haproxy import proxyEndpoint
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure

BACKLOG = 1000


class TlsError(Exception):
    """A certificate or its key cannot be used; the text is for the operator."""


def endpoint(reactor: Any, host: str, port: int, *, proxied: bool) -> Any:
    """Return an IStreamServerEndpoint for an address and port.

    `proxied`: each connection begins with a header of the PROXY protocol.
    """
    kind = TCP6ServerEndpoint if ":" in host else TCP4ServerEndpoint
    plain: Any = kind(reactor, port, interface=host, backlog=BACKLOG)
    return proxyEndpoint(plain) if proxied else plain


def encrypted(factory: Any, certificate: Path, key: Path) -> Any:
    """Return a factory whose connections use TLS 1.2 or newer. Raises TlsError."""
    try:
        options: Any = ssl.CertificateOptions(
            privateKey=_key(key),
            certificate=(chain := _chain(certificate))[0],
            extraCertChain=chain[1:],
            raiseMinimumTo=ssl.TLSVersion.TLSv1_2,
        )
        options.getContext().check_privatekey()
    except (OSError, ValueError, SSL.Error) as error:
        text = f"cannot use {certificate} with {key}: {error or 'they do not belong together'}"
        raise TlsError(text) from error
    return TLSMemoryBIOFactory(options, False, factory)


def host_of(given: str | None, *, encrypted: bool) -> str:
    """Return the address to listen on: if none is `given`, all with TLS, otherwise loopback."""
    return given or ("0.0.0.0" if encrypted else "127.0.0.1")


def is_loopback(host: str) -> bool:
    """Does only this machine reach it?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def spelled(host: str, port: int) -> str:
    """Format an address as `HOST:PORT`, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def page_address(host: str, port: int) -> str:
    """Return the URL of a server that listens there, for a browser on this machine."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{spelled(reached, port)}/"


def why_not_listening(failure: Failure, free: str) -> str:
    """Return why an address cannot be listened on; `free` is the option that takes a free port."""
    text = failure.getErrorMessage()
    if getattr(getattr(failure.value, "socketError", None), "errno", None) != errno.EADDRINUSE:
        return text
    return f"{text.rstrip('.')}; choose another port, or {free} for any free one"


def _chain(path: Path) -> list[Any]:
    marker = b"-----END CERTIFICATE-----"
    parts = [part + marker for part in path.read_bytes().split(marker)[:-1]]
    if not parts:
        raise ValueError(f"{path} has no certificate in PEM form")
    return [ssl.Certificate.loadPEM(part).original for part in parts]


def _key(path: Path) -> Any:
    return ssl.KeyPair.load(path.read_bytes(), 1).original
