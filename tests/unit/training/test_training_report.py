from __future__ import annotations

import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path

import pytest

from playout import games
from playout.players.comparison.pairs import score
from playout.players.training import TrainingError, settings, training_report
from playout.players.training.run_folder import ScoreRecord
from playout.ratings.pairs import PairScore
from support.training import round_record

SETTINGS = settings.defaults(games.load("connect_four"))


def written(*scores: ScoreRecord, rounds: int = 3) -> ET.Element:
    """The page, which must be well-formed."""
    records = [
        round_record(number, evaluations=number * 250_000, policy_loss=2 / number)
        for number in range(1, rounds + 1)
    ]
    text = training_report.write(SETTINGS, records, scores)
    return ET.fromstring(text.removeprefix("<!DOCTYPE html>"))


def headings(page: ET.Element) -> list[str]:
    return ["".join(each.itertext()) for each in page.iter("h2")]


def test_a_page_has_a_curve_for_each_number() -> None:
    page = written()
    assert len(headings(page)) == len(list(page.iter("section"))) == 9
    curves = [each for each in page.iter("polyline") if each.get("class") == "curve"]
    assert len(curves) == 9
    assert all(len(each.get("points", "").split()) == 3 for each in curves)


def test_a_page_after_one_round_can_be_written() -> None:
    assert len(headings(written(rounds=1))) == 9


def test_elo_has_a_plot_for_each_opponent_and_limit_with_error_bars() -> None:
    won, mixed = score([PairScore(1, 1)] * 4), score([PairScore(1, 0), PairScore(1, 0.5)])
    page = written(
        ScoreRecord(1, "uct<1>", "0.1 s a move", mixed),
        ScoreRecord(3, "uct<1>", "0.1 s a move", won),
        ScoreRecord(3, "round 0", "0.1 s a move", won),
    )
    assert headings(page)[:2] == [
        "Elo against uct<1>, 0.1 s a move",
        "Elo against round 0, 0.1 s a move",
    ]
    bars = [each for each in page.iter("polyline") if each.get("class") == "bar"]
    assert len(bars) == 3
    assert len(list(page.iter("circle"))) == 1


def test_an_event_file_of_tensorboard_has_the_numbers_of_each_round(tmp_path: Path) -> None:
    records = [round_record(number, policy_loss=2 / number) for number in (1, 2)]
    if find_spec("tensorboardX") is None:
        with pytest.raises(TrainingError, match=r'pip install "\.\[tensorboard\]"'):
            training_report.write_tensorboard(tmp_path, records)
        return
    training_report.write_tensorboard(tmp_path, records)
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    assert content.count(b"policy_loss") == content.count(b"first_player_wins") == 2
    assert b"shards" not in content
