"""A certificate for the server of one tournament: made when it begins, and deleted with it.

It is its own authority, so that its clients trust this server and no other.
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from server.client.tls import TlsSettings

#: The clocks of other machines may differ, and a tournament may take months.
_BEFORE, _AFTER = datetime.timedelta(days=1), datetime.timedelta(days=730)


class ServerCertificate:
    """A certificate for a host and its private key, as files that only this user can read."""

    def __init__(self, host: str) -> None:
        """Make them, for an IP address or a name."""
        self._host = host
        self._folder = tempfile.TemporaryDirectory(prefix="playout-certificate-")
        folder = Path(self._folder.name)
        self.certificate, self.key = folder / "certificate.pem", folder / "key.pem"
        key = ec.generate_private_key(ec.SECP256R1())
        made = _certificate(host, key)
        self.certificate.write_bytes(made.public_bytes(Encoding.PEM))
        self.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    @property
    def clients_settings(self) -> TlsSettings:
        """How clients verify the server."""
        return TlsSettings(self._host, self.certificate)

    def delete(self) -> None:
        """Delete the certificate, the key and their folder."""
        self._folder.cleanup()


def _certificate(host: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Playout tournament")])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + _AFTER)
        .add_extension(x509.SubjectAlternativeName([_general_name(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )


def _general_name(host: str) -> x509.GeneralName:
    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(host))
    return x509.DNSName(host)
