"""protocol.sgf: properties and parentheses of SGF files, and points."""

from __future__ import annotations

import pytest

from playout.protocol.sgf import SgfError, SgfProperty, column_and_row, decoded, items, komi_of


def test_a_file_is_read_in_order() -> None:
    text = "before (;GM[1]\nAB[aa] [bb](;B[cc]C[a \\] b])(;W[]))"
    assert list(items(text)) == [
        "(",
        SgfProperty(1, "GM", ("1",)),
        SgfProperty(2, "AB", ("aa", "bb")),
        "(",
        SgfProperty(2, "B", ("cc",)),
        SgfProperty(2, "C", ("a \\] b",)),
        ")",
        "(",
        SgfProperty(2, "W", ("",)),
        ")",
        ")",
    ]
    assert list(items("no game")) == []


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("(;B[aa]", 1, "not closed by"),
        ("(;\nB[aa", 2, "the value of B is not closed"),
        ("(;)\n)", 2, "a '\\)' without a game"),
        ("(;\n\n5)", 3, "'5' is not expected here"),
    ],
)
def test_a_mistake_has_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(SgfError, match=said) as error:
        list(items(text))
    assert error.value.line == line


def test_points_are_letters_of_column_and_row() -> None:
    assert column_and_row("ba") == (1, 0)
    assert column_and_row("aB") == (0, 27)
    assert [column_and_row(text) for text in ("", "a", "abc", "a1")] == [None] * 4


@pytest.mark.parametrize(
    "text",
    ["(;SiZe[9]KoMi[5.5]Black[ee]AddWhite[cc])", "(;SZ[9]KM[5.5];B[ee]AW[cc])",
     "(;SIZE[9]komi[5.5];BLACK[ee]addwhite[cc])",
     "(;Size[9]KoMi[5.5];BlacK[ee]AddbWhite[cc])"],
)  # fmt: skip
def test_small_letters_of_names_do_not_count(text: str) -> None:
    names = [each.name for each in items(text.replace("BlacK", "Black").replace("Addb", "Add"))
             if isinstance(each, SgfProperty)]  # fmt: skip
    assert names in (["SZ", "KM", "B", "AW"], ["S", "KM", "B", "AW"])


@pytest.mark.parametrize(
    ("text", "points"),
    [("7.5", 7.5), ("375", 7.5), ("750", 7.5), ("650", 6.5), ("325", 6.5), ("3.75", 7.5),
     ("7,5", 7.5), (" 6.50 ", 6.5), ("0", 0.0), ("-5.5", -5.5), ("", None), (" ", None),
     ("+0.5", 0.5), (".5", 0.5), ("7.", 7.0), ("7\u00bd", 7.5), ("\u00bd", 0.5),
     ("5.5 points", 5.5), ("375pts.", 7.5), ("6.5 Moku", 6.5), ("?", None)],
)  # fmt: skip
def test_komi_is_read_as_servers_write_it(text: str, points: float | None) -> None:
    assert komi_of(text) == points


@pytest.mark.parametrize("text", ["B+7.5", "nan", "inf", "7.5.5", "1e3", "9" * 400, "five"])
def test_what_is_no_komi_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no komi: expected a number of points"):
        komi_of(text)


@pytest.mark.parametrize(
    "data",
    [
        "(;CA[GB2312]PB[柯洁];B[dd])".encode("gbk"),
        "(;PB[柯洁]PW[申真谞];B[dd])".encode("gbk"),
        "(;CA[Shift_JIS]PB[井山ソ];B[dd])".encode("shift-jis"),
        "(;CA[no-such]PB[柯洁];B[dd])".encode(),
        "\ufeff(;PB[柯洁];B[dd])".encode("utf-16"),
        "(;CA[ISO-8859-1]PB[Müller];\r\nB[dd])".encode("latin-1"),
        "(;PB[Müller];\rB[dd])".encode("latin-1"),
        "(;CA[UTF-8]PB[Müller];B[dd])".encode("latin-1"),
    ],
)
def test_a_file_is_read_in_its_encoding(data: bytes) -> None:
    found = [each for each in items(decoded(data)) if isinstance(each, SgfProperty)]
    assert found[-1][1:] == ("B", ("dd",))
    assert {each.values[0] for each in found} & {"柯洁", "井山ソ", "Müller"}
