"""playout-competition final: where it is played, its games, and the standings before."""

from __future__ import annotations

import csv
import itertools
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs

from playout.bots.bot_file import BotFile
from playout.competition import competition_command, final
from playout.competition.standings import OverallStanding, overall, overview
from playout.competition.submissions import Submissions
from playout.server.core.accounts import DAY_S
from playout.server.ladder.standings import LadderStanding
from playout.server.model.records import LadderRating
from playout.server.tournament.competition_file import read
from support.competitions import PAST, Cup, handed_in
from support.hub_harness import EPOCH
from support.ladders import LadderPlay

CLUSTER = 'cluster = { dask = "tcp://10.0.0.1:8786", server = "10.0.0.2:4242" }'


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ((), ["--dask", "tcp://10.0.0.1:8786", "--host", "10.0.0.2"]),
        (("--here",), []),
        (
            ("--", "--host", "10.0.0.3"),
            ["--dask", "tcp://10.0.0.1:8786", "--host", "10.0.0.2", "--host", "10.0.0.3"],
        ),
    ],
)
def test_the_workers_of_the_ladder_play_the_final(
    options: tuple[str, ...], place: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cup = Cup(tmp_path, deadline=PAST, more=CLUSTER)
    accepted(cup)
    started: list[list[str]] = []
    monkeypatch.setattr(competition_command, "_run", started.append)
    CliRunner().invoke(competition_command.main, ["final", str(cup.file), *options])
    (words,) = started
    found = [(a, b) for a, b in itertools.pairwise(words) if a in ("--dask", "--host")]
    assert [each for pair in found for each in pair] == place


def accepted(cup: Cup) -> Submissions:
    """Return the submissions of a competition: one, which was accepted."""
    submissions = Submissions(read(cup.file))
    submissions.lock()
    made = handed_in(submissions, "Ada")
    bot = BotFile("lines", "python3 bot.py")
    submissions.put(structs.replace(made, state="accepted", digest="a" * 40, bot=bot))
    submissions.close()
    return submissions


def test_the_final_has_all_games(tmp_path: Path) -> None:
    submissions = accepted(Cup(tmp_path).with_games("othello", "nim"))
    described = tomllib.loads(final.write_file(submissions).read_text())
    assert described["games"] == list(submissions.competition.games)
    assert [each.partition("(")[0] for each in described["games"]] == ["othello", "nim"]
    assert [each["name"] for each in described["entrants"]] == ["Ada", "House"]


def standing(name: str, rating: float, error: float | None, won: int) -> LadderStanding:
    return LadderStanding(
        name=name,
        version="1",
        rating=rating,
        error=error,
        provisional=False,
        present=False,
        retired=name == "Old",
        matches=won + 3,
        won=won,
        tied=1,
        lost=2,
        unplayed=0,
        unplayed_share=0.0,
        last_at=None,
    )


def test_the_standings_over_games_are_means_and_sums() -> None:
    """The last one has played one of the games only."""
    ladders = {
        "nim": [standing("Ada", 1600, 30, 5), standing("Bob", 1500, 20, 2),
                standing("New", 1700, None, 0)],
        "othello": [standing("Bob", 1720, 30, 4), standing("Ada", 1500, 40, 1),
                    standing("Old", 1400, 40, 1)],
    }  # fmt: skip
    rows = overall(ladders)
    assert rows == [
        OverallStanding("Bob", "1", 1610.0, 18.0, False, 12, 7.0),
        OverallStanding("Ada", "1", 1550.0, 25.0, False, 12, 7.0),
        OverallStanding("New", "1", 1700.0, None, False, 3, 0.5),
        OverallStanding("Old", "1", 1400.0, None, True, 4, 1.5),
    ]
    assert [each.name for each in overall({"nim": ladders["nim"]})] == ["Ada", "Bob", "New"]


def test_the_overview_has_changes_in_a_day_and_the_last_position(tmp_path: Path) -> None:
    play = LadderPlay(tmp_path, {"Ada": 100.0, "Bob": 0.0}, "nim")
    for name in play.strengths:
        play.enter(name)
    play.play(4)
    play.ended()
    now = EPOCH + 10 * DAY_S
    ratings = (
        ("Ada", 1400.0, 2.0),
        ("Ada", 1450.0, 1.0),
        ("Ada", 1500.0, 0.0),
        ("Cyd", 1500.0, 1.0),
    )
    points = [
        LadderRating(
            game="nim",
            account=name,
            version="1",
            matches=10 + number,
            rating=rating,
            error=50.0,
            at=now - days * DAY_S,
        )
        for number, (name, rating, days) in enumerate(ratings)
    ]
    play.database.save(points)
    play.database.close()
    found = overview(f"sqlite:///{tmp_path / 'playout.db'}", ["nim"], now)
    for rows in (found.standings, found.games["nim"]):
        assert {each.name: each.day_ago for each in rows} == {"Ada": 1450.0, "Bob": 1500.0}
        (trend,) = (each.trend for each in rows if each.name == "Ada")
        assert (len(trend), trend[0], trend[3], trend[-1]) == (7, 1400.0, 1450.0, 1500.0)
    assert found.shown
    assert found.shown.match == found.matches[0]
    assert len(found.shown.view.cells) == found.shown.board.rows * found.shown.board.columns


def test_no_name_in_the_grades_is_a_formula_of_a_spreadsheet(tmp_path: Path) -> None:
    submissions = accepted(Cup(tmp_path))
    grade = final.Grade(" =1+1", "-v", 1.5, 3, rating=-12.4, error=None)
    head, row = csv.reader(final.grades_as_csv([grade], submissions, {}).splitlines())
    cells = dict(zip(head, row, strict=True))
    assert (cells["team"], cells["names"], cells["version"]) == ("' =1+1", "' =1+1", "'-v")
    assert (cells["rating"], cells["error"], cells["points"]) == ("-12", "", "1.5")
