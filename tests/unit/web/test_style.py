"""Contrasts of all pairs of colours in use, as defined by WCAG 2.2."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from playout import server

STYLES = Path(server.__file__).parent / "web" / "static"
STYLE = (STYLES / "style.css").read_text("utf-8")
THEMES = ("light", "dark")

#: Level AA: 4.5 for text, 3 for other visible parts.
TEXT, SHAPE = 4.5, 3.0
PAIRS = [
    *((ink, ground, TEXT) for ink in ("text", "muted", "accent") for ground in ("bg", "surface")),
    *((ink, "accent-soft", TEXT) for ink in ("text", "muted", "accent")),
    *((ink, ground, TEXT) for ink in ("good", "bad") for ground in ("bg", "surface")),
    *((ink, ground, TEXT) for ink in ("first", "second") for ground in ("bg", "surface")),
    ("bad", "bad-soft", TEXT),
    ("accent-text", "accent", TEXT),
    ("bg", "text", TEXT),
    ("text", "board", TEXT),
    ("muted", "board", TEXT),
    *((shape, "board", SHAPE) for shape in ("first", "second", "mark", "accent")),
    ("square-label", "dark-square", TEXT),
    *((piece, "dark-square", SHAPE) for piece in ("black-piece", "white-piece", "blocked-square")),
    *((shape, "dark-square", SHAPE) for shape in ("square-accent", "square-mark")),
    *((shape, "light-square", SHAPE) for shape in ("black-piece", "square-accent", "square-mark")),
    *((shape, "wood", SHAPE) for shape in ("black-piece", "wood-accent", "wood-line", "wood-mark")),
    *((piece, "green", SHAPE) for piece in ("black-piece", "white-piece")),
    *((shape, "green", SHAPE) for shape in ("green-accent", "green-line", "green-mark")),
    *((shape, "blue-hole", SHAPE) for shape in ("red-piece", "yellow-piece", "blue-accent")),
    *((shape, "blue", SHAPE) for shape in ("yellow-piece", "blue-accent")),
    ("red-piece", "yellow-piece", SHAPE),
    *(("stone-mark", piece, SHAPE) for piece in ("black-piece", "white-piece")),
    ("wood-line", "white-piece", SHAPE),
    ("black-piece", "white-piece", SHAPE),
    *(("control", ground, SHAPE) for ground in ("bg", "surface")),
]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("ink", "ground", "least"), PAIRS)
def test_foregrounds_contrast_with_backgrounds(
    theme: str, ink: str, ground: str, least: float
) -> None:
    assert contrast(colour(ink, theme), colour(ground, theme)) >= least


def test_every_colour_that_is_used_is_defined() -> None:
    texts = [path.read_text("utf-8") for path in STYLES.glob("*.css")]
    used = {name for text in texts for name in re.findall(r"var\(--([a-z-]+)\)", text)}
    assert used <= {name for text in texts for name in re.findall(r"--([a-z-]+):", text)}


def test_contrasts_are_computed_as_defined() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def colour(name: str, theme: str) -> str:
    match = re.search(rf"--{name}: light-dark\((#\w{{6}}), (#\w{{6}})\)", STYLE)
    assert match, name
    return match[1 + THEMES.index(theme)]


def contrast(one: str, other: str) -> float:
    """The contrast ratio, https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """https://www.w3.org/TR/WCAG22/#dfn-relative-luminance"""
    channels = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
