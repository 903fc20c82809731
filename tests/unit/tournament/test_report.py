"""Reports as text, JSON, CSV, Markdown and HTML."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from playout.commands.text import UNKNOWN
from playout.ratings.evidence import Pentanomial
from playout.server.tournament.report import FORMATS, charts, words, writer, writers
from playout.server.tournament.report.values import (
    CrosstableCell,
    Estimate,
    HeadToHead,
    MatchCounts,
    Report,
    ReportEntrant,
    ReportSetting,
    SequentialTest,
    Standing,
)
from support.scale import repetitions

DUEL = HeadToHead(
    first=0,
    second=1,
    pairs=Pentanomial(1, 2, 3, 4, 5, 6),
    elo=Estimate(84.2, 31.45),
    nelo=Estimate(90.04, 33.0),
    los=0.9996,
    draw_ratio=0.25,
    test=SequentialTest(
        0, 5, 0.05, 0.05, "normalized", -2.94, 2.94, llrs=(0.1, -0.2, 3.0), accepted="H1"
    ),
)
REPORT = Report(
    name="a test cup",
    format="round_robin",
    games=("connect_four", "mnk(m=8,n=8)"),
    entrants=(
        ReportEntrant("flat", "1"),
        ReportEntrant("uct", "2.1"),
        ReportEntrant("日本", withdrawn=True),
    ),
    done=29,
    pairs=30,
    repeated=2,
    voided=1,
    standings=(
        Standing(1, 1, MatchCounts(30, 5, 5), 32.5, (101.25,)),
        Standing(2, 0, MatchCounts(8, 5, 25), 10.5, (99.0,)),
        Standing(3, 2, MatchCounts(), 0.0, (0.0,)),
    ),
    tiebreaks=("Sonneborn-Berger",),
    crosstable=(
        (CrosstableCell(), CrosstableCell(4.5, 20), CrosstableCell(6.0, 18)),
        (CrosstableCell(15.5, 20), CrosstableCell(), CrosstableCell(17.0, 20)),
        (CrosstableCell(12.0, 18), CrosstableCell(3.0, 20), CrosstableCell()),
    ),
    ratings=(Estimate(0.0, 0.0), Estimate(84.2, 31.45), Estimate(low=800.4)),
    anchor=0,
    first_move=Estimate(12.0, 3.0),
    los=((None, 0.001, 0.4), (0.999, None, 0.98), (0.6, None, None)),
    head_to_head=(DUEL,),
    endings=(
        {"rules": MatchCounts(8, 5, 20), "time": MatchCounts(0, 0, 5)},
        {
            "rules": MatchCounts(25, 5, 5),
            "time": MatchCounts(5, 0, 0),
            "illegal_moves": MatchCounts(),
        },
        {},
    ),
    notes=("uct's thinking takes 4 threads of 2 cores",),
)
BEGUN = Report("begun", "sprt", ("nim",), (ReportEntrant("old"), ReportEntrant("new")))


def test_as_text_in_aligned_columns() -> None:
    assert (
        writer("text")(REPORT)
        == f"""\
a test cup
uct leads; likelihood that it is stronger than flat, the next: 99.9%
round robin of connect_four, mnk(m=8,n=8)
29 of 30 pairs
1 pair voided and played again
2 pairs with the same moves as another: not counted as evidence
日本 was withdrawn
Elo relative to flat, with 95% error bars; the first move is worth +12.0 ± 3.0
uct's thinking takes 4 threads of 2 cores

Standings
#  name  version           Elo  points  Sonneborn-Berger  matches  won  tied
1  uct   2.1      +84.2 ± 31.4    32.5            101.25       40   30     5
2  flat  1          +0.0 ± 0.0    10.5                99       38    8     5
3  日本                  > 800       0                 0        0    0     0

#  name  lost  score
1  uct      5  81.2%
2  flat    25  27.6%
3  日本     0      {UNKNOWN}

Crosstable
   name       1        2      3
1  uct           15.5/20  17/20
2  flat  4.5/20            6/18
3  日本    3/20    12/18

flat against uct
Elo                                           +84.2 ± 31.4
normalized Elo                                +90.0 ± 33.0
likelihood of superiority                           99.96%
tied matches                                         25.0%
pairs                                                   21
of them LL, LD, WL, DD, WD, WW            1, 2, 3, 4, 5, 6
test                            0 against 5 normalized Elo
allowed errors                                  5.0%, 5.0%
LLR                                   3.00 (-2.94 to 2.94)
verdict                                   elo1 is accepted

Likelihood of superiority
   name      1       2       3
1  uct          99.90%  98.00%
2  flat  0.10%          40.00%
3  日本      {UNKNOWN}  60.00%

How matches ended: won, tied, lost
name      rules      time
uct   +25 =5 -5  +5 =0 -0
flat  +8 =5 -20  +0 =0 -5
日本
"""
    )


def test_two_entrants_have_their_difference_as_csv() -> None:
    both = replace(DUEL, elo=Estimate(120.0, 100.0, 40.0, 240.0))
    standings = (Standing(1, 0, MatchCounts(3), 3.0), Standing(2, 1, MatchCounts(0, 0, 3), 0.0))
    report = replace(BEGUN, standings=standings, head_to_head=(both,))
    first, second = list(csv.reader(writer("csv")(report).splitlines()))[1:]
    assert first[-4:] == ["120.0", "100.0", "40.0", "240.0"]
    assert second[-4:] == ["-120.0", "100.0", "-240.0", "-40.0"]


def test_a_difference_that_is_rounded_to_0_has_no_minus() -> None:
    assert words.elo(Estimate(value=-0.04, error=550.0)) == "+0.0 ± 550.0"
    assert words.elo(Estimate(value=-0.4, low=-1000.0, high=0.2)) == "+0 (-1000 to +0)"


def test_as_text_long_lines_continue_below() -> None:
    setting = ReportSetting("1/move", "none", 1, "none", 2, "a machine with a long name " * 6)
    noted = replace(REPORT, notes=("the machine was busy with other programs " * 5,))
    gauntlet = replace(DUEL, second=2)
    report = replace(noted, setting=setting, head_to_head=(DUEL, gauntlet))
    lines = writer("text")(report).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert sum(each.count("long name") for each in lines) == 6


def test_before_the_first_match_there_is_little_to_say() -> None:
    assert writer("text")(BEGUN) == "begun\nsprt of nim\n0 pairs so far\n"
    assert "<svg" not in writer("html")(BEGUN)
    assert (
        writer("csv")(BEGUN)
        == "place,name,version,points,matches,won,tied,lost,elo,elo_error,elo_low,elo_high\n"
    )
    assert writer("crosstable")(BEGUN) == "name\n"


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (Estimate(12.34, 5.66), "+12.3 ± 5.7"),
        (Estimate(-0.5), "-0.5"),
        (Estimate(low=800.4), "> 800"),
        (Estimate(high=-120.7), "< -121"),
        (Estimate(), UNKNOWN),
    ],
)
def test_unknown_values_are_left_out(estimate: Estimate, shown: str) -> None:
    report = replace(REPORT, head_to_head=(HeadToHead(0, 1, Pentanomial(), nelo=estimate),))
    assert re.search(rf"\nnormalized Elo +{re.escape(shown)}\n", writer("text")(report))
    assert f">{shown.replace('>', '&gt;').replace('<', '&lt;')}</td>" in writer("html")(report)
    nelo = json.loads(writer("json")(report))["head_to_head"][0]["nelo"]
    assert nelo == msgspec.to_builtins(estimate)


def test_as_json_it_is_whole() -> None:
    written = json.loads(writer("json")(REPORT))
    assert written.pop("version") == 1
    assert msgspec.convert(written, Report) == REPORT
    assert written["ratings"][2] == {"value": None, "error": None, "low": 800.4, "high": None}


def test_as_csv_the_numbers_are_numbers() -> None:
    assert list(csv.reader(writer("csv")(REPORT).splitlines())) == [
        [
            *("place", "name", "version", "points", "Sonneborn-Berger", "matches"),
            *("won", "tied", "lost", "elo", "elo_error", "elo_low", "elo_high"),
        ],
        [
            "1",
            "uct",
            "2.1",
            "32.5",
            "101.25",
            "40",
            "30",
            "5",
            "5",
            "84.2",
            "31.45",
            "52.75",
            "115.65",
        ],
        ["2", "flat", "1", "10.5", "99.0", "38", "8", "5", "25", "0.0", "0.0", "0.0", "0.0"],
        ["3", "日本", "", "0.0", "0.0", "0", "0", "0", "0", "", "", "800.4", ""],
    ]
    assert list(csv.reader(writer("crosstable")(REPORT).splitlines())) == [
        ["name", "uct", "flat", "日本"],
        ["uct", "", "15.5", "17.0"],
        ["flat", "4.5", "", "6.0"],
        ["日本", "3.0", "12.0", ""],
    ]


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", " =", "\t@", "\r=", "\u3000-", "\uff1d", "\uff20", "'"]
)
def test_no_name_is_a_formula_of_a_spreadsheet(start: str) -> None:
    name = f'{start}HYPERLINK("http://x","y"),1\n2'
    report = named(REPORT, name)
    for format_ in ("csv", "crosstable"):
        fields = [each for row in csv.reader(writer(format_)(report).splitlines()) for each in row]
        assert "'" + re.sub("[\n\t\r]", " ", name) in fields
        assert not any(each.strip().startswith(tuple("=+-@\uff1d\uff20")) for each in fields)


NASTY = "<script>a|b</script>&amp;\"'`*_[x](y)\\|\n| # <!-- ]]>"


def named(report: Report, name: str) -> Report:
    """The report with this text for everything that users may name."""
    entrants = tuple(replace(each, name=name, version=name) for each in report.entrants)
    return replace(report, name=name, entrants=entrants, notes=(name,))


class ReportPage(HTMLParser):
    """The elements and texts of a page, whose tags must be well nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open.append(tag)
        assert not {"src", "href", "style", "onload", "onclick"} & dict(attributes).keys()

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_names_are_only_text_on_the_page() -> None:
    plain, nasty = (
        ReportPage(writer("html")(REPORT)),
        ReportPage(writer("html")(named(REPORT, NASTY))),
    )
    assert nasty.tags == plain.tags
    assert "script" not in plain.tags
    assert nasty.texts.count(NASTY.replace("\n", " ")) == 18


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = writer("html")(REPORT)
    assert "://" not in page
    assert "url(" not in page
    assert "prefers-color-scheme: dark" in page
    assert page.count('class="plot"') == 2


def test_cells_lead_to_whom_they_tell_of() -> None:
    def link(whom: tuple[int, ...]) -> str:
        return f"/see?{'&'.join(REPORT.entrants[each].name for each in whom)}"

    page = "".join(writers.sections(REPORT, link))
    assert page.count('<a href="/see?uct">uct</a>') == 4
    assert '<a href="/see?uct&amp;flat">15.5/20</a>' in page
    assert '<a href="/see?flat&amp;uct">4.5/20</a>' in page
    assert "<a " not in "".join(writers.sections(REPORT))


def test_names_are_only_text_in_markdown() -> None:
    plain, nasty = (writer("markdown")(each).split("\n") for each in (REPORT, named(REPORT, NASTY)))
    assert len(nasty) == len(plain)

    def cells(line: str) -> int:
        return len(re.findall(r"(?<!\\)(?:\\\\)*\|", line))

    assert list(map(cells, nasty)) == list(map(cells, plain))
    for line in nasty:
        assert not re.search(r"(?<!\\)(?:\\\\)*[<`*_\[&~]", line.removeprefix("* "))


def test_as_markdown_tables() -> None:
    lines = writer("markdown")(replace(REPORT, head_to_head=(), los=())).split("\n")
    assert lines[0] == "# a test cup"
    assert lines[2] == "uct leads"
    assert lines[4] == "* round robin of connect\\_four, mnk(m=8,n=8)"
    at = lines.index("## Crosstable")
    assert lines[at + 1 : at + 7] == [
        "",
        "|  | name | 1 | 2 | 3 |",
        "| --- | --- | --: | --: | --: |",
        "| 1 | uct |  | 15.5/20 | 17/20 |",
        "| 2 | flat | 4.5/20 |  | 6/18 |",
        "| 3 | 日本 | 3/20 | 12/18 |  |",
    ]


def check_inside(svg: str) -> ElementTree.Element:
    """Nothing is drawn outside, even with little room."""
    width = 320
    root = ElementTree.fromstring(svg)
    height = float(root.attrib["height"])
    for element in root:
        xs = [across(element, each) for each in ("x", "x1", "x2", "cx") if each in element.attrib]
        ys = [down(element, each) for each in ("y", "y1", "y2", "cy") if each in element.attrib]
        assert all(0 <= x <= 100 for x in xs)
        assert all(0 <= y <= height for y in ys)
        if element.tag == "text":
            length = 8 * cell_len(element.text or "")
            start = {"start": 0.0, "middle": length / 2, "end": float(length)}
            left = xs[0] / 100 * width - start[element.attrib["text-anchor"]]
            assert left >= 0
            assert left + length <= width
        if element.tag == "svg":
            assert element.attrib["viewBox"] == f"0 0 1000 {height:g}"
            assert all(0 <= x <= 1000 and 0 <= y <= height for x, y in points_of(root))
    return root


def across(element: ElementTree.Element, name: str) -> float:
    """A coordinate in percent, as a number."""
    assert element.attrib[name].endswith("%")
    return float(element.attrib[name].removesuffix("%"))


def down(element: ElementTree.Element, name: str) -> float:
    return float(element.attrib[name])


def points_of(root: ElementTree.Element) -> list[tuple[float, float]]:
    curve = next(root.iter("polyline")).attrib["points"]
    return [(float(x), float(y)) for x, y in (each.split(",") for each in curve.split())]


def test_ratings_are_drawn_with_their_error_bars() -> None:
    root = check_inside(charts.ratings(REPORT))
    bars = [each for each in root if each.attrib.get("class", "").startswith("bar")]
    dots = [each for each in root if each.tag == "circle"]
    assert len(bars) == 3
    assert len(dots) == 2
    uct, flat, unknown = bars
    assert across(uct, "x1") < across(dots[0], "cx") < across(uct, "x2")
    assert across(flat, "x1") == across(dots[1], "cx") == across(flat, "x2")
    assert unknown.attrib["class"] == "bar open"
    assert across(unknown, "x1") > across(uct, "x2")
    assert not charts.ratings(replace(REPORT, ratings=(Estimate(),) * 3))


def test_the_llr_is_drawn_from_pair_to_pair() -> None:
    assert DUEL.test
    root = check_inside(charts.llr(DUEL.test))
    points = points_of(root)
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    heights = [y for _, y in points]
    assert heights[2] > heights[0] > heights[1] > heights[3]  # downwards on the page
    bounds = sorted(float(e.attrib["y1"]) for e in root if e.attrib.get("class") == "bound")
    assert heights[3] < bounds[0] < heights[0] < bounds[1]


def test_a_long_curve_keeps_its_peaks() -> None:
    assert DUEL.test
    llrs = [0.0] * 100_000
    llrs[12_345], llrs[54_321] = 2.9, -2.9
    svg = charts.llr(replace(DUEL.test, llrs=tuple(llrs)))
    assert len(svg) < 20_000
    heights = {y for _, y in points_of(check_inside(svg))}
    assert len(heights) == 3


ESTIMATES = st.builds(
    Estimate,
    value=st.none() | st.floats(-9999, 9999),
    error=st.none() | st.floats(0, 9999),
    low=st.none() | st.floats(-9999, 9999),
    high=st.none() | st.floats(-9999, 9999),
)
NAMES = st.text(min_size=1, max_size=32)
TESTS = st.builds(
    lambda llrs: SequentialTest(0, 2, 0.05, 0.05, "logistic", -2.94, 2.94, tuple(llrs)),
    st.lists(st.floats(-1000, 1000), max_size=50),
)


@given(st.lists(st.tuples(NAMES, ESTIMATES), min_size=1, max_size=5), TESTS, ESTIMATES)
@settings(max_examples=repetitions(150, short=30))
def test_reports_of_arbitrary_values_are_well_formed(
    rated: list[tuple[str, Estimate]], test: SequentialTest, elo: Estimate
) -> None:
    entrants = tuple(ReportEntrant(name) for name, _ in rated)
    report = Report(
        name=rated[0][0],
        format="swiss",
        games=("othello",),
        entrants=entrants,
        standings=tuple(Standing(1, i, MatchCounts(i, 1, 0), 0.5) for i in range(len(rated))),
        ratings=tuple(estimate for _, estimate in rated),
        head_to_head=(HeadToHead(0, 0, Pentanomial(), elo=elo, test=test),),
    )
    for format_ in FORMATS:
        assert not re.search(r"\b(nan|inf|None)\b", writer(format_)(named(report, "x")))
        writer(format_)(report)
    ReportPage(writer("html")(report))
    for svg in (charts.ratings(report), charts.llr(test)):
        if svg:
            check_inside(svg)
    written: dict[str, Any] = json.loads(writer("json")(report))
    assert [each["name"] for each in written["entrants"]] == [name for name, _ in rated]
