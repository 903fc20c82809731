"""The languages of the pages: all texts are in the catalogues, and every catalogue is complete."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.jslexer import tokenize

from playout import games
from playout.protocol.messages import OfferKind, TimeControl
from playout.server.core.match import Match, Terms
from playout.server.web.pages import organize
from playout.server.web.texts import (
    ENGLISH,
    LANGUAGES,
    Language,
    about,
    clock_in_words,
    game_title,
    language_of,
)
from testbed import catalogues

PAGES = Path(__file__).parents[3] / "server" / "web"
#: The pages of competitions and of the laboratory, which other processes serve.
OTHERS = [PAGES.parents[1] / each / "page" for each in ("competition", "laboratory")]
TEMPLATES = sorted(
    [*(PAGES / "templates").glob("*.html"), *(p for o in OTHERS for p in o.glob("*.html"))]
)
SCRIPTS = sorted([*(PAGES / "static").glob("*.js"), *(p for o in OTHERS for p in o.glob("*.js"))])
TRANSLATED_LANGUAGES = [each for each in LANGUAGES.values() if each.is_translated]
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
WORDS = re.compile(r"\b(?:A|[A-Za-z]{2,})[,:;.]? (?:\S )*[A-Za-z]{2,}|^[^\w]*[A-Z][a-z]+\b")


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
    r"(?:authorization|class|d|style|transform|rootMargin|software|from|import|contains|toggle|closest|matchMedia)"
    r"(?: [:(=])?$"
)
TRANSLATIONS = {"gettext", "ngettext", "pgettext"}
STRINGS = {"string", "template_string"}
#: The code within a template string.
NESTED = re.compile(r"\$\{([^{}]*)\}")
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
            said = re.sub(NESTED, "", token.value[1:-1])
            for code in NESTED.findall(token.value):
                if not TRANSLATIONS.isdisjoint(re.findall(r"\w+", code)):
                    yield code  # Babel finds no texts within others
                yield from left_out(code)
            if WORDS.search(STAY.sub("", said)) and not (is_code(before) or said in KEYS | LINES):
                yield said
        if not token.type.endswith("comment"):
            before = [*before[-8:], '"' if token.type in STRINGS else token.value]


def is_code(before: list[str]) -> bool:
    """Whether a string after these tokens is translated already, or for the browser alone."""
    called = [each for each in before if each not in ('"', ",")][-2:]
    if called[-1:] == ["("] and called[0] in TRANSLATIONS:
        return True
    code = " ".join(before)
    return "className =" in code or bool(CODE.search(code))


def test_each_field_of_a_tournament_has_a_label_in_words() -> None:
    tables, entrant = organize.form_fields()
    fields = [each for _, some in tables for each in some] + [*entrant]
    labels = [title for title, _ in tables if title] + [each.label for each in fields]
    assert set(labels) <= LINES
    assert not [each for each in labels if "_" in each or each[0].islower()]


def test_a_text_of_a_script_that_is_left_out_is_found() -> None:
    for script in (
        'show("A tie")',
        "show(`${name} won the match`)",
        'const TEXTS = { draw: "Offer a draw" }',
        'show(gettext("A tie"), "No result")',
        'show(`${isOver ? "No result" : ""}`)',
        'show(`${gettext("A tie")}!`)',
    ):
        assert list(left_out(script)), script
    assert not list(left_out('show(gettext("A tie")); // No result'))
    assert not list(left_out('ngettext("%(num)s move", "%(num)s moves", 3)'))
    assert not list(left_out('html("p", { class: "muted small" })'))


def test_styles_have_no_texts() -> None:
    for path in (PAGES / "static").glob("*.css"):
        assert not re.search(r"content:\s*\"[^\"]*[A-Za-z]{2}", path.read_text(encoding="utf-8")), (
            path
        )


# Texts that come as data.


@pytest.mark.parametrize("name", games.names())
def test_the_notes_and_the_pieces_of_games_are_translated(name: str) -> None:
    game = games.load(games.describe(name).example)
    rng, state, words = random.Random(1), game.initial_state(), set[str]()
    for _ in range(60):
        view = game.view(state)
        kinds = (each for each in view.kinds if not each.isdecimal())
        words |= {*view.note.split(", "), *kinds} - {""}
        if game.winner(state):
            break
        state = game.next_state(state, rng.choice(game.legal_actions(state)))
    for language in TRANSLATED_LANGUAGES:
        assert not {each for each in words if language.told(each) == each}


@pytest.mark.parametrize(
    "end",
    [
        lambda match: match.resign(1),
        lambda match: match.agree_on_draw(),
        lambda match: match.abandon(2),
        lambda match: match.flag(1000.0),
        lambda match: match.adjudicate(1, 2),
        lambda match: match.adjudicate(1, -1),
        lambda match: match.agree_on_score(0.0),
        lambda match: match.agree_on_score(-2.5),
    ],
)
def test_results_are_translated(end: Callable[[Match], object]) -> None:
    clock = TimeControl(main_s=60.0, increment_s=0.0, periods=0, period_s=0.0)
    match = Match("m1", games.load("tic_tac_toe"), ("Ann", "Bo"), Terms(time_control=clock))
    match.start(0.0)
    match.play(1, 0, 4, 1.0)
    end(match)
    assert match.result
    for language in TRANSLATED_LANGUAGES:
        assert language.told(match.result.text) != match.result.text


#: The kinds of offers, which errors name.
OFFERS = get_args(OfferKind)


def constants() -> Iterator[str]:
    """The texts in the sources of the server and of the protocol."""
    for folder in ("server", "protocol"):
        for path in (PAGES.parents[1] / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
                if isinstance(node, ast.JoinedStr):
                    yield from (ast.unparse(node).replace("{kind}", kind) for kind in OFFERS)


def test_translated_errors_are_those_of_the_server() -> None:
    written = "\n".join(constants())
    blocks = (PAGES / "languages" / "data.txt").read_text(encoding="utf-8").split("\n\n")
    errors = [
        each for each in blocks if each.startswith(("there is no open seek", "there is nothing at"))
    ]
    assert len(errors) == 2
    for line in "\n".join(errors).splitlines():
        for part in re.split(r"'?%\(\w+\)s'?|[.:;]", line):
            assert part.strip() in written, line


# The language of a request, and its words.


@pytest.mark.parametrize(
    ("chosen", "accepted", "code"),
    [
        (None, "", "en"),
        (None, "de", "de"),
        (None, "de-AT,de;q=0.9,en;q=0.8", "de"),
        (None, "zh-CN,zh;q=0.9", "zh-Hans"),
        (None, "fr,de;q=0.5,en;q=0.7", "en"),
        (None, "fr, de ; q=0.5", "de"),
        (None, "de;q=0, zh;q=0.1", "zh-Hans"),
        (None, "*", "en"),
        (None, "de;q=x,;;,", "en"),
        ("zh-Hans", "de", "zh-Hans"),
        ("en", "de", "en"),
        ("tlh", "de", "de"),
        ("../de", "", "en"),
    ],
)
def test_the_language_is_the_chosen_one_or_that_of_the_browser(
    chosen: str | None, accepted: str, code: str
) -> None:
    assert language_of(chosen, accepted).code == code


def test_languages_have_their_names() -> None:
    names = {code: language.name for code, language in LANGUAGES.items()}
    assert names == {"en": "English", "de": "Deutsch", "zh-Hans": "中文 (简体)"}


def test_texts_have_the_forms_of_their_language() -> None:
    german, chinese = LANGUAGES["de"], LANGUAGES["zh-Hans"]
    assert clock_in_words("300+3", german) == "5 Minuten + 3 Sekunden"
    assert clock_in_words("60+0.5", german) == "1 Minute + 0,5 Sekunden"
    assert clock_in_words("10/move", chinese) == "每手10 秒"
    assert game_title("go(size=9,komi=6.5)", german) == "Go (Größe 9, Komi 6,5)"
    assert game_title("othello(passes=false)", chinese) == "黑白棋 (不可停一手)"
    assert about(7200.0, german) == "etwa 2 Stunden"
    assert german.number(-1234.56, 1, grouped=True) == "-1.234,6"
    assert german.moment(0.0) == "01.01.1970 00:00"
    assert chinese.day(0.0) == "1970年1月1日"
    assert (ENGLISH.moment(0.0), ENGLISH.day(0.0)) == ("1970-01-01 00:00", "1970-01-01")


def test_a_text_without_a_translation_stays_in_english() -> None:
    catalog = Catalog("fr")
    catalog.add("A tie", "Égalité")
    catalog.add("No result", "Sans résultat", flags=["fuzzy"])
    catalog.add(("%(num)s day", "%(num)s days"), ("", ""), locations=[("days.js", 1)])
    french = Language("fr", catalog)
    assert french.name == "Français"
    assert french.gettext("A tie") == "Égalité"
    assert french.gettext("No result") == "No result"
    assert french.ngettext("%(num)s day", "%(num)s days", 2) == "%(num)s days"
    assert french.script_texts == b"{}"


def test_a_text_that_is_not_known_stays_in_english() -> None:
    for language in LANGUAGES.values():
        assert language.gettext("a text that nobody has translated") == (
            "a text that nobody has translated"
        )
        assert language.told("Ann sings") == "Ann sings"


def test_a_text_of_data_keeps_its_values() -> None:
    german = LANGUAGES["de"]
    assert german.told("Ann resigned") == "Ann hat aufgegeben"
    assert german.told("%(name)s resigned") == "%(name)s hat aufgegeben"
    assert german.told("Ann resigned\n") == "Ann resigned\n"
