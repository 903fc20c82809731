"""Names: which there may be, and which could be taken for each other."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.protocol.names import _LOOKS_LIKE, _SHAPES, LONGEST, BadName, normalised, skeleton

# What people and their programs are called.
SEEN = [
    "Ada", "uct-5f49", "player 40312", "raw 17", "AlphaZero v2.1", "my_bot", "C++", "7", "x",
    "O'Brien", "O’Brien", "Oʻzbek", "Jürgen", "Zoë", "Nguyễn", "ŁUKASZ", "Ελένη", "Владимир",
    "Владимир v2", "Արամ", "სანდრო", "דוד", "علي", "عَلِيّ", "ሰላም", "राजेश", "சேகர்", "สมชาย",
    "မြို့", "ភ្នំពេញ", "张伟", "山田AI", "佐々木", "こんにちは", "ガンダム", "김철수",
]  # fmt: skip
HANGUL_FILLER, GRAPHEME_JOINER, BLANK = "\u3164", "\u034f", "\u2800"


@pytest.mark.parametrize("name", SEEN)
def test_names_in_use_are_kept_as_they_are(name: str) -> None:
    assert normalised(name) == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ａｄａ", "Ada"),
        ("𝓐𝓭𝓪", "Ada"),
        ("Ⓐda", "Ada"),
        ("Jose\u0301", "José"),
        ("ﾎﾞｯﾄ", "ボット"),
        ("ﬁdo", "fido"),
        ("x²", "x2"),
        ("bot\u2011a", "bot\u2010a"),
    ],
)
def test_one_form_is_shown(name: str, shown: str) -> None:
    assert normalised(name) == shown


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "1 to 32"),
        ("A" * (LONGEST + 1), "this has 33"),
        ("ﬃ" * 11, "this has 33"),
        # Characters that cannot be seen.
        ("An\nn", "U+000A"),
        ("raw\0", "U+0000"),
        ("\x1b[2J", "U+001B"),
        ("A\u200bda", "ZERO WIDTH SPACE"),
        ("A\u200dda", "ZERO WIDTH JOINER"),
        ("\u202eadA", "RIGHT-TO-LEFT OVERRIDE"),
        ("A\u2066da", "LEFT-TO-RIGHT ISOLATE"),
        ("A\u00adda", "SOFT HYPHEN"),
        ("Ada\ufeff", "ZERO WIDTH NO-BREAK SPACE"),
        ("Ada\ue000", "U+E000"),
        ("Ada\u0378", "U+0378"),
        ("Ada\ud800", "U+D800"),
        ("Ada\ufe0f", "VARIATION SELECTOR"),
        (f"Ada{GRAPHEME_JOINER}", "GRAPHEME JOINER"),
        (f"김{HANGUL_FILLER}", "FILLER"),
        (f"Ada{BLANK}", "BRAILLE"),
        # Spaces.
        (" Ada", "single spaces"),
        ("Ada ", "single spaces"),
        ("Ada  B", "single spaces"),
        ("Ada\u00a0B", "NO-BREAK SPACE"),
        ("山田\u3000太郎", "IDEOGRAPHIC SPACE"),
        ("Ada\u2028B", "LINE SEPARATOR"),
        ("Ada\u2029B", "PARAGRAPH SEPARATOR"),
        # Nothing that could be said aloud.
        ("---", "letter or digit"),
        (". .", "letter or digit"),
        ("|||", "letter or digit"),
        ("ꞌꞌ", "letter or digit"),
        ("\u0301", "letter or digit"),
        ("♞", "CHESS KNIGHT"),
        ("Ada ✓", "CHECK MARK"),
        ("⍺da", "ALPHA"),
        # Accents.
        ("-\u0301a", "stands on a letter"),
        ("Ad´a", "stands on a letter"),
        ("Q\u0301\u0302\u0303", "at most two accents"),
        ("Q\u0301\u0301", "none twice"),
        ("ก็็", "none twice"),
        ("က\u1030\u1032\u102d\u102f\u1036", "at most two accents"),
        ("a\u20dd", "ENCLOSING CIRCLE"),
        # Scripts.
        ("Аda", "mixes Cyrillic and Latin"),
        ("pаypal bot", "'pаypal' mixes"),
        ("Αda", "mixes Greek and Latin"),
        ("Aհa", "mixes Armenian and Latin"),
        ("김か", "mixes Hangul and Hiragana"),
        ("bot٣", "mixes Arabic and Latin"),
        ("ᎪᎠᎪ", "CHEROKEE"),
        ("ⲁⲇⲁ", "COPTIC"),
    ],
    ids=ascii,
)
def test_a_bad_name_is_told_why(name: str, why: str) -> None:
    with pytest.raises(BadName) as refused:
        normalised(name)
    assert why in str(refused.value)
    assert len(str(refused.value)) < 150


@pytest.mark.parametrize(
    "alike",
    [
        [
            "Ada",
            "ada",
            "ADA",
            "a.d.a",
            "A-D_A",
            "A da",
            "Ada!",
            "«Ada»",
            "Àdá",
            "Аԁа",
            "Ａｄａ",
            "ᴀᴅᴀ",
        ],
        ["Bill", "BiII", "B1|l", "Bіӏl", "bıll"],
        ["Bob", "B0b", "Вов", "Воь", "Böb", "Bøb", "B٠b", "Βοb"],
        ["José", "Jose", "Jose\u0301", "J0sé", "Ĵøşę"],
        ["Bernard", "Bemard", "BERNARD", "Beгnаrd"],
        ["Warwick", "VVarwick", "ԜаrwісK"],
        ["NIKH", "ΝΙΚΗ", "νικη"],
        ["O'Brien", "O’Brien", "Oʼbrien", "Oꞌbrien", "OBrien", "О-Brien"],
        ["player 10", "player lO", "player-1o", "Player 1٠", "player I0"],
        ["v2.1", "v21", "V2-1"],
        ["Łukasz", "lukasz", "ŁUKASZ"],
        ["Ægir", "aegir", "Ӕgіr"],
        ["Straße", "STRASSE", "straſse"],
        ["Андрей", "Андреи", "АНДРЕЙ"],
        ["Қанат", "Канат", "KAHaт"],
        ["עלי", "עֲלִי"],
        ["علي", "عَلِيّ"],
        ["ニコ", "二コ"],
        ["ヘル", "へル"],
    ],
    ids=lambda names: names[0],
)
def test_alike(alike: list[str]) -> None:
    assert len({skeleton(name) for name in alike}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada", "Adam"),
        ("uct-5f49", "uct-5f48"),
        ("player 40312", "player 40313"),
        ("Hanna", "Nanna"),
        ("Vera", "Wera"),
        ("Clara", "Dara"),
        ("Саша", "Маша"),
        ("か", "が"),  # other syllables
        ("राजु", "राजे"),  # other vowels
        ("กิน", "กุน"),
        ("김", "감"),
        ("张伟", "张韦"),
    ],
)
def test_not_alike(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)


def test_no_two_names_in_use_are_alike_but_those_that_are() -> None:
    assert len({skeleton(name) for name in SEEN}) == len(SEEN) - 2  # O'Brien and علي, twice each


def test_every_look_alike_is_listed_once_as_it_is_looked_up() -> None:
    assert sum(map(len, _LOOKS_LIKE.values())) == len(_SHAPES)
    for char, shape in _SHAPES.items():
        assert unicodedata.normalize("NFKD", char).casefold() == char
        assert skeleton(char) == skeleton(shape) == shape


texts = (
    st.text(max_size=40)
    | st.text("Aaеоl1I|0Omrnw .-_'éß\u0301\u0323İıſΣςάᾳКйї", max_size=40)
    | st.text(st.characters(categories=["Lu", "Ll", "Lo", "Lm", "Mn", "Mc", "Nd"]), max_size=8)
    | st.lists(st.sampled_from(SEEN), min_size=1, max_size=3).map(" ".join)
)


@given(texts)
def test_any_text_is_a_name_or_a_bad_one(text: str) -> None:
    try:
        name = normalised(text)
    except BadName:
        return
    assert normalised(name) == name
    assert 0 < len(name) <= LONGEST
    assert skeleton(name)


@given(texts)
def test_a_skeleton_is_its_own(text: str) -> None:
    bones = skeleton(text)
    assert skeleton(bones) == bones


@given(texts)
def test_appearance_and_encoding_of_a_name_make_no_difference(text: str) -> None:
    bones = skeleton(text)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert skeleton(unicodedata.normalize(form, text)) == bones
    for same in (text.upper(), text.lower(), text.casefold(), f"-{text}. "):
        assert skeleton(same) == bones


def test_every_character_there_is() -> None:
    for point in range(0, sys.maxunicode + 1, 7):
        char = chr(point)
        bones = skeleton(char)
        assert skeleton(bones) == bones
        try:
            assert skeleton(normalised(char)) == bones
        except BadName:
            continue
        assert bones
