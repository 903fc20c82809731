"""The links of the documents lead to files, and to headings, that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def without_code(text: str) -> str:
    """A document without its code blocks and code spans, which contain no links."""
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def links(document: Path) -> list[str]:
    """The targets of all links of a document that lead into the repository."""
    targets = re.findall(r"\]\(([^)\s]+)\)", without_code(document.read_text(encoding="utf-8")))
    return [target for target in targets if not target.startswith(("http://", "https://"))]


@cache
def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a document."""
    text = document.read_text(encoding="utf-8")
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w -]", "", words).replace(" ", "-")
        number = 0
        while (numbered := f"{anchor}-{number}" if number else anchor) in found:
            number += 1
        found.add(numbered)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    for link in links(document):
        file, _, anchor = link.partition("#")
        target = (document.parent / file).resolve() if file else document
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_index_lists_every_document(document: Path) -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link).resolve() for link in links(index)}
    assert document in listed | {index}
