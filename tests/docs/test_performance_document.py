"""docs/performance.md has a section for each benchmark, with the figures that it printed."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
NAMES = {
    path.stem
    for path in (ROOT / "scripts" / "benchmarks").glob("*.py")
    if not path.stem.startswith("_")
}


def sections() -> dict[str, str]:
    """The text below each heading `## name: what it measures`, by the name."""
    found = re.split(r"^## (\w+):", TEXT, flags=re.MULTILINE)[1:]
    return dict(zip(found[::2], found[1::2], strict=True))


def test_each_benchmark_has_a_section_and_each_section_is_of_a_benchmark() -> None:
    assert set(sections()) == NAMES


def test_each_section_has_the_command_and_a_table() -> None:
    for name, text in sections().items():
        assert f"scripts/bench {name}" in text, name
        assert re.search(r"^\| --", text, flags=re.MULTILINE), name
