"""What pages call games and clocks: the same in templates and in scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playout import games
from playout.server.web.wording import clock_in_words

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
