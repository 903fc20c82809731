"""Reports of tournaments in other languages: no word of them is left in English."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from playout.protocol.messages import Reason
from playout.protocol.tournament_spec import Betting, Sprt
from playout.ratings.evidence import Pentanomial
from playout.server.tournament import formats
from playout.server.tournament.report.tables import summary
from playout.server.tournament.report.values import (
    Estimate,
    HeadToHead,
    MatchCounts,
    Report,
    ReportEntrant,
    ReportSetting,
    SequentialTest,
    Standing,
)
from playout.server.tournament.report.words import headline
from playout.server.tournament.report.writers import sections
from playout.server.tournament.results import Results
from playout.server.web.texts import LANGUAGES, Language
from support.fixtures import ledger_of, pair, spec

TRANSLATED_LANGUAGES = [each for each in LANGUAGES.values() if each.is_translated]
#: Numbers, abbreviations, and the fields of the reports below that are data.
STAY = re.compile(
    r"[\W\d]*|[\d.]+ %|Elo|LLR|.*\bnormalized Elo|[\d.]+/move|\[.*|1\.5|Sonneborn-Berger|Buchholz"
)


def played_through(format_: str) -> Report:
    """The report of a tournament in which the entrant that is listed first wins all matches."""
    tournament = spec(
        format_,
        sprt=Sprt() if formats.find(format_).has_test else None,
        betting=Betting() if formats.find(format_).has_race else None,
    )
    fixtures = []
    for _ in range(50):
        ledger = ledger_of(tournament, fixtures)
        missing = [each for each in ledger.pairs if each.key not in ledger.results]
        for each in missing:
            better = each.entrants[0] < each.entrants[1]
            fixtures += pair(each.key, 1 if better else 2, 2 if better else 1)
        if not missing:
            break
    return Results(ledger).report()


DUEL = Report(
    name="[cup]",
    format="sprt",
    games=("[game]",),
    entrants=(ReportEntrant("[a]", "1.5"), ReportEntrant("[b]", withdrawn=True, program="[c]")),
    done=29,
    pairs=30,
    repeated=2,
    voided=1,
    standings=(
        Standing(1, 1, MatchCounts(30, 5, 5), 32.5, (101.25,)),
        Standing(2, 0, MatchCounts(8, 5, 25), 10.5, (99.0,)),
    ),
    tiebreaks=("Sonneborn-Berger",),
    ratings=(Estimate(0.0, 0.0), Estimate(84.2, 31.45)),
    first_move=Estimate(12.5, 3.0),
    head_to_head=(
        HeadToHead(
            first=0,
            second=1,
            pairs=Pentanomial(1, 2, 3, 4, 5, 6),
            elo=Estimate(84.2, 31.45),
            nelo=Estimate(90.04, 33.0),
            los=0.9996,
            draw_ratio=0.25,
            test=SequentialTest(0, 5, 0.05, 0.05, "normalized", -2.94, 2.94, llrs=(0.1, 3.0)),
        ),
    ),
    endings=({each.value: MatchCounts(1, 1, 1) for each in Reason}, {}),
    setting=ReportSetting("1/move", "[openings]", 1, "[none]", 0, "[machine]"),
)
REPORTS: list[Callable[[], Report]] = [
    lambda: DUEL,
    *(lambda name=name: played_through(name) for name in formats.names()),  # type: ignore[misc]
]


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES, ids=lambda each: each.code)
@pytest.mark.parametrize("report", REPORTS, ids=["duel", *formats.names()])
def test_all_words_of_a_report_are_translated(
    report: Callable[[], Report], language: Language
) -> None:
    english = set[str]()

    def tell(text: str) -> str:
        if (told := language.told(text)) == text and not STAY.fullmatch(text):
            english.add(text)
        return told

    written = report()
    for line in (headline(written), *summary(written)):
        for part in filter(None, line.split("; ")):
            tell(part)
    page = "".join(sections(written, tell=lambda text: f"[{tell(text)}"))
    assert not english
    names = {each.name for each in written.entrants}
    for text in re.findall(r">([^<>]+)<", page):  # what is not passed on is no word
        assert text.strip() in names or STAY.fullmatch(text.strip())


def test_numbers_of_a_report_have_the_sign_of_the_language() -> None:
    german = LANGUAGES["de"]
    for english, translated in (
        ("+12.3 ± 4.5", "+12,3 ± 4,5"),
        ("95.8%", "95,8%"),
        ("12.5/20", "12,5/20"),
        ("> 800", "> 800"),
        ("0.5/move", "0.5/move"),
        ("1.2.3", "1.2.3"),
    ):
        assert german.figure(english) == translated
    assert german.told("12 of 14 pairs") == "12 von 14 Paaren"
    won = "likelihood that it is stronger than flat, the next: 96.7%"
    assert german.told(won).endswith("flat, der Nächste: 96,7%")
