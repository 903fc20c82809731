"""Headers of the PROXY protocol, as specified by HAProxy."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.protocol.endpoints import ProxyHeader, ProxyHeaderError, parse_header

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def version_2(command: int, family: int, content: bytes) -> bytes:
    return SIGNATURE + struct.pack("!BBH", command, family, len(content)) + content


def ends(source: str, to: str) -> bytes:
    """The addresses of a header of version 2, with ports."""
    return ip_address(source).packed + ip_address(to).packed + struct.pack("!HH", 50000, 4242)


ANNOUNCED = [
    (b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 4242\r\n", (IPv4Address("192.0.2.7"), 50000)),
    (b"PROXY TCP6 2001:db8::7 2001:db8::1 1 2\r\n", (IPv6Address("2001:db8::7"), 1)),
    (b"PROXY UNKNOWN\r\n", None),
    (b"PROXY UNKNOWN what ever\r\n", None),
    (version_2(0x21, 0x11, ends("192.0.2.7", "198.51.100.1")), (IPv4Address("192.0.2.7"), 50000)),
    (version_2(0x21, 0x21, ends("2001:db8::7", "::1")), (IPv6Address("2001:db8::7"), 50000)),
    (
        version_2(0x21, 0x11, ends("192.0.2.7", "198.51.100.1") + b"\x04\0\x01x"),
        (IPv4Address("192.0.2.7"), 50000),
    ),
    (version_2(0x20, 0, b""), None),
    (version_2(0x20, 0x11, ends("192.0.2.7", "198.51.100.1")), None),
    (version_2(0x21, 0x31, bytes(216)), None),
]


@pytest.mark.parametrize(("header", "source"), ANNOUNCED)
def test_the_address_and_port_of_the_client_are_announced(
    header: bytes, source: tuple[IPv4Address | IPv6Address, int] | None
) -> None:
    assert parse_header(header + b"rest") == ProxyHeader(source, len(header))
    for end in range(len(header)):
        assert parse_header(header[:end]) is None, "more bytes are needed"


@pytest.mark.parametrize(
    "header",
    [
        b"GET / HTTP/1.1\r\n",
        b"PROXY TCP4 a b c d\r\n",
        b"PROXY TCP4 999.1.1.1 192.0.2.1 50000 4242\r\n",
        b"PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n",
        b"PROXY TCP6 192.0.2.7 192.0.2.1 1 2\r\n",
        b"PROXY TCP4 192.0.2.7 192.0.2.1 65536 1\r\n",
        b"PROXY TCP4 192.0.2.7 192.0.2.1 -1 1\r\n",
        b"PROXY TCP4 192.0.2.7\r\n",
        b"PROXY TCP4 \xff\xff 192.0.2.1 1 2\r\n",
        b"PROXY UDP4 192.0.2.7 192.0.2.1 1 2\r\n",
        b"PROXY TCP4 " + b"1" * 107,
        version_2(0x11, 0x11, ends("192.0.2.7", "198.51.100.1")),
        version_2(0x22, 0x11, ends("192.0.2.7", "198.51.100.1")),
        version_2(0x21, 0x11, b"short"),
        SIGNATURE + b"\x21\x11\xff\xff",
    ],
)
def test_a_bad_header_is_refused(header: bytes) -> None:
    with pytest.raises(ProxyHeaderError):
        parse_header(header)


@given(
    st.sampled_from([b"", b"PROXY ", b"PROXY TCP4 ", SIGNATURE, SIGNATURE + b"\x21"]), st.binary()
)
def test_no_bytes_raise_another_error(start: bytes, rest: bytes) -> None:
    try:
        header = parse_header(start + rest)
    except ProxyHeaderError:
        return
    assert header is None or header.size <= len(start + rest)
