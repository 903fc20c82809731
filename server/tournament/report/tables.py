"""The report as lines and tables of plain text, for all formats that show tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from playout.commands.text import counted, percent
from playout.protocol.time_control import decimal
from playout.ratings.sequential_tests import State
from playout.server.tournament.report import words
from playout.server.tournament.report.values import (
    BettingTest,
    HeadToHead,
    MatchCounts,
    Report,
    ReportRound,
    SequentialTest,
    WithoutLuck,
)

#: The verdicts of a test by betting.
VERDICTS_OF_BETTING: Mapping[State, str] = {
    "open": "none yet",
    "stronger": "stronger",
    "futile": "not stronger",
    "exhausted": "none: the matches repeat themselves",
}
_VERDICTS = {None: "none yet", "H0": "elo0 is accepted", "H1": "elo1 is accepted"}
#: The pairs by their two results.
_PAIRS = ("LL", "LD", "WL", "DD", "WD", "WW")
#: The entrants of a cell: one, if the cell has its name, or two, if it has their matches.
CellEntrants = tuple[int, ...]


class TextTable(NamedTuple):
    """Rows of text below a head, which may be empty. The first `names` columns are words.

    `entrants` has the entrants of cells, by row and column.
    """

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    names: int
    entrants: Mapping[tuple[int, int], CellEntrants] = {}


def summary(report: Report) -> list[str]:
    """Return the lines above the tables: the games, the progress, and notes on the numbers."""
    lines = [f"{report.format.replace('_', ' ')} of {', '.join(report.games)}", _progress(report)]
    if report.voided:
        lines.append(f"{counted(report.voided, 'pair')} voided and played again")
    if report.repeated:
        pairs = counted(report.repeated, "pair")
        lines.append(f"{pairs} with the same moves as another: not counted as evidence")
    lines += [f"{each.name} was withdrawn" for each in report.entrants if each.withdrawn]
    if report.ratings:
        lines.append(_relative_to(report))
    return [*lines, *report.notes]


def tables(report: Report, *, with_bracket: bool = True) -> list[TextTable]:
    """Return the tables that have rows, the most important first.

    `with_bracket`: include the rounds of a knockout, which a bracket shows as well.
    """
    rounds = [_round(report, each) for each in report.rounds]
    bracket, others = ([], rounds) if not report.bracket else (rounds, [])
    found = [
        _standings(report),
        *(bracket if with_bracket else ()),
        _crosstable(report),
        *_all_head_to_heads(report),
        _superiority(report),
        _endings(report),
        *others,
        _entrants(report),
        _setting(report),
    ]
    return [table for table in found if table.rows]


def in_order(report: Report) -> list[int]:
    """Return the entrants by standing; before the first results, in the order of the file."""
    standing = [each.entrant for each in report.standings]
    return standing or list(range(len(report.entrants)))


def _progress(report: Report) -> str:
    if report.pairs is None:
        both = report.head_to_head
        decided = any(each.test and each.test.accepted for each in both) or _is_race_over(both)
        return counted(report.done, "pair") + ("" if decided else " so far")
    return f"{report.done} of {counted(report.pairs, 'pair')}"


def _is_race_over(both: Sequence[HeadToHead]) -> bool:
    """Return whether a candidate of a race is stronger, or none is still tested."""
    states = {each.betting.state for each in both if each.betting}
    return bool(states) and ("stronger" in states or "open" not in states)


def _relative_to(report: Report) -> str:
    base = "the average" if report.anchor is None else report.entrants[report.anchor].name
    text = f"Elo relative to {base}, with 95% error bars"
    if report.first_move.value is not None:
        text += f"; the first move is worth {words.elo(report.first_move)}"
    return text


def _standings(report: Report) -> TextTable:
    has_versions = any(each.version for each in report.entrants)
    head = ["#", "name", *(["version"] if has_versions else [])]
    names = len(head)
    head += ["Elo"] if report.ratings else []
    head += ["points", *report.tiebreaks, "matches", "won", "tied", "lost", "score"]
    has_luck = any(each.without_luck for each in report.standings)
    head += ["score without luck"] if has_luck else []
    rows = []
    for each in report.standings:
        entrant, counts = report.entrants[each.entrant], each.counts
        rows.append(
            (
                str(each.place),
                entrant.name,
                *([entrant.version] if has_versions else []),
                *([words.elo(report.ratings[each.entrant])] if report.ratings else []),
                *map(decimal, (each.points, *each.tiebreaks)),
                *map(str, (counts.matches, counts.won, counts.tied, counts.lost)),
                percent(counts.points / counts.matches if counts.matches else None),
                *([words.without_luck(each.without_luck)] if has_luck else []),
            )
        )
    return TextTable("Standings", tuple(head), rows, names, _named(in_order(report), 1))


def _crosstable(report: Report) -> TextTable:
    cells = [[words.cell(each) for each in row] for row in report.crosstable]
    table = _square("Crosstable", report, cells)
    return table._replace(entrants={**table.entrants, **_against(in_order(report))})


def _superiority(report: Report) -> TextTable:
    if len(report.head_to_head) > 1:  # the opponents of one, who have not met
        return TextTable("", (), [], 0)
    cells = [[percent(each, 2) for each in row] for row in report.los]
    return _square("Likelihood of superiority", report, cells)


def _square(title: str, report: Report, cells: list[list[str]]) -> TextTable:
    """Return a table of each entrant against each, numbered in the order of the standings."""
    if not cells:
        return TextTable(title, (), [], 0)
    order = in_order(report)
    head = ("", "name", *(str(number) for number, _ in enumerate(order, 1)))
    rows = [
        (
            str(number),
            report.entrants[one].name,
            *("" if one == other else cells[one][other] for other in order),
        )
        for number, one in enumerate(order, 1)
    ]
    return TextTable(title, head, rows, 2, _named(order, 1))


def _all_head_to_heads(report: Report) -> list[TextTable]:
    """Return a table for two entrants, or one for all opponents of one, as in a gauntlet."""
    if len(report.head_to_head) < 2:
        return [_head_to_head(report, each) for each in report.head_to_head]
    first = report.head_to_head[0].first
    if report.head_to_head[1].first != first:
        return [_candidates(report)]
    against = {each.second: each for each in report.head_to_head}
    order = [one for one in in_order(report) if one in against]
    head: tuple[str, ...] = (
        "against",
        "Elo",
        "normalized Elo",
        "superiority",
        "tied",
        "points",
        "pairs",
        *_PAIRS,
    )
    rows: list[tuple[str, ...]] = [_opponent(report, against[one]) for one in order]
    if any(each.without_luck for each in against.values()):
        head = (*head, "score without luck")
        rows = [
            (*row, words.without_luck(against[one].without_luck))
            for row, one in zip(rows, order, strict=True)
        ]
    entrants: dict[tuple[int, int], CellEntrants] = {**_named(order, 0)}
    entrants |= {(row, 5): (first, one) for row, one in enumerate(order)}
    title = f"{report.entrants[first].name} against each opponent"
    return [TextTable(title, head, rows, 1, entrants)]


def _candidates(report: Report) -> TextTable:
    """Return the candidates of a race, the one with the most evidence first."""
    found = sorted(
        report.head_to_head, key=lambda each: -each.betting.log_e if each.betting else 0.0
    )
    has_luck = any(each.without_luck for each in found)
    rows: list[tuple[str, ...]] = [
        (
            report.entrants[each.first].name,
            words.elo(each.elo),
            *([words.without_luck(each.without_luck)] if has_luck else []),
            words.elo(each.nelo),
            str(each.pairs.count),
            words.evidence(each.betting),
            VERDICTS_OF_BETTING[each.betting.state],
        )
        for each in found
        if each.betting
    ]
    luck = ("score without luck",) if has_luck else ()
    head = ("candidate", "Elo", *luck, "normalized Elo", "pairs", "evidence", "verdict")
    title = f"{report.entrants[report.head_to_head[0].second].name} against each opponent"
    return TextTable(title, head, rows, 1, _named([each.first for each in found], 0))


def _opponent(report: Report, both: HeadToHead) -> tuple[str, ...]:
    pairs = both.pairs
    return (
        report.entrants[both.second].name,
        words.elo(both.elo),
        words.elo(both.nelo),
        percent(both.los, 2),
        percent(both.draw_ratio),
        words.cell(report.crosstable[both.first][both.second]),
        str(pairs.count),
        *map(str, (pairs.ll, pairs.ld, pairs.wl, pairs.dd, pairs.wd, pairs.ww)),
    )


def _head_to_head(report: Report, both: HeadToHead) -> TextTable:
    first, second = report.entrants[both.first].name, report.entrants[both.second].name
    pairs = both.pairs
    rows: list[tuple[str, ...]] = [
        ("Elo", words.elo(both.elo)),
        ("normalized Elo", words.elo(both.nelo)),
        ("likelihood of superiority", percent(both.los, 2)),
        ("tied matches", percent(both.draw_ratio)),
        ("pairs", str(pairs.count)),
        (
            "of them LL, LD, WL, DD, WD, WW",
            f"{pairs.ll}, {pairs.ld}, {pairs.wl}, {pairs.dd}, {pairs.wd}, {pairs.ww}",
        ),
    ]
    if both.without_luck:
        rows += _without_luck(both.without_luck)
    if both.test:
        rows += _test(both.test)
    if both.betting:
        rows += _betting(both.betting)
    return TextTable(f"{first} against {second}", ("", ""), rows, 1)


def _without_luck(found: WithoutLuck) -> list[tuple[str, str]]:
    rows = [
        ("score without luck", words.without_luck(found)),
        ("Elo without luck", words.elo(words.elo_without_luck(found))),
    ]
    if found.variance is not None and found.raw_variance is not None:
        both = f"{found.raw_variance:.4f}, {found.variance:.4f}"
        rows.append(("variance of a pair, and without luck", both))
    return rows


def _scores_of(test: SequentialTest | BettingTest) -> list[tuple[str, str]]:
    return [("scores", "without luck")] if test.without_luck else []


def _test(test: SequentialTest) -> list[tuple[str, str]]:
    return [
        ("test", f"{decimal(test.elo0)} against {decimal(test.elo1)} {test.model} Elo"),
        *_scores_of(test),
        ("allowed errors", f"{percent(test.alpha)}, {percent(test.beta)}"),
        ("LLR", f"{test.llr:.2f} ({test.lower:.2f} to {test.upper:.2f})"),
        ("verdict", _VERDICTS[test.accepted]),
    ]


def _betting(test: BettingTest) -> list[tuple[str, str]]:
    return [
        ("goal", f"{decimal(test.elo1)} normalized Elo"),
        *_scores_of(test),
        ("evidence", words.evidence(test)),
        ("verdict", VERDICTS_OF_BETTING[test.state]),
    ]


def _endings(report: Report) -> TextTable:
    """Return the table of endings, with a column for each reason, the most frequent first."""
    counts: dict[str, int] = {}
    for endings in report.endings:
        for reason, each in endings.items():
            counts[reason] = counts.get(reason, 0) + each.matches
    reasons = sorted((each for each in counts if counts[each]), key=lambda each: -counts[each])
    if not reasons:
        return TextTable("", (), [], 0)
    head = ("name", *(reason.replace("_", " ") for reason in reasons))
    rows = [
        (
            report.entrants[one].name,
            *(
                words.won_tied_lost(report.endings[one].get(reason, MatchCounts()))
                for reason in reasons
            ),
        )
        for one in in_order(report)
    ]
    entrants = _named(in_order(report), 0)
    return TextTable("How matches ended: won, tied, lost", head, rows, 1, entrants)


def _round(report: Report, played: ReportRound) -> TextTable:
    """Return the meetings of a round, with the points and, in a knockout, the winner."""
    name = [each.name for each in report.entrants]
    rows: list[tuple[str, ...]] = []
    entrants: dict[tuple[int, int], CellEntrants] = {}
    for row, each in enumerate(played.meetings):
        points = " : ".join(map(decimal, each.points))
        entrants[row, 0] = (each.first,)
        if each.second is None:
            rows.append((name[each.first], "no opponent", "", ""))
            continue
        entrants[row, 1] = (each.second,)
        entrants[row, 2] = (each.first, each.second)
        winner = "" if each.winner is None else f"{name[each.winner]} wins"
        rows.append((name[each.first], name[each.second], points, winner))
    if not any(row[3] for row in rows):
        rows = [row[:3] for row in rows]
    head = ("first", "second", "points", "")[: len(rows[0]) if rows else 3]
    return TextTable(played.name, head, rows, 2, entrants)


def _entrants(report: Report) -> TextTable:
    """Return the programs of the entrants, if any is known."""
    if not any(each.program for each in report.entrants):
        return TextTable("", (), [], 0)
    has_versions = any(each.version for each in report.entrants)
    rows = [
        (
            each.name,
            each.program or "logs in from elsewhere",
            *([each.version] if has_versions else []),
            each.clock,
        )
        for each in (report.entrants[one] for one in in_order(report))
    ]
    head = ("name", "player or command", *(["version"] if has_versions else []), "clock")
    return TextTable("Entrants", head, rows, len(head), _named(in_order(report), 0))


def _setting(report: Report) -> TextTable:
    """Return the terms of the tournament, and its machine."""
    played = report.setting
    if played is None:
        return TextTable("", (), [], 0)
    rows: list[tuple[str, ...]] = [
        ("clock", played.clock),
        ("openings", played.openings),
        ("seed", str(played.seed)),
        ("ended early", played.adjudication),
        ("matches at once", str(played.concurrency or "as many as possible")),
    ]
    rows += [("machine", played.machine)] if played.machine else []
    return TextTable("What was played", ("", ""), rows, 2)


def _named(order: list[int], column: int) -> dict[tuple[int, int], CellEntrants]:
    """Return the entrants of a column of names, with one row for each."""
    return {(row, column): (one,) for row, one in enumerate(order)}


def _against(order: list[int]) -> dict[tuple[int, int], CellEntrants]:
    """Return the entrants of the cells of a square table after its first two columns."""
    return {
        (row, column): (one, other)
        for row, one in enumerate(order)
        for column, other in enumerate(order, 2)
        if one != other
    }
