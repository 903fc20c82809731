"""Plays a test as a tournament of two or more versions, from its first match to the verdict.

The progress is a line with the pairs, the Elo and the evidence of each candidate.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from playout.bots.builder import BuildTerms
from playout.bots.git_source import GitRepository, SourceError
from playout.commands import interrupts
from playout.commands.progress import doing
from playout.commands.text import counted
from playout.laboratory.builds import Build, Builds, MachineError
from playout.laboratory.journal import Journal, VersionTest
from playout.laboratory.lab_file import Conditions
from playout.laboratory.sources import Version
from playout.protocol.messages import Fixture
from playout.protocol.tournament_spec import Entrant, Openings, TournamentSpec, loads
from playout.ratings.book import Book
from playout.ratings.pairs import Pair
from playout.server.organizer import estimate, spec_file
from playout.server.organizer.console import LineDisplay, LiveDisplay, TournamentDisplay, duration
from playout.server.organizer.launch import ServerChoice, notes, played, prepare_database
from playout.server.organizer.local_server import HOST
from playout.server.organizer.progress import TournamentProgress, stored_ledger, stored_tournament
from playout.server.organizer.runner import RunRequest
from playout.server.organizer.supervisor import entrant_table, sandbox_table
from playout.server.storage import Database
from playout.server.tournament.ledger import Ledger
from playout.server.tournament.report import words
from playout.server.tournament.report.values import HeadToHead
from playout.server.tournament.results import Results

if TYPE_CHECKING:  # it imports Dask, which is optional
    from playout.server.organizer.cluster_entrants import TournamentCluster

#: The characters of the bar of evidence.
_WIDTH = 20
#: Seconds between two lines where nothing is redrawn: at first, and after a minute.
_INTERVAL_S, _LATER_INTERVAL_S, _FIRST_S = 2.0, 10.0, 60.0


def display(budget: int) -> TournamentDisplay:
    """Return the display of a test of at most `budget` pairs: redrawn on a terminal, else lines."""
    console = Console()
    return _Redrawn(console, budget) if console.is_terminal else _Lines(budget)


def lines(progress: TournamentProgress, now: float, budget: int) -> Iterator[str]:
    """Yield the line of the whole test if it has several candidates, and one for each candidate."""
    both = progress.results.head_to_heads()
    left = _left(progress, now, budget)
    if len(both) > 1:
        yield counted(played_pairs(progress.ledger), "pair") + left
    names = [each.name for each in progress.ledger.spec.entrants]
    for each in both:
        yield _line(each, names[each.first], "" if len(both) > 1 else left)


def _line(both: HeadToHead, name: str, left: str) -> str:
    parts = [name, counted(both.pairs.count, "pair"), f"Elo {words.elo(both.elo)}"]
    if both.without_luck:
        parts.append(f"without luck {words.without_luck(both.without_luck)}")
    if both.betting:
        shown = bar(both.betting.log_e, both.betting.bound)
        parts.append(f"evidence {shown} {words.evidence(both.betting)}")
        parts += {"futile": ["given up"], "exhausted": ["repeats"]}.get(both.betting.state, [])
    return "  ".join(parts) + left


def played_pairs(ledger: Ledger) -> int:
    """Return the number of pairs that count: of a test, those that its evidence counts."""
    return ledger.race.pairs if ledger.race else len(ledger.results)


def bar(log_e: float, bound: float) -> str:
    """Return the evidence as a share of its bound, both as logarithms."""
    full = round(_WIDTH * min(1.0, max(0.0, log_e / bound)))
    return f"[{'#' * full}{'.' * (_WIDTH - full)}]"


def _left(progress: TournamentProgress, now: float, budget: int) -> str:
    """Return the maximum of the remaining time, empty while it is not known."""
    pace = progress.matches_per_hour(now)
    if not pace:
        return ""
    pairs = max(0, budget - played_pairs(progress.ledger))
    return f"  at most {duration(2 * 3600 * pairs / pace)} left"


class _Lines(LineDisplay):
    """Prints the lines every two seconds, after a minute every ten."""

    def __init__(self, budget: int) -> None:
        super().__init__()
        self._budget = budget
        self._began_at: float | None = None
        self._due_at = 0.0
        self._ended = -1

    def match_ended(self, progress: TournamentProgress, fixture: Fixture) -> None:
        """Do nothing: the lines show the result."""

    def refresh(self, progress: TournamentProgress, now: float, place: str = "") -> None:
        """Print the lines if they are due and have changed."""
        if not (progress.ledger.ended or progress.ledger.running):
            self.wait("Waiting for the players ...", now)
        self._began_at = self._began_at or now
        if now < self._due_at or progress.ledger.ended == self._ended:
            return
        is_new = now < self._began_at + _FIRST_S
        self._due_at = now + (_INTERVAL_S if is_new else _LATER_INTERVAL_S)
        self._ended = progress.ledger.ended
        if progress.ledger.ended:
            for line in lines(progress, now, self._budget):
                self.show(line)


class _Redrawn(LiveDisplay):
    """Draws the lines on a terminal."""

    def __init__(self, console: Console, budget: int) -> None:
        super().__init__(console)
        self._budget = budget

    def refresh(self, progress: TournamentProgress, now: float, place: str = "") -> None:
        """Draw the lines if they are due."""
        self._draw(lambda: escape("\n".join(lines(progress, now, self._budget))), now)


#: A version as an entrant, with its build unless it is a player.
Built = tuple[Entrant, Build | None]
#: The exit codes of verdicts, as `git bisect run` expects them.
STRONGER, NOT_STRONGER, UNDECIDED = 0, 1, 125


#: A confirmation avoids the openings of its test if at least this many others remain.
FEWEST_OPENINGS = 64


def unused(
    openings: Openings, test: TournamentSpec, pairs: Iterable[Pair]
) -> tuple[Openings, Mapping[str, int]]:
    """Return the given openings without those of the `pairs` of a test.

    A game with fewer than FEWEST_OPENINGS other ones keeps all; the second result has their number.
    """
    lines, fens, few = dict(openings.lines), dict(openings.fens), dict[str, int]()
    most: dict[str, int] = {}
    for each in pairs:
        most[each.game] = max(most.get(each.game, 0), each.opening)
    for game, given in openings.lines.items():
        book = Book(game, test.openings, test.seed)
        count = most.get(game, -1) + 1 if game in test.openings.lines else 0
        used = {(book[number], book.fen_of(number)) for number in range(count)}
        both = zip(given, fens.get(game) or itertools.repeat(""), strict=False)
        left = [each for each in both if each not in used]
        if len(left) >= FEWEST_OPENINGS:
            lines[game] = tuple(opening for opening, _ in left)
            if game in fens:
                fens[game] = tuple(fen for _, fen in left)
        elif used:
            few[game] = len(left)
    return replace(openings, lines=lines, fens=fens), few


class NotPlayed(Exception):
    """The matches ended with this exit code before there was a verdict."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class Laboratory:
    """Builds versions, and plays their tests, in the folder of a laboratory."""

    def __init__(
        self, home: Path, folder: Path, conditions: Conditions, http: tuple[str, int] | None
    ) -> None:
        """`folder` is that of the user; `http` is the address of the pages of running tests."""
        self.journal = Journal(home)
        self.conditions = conditions
        self._folder = folder
        self._http = http
        self.terms = BuildTerms(
            conditions.games,
            conditions.clock,
            conditions.sandbox,
            conditions.build_hosts,
            conditions.queue.submission_mb,
        )
        self.builds = Builds(home / "builds", self.terms)

    def built_versions(
        self,
        base: Version,
        candidates: Sequence[Version],
        failed: Callable[[SourceError], object],
    ) -> list[tuple[Version, Built]]:
        """Return the versions that can be built, the base first.

        `failed` gets the error of each candidate that is left out. Raises SourceError if the base
        or all candidates cannot be built, MachineError.
        """
        found = [(base, self.built(base))]
        for each in candidates:
            try:
                found.append((each, self.built(each)))
            except MachineError:
                raise
            except SourceError as error:
                if each is candidates[-1] and len(found) == 1:
                    raise
                failed(error)
        return found

    def begun(self, versions: Sequence[Version]) -> VersionTest:
        """Return the test of these versions, the base first, which is in the journal then."""
        base, *candidates = versions
        return self.journal.begun(
            base.id,
            tuple(each.id for each in candidates),
            tuple(each.name for each in versions),
            tuple(each.player or "" for each in versions),
            self.conditions.digest,
        )

    def built(self, version: Version) -> Built:
        """Return a version as an entrant, built if it has to be. Raises SourceError."""
        if version.player:
            return Entrant(version.name, version.id[:12], player=version.player), None
        assert version.pack
        with interrupts.with_cleanup(), doing(f"Building {version.name}"):
            try:
                place, build = self.builds.get(version.id, version.pack)
            except SourceError as error:
                log = self.builds.log_of(version.id)
                where = f"; the log is in {log}" if log.exists() else ""
                text = f"{version.name} cannot be built: {error}{where}"
                raise type(error)(text) from error
        isolated = self.conditions.sandbox is not None
        root = (place / build.root).absolute()
        return build.bot.entrant(version.name, version.id[:12], root, sandbox=isolated), build

    def log(self, version: Version) -> Path:
        """Return the file with the log of a version's build. Raises SourceError without one."""
        if version.player:
            raise SourceError(f"{version.name} is a player, which is not built")
        path = self.builds.log_of(version.id)
        if not path.exists():
            raise SourceError(f"{version.name} has not been built yet: playout-lab test builds it")
        return path

    def specification(
        self,
        trial: VersionTest,
        entrants: Sequence[Built],
        *,
        rounds: int = 0,
        show: Callable[[str], None] = lambda text: None,
    ) -> TournamentSpec:
        """Return the tournament of a test, or with `rounds` that of a confirmation.

        `show` is told if a confirmation uses openings of its test again. Raises SpecFileError.
        """
        conditions = self.conditions
        sandbox = conditions.sandbox
        for _, build in entrants:
            if build and sandbox:
                sandbox = build.bot.sandbox(sandbox)
        keys = ("elo1", "alpha", "beta", "without_luck")
        terms = {key: getattr(conditions, key) for key in keys}
        values: dict[str, Any] = {
            "name": " against ".join(reversed(trial.names[:2]))
            + (f" and {len(trial.names) - 2} more" if len(trial.names) > 2 else ""),
            "games": list(conditions.games),
            "format": "match" if rounds else "race",
            "rounds": rounds,
            "clock": conditions.clock,
            # Fresh pairs have openings of their own.
            "seed": conditions.seed + (trial.number if rounds else 0),
            "openings": dict(conditions.openings),
            "adjudication": dict(conditions.adjudication),
            "evaluation": conditions.evaluation,
            "core_speed": conditions.core_speed,
            "entrants": [entrant_table(each) for each, _ in entrants],
        }
        if not rounds:
            values["betting"] = {**terms, "tried": trial.tried}
        if conditions.concurrency:
            values["concurrency"] = conditions.concurrency
        if sandbox and any(each.sandbox for each, _ in entrants):
            values["sandbox"] = sandbox_table(sandbox)
        spec = spec_file.valid(values, self._folder)
        if rounds:
            test = next(each for each in self.journal if each.number == trial.of)
            database = Database(self.journal.database(test), only_read=True)
            with contextlib.closing(database) as stored:
                ledger = stored_ledger(stored_tournament(stored, None))
            fresh, few = unused(spec.openings, ledger.spec, ledger.pairs)
            spec = replace(spec, openings=fresh)
            for game, number in few.items():
                show(
                    f"{game}: the test has left {counted(number, 'opening')}, fewer than "
                    f"{FEWEST_OPENINGS}, so that the confirmation uses those of the test again"
                )
        return spec

    def require_players(self, entrants: Iterable[Built]) -> None:
        """Raise SpecFileError unless the players among the entrants can play the games."""
        players = tuple(each for each, _ in entrants if each.player)
        if players:
            games = self.conditions.games
            spec_file.check(TournamentSpec("players", games, "match", players), self._folder)

    def play(
        self,
        trial: VersionTest,
        spec: TournamentSpec,
        budget: int,
        *,
        shown: TournamentDisplay | None = None,
        is_enough: Callable[[Ledger], bool] = lambda ledger: False,
        cores: int | None = None,
        cluster: TournamentCluster | None = None,
    ) -> Ledger:
        """Play a test, or go on with it, until it is decided or has `budget` pairs.

        It also ends when `is_enough`. Matches at once use `cores`, by default those of the
        specification. With a `cluster`, its workers play. Raises NotPlayed if it is interrupted or
        fails, ClickException if no worker can play.
        """
        database = self.journal.database(trial)
        prepare_database(database)
        with contextlib.closing(Database(database)) as stored:
            tournament = None
            if stored.tournaments():
                before = stored_tournament(stored, None)
                ledger = stored_ledger(before)
                ledger.pair_limit = budget
                if before.ended or played_pairs(ledger) >= budget:
                    return ledger
                spec, tournament = loads(before.created.spec), before.created.tournament
        request = RunRequest(
            spec,
            tournament,
            notes=notes(spec, cluster),
            anyway=True,  # a version is the digest of its own files
            pair_limit=budget,
            is_enough=lambda ledger: played_pairs(ledger) >= budget or is_enough(ledger),
            at_once=estimate.concurrency(spec, cores) if cores else None,
            program="playout-lab",
            to_resume="the same command; it continues this test",
        )
        choice = ServerChoice(
            server=None,
            name="organizer",
            host=self.conditions.queue.host if cluster else HOST,
            port=0,
            http=self._http,
            stay=False,
            database=database,
        )
        shown = shown or display(budget)
        folder, entrants = self._folder, spec.entrants
        if cluster:  # workers get the files below a folder
            folder = self.builds.folder.absolute()
            entrants = tuple(_relative(each, folder) for each in entrants)
        with played(request, choice, folder, entrants, cluster=cluster, shown=shown) as (runner, _):
            if runner.code or runner.progress is None:
                raise NotPlayed(UNDECIDED if runner.code == 1 else runner.code)
            return runner.progress.ledger

    def take_back(self, trial: VersionTest, matches: Collection[str], text: str) -> None:
        """Take back the results of matches, so that their pairs are played again."""
        with contextlib.closing(Database(self.journal.database(trial))) as stored:
            stored.take_back(matches, text)

    def decided(self, trial: VersionTest, ledger: Ledger) -> VersionTest:
        """Return a test with the verdict that follows from its ledger, stored in the journal."""
        race, names = ledger.race, [each.name for each in ledger.spec.entrants]
        assert race
        state, winner = "undecided", ""
        if race.winner is not None:
            state, winner = "stronger", names[race.winner]
        elif all(each.state == "futile" for each in race.processes.values()):
            state = "not stronger"
        both = Results(ledger).head_to_heads()
        best = max(
            both,
            key=lambda each: (names[each.first] == winner, each.betting and each.betting.log_e),
        )
        return self.journal.put(
            trial, best.elo, state=state, winner=winner, pairs=played_pairs(ledger)
        )

    def version(self, trial: VersionTest, place: int, repository: GitRepository | None) -> Version:
        """Return the version of a test at a place in its names, to be built again."""
        identity = (trial.base, *trial.candidates)[place]

        def pack(upload: Path) -> None:
            if repository is None:
                raise SourceError("its build is gone, and so are its files: test it again")
            with upload.open("wb") as file:
                repository.pack(identity, file)

        player = trial.players[place]
        label = trial.names[place].rpartition(" ")[0]
        return Version(identity, label, player or None, None if player else pack)


def _relative(entrant: Entrant, folder: Path) -> Entrant:
    """Return an entrant whose folder, if it is below another one, is relative to that."""
    own = Path(entrant.folder or "")
    return replace(entrant, folder=str(own.relative_to(folder))) if entrant.folder else entrant


def verdict(trial: VersionTest, ledger: Ledger) -> str:
    """Return the verdict of a decided test in a sentence."""
    base, *candidates = names = [each.name for each in ledger.spec.entrants]
    pairs = f"test {trial.number}, {counted(played_pairs(ledger), 'pair')}"
    if trial.state == "stronger":
        return f"{trial.winner} is stronger than {base} ({pairs})"
    if trial.state == "not stronger":
        who = candidates[0] if len(candidates) == 1 else f"none of the {len(candidates)} candidates"
        return f"{who} is {'not ' if len(candidates) == 1 else ''}stronger than {base} ({pairs})"
    withdrawn = [names[place] for place in ledger.withdrawn]
    if withdrawn:
        why = f"{', '.join(withdrawn)} crashed again and again"
    elif ledger.pair_limit is not None and played_pairs(ledger) >= ledger.pair_limit:
        why = "a larger --pairs continues it"
    elif ledger.race and ledger.race.is_over:
        why = "the matches repeat themselves: more openings are needed"
    elif ledger.over:
        why = "the server has ended its matches, as without an evaluation: use other conditions"
    else:
        why = "a larger --pairs continues it"
    return f"undecided whether a candidate is stronger than {base} ({pairs}): {why}"
