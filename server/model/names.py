"""Names of players: which there may be, and which could be taken for each other.

After UTS #39 (Unicode Security Mechanisms). Names differ by their letters and digits: case,
accents, spaces, punctuation and symbols do not tell two players apart, nor do letters that look
alike.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

LONGEST = 32

# The first word of a letter's Unicode name says which script it is of. These are the recommended
# scripts of UAX #31, table 5: those of living languages that many people write.
_WRITTEN = (
    "ARABIC ARMENIAN BENGALI BOPOMOFO CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN GREEK GUJARATI "
    "GURMUKHI HANGUL HEBREW HIRAGANA KANNADA KATAKANA KHMER LAO LATIN MALAYALAM MYANMAR ORIYA "
    "SINHALA TAMIL TELUGU THAANA THAI TIBETAN"
)
_SCRIPTS = {word: word.capitalize() for word in _WRITTEN.split()} | {
    "ARABIC-INDIC": "Arabic",
    "EXTENDED": "Arabic",  # of its digits
    "CJK": "Han",
    "IDEOGRAPHIC": "Han",
}
_WITH_ANY = {"COMBINING", "DIGIT", "KATAKANA-HIRAGANA", "MODIFIER"}
# Scripts that share a word: UTS #39, section 5.2, "highly restrictive".
_TOGETHER = (
    {"Latin", "Han", "Hiragana", "Katakana"},
    {"Latin", "Han", "Bopomofo"},
    {"Latin", "Han", "Hangul"},
)
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5"  # though Unicode calls them letters or marks

# What each is taken for, by lower-case letters: Latin, Greek, Cyrillic, Armenian, and Kana against
# Han. From confusables.txt of UTS #39 (Unicode 15), without the accents that it keeps, and with vv
# for w; where the two cases of a letter look like two Latin letters (eta, nu, upsilon), the
# capital counts, for it is drawn exactly alike.
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
    """A name that nobody can have; the text says why."""


def normalised(name: str) -> str:
    """The form in which a name is shown and stored. Raises BadName.

    That is NFKC, as for nicknames in RFC 8266: wide, circled and mathematical letters become the
    letters that they are read as. Its price: lone Korean letters (ㅋ) become parts of syllables.
    """
    for char in name:
        if char != " " and unicodedata.category(char)[0] == "Z":
            raise BadName(f"a name has no spaces but the usual one; this has {_spelled(char)}")
    name = unicodedata.normalize("NFKC", name)
    if not 0 < len(name) <= LONGEST:
        raise BadName(f"a name has 1 to {LONGEST} characters; this has {len(name)}")
    for char in name:
        _check_character(char)
    _check_arrangement(name)
    for word in re.split("[ _-]+", name):
        _check_scripts(word)
    return name


def skeleton(name: str) -> str:
    """The same for names that people could take for each other.

    Any text will do; the skeleton of a skeleton is itself. It is for comparing, not for showing:
    that of `Willi` is `vvllll`. Not compared are letters that look alike within Arabic, Hebrew,
    Indic scripts and Han, and those of them that look like a Latin letter (alef like l).
    """
    folded = unicodedata.normalize("NFKD", name).casefold()
    shapes = map(_shape, unicodedata.normalize("NFKD", folded))
    return unicodedata.normalize("NFKD", "".join(shapes))


def _check_character(char: str) -> None:
    kind = unicodedata.category(char)
    if kind[0] == "C" or kind == "Me" or char in _INVISIBLE:
        raise BadName(f"a name has only characters that can be seen; this has {_spelled(char)}")
    if kind[0] == "S" and not char.isascii():
        raise BadName(f"a name has no symbols or pictures; this has {_spelled(char)}")
    if kind[0] in "LMN" and _first_word(char) not in _SCRIPTS.keys() | _WITH_ANY:
        raise BadName(f"a name is in a script that is in wide use; this has {_spelled(char)}")


def _check_arrangement(name: str) -> None:
    kinds = "".join(map(_kind, name))
    if re.search("^Z|ZZ|Z$", kinds):
        raise BadName("a name has single spaces, and none at its ends")
    if not re.search("[LN]", kinds) or not skeleton(name):
        raise BadName("a name has at least one letter or digit")
    if re.search("(?<![LNMV])[MV]", kinds):
        raise BadName("an accent in a name stands on a letter")
    # UTS #39, section 5.4, has the four. Accents proper are two at most, as in Vietnamese; vowel
    # signs of a Burmese syllable are more.
    twice = any(a == b for a, b in pairwise(name) if _kind(a) in "MV")
    if twice or re.search("M{3}|[MV]{5}", kinds):
        raise BadName("a letter in a name has at most two accents, and none twice")


def _kind(char: str) -> str:
    """Letter, Number, Mark that combines, Vowel sign, Z for a space, Punctuation or Symbol."""
    kind = unicodedata.category(char)[0]
    return "V" if kind == "M" and not unicodedata.combining(char) else kind


def _check_scripts(word: str) -> None:
    """Whole words may be in different scripts, as in `Владимир v2`: `skeleton` compares those."""
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
    """What remains of a character that is case-folded and decomposed."""
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
    """Is it, by its combining class, an accent or a point of Hebrew or Arabic?

    Other marks are vowel signs and the like: without them other words remain.
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
