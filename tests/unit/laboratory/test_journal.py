"""playout.laboratory.journal: no candidate against a base is forgotten."""

from __future__ import annotations

from pathlib import Path

from playout.laboratory.journal import Journal, VersionTest
from playout.protocol.tournament_spec import Betting
from playout.ratings.sequential_tests import level_of
from playout.server.tournament.report.values import Estimate


def begun(journal: Journal, base: str, *candidates: str, conditions: str = "c") -> VersionTest:
    names = (f"base {base}", *(f"candidate {each}" for each in candidates))
    return journal.begun(base, candidates, names, ("",) * len(names), conditions)


def test_the_tries_against_a_base_are_counted_whatever_became_of_them(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first = begun(journal, "b", "1", "2")
    journal.put(first, Estimate(), state="undecided")
    second = begun(journal, "b", "3", conditions="others")
    other = begun(journal, "3", "4")
    third = begun(Journal(tmp_path), "b", "1")
    assert [each.tried for each in (first, second, other, third)] == [0, 2, 0, 3]
    levels = (
        len(each.candidates) * level_of(Betting(tried=each.tried), len(each.candidates))
        for each in (first, second, third)
    )
    assert sum(levels) < 0.05


def test_the_same_test_again_is_no_other_try(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first = begun(journal, "b", "1")
    journal.put(first, Estimate(), state="not stronger", pairs=7)
    again = begun(Journal(tmp_path), "b", "1")
    assert (again.number, again.tried, again.pairs) == (first.number, 0, 7)
    assert begun(journal, "b", "1", conditions="others").number != first.number
    confirmation = journal.begun("b", ("1",), ("x", "y"), ("", ""), "c", confirms=first.number)
    assert confirmation.number != first.number
    assert begun(journal, "b", "9").tried == 2, "a confirmation is no try"


def test_a_line_that_was_cut_off_loses_nothing_else(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first = begun(journal, "b", "1")
    with (tmp_path / "journal.jsonl").open("ab") as file:
        file.write(b'{"number":2,"ba')
    second = begun(Journal(tmp_path), "b", "2")
    assert [each.number for each in Journal(tmp_path)] == [1, 2]
    assert (first.tried, second.tried) == (0, 1)


def test_a_test_is_played_by_one_process(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    test = begun(journal, "b", "1")
    with journal.in_use(test) as is_free:
        assert is_free
        with Journal(tmp_path).in_use(test) as also:
            assert not also
    with journal.in_use(test) as is_free:
        assert is_free


def test_a_list_shows_the_interval_of_a_test(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first = journal.begun("base", ("one",), ("base", "one"), ("", ""), "terms")
    found = journal.put(first, Estimate(417, 494, 82, 1070), state="stronger", winner="one")
    assert found.summary == "stronger: one, +417 (+82 to +1070)"
    assert [each.summary for each in journal] == [found.summary]
