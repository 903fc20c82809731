"""TLS: is it the right server that one is connected to?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL.SSL import Error as TLSError
from service_identity import VerificationError
from twisted.internet.endpoints import wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.ssl import (
    Certificate,
    optionsForClientTLS,
    platformTrust,
    trustRootFromCertificates,
)
from twisted.python.failure import Failure


class Security:
    """What the certificate of the server must be."""

    def __init__(self, name: str, ca: Path | None = None) -> None:
        """It must be for `name`, and signed by one in the PEM file `ca`, or one of the system's.

        Raises ValueError if the file holds no certificates or the name is none, OSError.
        """
        self._name = name
        self._ca = ca
        trusted = platformTrust() if ca is None else trustRootFromCertificates(_certificates(ca))
        self._options = optionsForClientTLS(name, trusted)

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


def _certificates(file: Path) -> list[Certificate]:
    return [
        Certificate.loadPEM(each.public_bytes(Encoding.PEM))
        for each in x509.load_pem_x509_certificates(file.read_bytes())
    ]
