"""Endpoints that the server listens on: plain or with TLS, direct or behind a proxy."""

from __future__ import annotations

import errno
import ipaddress
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from OpenSSL import SSL, crypto
from twisted.internet import ssl
from twisted.internet.endpoints import TCP4ServerEndpoint, TCP6ServerEndpoint
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure

from server.runtime.proxy_protocol import ProxiedEndpoint

BACKLOG = 1000


class TlsError(Exception):
    """A certificate or its key cannot be used; the text is for the operator."""


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
