"""docs/api.md is true: its tables have the fields that are declared, and that are answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from playout.games.core.description import DescribedParameter, Description, Variant
from playout.ratings.bradley_terry import VersionComparison
from playout.ratings.leaderboard import LeaderboardEntry, OverallEntry, PlayerMeeting, RatingPoint
from playout.server.ladder.standings import LadderStanding, LadderTable
from playout.server.storage.results import (
    MatchRow,
    PlayerRow,
    PlayerTotals,
    ResultPage,
    TournamentRow,
)
from playout.server.tournament.report import values as report
from playout.server.web.api import (
    Api,
    BotResponse,
    LadderPlayerHistory,
    LadderSummary,
    LadderVersionHistory,
    Ranking,
    TournamentResponse,
)
from playout.server.web.archive import GameRecord, PlayerRecord, VersionRecord
from playout.server.web.match_data import MatchData, MatchResult, PositionData, RollData
from playout.server.web.parameters import MAX_PAGE, MAX_PER_PAGE, PER_PAGE
from support.http_site import HttpSite
from support.seeded_database import GAME, SeededDatabase
from support.tournaments import TOKEN

DOCS = Path(__file__).parents[2] / "docs"
KINDS: dict[str, Any] = {
    "page": ResultPage,
    "match in a list": MatchRow,
    "match": MatchData,
    "position": PositionData,
    "result": MatchResult,
    "roll": RollData,
    "player in a list": PlayerRow,
    "totals": PlayerTotals,
    "ranking": Ranking,
    "player meeting": PlayerMeeting,
    "player over games": OverallEntry,
    "rating": LeaderboardEntry,
    "player": PlayerRecord,
    "player at a game": GameRecord,
    "version": VersionRecord,
    "point": RatingPoint,
    "tournament in a list": TournamentRow,
    "tournament": TournamentResponse,
    "report": report.Report,
    "entrant": report.ReportEntrant,
    "round": report.ReportRound,
    "meeting": report.Meeting,
    "bracket round": report.BracketRound,
    "setting": report.ReportSetting,
    "standing": report.Standing,
    "without luck": report.WithoutLuck,
    "match counts": report.MatchCounts,
    "cell": report.CrosstableCell,
    "estimate": report.Estimate,
    "head to head": report.HeadToHead,
    "pairs": report.Pentanomial,
    "test": report.SequentialTest,
    "betting": report.BettingTest,
    "ladder in a list": LadderSummary,
    "ladder": LadderTable,
    "ladder player": LadderPlayerHistory,
    "ladder version": LadderVersionHistory,
    "ladder standing": LadderStanding,
    "ladder meeting": PlayerMeeting,
    "comparison": VersionComparison,
    "game": Description,
    "bot": BotResponse,
    "variant": Variant,
    "parameter": DescribedParameter,
}
_SIMPLE: dict[str, Any] = {
    "text": str, "bool": bool, "int": int, "number": (int, float), "time": (int, float)
}  # fmt: skip


class Document:
    """A page of the manual: the tables of fields below its headings."""

    def __init__(self, name: str) -> None:
        self.text = (DOCS / name).read_text(encoding="utf-8")
        pieces = re.split(r"^#{2,3} (.+)$", self.text, flags=re.MULTILINE)
        self.sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))

    def rows(self, heading: str, first: str) -> list[list[str]]:
        """Of a table, without its head."""
        found = re.search(
            rf"^\| {first} \|.*\n\| ---.*\n((?:\|.*\n)+)", self.sections[heading], re.MULTILINE
        )
        assert found, heading
        return [[cell.strip() for cell in row.split("|")[1:-1]] for row in found[1].splitlines()]

    def fields(self, heading: str) -> dict[str, str]:
        """Types by name."""
        return {row[0].strip("`"): row[1] for row in self.rows(heading, "Field")}


API, PROTOCOL = Document("api.md"), Document("protocol-messages.md")
ROWS = [[row[0].strip("`"), *row[1:]] for row in API.rows("Paths and parameters", "Path")]
PATHS = [(path, type_) for path, type_, _ in ROWS]
PARAMETERS = {row[0].strip("`"): row[1:] for row in API.rows("Paths and parameters", "Parameter")}


def problems(value: object, type_: str, where: str) -> Iterator[str]:
    """How something that was answered is not of a type, as the document spells it."""
    inside = re.fullmatch(r"\((.*)\)", type_)
    if inside:
        yield from problems(value, inside[1], where)
    elif " or " in re.sub(r" \(.*\)", "", type_):
        found = [list(problems(value, each, where)) for each in re.split(r", | or ", type_)]
        if all(found):
            yield min(found, key=len)[0]
    elif type_ == "null":
        if value is not None:
            yield f"{where}: expected null, not {value!r}"
    elif type_.startswith("list"):
        yield from _problems_of_list(value, type_, where)
    elif type_.startswith("map of "):
        assert isinstance(value, dict)
        for key, each in value.items():
            yield from problems(each, type_.removeprefix("map of "), f"{where}.{key}")
    elif link := re.match(r"\[.*?\]\((.*?)\.?(?:md)?#(.*?)\)", type_):
        yield from _problems_of_map(value, *link.groups(), where)
    elif not isinstance(value, _SIMPLE[type_]):
        yield f"{where}: expected {type_}, not {value!r}"


def _problems_of_list(value: object, type_: str, where: str) -> Iterator[str]:
    counted = re.fullmatch(r"list(?: of (\d )?(.+))?", type_)
    assert counted, type_
    if not isinstance(value, list) or (counted[1] and len(value) != int(counted[1])):
        yield f"{where}: expected {type_}, not {value!r}"
    elif counted[2]:
        for each in value:
            yield from problems(each, counted[2], f"{where}[]")


def _problems_of_map(value: object, document: str, anchor: str, where: str) -> Iterator[str]:
    heading = anchor.replace("-", " ")
    if not isinstance(value, dict):
        yield f"{where}: expected a map, not {value!r}"
    elif document:  # the protocol's, which is tested with it
        known = {"type", *PROTOCOL.fields(heading)}
        yield from (f"{where}.{key} is not described" for key in value.keys() - known)
    else:
        described = API.fields(heading)
        yield from (f"{where}.{key} is not described" for key in value.keys() - described.keys())
        for key, type_ in described.items():
            plain = type_.removesuffix(", may be missing")
            if key in value:
                yield from problems(value[key], plain, f"{where}.{key}")
            elif plain == type_:
                yield f"{where}.{key} is missing"


def test_each_kind_of_answer_has_its_section() -> None:
    inside = API.text.partition("\n## Answers\n")[2]
    assert re.findall(r"^### (.+)$", inside, flags=re.MULTILINE) == list(KINDS)


@pytest.mark.parametrize("heading", KINDS)
def test_the_fields_are_those_that_are_declared(heading: str) -> None:
    kind = KINDS[heading]
    declared = (
        [field.name for field in fields(kind)] if is_dataclass(kind) else kind.__struct_fields__
    )
    assert list(API.fields(heading)) == list(declared)


def test_every_path_is_described() -> None:
    routes = Api(None, None, None)._routes  # type: ignore[arg-type]
    expected = {f"/api/{name}" for name in routes}
    expected |= {f"/api/{name}/" for name, (_, one) in routes.items() if one}
    expected.add("/api/ladders/GAME/players/")
    assert {re.sub(r"(\?.*|[A-Z]+)$", "", path) for path, _ in PATHS} == expected


@pytest.mark.parametrize(("path", "type_"), PATHS)
def test_an_answer_is_as_described(seeded_site: HttpSite, path: str, type_: str) -> None:
    with seeded_site.client() as seeker, seeded_site.client() as ann:
        ann.hello("Ann", token=TOKEN)
        ann.ask("enter_ladder", game=GAME)
        seeker.hello()
        seeker.ask("seek", game=GAME, clock="1/move", opponent="nobody", seat=1)
        for asked in asked_of(seeded_site.seeded, path):
            answer = seeded_site.get(asked.removeprefix("/api/"))
            kind, *items = re.findall(r"\[[^]]*\]\([^)]*\)", type_.partition(",")[0])
            found = list(problems(answer, kind, asked))
            for each in answer["items"] if items else ():
                found += problems(each, items[0], f"{asked} item")
            assert found == []
            if "items" in answer:
                assert answer["items"], "nothing would be shown by nothing"


def asked_of(seeded: SeededDatabase, path: str) -> list[str]:
    """Real addresses of a path."""
    if path.endswith("matches/ID"):
        matches = (seeded.tied, seeded.resigned, seeded.nim, seeded.unfinished)
        return [path.replace("ID", match) for match in matches]
    if path == "/api/matches":
        return [path, f"{path}?state=running"]
    filled = path.replace("GAME", GAME).replace("NAME", "Ann").replace("ID", seeded.cup)
    return [filled]


@pytest.mark.parametrize(("path", "parameters"), [(path, each) for path, _, each in ROWS])
def test_the_parameters_are_those_that_are_allowed(
    seeded_site: HttpSite, path: str, parameters: str
) -> None:
    described = re.findall(r"`(\w+)`", parameters)
    address, with_query, _ = path.partition("?")
    if with_query or address in {each.partition("?")[0] for each, *_ in ROWS if "?" in each}:
        # Its lists have the parameters of all of them, and that with which the answer is another.
        rows = [row for row in ROWS if row[0].partition("?")[0] == address]
        described = list({each for row in rows for each in re.findall(r"`(\w+)`", row[2])})
    bare = asked_of(seeded_site.seeded, path)[0].partition("?")[0].removeprefix("/api/")
    _, error = seeded_site.refused(f"{bare}?nonsense=1")
    _, _, allowed = error.partition("allowed are ")
    assert sorted(described) == sorted(allowed.split(", ") if allowed else [])
    assert set(described) <= PARAMETERS.keys()


def test_the_limits() -> None:
    assert PARAMETERS["page"] == [f"1 to {MAX_PAGE:,}", "1"]
    assert PARAMETERS["per_page"] == [f"1 to {MAX_PER_PAGE}", str(PER_PAGE)]


def test_links_lead_somewhere() -> None:
    for name, anchor in re.findall(r"\]\((\w[\w-]*\.md)?#([\w-]+)\)", API.text):
        text = (DOCS / (name or "api.md")).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}
        assert anchor in anchors, (name, anchor)
