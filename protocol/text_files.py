"""The text of files that people hand in: lists, tables, records of games and settings.

They come from many programs: with a byte order mark, in UTF-16, in the 8-bit encodings of older
systems, with the ends of lines of DOS and of the first Macintosh. `decoded` reads them all, or says
in a sentence why it cannot.
"""

from __future__ import annotations

import codecs
import re

#: Byte order marks, the longer ones first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: Files of DOS may end with this character.
_END_OF_FILE = "\x1a"
#: Two letters above ASCII next to each other: rare in the languages of Windows-1252, but usual if
#: the bytes are Chinese, Russian or Greek.
_PAIR = re.compile(rb"[\x80-\xff]{2,}")
_HIGH = re.compile(rb"[\x80-\xff]")
#: A byte in or beside a word that is a usual letter of the first Macintosh or of DOS, and a rare
#: letter or a sign in Windows-1252, whose usual letters are from \xc0 on.
_OLD_LETTER = re.compile(
    rb"(?<=[A-Za-z])[\x80\x82-\x84\x86-\x8e\x91\x93\x98\x9a-\x9f]"
    rb"|[\x80\x83\x86-\x8e\x98\x9a-\x9f](?=[A-Za-z])"
    rb"|(?<=[a-z])[\x85\x94-\x97\x99\xa1-\xa9\xab\xac\xae-\xb3\xb5\xb6\xb8\xb9\xbb-\xbf](?=[a-z])"
)
_USUAL_LETTER = re.compile(rb"[\xc0-\xff]")
_MOST_PAIRED = 0.2
_UNKNOWN = "is in an encoding that cannot be recognized: save it as UTF-8"


class TextFileError(ValueError):
    """A file is not readable text; the message says what was expected."""


def decoded(data: bytes, *, names_matter: bool = True) -> str:
    """Return the text of a file with lines that end in line feeds, and without a byte order mark.

    Text that is neither Unicode nor Windows-1252 is refused if `names_matter`, because names would
    be wrong; otherwise its letters above ASCII may be wrong. Raises TextFileError.
    """
    text = _unicode(data)
    if text is None:
        text = _of_8_bits(data, names_matter=names_matter)
    text = text.rstrip(_END_OF_FILE)
    if "\0" in text:
        raise TextFileError("is no text: it has zero bytes")
    return lines_of(text)


def lines_of(text: str) -> str:
    """Return a text whose lines end in line feeds, without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _unicode(data: bytes) -> str | None:
    """Return the text of data in Unicode, None for other data. Raises TextFileError."""
    for mark, encoding in (*_MARKS, *_unmarked(data)):
        if data.startswith(mark):
            try:
                return data.removeprefix(mark).decode(encoding)
            except UnicodeDecodeError as error:
                text = f"is damaged: byte {error.start + len(mark) + 1} is not {encoding.upper()}"
                raise TextFileError(text) from error
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _unmarked(data: bytes) -> list[tuple[bytes, str]]:
    """Return UTF-16 without a mark, if every second byte of its beginning is zero."""
    head = data[:64]
    if len(data) % 2 or len(head) < 4:
        return []
    for odd, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if not any(head[odd::2]) and all(head[1 - odd :: 2]):
            return [(b"", encoding)]
    return []


def _of_8_bits(data: bytes, *, names_matter: bool) -> str:
    paired = sum(len(each) for each in _PAIR.findall(data))
    if names_matter and paired > _MOST_PAIRED * len(_HIGH.findall(data)):
        raise TextFileError(_UNKNOWN)
    if names_matter and _OLD_LETTER.search(data) and not _USUAL_LETTER.search(data):
        raise TextFileError(_UNKNOWN)
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        if names_matter:  # a letter of DOS or of the first Macintosh
            raise TextFileError(_UNKNOWN) from None
        return data.decode("latin-1")
