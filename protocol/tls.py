"""TLS for clients: the certificate of the server is verified."""

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
    """The name and the authority that the certificate of the server must have."""

    def __init__(self, name: str, ca: Path | None = None) -> None:
        """It must be for `name`, and signed by an authority in the PEM file `ca`.

        Without `ca`, it must be signed by an authority that the system trusts. Raises OSError, and
        ValueError if the file has no certificates or the name is invalid.
        """
        self._name = name
        self._ca = ca
        trusted = platformTrust() if ca is None else trustRootFromCertificates(_certificates(ca))
        self._options = optionsForClientTLS(name, trusted)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that give a started program the same `tls_options`."""
        told = {"PLAYOUT_TLS": "1", "PLAYOUT_TLS_NAME": self._name}
        return told if self._ca is None else told | {"PLAYOUT_CA": str(self._ca.resolve())}

    def over(self, endpoint: IStreamClientEndpoint) -> Any:
        """Wrap an endpoint so that its connections use TLS."""
        return wrapClientTLS(self._options, endpoint)

    def problem(self, failure: Failure) -> str | None:
        """What to tell the user if a connection ended because it could not be verified, or None."""
        if failure.check(VerificationError):
            return (
                f"The server's certificate is not for {self._name!r}. If it is the right server, "
                "give the name in its certificate: --tls-name NAME"
            )
        if not failure.check(TLSError):
            return None
        if "certificate verify failed" not in str(failure.value):
            return f"The server does not speak TLS on this port: {failure.getErrorMessage()}"
        authority = f"in {self._ca}" if self._ca else "known to this system"
        return (
            f"The server's certificate, which should be for {self._name!r}, cannot be trusted: it "
            f"is not signed by an authority {authority}, or has expired. For a private authority, "
            "give its certificate: --ca FILE"
        )


@implementer(IHandshakeListener)
class Verified(Protocol):
    """The first base class of a protocol over TLS: it begins when the certificate was verified."""

    transport: Any

    def connectionMade(self) -> None:
        """Do nothing: the handshake is still to come."""

    def handshakeCompleted(self) -> None:
        """Begin, unless the certificate was refused."""
        if not self.transport.disconnecting:
            super().connectionMade()  # type: ignore[no-untyped-call]


def tls_options(command: F) -> F:
    """Add `--tls`, `--ca` and `--tls-name` to a command, for `tls_settings`."""
    for option in (
        click.option(
            "--tls-name",
            envvar="PLAYOUT_TLS_NAME",
            show_envvar=True,
            metavar="NAME",
            help="The name in the server's certificate.  [default: the host]",
        ),
        click.option(
            "--ca",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            envvar="PLAYOUT_CA",
            show_envvar=True,
            metavar="FILE",
            help="Use TLS, and trust the authorities in this file (PEM) instead of the system's.",
        ),
        click.option(
            "--tls",
            is_flag=True,
            envvar="PLAYOUT_TLS",
            show_envvar=True,
            help="Use TLS: encrypt, and verify the server's certificate.",
        ),
    ):
        command = option(command)
    return command


def tls_settings(host: str, tls: bool, ca: Path | None, tls_name: str | None) -> TlsSettings | None:
    """The settings that the options give for the server at `host`; None without TLS.

    Raises UsageError.
    """
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
