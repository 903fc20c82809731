"""The text of files as people hand them in."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.protocol.text_files import TextFileError, decoded

TEXT = "account;team\nBjörn Ågren;Müller & Söhne\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
        TEXT.encode("utf-32"),
        b"\0\0\xfe\xff" + TEXT.encode("utf-32-be"),
        TEXT.encode("latin-1"),
        TEXT.encode("cp1252"),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode("latin-1"),
        TEXT.replace("\n", "\r\n").encode("utf-16"),
        TEXT.encode() + b"\x1a",
    ],
)
def test_a_text_is_the_same_in_all_encodings_and_with_all_ends_of_lines(data: bytes) -> None:
    assert decoded(data) == TEXT


def test_the_signs_of_windows_are_read() -> None:
    for text in ("5 € “quoted”", "O\u2019Neil \u2013 Zo…", "Zoë \u2013 Müller"):
        assert decoded(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("赤队蓝队".encode("gbk"), "an encoding that cannot be recognized: save it as UTF-8"),
        ("Иван Петров".encode("cp1251"), "cannot be recognized"),
        ("こんにちは".encode("shift-jis"), "cannot be recognized"),
        (b"\x7fELF\0\0\1", "zero bytes"),
        (b"\xff\xfea", "byte 3 is not UTF-16-LE"),
        ("Zoë Müller".encode("cp437"), "save it as UTF-8"),
        *(
            (f"account,name\nada,{name}\n".encode(encoding), "save it as UTF-8")
            for encoding in ("mac-roman", "cp850")
            for name in ("Zoë", "Jérôme", "Peña", "Ramón", "Müller", "Ärzte", "Nuño", "Åse")
        ),
        ("account,name\nada,Großer\n".encode("mac-roman"), "save it as UTF-8"),
        (b"\xef\xbb\xbf\xff", "byte 4 is not UTF-8"),
    ],
)
def test_what_is_no_text_is_refused_in_a_sentence(data: bytes, told: str) -> None:
    with pytest.raises(TextFileError, match=told):
        decoded(data)


def test_names_may_be_wrong_where_they_do_not_matter() -> None:
    assert decoded("Иван e4".encode("cp1251"), names_matter=False).endswith(" e4")


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    text = ""
    with contextlib.suppress(TextFileError):
        text = decoded(data)
    assert not {"\r", "\0"} & {*text}


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\r\x1a\ufeff"), max_size=50))
def test_unicode_is_read_as_it_was_written(text: str) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        assert decoded(text.encode(encoding)) == text
