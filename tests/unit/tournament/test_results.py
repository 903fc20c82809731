"""Results: standings and reports from the fixtures of a tournament."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from playout.protocol.messages import Fixture, Reason
from playout.protocol.tournament_spec import Adjudication, Entrant, Openings, Sprt, TournamentSpec
from playout.ratings.evidence import Pentanomial
from playout.server.tournament import formats
from playout.server.tournament.ledger import Ledger
from playout.server.tournament.report import FORMATS, writer
from playout.server.tournament.report.charts import bracket
from playout.server.tournament.report.tables import tables
from playout.server.tournament.report.values import (
    CrosstableCell,
    MatchCounts,
    Meeting,
    Report,
    ReportEntrant,
    ReportSetting,
)
from playout.server.tournament.report.words import headline
from playout.server.tournament.results import Results
from support.fixtures import fixture, ledger_of, pair, spec


def report_of(
    spec: TournamentSpec, withdrawn: Sequence[int], fixtures: Sequence[Fixture]
) -> Report:
    return Results(ledger_of(spec, fixtures, withdrawn)).report()


def played_through(spec: TournamentSpec, withdrawn: Sequence[int] = ()) -> list[Fixture]:
    """All fixtures of a tournament in which the entrant that is listed first wins."""
    found: list[Fixture] = []
    while True:
        ledger = ledger_of(spec, found, withdrawn)
        missing = [each for each in ledger.pairs if each.key not in ledger.results]
        if not missing:
            return found
        for each in missing:
            better = each.entrants[0] < each.entrants[1]
            found += pair(each.key, 1 if better else 2, 2 if better else 1)


def test_a_report_without_matches() -> None:
    for format_ in formats.names():
        for written in FORMATS:
            assert writer(written)(report_of(spec(format_, sprt=_test_of(format_)), (), []))


def _test_of(format_: str) -> Sprt | None:
    return Sprt() if formats.find(format_).has_test else None


def test_only_whole_pairs_count() -> None:
    fixtures = [
        *pair((1, 1, 1), 1, -1),
        fixture((2, 1, 1), 1, 2),
        fixture((3, 1, 1), 1, 1),
        fixture((3, 1, 1), 2, None),
    ]
    report = report_of(spec(rounds=3), (), fixtures)
    assert (report.done, report.pairs) == (1, 3)
    assert [each.counts for each in report.standings] == [
        MatchCounts(1, 1, 0),
        MatchCounts(0, 1, 1),
    ]
    assert report.crosstable[0][1] == CrosstableCell(1.5, 2)
    assert report.head_to_head[0].pairs == Pentanomial(wd=1)


def test_a_pair_that_the_second_entrant_begins() -> None:
    """In round 2 of a match, Bob moves first in the first leg."""
    report = report_of(spec(rounds=2), (), [*pair((1, 1, 1), 1, 2), *pair((2, 1, 1), 2, 1)])
    assert report.head_to_head[0].pairs == Pentanomial(ww=2)


def test_a_voided_attempt_does_not_count_and_is_counted() -> None:
    void = [fixture((1, 1, 1), 1, 2), fixture((1, 1, 1), 2, 0)]
    report = report_of(spec(), (), void)
    assert (report.done, report.voided) == (0, 0)
    report = report_of(spec(), (), [*void, *pair((1, 1, 1), 1, 2, attempt=2)])
    assert (report.done, report.voided) == (1, 1)
    assert report.endings == ({"rules": MatchCounts(2, 0, 0)}, {"rules": MatchCounts(0, 0, 2)})


def test_the_order_in_which_matches_ended_does_not_matter() -> None:
    fixtures = played_through(spec("round_robin", 4, rounds=2))
    expected = report_of(spec("round_robin", 4, rounds=2), (), fixtures)
    assert report_of(spec("round_robin", 4, rounds=2), (), fixtures[::-1]) == expected


def test_a_later_fixture_of_a_match_replaces_the_earlier_one() -> None:
    fixtures = [fixture((1, 1, 1), 1, None), *pair((1, 1, 1), 1, 2)]
    assert report_of(spec(), (), fixtures).done == 1


def test_repeated_pairs_are_points_but_no_evidence() -> None:
    fixtures = [*pair((1, 1, 1), 1, 2), *pair((2, 1, 1), 2, 1, repeated=True)]
    report = report_of(spec(rounds=2), (), fixtures)
    assert (report.done, report.repeated) == (2, 1)
    assert report.standings[0].points == 4
    assert report.head_to_head[0].pairs.count == 1
    assert report.notes == ("Ann and Bob repeat themselves (1): give them more openings",)


def test_matches_on_slow_cores_are_reported() -> None:
    speeds = (100.0, 69.0, 100.0, 71.0, 100.0, None)
    fixtures = [
        each
        for round_, speed in enumerate(speeds, 1)
        for each in pair((round_, 1, 1), 1, 2, core_speed=speed)
    ]
    (note,) = report_of(spec(rounds=6), (), fixtures).notes
    assert note.startswith("2 of 10 matches were played on cores with less than 70% of the median")
    assert report_of(spec(rounds=6), (), [*fixtures[:2], *fixtures[6:8]]).notes == ()


def test_many_matches_lost_on_time_are_reported() -> None:
    def fixtures(late: int) -> list[Fixture]:
        reasons = (Reason.TIME if round_ <= late else Reason.RULES for round_ in range(1, 41))
        return [
            each
            for round_, reason in enumerate(reasons, 1)
            for each in pair((round_, 1, 1), 1, 2, reason=reason)
        ]

    (note,) = report_of(spec(rounds=40), (), fixtures(late=2)).notes
    assert note.startswith("4 of 80 matches ended by time: the clock is too short for a player")
    assert report_of(spec(rounds=40), (), fixtures(late=1)).notes == ()


def test_a_pair_with_one_new_match_is_evidence() -> None:
    fixtures = [fixture((1, 1, 1), 1, 1, repeated=True), fixture((1, 1, 1), 2, 2)]
    assert report_of(spec(), (), fixtures).repeated == 0


def test_a_sequential_test_has_a_curve_and_a_verdict() -> None:
    tested = spec("sprt", rounds=0, sprt=Sprt(0, 50))
    fixtures = [
        each
        for number in range(1, 41)
        for each in pair((number, 1, 1), *((1, 2) if number % 2 else (2, 1)))
    ]
    report = report_of(tested, (), fixtures)
    assert report.pairs is None
    test = report.head_to_head[0].test
    assert test is not None
    assert (len(test.llrs), test.accepted) == (40, "H1")
    assert test.lower < 0 < test.upper < test.llr


def test_a_sequential_test_waits_for_pairs_that_are_still_played() -> None:
    tested = spec("sprt", rounds=0, sprt=Sprt())
    fixtures = [*pair((1, 1, 1), 1, 2), *pair((3, 1, 1), 1, 2)]
    test = report_of(tested, (), fixtures).head_to_head[0].test
    assert test is not None
    assert len(test.llrs) == 1


@pytest.mark.parametrize("format_", ["round_robin", "gauntlet", "swiss", "knockout"])
def test_a_whole_tournament_in_each_format(format_: str) -> None:
    whole = spec(format_, 4, rounds=2, anchor="Bob")
    report = report_of(whole, (), played_through(whole))
    assert report.standings[0].entrant == 0
    assert [each.place for each in report.standings] == [1, 2, 3, 4]
    assert report.done == (report.pairs or report.done)
    assert report.ratings[1].value == 0
    assert report.ratings[0].value is not None
    assert report.ratings[0].value > 0
    assert report.los[0][0] is None
    for one, row in enumerate(report.los):
        for other, likelihood in enumerate(row):
            assert (likelihood is not None) == bool(report.crosstable[one][other].matches)
    assert len(report.head_to_head) == (3 if format_ == "gauntlet" else 0)
    if format_ == "knockout":
        assert "Ann is the winner" in report.notes
    for written in FORMATS:
        assert writer(written)(report)


def test_byes_are_points_in_the_table() -> None:
    swiss = spec("swiss", 3, rounds=1)
    report = report_of(swiss, (), played_through(swiss))
    assert sorted(each.points for each in report.standings) == [0, 2, 2]


def test_a_withdrawn_entrant_is_marked_and_the_rest_counts() -> None:
    whole = spec("round_robin", 3)
    report = report_of(whole, (2,), played_through(whole, (2,)))
    assert [each.withdrawn for each in report.entrants] == [False, False, True]
    assert (report.done, report.pairs) == (1, 1)


def test_ways_to_end_are_counted_for_both() -> None:
    late = [
        fixture((1, 1, 1), 1, 1, reason=Reason.TIME),
        fixture((1, 1, 1), 2, -1, reason=Reason.ADJUDICATION),
    ]
    report = report_of(spec(), (), late)
    assert report.endings == (
        {"time": MatchCounts(1, 0, 0), "adjudication": MatchCounts(0, 1, 0)},
        {"time": MatchCounts(0, 0, 1), "adjudication": MatchCounts(0, 1, 0)},
    )


def test_a_knockout_lists_its_rounds_and_who_advances() -> None:
    cup = spec("knockout", 3)
    report = report_of(cup, (), pair((1, 2, 1), 1, 2))
    assert [each.name for each in report.rounds] == ["Semi-finals", "Final"]
    semi, final = report.rounds
    assert semi.meetings == (Meeting(1, 2, (2.0, 0.0), winner=1), Meeting(0, None, (0, 0.0), 0))
    assert [(each.first, each.second, each.winner) for each in final.meetings] == [(0, 1, None)]
    over = report_of(cup, (), [*pair((1, 2, 1), 1, 2), *pair((2, 1, 1), 1, 2)])
    assert over.rounds[-1].meetings[0].winner == 0
    assert (report.winner, over.winner) == (None, 0)
    assert headline(over).startswith("Ann won")


def test_a_knockout_has_all_rounds_of_its_bracket_from_the_beginning() -> None:
    cup = spec("knockout", 6)
    begun = report_of(cup, (), ())
    assert [each.name for each in begun.bracket] == ["Quarter-finals", "Semi-finals", "Final"]
    assert begun.bracket[0].seats == (0, None, 3, 4, 1, None, 2, 5)
    assert begun.bracket[1].seats == (0, None, 1, None)
    assert begun.bracket[2].seats == (None, None)
    report = report_of(cup, (), pair((1, 2, 1), 2, 1))
    assert report.bracket[1].seats == (0, 4, 1, None)
    assert [each.winner for each in report.rounds[0].meetings] == [4, None, 0, 1]
    over = report_of(cup, [4], played_through(cup, [4]))
    assert over.bracket[1].seats == (0, 3, 1, 2)
    assert (over.bracket[2].seats, over.winner) == ((0, 1), 0)


@pytest.mark.parametrize(("entrants", "withdrawn"), [(2, ()), (6, ()), (6, (0, 4)), (9, (8,))])
def test_a_bracket_is_drawn_at_every_stage(entrants: int, withdrawn: tuple[int, ...]) -> None:
    cup = spec("knockout", entrants)
    fixtures = played_through(cup, withdrawn)
    for count in range(0, len(fixtures) + 1, 2):
        report = report_of(cup, withdrawn, fixtures[:count])
        drawn = bracket(report, lambda shown: f"/{'-'.join(map(str, shown))}")
        sides = re.findall(r'<p class="side.*?</p>', drawn)
        assert len(sides) == sum(len(each.seats) for each in report.bracket)
        known = [one for each in report.bracket for one in each.seats if one is not None]
        assert len(re.findall('<span class="who">', drawn)) == len(known)
        advanced = [one for each in report.bracket[1:] for one in each.seats if one is not None]
        assert drawn.count(" advances<") == len(advanced) + (report.winner is not None)
    assert 'href="/0-1"' in drawn or withdrawn


def test_a_bracket_says_what_is_not_known_and_escapes_names() -> None:
    cup = replace(
        spec("knockout", 3), entrants=tuple(Entrant(name, "1") for name in ("<b>", "B", "C"))
    )
    drawn = bracket(report_of(cup, (), ()), lambda shown: "")
    assert drawn.count("no opponent") == drawn.count("not known yet") == 1
    assert "<b>" not in drawn
    assert "<a " not in drawn
    assert bracket(report_of(spec("swiss", 3, rounds=1), (), ()), lambda shown: "") == ""
    written = writer("html")(report_of(cup, (), ()))
    assert written.count("<h2>Bracket</h2>") == 1
    assert "<h2>Semi-finals</h2>" not in written


def test_a_gauntlet_has_one_table_of_all_opponents() -> None:
    whole = spec("gauntlet", 4, rounds=2)
    found = [
        each
        for each in tables(report_of(whole, (), played_through(whole)))
        if "against" in each.title
    ]
    (table,) = found
    assert table.title == "Ann against each opponent"
    assert [row[0] for row in table.rows] == ["Bob", "Cem", "Dee"]
    assert table.head[-6:] == ("LL", "LD", "WL", "DD", "WD", "WW")
    assert {row[-1] for row in table.rows} == {"2"}
    assert {row[5] for row in table.rows} == {"4/4"}
    assert table.entrants[0, 5] == (0, 1)


def test_the_answer_of_a_gauntlet_is_about_its_first_entrant() -> None:
    whole = spec("gauntlet", 4, rounds=3)
    report = report_of(whole, (), played_through(whole))
    said = headline(report).split("; ")
    assert [each.split(":")[0] for each in said] == [
        f"Ann is stronger than {other}" for other in ("Bob", "Cem", "Dee")
    ]
    assert "Likelihood of superiority" not in {each.title for each in tables(report)}


def test_a_swiss_lists_its_rounds_with_byes() -> None:
    report = report_of(spec("swiss", 3, rounds=2), (), pair((1, 1, 1), 1, 2))
    first, second = report.rounds
    assert (first.name, second.name) == ("Round 1", "Round 2")
    assert [each.points for each in first.meetings] == [(2.0, 0.0), (2, 0.0)]
    assert first.meetings[-1].second is None
    assert {each.winner for each in first.meetings + second.meetings} == {None}


def test_the_report_says_what_was_played() -> None:
    entrants = (Entrant("Ann", "1", player="uct(c=1)", clock="60+1"), Entrant("Bob", "2"))
    given = Openings(lines={"nim": ((0,), (1,))}, order="in_order")
    rules = Adjudication(max_plies=9, proofs=True, resign_moves=3, draw_moves=4, draw_after=20)
    played = replace(
        spec(), entrants=entrants, openings=given, seed=7, machine="a machine", adjudication=rules
    )
    report = report_of(played, (), [])
    assert report.entrants[0] == ReportEntrant("Ann", "1", program="uct(c=1)", clock="60+1")
    assert report.setting == ReportSetting(
        clock=played.clock,
        openings="2 given openings, in order",
        seed=7,
        adjudication="a tie after 9 plies; proven results; a loss when both agree for 3 moves each "
        "(win rate up to 5.0%); a tie when both agree for 4 moves each (win rate within 5.0% of "
        "50%, from ply 20)",
        concurrency=played.concurrency,
        machine="a machine",
    )
    assert "the entrants have clocks of their own" in report.notes[0]
    text = writer("text")(report)
    for each in ("uct(c=1)", "60+1", "2 given openings, in order", "seed", "a machine"):
        assert each in text


def test_a_public_report_has_no_command_and_no_path_of_the_organizer() -> None:
    programs = {
        "command": "env PYTHONPATH=/root/site /usr/bin/python -m bot /root/b.py",
        "player": "alphazero(net=/home/ada/nets/four.onnx,c=1/2)",
    }
    entrants = (
        Entrant("Ann", "1", command=programs["command"]),
        Entrant("Bob", "1", player=programs["player"]),
        Entrant("Cem", "1"),
    )
    results = Results(Ledger("t", spec("round_robin", entrants)))
    shown = [each.program for each in results.report(public=True).entrants]
    assert shown == ["a program", "alphazero(net=four.onnx,c=1/2)", ""]
    assert [each.program for each in results.report().entrants] == [*programs.values(), ""]
