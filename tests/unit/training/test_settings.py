from __future__ import annotations

from dataclasses import fields, replace

import pytest

from playout import games
from playout.players.training import TrainingError, settings
from playout.players.training.settings import Limits, TrainingSettings
from support.variants import CHANCE, COMPILED


@pytest.mark.parametrize("game", [name for name in COMPILED if name not in CHANCE])
def test_the_file_of_a_new_run_has_the_defaults_of_its_game(game: str) -> None:
    chosen = settings.defaults(games.load(game))
    assert settings.parse(settings.text_of(chosen), "settings.toml") == chosen


def test_the_file_of_an_evaluation_has_only_its_own_settings() -> None:
    chosen = settings.defaults(games.load("othello"), settings.EVALUATION)
    text = settings.text_of(chosen)
    assert settings.parse(text, "settings.toml") == chosen
    assert "[net]" not in text
    assert "seconds_per_round" in text
    assert "seconds_per_round" not in settings.text_of(settings.defaults(games.load("othello")))


def test_every_setting_has_a_key_and_a_meaning() -> None:
    chosen = settings.defaults(games.load("nim"))
    for name, keys in settings.TABLES.items():
        assert keys.keys() == {each.name for each in fields(getattr(chosen, name))}
        assert all(each.meaning for each in keys.values())
    assert {"game", *settings.TOP, *settings.TABLES} == {
        each.name for each in fields(TrainingSettings)
    }


@pytest.mark.parametrize("game", ["nim", "mnk(m=6,n=6,k=4)", "gomoku", "othello"])
def test_a_net_of_the_defaults_is_smaller_than_a_megabyte(game: str) -> None:
    rules = games.load(game)
    shapes = settings.defaults(rules).net.shapes(rules).values()
    weights = 0
    for shape in shapes:
        size = 1
        for length in shape:
            size *= length
        weights += size
    assert 4 * weights < 1_000_000


def test_a_game_with_long_matches_and_many_actions_is_played_less_often_at_a_time() -> None:
    few, many = (settings.defaults(games.load(each)) for each in ("lines_of_action", "gomoku"))
    assert 8 <= few.self_play.games < many.self_play.games == 128


def test_texts_with_quotes_are_read_as_they_were_written() -> None:
    chosen = replace(settings.defaults(games.load("nim")), author='Ada "the first" \\ Löve')
    assert settings.parse(settings.text_of(chosen), "settings.toml") == chosen


def test_a_missing_key_has_the_default_and_another_value_counts() -> None:
    chosen = settings.parse('game = "nim"\nlimits.minutes = 5', "settings.toml")
    usual = settings.defaults(games.load("nim"))
    assert chosen == replace(usual, limits=Limits(minutes=5, evaluations=usual.limits.evaluations))


def test_all_faults_are_reported_with_their_lines() -> None:
    text = 'game = "nim"\nsed = 3\n[net]\nblocks = "a"\n[learnig]\n'
    with pytest.raises(TrainingError) as caught:
        settings.parse(text, "settings.toml")
    assert str(caught.value).splitlines() == [
        "settings.toml:2: unknown key of the settings 'sed'; did you mean 'seed'? (there are: "
        "author, game, kind, learning, licence, limits, net, processes, seed, self_play)",
        "settings.toml:4: blocks: must be a whole number from 0 to 40, not 'a'",
        "settings.toml:5: unknown key of the settings 'learnig'; did you mean 'learning'? (there "
        "are: author, game, kind, learning, licence, limits, net, processes, seed, self_play)",
    ]


def test_a_file_that_is_not_toml_is_an_error_with_its_line() -> None:
    with pytest.raises(TrainingError, match=r"settings.toml:2: .*text stands in quotes"):
        settings.parse('game = "nim"\nauthor = Ada', "settings.toml")


def test_a_game_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(TrainingError, match=r"settings.toml:1: game: .*shogi"):
        settings.parse('game = "shogi"', "settings.toml")
