"""Names of players: the rules for valid names, and a comparison that finds names that look alike.

It follows UTS #39 (Unicode Security Mechanisms). Only letters and digits distinguish names: case,
accents, spaces, punctuation and symbols do not count, and letters that look alike are equal.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

LONGEST = 32

# The first word of a letter's Unicode name is its script. These are the recommended scripts of
# UAX #31, table 5, which are in common use.
_WRITTEN = (
    "ARABIC ARMENIAN BENGALI BOPOMOFO CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN GREEK GUJARATI "
    "GURMUKHI HANGUL HEBREW HIRAGANA KANNADA KATAKANA KHMER LAO LATIN MALAYALAM MYANMAR ORIYA "
    "SINHALA TAMIL TELUGU THAANA THAI TIBETAN"
)
_SCRIPTS = {word: word.capitalize() for word in _WRITTEN.split()} | {
    "ARABIC-INDIC": "Arabic",
    "EXTENDED": "Arabic",  # as in EXTENDED ARABIC-INDIC DIGIT ONE
    "CJK": "Han",
    "IDEOGRAPHIC": "Han",
}
_WITH_ANY = {"COMBINING", "DIGIT", "KATAKANA-HIRAGANA", "MODIFIER"}
# Scripts that may be mixed in one word: UTS #39, section 5.2, "highly restrictive".
_TOGETHER = (
    {"Latin", "Han", "Hiragana", "Katakana"},
    {"Latin", "Han", "Bopomofo"},
    {"Latin", "Han", "Hangul"},
)
# Invisible, though Unicode classifies them as letters, marks or symbols.
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"

#: The characters of a class of a regular expression that no text of a stranger may have where it is
#: shown: control characters, which may command a terminal or end a line, marks that change the
#: direction of text, and others without a shape.
HIDDEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u061c\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ud800-\udfff\ufeff\ufff0-\ufffb\U000e0000-\U000e0fff"
) + "".join(rf"\u{ord(each):04x}" for each in _INVISIBLE)

# For each lower-case Latin shape, the characters that look like it: Latin, Greek, Cyrillic,
# Armenian, and Kana for Han. From confusables.txt of UTS #39 (Unicode 15), without the accents that
# it keeps, and with vv for w. Where the cases of a letter look like two different Latin letters
# (eta, nu, upsilon), the capital decides, because it looks exactly the same.
_LOOKS_LIKE = {
    "a": "ɑαа",
    "ae": "ӕ",
    "b": "ƅꞵβвьѣҍ",
    "bl": "ы",
    "c": "с",
    "d": "ðԁ",
    "e": "εеҽ",
    "f": "ϝք",
    "g": "ԍց",
    "h": "ηнћһհ",
    "j": "ϳј",
    "k": "κк",
    "l": "1i|ǀɩιіӏꙇ",
    "lo": "ю",
    "n": "νոռ",
    "o": "0θοσоѳөօ〇",
    "p": "ρр",
    "q": "ԛգզ",
    "r": "ꭇᴦг",
    "rn": "mμϻм",
    "s": "ѕտ",
    "t": "τт",
    "u": "ս",
    "v": "ѵ",
    "vv": "wɯѡԝա",
    "x": "ꭓχх",
    "y": "ɣγυуү",
    "z": "ζ",
    "2": "ƨꙅ",
    "3": "ȝʒзӡ",
    "5": "ƽ",
    "6": "б",
    "8": "ȣ",
    "": "ꞌǃʔɂ",
    **dict(zip("一二八力卜口夕工へ", "ーニハカトロタエヘ", strict=True)),
}
_SHAPES = {each: shape for shape, alike in _LOOKS_LIKE.items() for each in alike}
_VARIETY_OF_LATIN = re.compile(r"LATIN .*\b([A-Z]{1,2})")


class BadName(ValueError):
    """A name that breaks a rule; the message has the rule, and the character that breaks it."""


def normalised(name: str) -> str:
    """Return the form in which a name is shown and stored. Raises BadName.

    The form is NFKC, as for nicknames in RFC 8266: wide, circled and mathematical letters become
    ordinary letters. A drawback: single Korean letters (ㅋ) become parts of syllables.
    """
    for char in name:
        if char != " " and unicodedata.category(char)[0] == "Z":
            raise BadName(f"a name has only ordinary spaces; this has {_spelled(char)}")
    name = unicodedata.normalize("NFKC", name)
    if not 0 < len(name) <= LONGEST:
        raise BadName(f"a name has 1 to {LONGEST} characters; this has {len(name)}")
    for char in name:
        _check_character(char)
    _check_arrangement(name)
    for word in re.split("[ _-]+", name):
        _check_scripts(word)
    return name


def invisible_in(text: str) -> str | None:
    """Return the first character of a text that is not visible, such as `U+202E`; None without one.

    Control characters, marks that change the direction of text, and all spaces but the ordinary one
    are not visible.
    """
    return next((_spelled(char) for char in text if not _is_visible(char)), None)


def checked_version(version: str) -> str:
    """Return a version of a bot, which may be empty. Raises BadName for one that is not visible."""
    if found := invisible_in(version):
        raise BadName(f"a version has only visible characters; this has {found}")
    if version != " ".join(version.split()):
        raise BadName("a version has single spaces, and none at its ends")
    if version and not any(map(str.isalnum, version)):
        raise BadName("a version has at least one letter or digit, or is empty")
    return version


def skeleton(name: str) -> str:
    """Return a text that is equal for two names that people could confuse.

    Accepts any text; the skeleton of a skeleton is itself. It is for comparison, not for display:
    the skeleton of `Willi` is `vvllll`. Within Arabic, Hebrew, Indic scripts and Han it does not
    detect letters that look alike, nor those that look like a Latin letter (alef like l).
    """
    folded = unicodedata.normalize("NFKD", name).casefold()
    shapes = map(_shape, unicodedata.normalize("NFKD", folded))
    return unicodedata.normalize("NFKD", "".join(shapes))


def _check_character(char: str) -> None:
    kind = unicodedata.category(char)
    if not _is_visible(char):
        raise BadName(f"a name has only visible characters; this has {_spelled(char)}")
    if kind[0] == "S" and not char.isascii():
        raise BadName(f"a name has no symbols or pictures; this has {_spelled(char)}")
    if kind[0] in "LMN" and _first_word(char) not in _SCRIPTS.keys() | _WITH_ANY:
        raise BadName(f"a name is in a script in wide use; this has {_spelled(char)}")


def _is_visible(char: str) -> bool:
    kind = unicodedata.category(char)
    return char == " " or not (kind[0] in "CZ" or kind == "Me" or char in _INVISIBLE)


def _check_arrangement(name: str) -> None:
    kinds = "".join(map(_kind, name))
    if re.search("^Z|ZZ|Z$", kinds):
        raise BadName("a name has single spaces, and none at its ends")
    if not re.search("[LN]", kinds) or not skeleton(name):
        raise BadName("a name has at least one letter or digit")
    if re.search("(?<![LNMV])[MV]", kinds):
        raise BadName("an accent in a name stands on a letter")
    # UTS #39, section 5.4, allows four marks. Proper accents are at most two, as in Vietnamese; a
    # Burmese syllable has more vowel signs.
    twice = any(a == b for a, b in pairwise(name) if _kind(a) in "MV")
    if twice or re.search("M{3}|[MV]{5}", kinds):
        raise BadName("a letter in a name has at most two accents, and none twice")


def _kind(char: str) -> str:
    """Letter, Number, Mark that combines, Vowel sign, Z for a space, Punctuation or Symbol."""
    kind = unicodedata.category(char)[0]
    return "V" if kind == "M" and not unicodedata.combining(char) else kind


def _check_scripts(word: str) -> None:
    """Require one script per word. `Владимир v2` is valid: `skeleton` compares such names."""
    letters = (char for char in word if unicodedata.category(char)[0] in "LMN")
    scripts = {_SCRIPTS[first] for first in map(_first_word, letters) if first in _SCRIPTS}
    if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
        mixed = " and ".join(sorted(scripts))
        raise BadName(f"a word in a name is in one script; {word!r} mixes {mixed}")


def _first_word(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


def _spelled(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip()


@lru_cache(maxsize=4096)
def _shape(char: str) -> str:
    """Return the skeleton of one character that is already case-folded and decomposed."""
    if char in _SHAPES:
        return _SHAPES[char]
    kind = unicodedata.category(char)
    if kind[0] not in "LMN" or (kind[0] == "M" and _is_accent(char)):
        return ""
    if kind == "Nd":
        digit = str(unicodedata.decimal(char))
        return _SHAPES.get(digit, digit)
    return _shape_by_name(char)


def _is_accent(mark: str) -> bool:
    """Whether the combining class is that of an accent or of a Hebrew or Arabic point.

    Other marks are vowel signs and the like, which distinguish words.
    """
    position = unicodedata.combining(mark)
    return position == 1 or 10 <= position <= 36 or position >= 200


def _shape_by_name(char: str) -> str:
    """`LATIN SMALL LETTER O WITH STROKE` is an o, `LATIN LETTER SMALL CAPITAL A` an a."""
    name = unicodedata.name(char, "")
    base = name.partition(" WITH ")[0]
    if base.startswith("MODIFIER LETTER"):
        return ""
    if found := _VARIETY_OF_LATIN.fullmatch(base):
        return "".join(_SHAPES.get(each, each) for each in found[1].lower())
    if base == name:
        return char
    try:
        return skeleton(unicodedata.lookup(base))
    except KeyError:
        return char
