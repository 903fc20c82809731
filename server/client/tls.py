"""TLS for those who connect, players and organizers: is it the right server?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL.SSL import Error as TLSError
from service_identity import VerificationError
from twisted.internet.endpoints import wrapClientTLS
from twisted.internet.interfaces import IHandshakeListener, IStreamClientEndpoint
from twisted.internet.protocol import Protocol
from twisted.internet.ssl import (
    Certificate,
    optionsForClientTLS,
    platformTrust,
    trustRootFromCertificates,
)
from twisted.python.failure import Failure
from zope.interface import implementer

F = TypeVar("F", bound=Callable[..., Any])


class TlsSettings:
    """What the certificate of the server must be."""

    def __init__(self, name: str, ca: Path | None = None) -> None:
        """It must be for `name`, and signed by one in the PEM file `ca`, or one of the system's.

        Raises ValueError if the file holds no certificates or the name is none, OSError.
        """
        self._name = name
        self._ca = ca
        trusted = platformTrust() if ca is None else trustRootFromCertificates(_certificates(ca))
        self._options = optionsForClientTLS(name, trusted)

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program has to know that is started to connect as safely: see `tls_options`."""
        told = {"PLAYOUT_TLS": "1", "PLAYOUT_TLS_NAME": self._name}
        return told if self._ca is None else told | {"PLAYOUT_CA": str(self._ca.resolve())}

    def over(self, endpoint: IStreamClientEndpoint) -> Any:
        """An endpoint that speaks TLS."""
        return wrapClientTLS(self._options, endpoint)

    def problem(self, failure: Failure) -> str | None:
        """Why a connection was never safe, for people, if that is why it ended."""
        if failure.check(VerificationError):
            return (
                f"The server's certificate is not for {self._name!r}. If it is the right server, "
                "say which name is in its certificate: --tls-name NAME"
            )
        if not failure.check(TLSError):
            return None
        if "certificate verify failed" not in str(failure.value):
            return f"The server does not speak TLS there as it should: {failure.getErrorMessage()}"
        known = f"in {self._ca}" if self._ca else "known to this system"
        return (
            f"The server's certificate, which should be for {self._name!r}, cannot be trusted: it "
            f"is not signed by an authority {known}, or has expired. For a private authority, "
            "give its certificate: --ca FILE"
        )


@implementer(IHandshakeListener)
class Verified(Protocol):
    """For a protocol over TLS to be derived from first: it begins when the server is known."""

    transport: Any

    def connectionMade(self) -> None:
        """Wait for the TLS handshake before anything is sent."""

    def handshakeCompleted(self) -> None:
        """Begin, unless the certificate was not right."""
        if not self.transport.disconnecting:
            super().connectionMade()  # type: ignore[no-untyped-call]


def tls_options(command: F) -> F:
    """`--tls`, `--ca` and `--tls-name`, for `security`."""
    for option in (
        click.option(
            "--tls-name",
            envvar="PLAYOUT_TLS_NAME",
            show_envvar=True,
            metavar="NAME",
            help="What the server's certificate says.  [default: the host]",
        ),
        click.option(
            "--ca",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            envvar="PLAYOUT_CA",
            show_envvar=True,
            metavar="FILE",
            help="Trust certificates signed by this one (PEM), instead of the system's; with "
            "--tls.",
        ),
        click.option(
            "--tls",
            is_flag=True,
            envvar="PLAYOUT_TLS",
            show_envvar=True,
            help="Encrypt, and make sure that it is the server of that name.",
        ),
    ):
        command = option(command)
    return command


def security(host: str, tls: bool, ca: Path | None, tls_name: str | None) -> TlsSettings | None:
    """How to be sure of the server at `host`, by the options. Raises UsageError."""
    if not tls and ca is None:
        if tls_name is not None:
            raise click.UsageError("--tls-name needs --tls")
        return None
    try:
        return TlsSettings(tls_name or host, ca)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--ca {ca}: {error}" if ca else f"--tls: {error}") from error


def _certificates(file: Path) -> list[Certificate]:
    return [
        Certificate.loadPEM(each.public_bytes(Encoding.PEM))
        for each in x509.load_pem_x509_certificates(file.read_bytes())
    ]
