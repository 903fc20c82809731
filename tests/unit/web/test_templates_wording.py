"""What pages call games and clocks: the same in templates and in scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playout import games
from playout.server.web.templates import environment
from playout.server.web.texts import ENGLISH, LANGUAGES, Language, clock_in_words

#: The texts that tests/node/wording.test.mjs expects of scripts.
EXPECTED = json.loads((Path(__file__).parents[2] / "node" / "wording.json").read_text())


@pytest.mark.parametrize(("clock", "text"), EXPECTED["clocks"].items())
def test_a_clock_is_as_people_say_it(clock: str, text: str) -> None:
    assert clock_in_words(clock) == text


@pytest.mark.parametrize(("spec", "text"), EXPECTED["games"].items())
def test_a_game_has_its_title_and_parameters(spec: str, text: str) -> None:
    assert games.title(spec) == text


def test_every_game_has_a_title_of_its_own() -> None:
    titles = [games.describe(name).title for name in games.names()]
    assert len(set(titles)) == len(titles)
    assert not any("_" in title for title in titles)


def test_a_game_that_is_not_installed_any_more_has_its_name_as_title() -> None:
    assert games.title("shogi_of_old(size=5)") == "Shogi of Old (size 5)"


def test_games_that_are_not_ready_have_places_and_a_progress_bar() -> None:
    text = """{% import "parts.html" as parts %}
        {{ parts.to_come(["go", "hex"], 3) }}{{ parts.skeletons(["go"]) }}"""
    shown = environment(ENGLISH).from_string(text).render()
    assert 'value="3" max="5"' in shown
    assert 'class="picture-of-game skeleton" data-game="go"' in shown
    assert "Go</span>" in shown


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_games_are_in_the_order_of_their_translated_names(language: Language) -> None:
    text = "{% for each in games | sort_by_title('title') %}{{ each.title | told }}|{% endfor %}"
    described = [games.describe(name) for name in games.names()]
    shown = environment(language).from_string(text).render(games=described).split("|")[:-1]
    assert len(shown) == len(described)
    assert shown == sorted(shown, key=str.casefold)
