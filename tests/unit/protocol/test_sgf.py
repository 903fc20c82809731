"""protocol.sgf: properties and parentheses of SGF files, and points."""

from __future__ import annotations

import pytest

from playout.protocol.sgf import SgfError, SgfProperty, column_and_row, items


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
