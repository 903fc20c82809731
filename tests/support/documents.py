"""The programs in the documents, as tests run them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The pages of the protocol.
PROTOCOL = ("protocol.md", "protocol-games.md", "protocol-messages.md")


def protocol() -> str:
    """Return the text of all pages of the protocol."""
    return "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in PROTOCOL)


def program(document: str, start: str = "", language: str = "python") -> str:
    """Return the first program of a document that begins with a text, by default in Python.

    `document` is the path of its file, relative to the repository.
    """
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.search(
        rf"^```{language}\n({re.escape(start)}.*?)^```", text, re.DOTALL | re.MULTILINE
    )
    assert found, f"{document} has no program that begins with {start!r}"
    return found[1]
