"""The languages of the pages: all texts are in the catalogues, and every catalogue is complete."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.jslexer import tokenize

from playout import games
from playout.protocol.messages import Reason
from playout.server.tournament.formats.core.format import FORMATS
from playout.server.web import texts
from playout.server.web.texts import DATA, ENGLISH, LANGUAGES, language_of
from playout.server.web.wording import about, clock_in_words, game_title
from testbed import catalogues

PAGES = Path(__file__).parents[3] / "server" / "web"
TEMPLATES = sorted((PAGES / "templates").glob("*.html"))
SCRIPTS = sorted((PAGES / "static").glob("*.js"))
NAMES = sorted(path.stem for path in (PAGES / "languages").glob("*.po"))


@pytest.fixture(scope="module")
def extracted() -> Catalog:
    return catalogues.extracted()


@pytest.mark.parametrize("name", NAMES)
def test_a_catalogue_has_all_texts_and_their_translations(name: str, extracted: Catalog) -> None:
    translated = catalogues.catalogue(name)
    missing = [
        each.id
        for each in extracted
        if each.id and not is_translated(translated.get(each.id, each.context))
    ]
    assert not missing, "scripts/languages adds them to the catalogue, to be translated"
    assert len(translated) == len(extracted), "scripts/languages removes texts that are not used"


def is_translated(message: Message | None) -> bool:
    if message is None or message.fuzzy:
        return False
    return all(message.string) if message.pluralizable else bool(message.string)


@pytest.mark.parametrize("name", NAMES)
def test_a_translation_has_the_values_and_the_elements_of_its_text(name: str) -> None:
    catalog = catalogues.catalogue(name)
    assert not [(message.id, errors) for message, errors in catalog.check()]
    for message in catalog:
        if message.id:
            one, *others = message.id if message.pluralizable else (message.id,)
            strings = message.string if message.pluralizable else (message.string,)
            wanted = set(marks([one, *others][-1]))
            for string in strings:
                optional = {"%(num)s"} if message.pluralizable else set()
                assert set(marks(string)) - optional == wanted - optional, (message.id, string)


def marks(text: str) -> list[str]:
    """The values and the elements of a text."""
    return re.findall(r"%\(\w+\)s|%%|<[^>]*>", text)


# No text is left out.


class ShownTexts(HTMLParser):
    """Collects the texts of a page that people read."""

    SHOWN = ("alt", "aria-label", "placeholder", "title")
    UNREAD = ("code", "pre", "script", "style")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in self.SHOWN]
        if tag in self.UNREAD:
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.found.append(data)


#: Names, keys, units and notations, which stay as they are.
STAY = re.compile(r"Playout|Home|End|Elo\b|300\+3|UTC")
#: What a template says in the catalogue's words, or does not say.
TRANSLATED = re.compile(
    r"\{%-?\s*trans\b.*?endtrans\s*-?%\}|\{#.*?#\}|\{\{.*?\}\}|\{%.*?%\}", re.DOTALL
)
#: Words in quotes within the code of a template, and those that are translated.
QUOTED = re.compile(r"\"([^\"]*)\"")
CALLS = re.compile(r"(?:\b_|gettext)\((?:\s*\"[^\"]*\",?)+")
#: Two words, or one with a capital: not a name of a class, an event or a field.
WORDS = re.compile(r"[A-Za-z]{2,}[,:;.]? (?:\S )*[A-Za-z]{2,}|^[^\w]*[A-Z][a-z]+\b")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_text_of_a_template_is_left_out(path: Path) -> None:
    assert not list(untranslated(path.read_text(encoding="utf-8")))


def untranslated(template: str) -> Iterator[str]:
    """The texts of a template that no catalogue has."""
    for text in ShownTexts(TRANSLATED.sub(" ", template)).found:
        if re.search(r"[A-Za-z]{2}", STAY.sub("", text)):
            yield text.strip()
    code = re.sub(r"\{#.*?#\}", "", template, flags=re.DOTALL)
    for block in re.findall(r"\{\{.*?\}\}|\{%-?\s*(?!import|extends|include|trans\b).*?%\}", code):
        for text in QUOTED.findall(CALLS.sub("", block)):
            if WORDS.search(STAY.sub("", text)):
                yield text


def test_a_text_of_a_template_that_is_left_out_is_found() -> None:
    for template in (
        "<p>A tie</p>",
        '<p aria-label="Board"></p>',
        '<p>{{ "No result" if over }}</p>',
        "<p>{{ _('A tie') }} won</p>",
    ):
        assert list(untranslated(template)), template
    assert not list(untranslated('<p title="{{ _("A tie") }}">{{ _("No result") }}</p>'))
    assert not list(untranslated("<p>{% trans %}A tie{% endtrans %}</p>{# A comment #}"))


#: What comes before strings of scripts that no person reads: styles, drawings, queries and modules.
CODE = re.compile(
    r"(?:class|d|style|transform|rootMargin|software|from|import|contains|toggle|closest|matchMedia)"
    r"(?: [:(=])?$"
)
TRANSLATIONS = {"gettext", "ngettext", "pgettext"}
STRINGS = {"string", "template_string"}
KEYS = {"Enter", "Escape", "Home", "End", "Tab", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"}
#: Texts that come as data, such as the kinds of pieces.
LINES = set((PAGES / "languages" / "data.txt").read_text(encoding="utf-8").splitlines()) - {""}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_text_of_a_script_is_left_out(path: Path) -> None:
    assert not list(left_out(path.read_text(encoding="utf-8")))


def left_out(script: str) -> Iterator[str]:
    """The texts of a script that no catalogue has."""
    before: list[str] = []
    for token in tokenize(script, jsx=False):
        if token.type in STRINGS:
            said = re.sub(r"\$\{[^}]*\}", "", token.value[1:-1])
            if WORDS.search(STAY.sub("", said)) and not (is_code(before) or said in KEYS | LINES):
                yield said
        if not token.type.endswith("comment"):
            before = [*before[-8:], '"' if token.type in STRINGS else token.value]


def is_code(before: list[str]) -> bool:
    """Whether a string after these tokens is translated already, or for the browser alone."""
    called = [each for each in before if each not in ('"', ",")][-2:]
    if called[-1:] == ["("] and called[0] in TRANSLATIONS:
        return True
    return bool(CODE.search(" ".join(before)))


def test_a_text_of_a_script_that_is_left_out_is_found() -> None:
    for script in (
        'show("A tie")',
        "show(`${name} won the match`)",
        'const TEXTS = { draw: "Offer a draw" }',
        'show(gettext("A tie"), "No result")',
    ):
        assert list(left_out(script)), script
    assert not list(left_out('show(gettext("A tie")); // No result'))
    assert not list(left_out('ngettext("%(num)s move", "%(num)s moves", 3)'))
    assert not list(left_out('html("p", { class: "muted small" })'))
