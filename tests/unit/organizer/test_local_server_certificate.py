"""The certificate of a tournament's own server."""

from __future__ import annotations

import ipaddress
import stat

import pytest
from cryptography import x509

from playout.server.organizer.local_server import ServerCertificate


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("192.0.2.7", x509.IPAddress(ipaddress.ip_address("192.0.2.7"))),
        ("fd00::2", x509.IPAddress(ipaddress.ip_address("fd00::2"))),
        ("lab1.example", x509.DNSName("lab1.example")),
    ],
)
def test_a_certificate_is_for_one_host(host: str, expected: x509.GeneralName) -> None:
    made = ServerCertificate(host)
    found = x509.load_pem_x509_certificate(made.certificate.read_bytes())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert list(names.value) == [expected]
    found.verify_directly_issued_by(found)
    settings = made.clients_settings.environment
    assert settings["PLAYOUT_TLS_NAME"] == host
    assert settings["PLAYOUT_CA"] == str(made.certificate)
    assert stat.S_IMODE(made.key.parent.stat().st_mode) == 0o700
    made.delete()
    assert not made.key.exists()
