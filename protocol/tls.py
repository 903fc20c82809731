"""TLS for clients, which verify the certificate of the server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


class TlsSettings:
    """The name that the certificate of a server must have, and the authorities that may sign it."""

    def __init__(self, name: str, ca: Path | None = None) -> None:
        """The certificate must be for `name`, and signed by an authority in the PEM file `ca`.

        Without `ca`, the authorities are those that the system trusts. Raises OSError, and
        ValueError if the file has no certificates or the name is invalid.
        """
        self._name = name
        self._ca = ca
        trusted = platformTrust() if ca is None else trustRootFromCertificates(_certificates(ca))
        self._options = optionsForClientTLS(name, trusted)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables by which a program that is started gets the same settings."""
        told = {"PLAYOUT_TLS": "1", "PLAYOUT_TLS_NAME": self._name}
        return told if self._ca is None else told | {"PLAYOUT_CA": str(self._ca.resolve())}

    def over(self, endpoint: IStreamClientEndpoint) -> Any:
        """Wrap an endpoint so that its connections use TLS."""
        return wrapClientTLS(self._options, endpoint)

    def problem(self, failure: Failure) -> str | None:
        """Return what to tell the user about a connection that was not verified, otherwise None."""
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
    """The first base class of a protocol over TLS; it begins when the certificate is verified."""

    transport: Any

    def connectionMade(self) -> None:
        """Do nothing before the handshake."""

    def handshakeCompleted(self) -> None:
        """Begin, unless the certificate was refused."""
        if not self.transport.disconnecting:
            super().connectionMade()  # type: ignore[no-untyped-call]


def _certificates(file: Path) -> list[Certificate]:
    return [
        Certificate.loadPEM(each.public_bytes(Encoding.PEM))
        for each in x509.load_pem_x509_certificates(file.read_bytes())
    ]
