"""Texts of strangers at a terminal, in a log, and as versions."""

from __future__ import annotations

import io
import unicodedata

import msgspec
import pytest

from playout import games
from playout.commands.text import plain, printable
from playout.players.core import rendering
from playout.protocol.codec import decode_request
from playout.protocol.names import BadName, checked_version
from playout.server.runtime import process

#: Copies to the clipboard, sets the title, clears the screen, turns text around, or hides it.
HOSTILE = (
    "\x1b]52;c;aGk=\x07", "\x1b]0;title\x07", "\x1b[2J", "\x9b2J", "\x85", "\u202eevil\u202c",
    "\u2066a\u2069", "\u200b", "\u3164", "\ufeff", "\u2028", "\x08\x08", "\r", "\x7f", "\U000e0041",
    "\u061c", "\u00ad", "\u115f", "\ud800",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_text_commands_a_terminal_or_turns_others_around(text: str) -> None:
    stream = io.StringIO()
    console = rendering.console()
    console.file = stream
    console.print(f"Ann{text}[red]Bob[/red]")
    console.out(f"Ann{text}Bob")
    shown = stream.getvalue()
    assert "[red]" in shown
    for seen in (shown, plain(text), printable(text)):
        assert not [c for c in seen if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")]
        assert not set("\u3164\u115f\u2028") & set(seen)


@pytest.mark.parametrize("text", ["naïve 木 ёлка", "+1,5 (a)", "😀👍🏽", "שלום", "한국어", "ไทย"])
def test_texts_of_all_languages_are_shown_as_they_are(text: str) -> None:
    assert plain(text) == printable(text) == checked_version(f"v1 {text}").removeprefix("v1 ")


def test_the_lines_of_a_text_stay_lines() -> None:
    assert printable("a\nb\x1bc") == "a\nb c"


def test_a_text_in_the_log_does_not_look_like_another_line() -> None:
    forged = "x\n2026-11-27 07:00:00 critical: the server is down\x1b[2J"
    event = {"log_format": "{name} has connected", "name": forged}
    first, second = process._text(event).split("\n")
    assert first == "x"
    assert second.startswith("    2026")
    assert "\x1b" not in second


@pytest.mark.parametrize(
    "version", [" ", "  1", "1 ", "1  2", "\u3164", "\u2800", "a\u202eb", "--"]
)
def test_a_version_is_what_it_looks_like(version: str) -> None:
    with pytest.raises(BadName, match="a version has"):
        checked_version(version)
    assert [checked_version(each) for each in ("", "2.1", "v 7")] == ["", "2.1", "v 7"]


@pytest.mark.parametrize("text", [each for each in HOSTILE if each != "\ud800"], ids=ascii)
@pytest.mark.parametrize("kind", ["software", "text"])
def test_labels_of_requests_have_visible_characters(kind: str, text: str) -> None:
    requests = {
        "software": {"type": "hello", "protocol_min": 1, "protocol_max": 1, "name": "Ann"},
        "text": {"type": "kick", "name": "Ann"},
    }
    body = msgspec.msgpack.encode(requests[kind] | {kind: f"a{text}b"})
    with pytest.raises(ValueError, match=r"\$|\\Z|visible|matching"):
        decode_request(body)
    decode_request(msgspec.msgpack.encode(requests[kind] | {kind: "a b"}))


@pytest.mark.parametrize("text", ["go(komi=-0.0)", "go(komi=0)", "go(komi=-0)", "go(komi=0.00)"])
def test_equal_numbers_make_one_game(text: str) -> None:
    assert str(games.load(text)) == str(games.load("go(komi=0.0)"))
