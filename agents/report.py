"""The report of a benchmark: one HTML page, JSON, CSV, Markdown and plain text.

Answers are texts of strangers: they are shown without control characters, and escaped.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from playout.agents.benchmark_file import Benchmark, Contest
from playout.agents.journal import BenchmarkJournal, MatchRecord
from playout.agents.measures import Estimated, Measured, ended, measured
from playout.agents.variants import GameVariant
from playout.commands.durable_files import write_atomically
from playout.commands.html_page import page, section, shown
from playout.commands.text import UNKNOWN, beginning, counted, csv_text
from playout.games import Position
from playout.players.analyst.costly_moves import CostlyMove, Loss, instructive
from playout.ratings import plot
from playout.server.tournament.report.tables import TextTable
from playout.server.tournament.report.writers import aligned, html_table, markdown, markdown_table

#: The version of the report as JSON, which grows when fields change.
JSON_VERSION = 3
#: The name of all games together.
ALL = "all games"
#: Characters of an answer, and moves, that an example shows.
_SHOWN, _MOST_MOVES = 400, 200
#: Seconds after which the page of a running benchmark loads itself again.
_RELOAD_S = 30
#: The height of the plot of Elo by cost, in pixels.
_HEIGHT = 280


@dataclass(frozen=True)
class BenchmarkReport:
    """The results of a benchmark so far."""

    benchmark: Benchmark
    journal: BenchmarkJournal
    contests: Sequence[Contest]
    #: Why it was stopped before all pairs were played; empty if it was not.
    reason: str
    #: What is done of a running benchmark; empty for one that does not run.
    progress: str
    measures: Sequence[Measured]
    #: Time of the search for costly moves in the examples.
    search_s: float

    @classmethod
    def of(
        cls,
        benchmark: Benchmark,
        journal: BenchmarkJournal,
        reason: str = "",
        progress: str = "",
        search_s: float = 0.0,
    ) -> BenchmarkReport:
        """Return the report of a benchmark that was stopped for a reason, or that still runs."""
        contests = list(benchmark.contests())
        found = measured(benchmark, journal, contests)
        return cls(benchmark, journal, contests, reason, progress, found, search_s)

    def write(self, folder: Path) -> list[Path]:
        """Write the four files of the report; return their paths. Raises OSError."""
        texts = {"html": self.html(), "json": self.json(), "csv": self.csv(), "md": self.markdown()}
        for kind, text in texts.items():
            write_atomically(folder / f"report.{kind}", text.encode())
        return [folder / f"report.{kind}" for kind in texts]

    # What it tells.

    def tables(self) -> list[TextTable]:
        """Return the tables of models, of games, of solved positions and of forfeits."""
        found = [self._models(), self._games(), self._kept(), self._forfeits()]
        return [each for each in found if each.rows]

    @property
    def _whole(self) -> str:
        """The game of the measures in all games."""
        return "" if len(self.benchmark.games) > 1 else str(self.benchmark.games[0])

    def _models(self) -> TextTable:
        more = ("illegal first", "illegal last", "tokens", "seconds")
        paid = ("cost",) if self.journal.cost else ()
        fall = ("drop",) if self.benchmark.variants else ()
        head = ("model", "Elo", "Elo by play", "place", *fall, "won, tied, lost", "forfeits")
        rows = [
            (
                each.name,
                _elo(each.elo),
                _elo(each.elo_by_play),
                f"{each.nearest} {_elo(each.lead)}" if each.nearest else UNKNOWN,
                *(_elo(each.drop) for _ in fall),
                f"{each.won}, {each.tied}, {each.lost}",
                str(each.forfeits),
                _share(each.illegal_first),
                _share(each.illegal_last),
                _number(each.tokens, 0),
                _number(each.seconds, 2),
                *(f"{each.cost:.4g}" for _ in paid),
            )
            for each in self._ranked()
            if each.is_model
        ]
        return TextTable("Models", (*head, *more, *paid), rows, 1)

    def _ranked(self) -> list[Measured]:
        """Return the measures in all games, the strongest first."""
        found = [each for each in self.measures if each.game == self._whole]
        return sorted(found, key=lambda each: -each.elo.value if each.elo else 9e9)

    def _games(self) -> TextTable:
        games = [str(each) for each in self.benchmark.played]
        elos = {(each.name, each.game): _elo(each.elo) for each in self.measures}
        rows = [(each.name, *(elos[each.name, game] for game in games)) for each in self._ranked()]
        return TextTable("Elo by game", ("contestant", *games), rows, 1)

    def _kept(self) -> TextTable:
        head = ("model", "game", "value kept", "held out", "random moves")
        by_game = {
            game: [
                each
                for each in self.benchmark.questions
                if (str(each.game) == game if game else not each.game.seed)
            ]
            for game in {each.game for each in self.measures}
        }
        rows: list[tuple[str, ...]] = [
            (
                each.name,
                each.game or ALL,
                _share(each.kept),
                _share(each.kept_held_out),
                f"{statistics.fmean(each.solved.chance for each in by_game[each.game]):.1%}",
            )
            for each in sorted(self.measures, key=lambda each: each.game)
            if each.kept
        ]
        return TextTable("Solved positions", head, rows, 2)

    def _forfeits(self) -> TextTable:
        found = Counter[tuple[str, str]]()
        for match in self._matches():
            if match.result and match.result.forfeit:
                loser = match.started.players[2 - match.result.winner]
                found[loser, beginning(match.result.forfeit, 100)] += 1
        most = found.most_common(20)
        rows: list[tuple[str, ...]] = [(*both, str(number)) for both, number in most]
        return TextTable("Forfeits", ("model", "reason", "matches"), rows, 2)

    def _matches(self) -> Iterator[MatchRecord]:
        for game in self.benchmark.played:
            yield from ended(self.journal, self.contests, str(game))

    def notes(self) -> list[str]:
        """Return what a reader must know to judge the numbers."""
        matches = list(self._matches())
        ties = sum(1 for each in matches if each.result and each.result.winner < 0)
        forfeits = sum(1 for each in matches if each.result and each.result.forfeit)
        anchors = self.benchmark.anchors
        zero = f"{anchors[0].name} has 0" if anchors else "the average of the models is 0"
        calibrated = " The error includes those of the other opponents." if anchors else ""
        notes = [
            f"{counted(len(matches), 'match')}, of which {ties} tied and {forfeits} forfeited. "
            f"At most {counted(self.benchmark.pairs, 'pair')} for each contest; each pair is two "
            f"matches from one opening of {self.benchmark.plies} random plies, with colours "
            "swapped.",
            f"Elo: in each game, {zero}.{calibrated} Intervals are at 95 %; they treat matches as "
            "independent. A forfeit is a loss; Elo by play leaves these matches out.",
            "Place: the nearest opponent, and the Elo relative to it.",
            "Illegal first: the share of moves whose first answer was no legal move. Illegal last: "
            f"after {counted(self.benchmark.retries, 'retry')}, which "
            "forfeits the match. A move without a choice is played without asking.",
            "Tokens and seconds are for a move, with all attempts.",
        ]
        if self.benchmark.questions:
            notes.append(
                "Value kept: the share of solved positions in which the only answer is a move that "
                "keeps the win or the tie with best play; other moves lose it. Half of the "
                "positions are held out: their prompts and answers are neither stored nor shown. "
                "Random moves: the share that they would keep."
            )
        if self.search_s:
            notes.append(
                "Examples: of lost matches, the moves that cost the most by a search of "
                f"{self.search_s:g} seconds in all; games with chance have none."
            )
        variants = [each for each in self.benchmark.played if each.seed]
        for each in variants:
            notes.append(
                f"{each}: {each.plies} or {each.plies + 1} more random plies, other names and "
                f"letters; a search expects {each.score:.0%} of the points for the first player."
            )
        if variants:
            notes.append(
                "Drop: the Elo in the known games less the mean of that in their variants, both "
                "relative to the opponent that is nearest in the known game."
            )
        if self.benchmark.certain:
            notes.append(
                f"A model has no more pairs in a game once its place is known to "
                f"±{self.benchmark.certain:g} Elo."
            )
        if self.journal.repeated:
            notes.append(
                f"{counted(self.journal.repeated, 'request')} sent again, because the benchmark "
                "or the connection ended before the answer: a provider without idempotent requests "
                "may charge both."
            )
        return [*notes, *self._state()]

    def _state(self) -> list[str]:
        """Return why the benchmark was stopped, or what is done while it runs."""
        told = {"Stopped": self.reason, "Running": self.progress}
        return [f"{word}: {text}" for word, text in told.items() if text]

    # Formats.

    def text(self) -> str:
        """Return the tables as plain text."""
        parts = ["\n".join([each.title, *aligned(each)]) for each in self.tables()]
        return "\n\n".join([*parts, *self._state()])

    def markdown(self) -> str:
        """Return the tables and the notes as Markdown."""
        parts = [f"# {markdown(self.benchmark.name)}"]
        for each in self.tables():
            parts += [f"## {markdown(each.title)}", markdown_table(each)]
        parts += ["## Notes", "\n".join(f"* {markdown(each)}" for each in self.notes())]
        return "\n\n".join(parts) + "\n"

    def json(self) -> str:
        """Return the measures and the notes by the names of their fields; unknown is null."""
        told: dict[str, Any] = {
            "version": JSON_VERSION,
            "name": self.benchmark.name,
            "stopped": self.reason,
            "running": self.progress,
            "cost": self.journal.cost,
            "measures": self.measures,
            "notes": self.notes(),
        }
        return msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n"

    def csv(self) -> str:
        """Return a row for each contestant and game, with empty fields for unknown numbers."""
        fields = Measured.__annotations__
        estimates = [key for key, kind in fields.items() if "Estimated" in kind]
        plain = [key for key in fields if key not in estimates]
        ends = [f"{key}{end}" for key in estimates for end in ("", "_low", "_high")]
        rows: list[list[Any]] = [[*plain, *ends]]
        for each in self.measures:
            row = [getattr(each, key) for key in plain]
            for key in estimates:
                found: Estimated | None = getattr(each, key)
                row += [found.value, found.low, found.high] if found else [None] * 3
            rows.append(row)
        return csv_text(rows)

    def html(self) -> str:
        """Return the whole page, which loads no other file."""
        body = [f'<p class="headline">{shown(each)}</p>' for each in self._state()]
        for each in self.tables():
            written = self._heat_map(each) if each.title == "Elo by game" else html_table(each)
            body.append(section(each.title, written))
        body += self._costs()
        examples = "\n".join(self._examples())
        notes = "".join(f"<li>{shown(each)}</li>" for each in self.notes())
        body += [section("Examples", examples), section("Notes", f"<ul>{notes}</ul>")]
        return page(self.benchmark.name, body, reload_s=_RELOAD_S if self.progress else 0)

    def _heat_map(self, table: TextTable) -> str:
        """Return the table of games, whose cells are darker for higher ratings."""
        elos = {(each.name, each.game): each.elo for each in self.measures}
        highest = max((each.value for each in elos.values() if each), default=0.0) or 1.0
        head = "".join(f'<th class="number" scope="col">{shown(game)}</th>' for game in table.head)
        rows = []
        for row in table.rows:
            cells = [f'<td class="name">{shown(row[0])}</td>']
            for game, text in zip(table.head[1:], row[1:], strict=True):
                elo = elos[row[0], game]
                heat = round(60 * min(1.0, max(0.0, (elo.value if elo else 0) / highest)))
                colour = f"color-mix(in srgb, var(--accent) {heat}%, transparent)"
                cells.append(f'<td class="number" style="background: {colour}">{shown(text)}</td>')
            rows.append(f"<tr>{''.join(cells)}</tr>")
        body = f"<thead><tr>{head}</tr></thead>\n<tbody>{''.join(rows)}</tbody>"
        return f'<div class="scroll"><table>\n{body}</table></div>'

    def _costs(self) -> Iterator[str]:
        """Yield a plot of Elo by cost, by tokens if nothing has a price, or else by seconds.

        A curve joins the models that are stronger than all cheaper ones.
        """
        models = [each for each in self._ranked() if each.is_model and each.elo and each.moves]
        unit, costs = _costs_of(models)
        if not any(costs):
            return
        most = 1.1 * max(costs)
        elos = [each.elo for each in models if each.elo]
        ends = [end for each in elos for end in (each.low, each.high)]
        plane = plot.Plane((0, most), plot.around(ends), _HEIGHT)
        marks = [(each, f"{each:.4g}") for each in plot.Axis(0, most).marks()]
        parts, front = [*plane.level_grid(), *plane.upright_grid(marks)], list[plot.Point]()
        points = zip(costs, elos, models, strict=True)
        for cost, elo, each in sorted(points, key=lambda point: (point[0], -point[1].value)):
            point = cost, elo.value
            if not front or elo.value > front[-1][1]:
                front.append(point)
            parts.append(plane.curve("bar", [(cost, elo.low), (cost, elo.high)]))
            parts += [plane.dot("dot", point), plane.label(point, each.name)]
        title = f"Elo by {unit} of a move"
        yield section(title, plot.svg(title, _HEIGHT, [*parts, plane.curve("curve", front)]))

    def _examples(self) -> Iterator[str]:
        """Yield the last match of each model that was won, tied, lost and forfeited."""
        found: dict[tuple[str, str], MatchRecord] = {}
        models = {each.name for each in self.benchmark.contestants}
        for match in self._matches():
            assert match.result
            for seat, name in enumerate(match.started.players, start=1):
                if name in models:
                    how = "won" if match.result.winner == seat else "tied"
                    if match.result.winner == 3 - seat:
                        how = "forfeited" if match.result.forfeit else "lost"
                    found[name, how] = match
        lost = [match for (_, how), match in found.items() if how == "lost"]
        costly = self._costly(lost) if self.search_s else {}
        for (name, how), match in sorted(found.items(), key=lambda item: item[0]):
            moves = costly.get(match.started.match, ()) if how == "lost" else ()
            yield self._example(f"{name} {how}", match, moves)

    def _example(self, title: str, match: MatchRecord, costly: Sequence[CostlyMove]) -> str:
        played, position = self._position(match)
        moves = played.move_names(position)[:_MOST_MOVES]
        board = played.notation.draw(played.notation.labelled(position.game.view(position.state)))
        heading = f"{title}: {' against '.join(match.started.players)}, {match.started.game}"
        parts = [f"<h3>{shown(heading)}</h3>", f"<p>{shown(', '.join(moves))}</p>"]
        parts += [f"<p>{shown(str(each))}</p>" for each in costly]
        parts.append(f"<pre>{_lines(board)}</pre>")
        if match.result and match.result.forfeit:
            said = _lines(match.answers[-1].answer.content[:_SHOWN])
            parts.append(f"<p>{shown(match.result.forfeit)}. The answer:</p><pre>{said}</pre>")
        return "\n".join(parts)

    def _position(self, match: MatchRecord) -> tuple[GameVariant, Position]:
        """Return the game of a match, and its last position."""
        (played,) = (x for x in self.benchmark.played if str(x) == match.started.game)
        return played, Position(played.game, (*match.started.opening, *match.moves))

    def _costly(self, lost: Sequence[MatchRecord]) -> dict[str, list[CostlyMove]]:
        """Return the moves that cost the most in lost matches, by the ids of these.

        A match of a game with chance is not searched.
        """
        names, losses = dict[str, Callable[[str], str]](), list[Loss]()
        for match in lost:
            played, position = self._position(match)
            if match.result and not position.game.has_chance:
                start, seat = match.started, 3 - match.result.winner
                names[start.match] = played.notation.name
                moves = tuple(map(position.move_name, range(position.ply)))
                told = (start.match, str(played.game), "", seat, "", len(start.opening))
                losses.append(Loss(*told, moves))
        found = instructive(losses, len(losses), self.search_s, lambda line: None)
        return {
            each.match: [
                structs.replace(move, move=name(move.move), better=name(move.better))
                for move in each.costly
            ]
            for each in found
            for name in [names[each.match]]
        }


def _costs_of(models: Sequence[Measured]) -> tuple[str, list[float]]:
    """Return the unit and the cost of a move of each model; without numbers for all, none."""
    if any(each.cost for each in models):
        return "cost", [each.cost / each.moves for each in models]
    for unit in ("tokens", "seconds"):
        found: list[Estimated] = [each for model in models if (each := getattr(model, unit))]
        if len(found) == len(models):
            return unit, [each.value for each in found]
    return "", []


def _lines(text: str) -> str:
    """Return the lines of a text as HTML."""
    return "\n".join(map(shown, text.split("\n")))


def _elo(found: Estimated | None) -> str:
    return f"{found.value:+.0f} ±{found.high - found.value:.0f}" if found else UNKNOWN


def _share(found: Estimated | None) -> str:
    if not found:
        return UNKNOWN
    return f"{100 * found.value:.1f}% ({100 * found.low:.0f} to {100 * found.high:.0f})"


def _number(found: Estimated | None, digits: int) -> str:
    return f"{found.value:.{digits}f} ±{found.high - found.value:.{digits}f}" if found else UNKNOWN
