"""Measured ratings of stand-ins for language models, and those of many more matches.

Six stand-ins are measured by `playout-agents`' own code, in this process. Five of known strength
read positions from prompts and answer with the moves of a player, and one chooses the middle one of
the listed moves. One answers nonsense in 30 % of the requests; the number of illegal first answers
must be exactly the number that it gave. *Within*: the rating differs from the true one, of 2,000
other matches against the same opponents, by no more than the root of the sum of the squares of both
95 % errors.

Two more stand-ins play games and their variants. One has memorised the first plies of the known
games: it answers prompts of these with the move of a strong search, and others at random. The
second one always searches. *Drop* is the Elo that they lose in variants.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import statistics
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from playout import games, players
from playout.agents.arena import Arena
from playout.agents.benchmark_file import Benchmark, Contest, ModelConfig
from playout.agents.journal import BenchmarkJournal, EndedMatch, StartedMatch
from playout.agents.measures import Fitted, Measured, ended, fitted, measured, place
from playout.agents.models import ModelAnswer, ModelClient, ModelRequest
from playout.agents.prompts import PromptForm, prompt
from playout.agents.variants import GameVariant
from playout.commands import durable_files
from playout.games import Game, IllegalAction, Position
from playout.players import Limit
from playout.ratings.evidence import Share
from testbed.bench import Bench, Cell, Column, ResultTable, Target

GAMES = (
    "tic_tac_toe",
    "nim(piles=2;3;4)",
    "breakthrough(rows=5,columns=5)",
    "othello(size=4)",
    "connect_four",
)
#: The player of each stand-in, "" for the middle listed move, and its share of nonsense.
STAND_INS = {
    "random": ("random", 0.0),
    "greedy": ("greedy", 0.0),
    "uct 50": ("uct(simulations=50)", 0.0),
    "uct 500": ("uct(simulations=500)", 0.0),
    "nonsense": ("uct(simulations=50)", 0.3),
    "listed": ("", 0.0),
}
OPPONENTS = ("random", "easy", "medium")
#: Pairs against each of the three opponents in a measurement, and in that of the true rating.
SHORT, LONG = 10, 334

#: The games that are varied, and the plies of them that a stand-in remembers.
VARIED, REMEMBERED = ("connect_four", "breakthrough(rows=5,columns=5)"), 12
DROPS = (
    Column("name", "stand-in"),
    Column("elo", "Elo", "+,.0f"),
    Column("drop", "drop", "+,.0f"),
    Column("error", "±", ",.0f"),
)

#: The true ratings of the simulated model and its opponents, and the error of a certain place.
TRUE = {"random": 0, "Easy": 500, "Medium": 760, "Strong": 1020, "Master": 1280, "model": 800}
CERTAIN = 100.0
CERTAINTY = (
    Column("name", "pairs are"),
    Column("pairs", "pairs", ",.1f"),
    Column("within", "intervals with the truth"),
)

COLUMNS = (
    Column("game", "game"),
    Column("name", "stand-in"),
    Column("true", "true Elo", "+,.0f"),
    Column("error", "±", ",.0f"),
    Column("measured", "measured", "+,.0f"),
    Column("measured_error", "±", ",.0f"),
    Column("illegal", "illegal first"),
    Column("exact", "as answered", ",.0f"),
    Column("within", "within"),
)


class RememberingModel(ModelClient):
    """Reads the position of any variant, and answers with the move of a player.

    With `remembered` plies, it does so only in the known games, that many plies from the start;
    elsewhere it plays at random.
    """

    def __init__(self, played: Sequence[GameVariant], player: str, remembered: int | None) -> None:
        self._remembered = math.inf if remembered is None else remembered
        self._played = [each for each in played if remembered is None or not each.seed]
        self._draw, self._lock = random.Random(1), threading.Lock()
        self._players = {str(each): players.load(player, each.game) for each in self._played}

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Return a move of the player, or a random one."""
        text = request.messages[0]["content"]
        with self._lock:
            for each in self._played:
                position = self._read(each, text)
                if position and position.ply < self._remembered:
                    action = self._players[str(each)].choose(position, Limit()).action
                    return ModelAnswer(f"MOVE: {each.name(position, action)}")
            return ModelAnswer(f"MOVE: {self._draw.choice(_listed(text, 'Legal moves'))}")

    def _read(self, played: GameVariant, text: str) -> Position | None:
        """Return the position of a prompt, None if it is the prompt of another variant."""
        position = Position(played.game)
        try:
            for name in _listed(text, "Moves so far"):
                position = position.play(played.parse(position, name))
        except IllegalAction:
            return None
        return position if prompt(position, PromptForm(), played) == text else None


class PlayerModel(ModelClient):
    """Answers with the moves of a player, which finds the position in the prompt."""

    def __init__(self, player: str, share: float, game: Game, seed: int) -> None:
        self._game, self._share = game, share
        self._player = players.load(player, game) if player else None
        self._draw = random.Random(seed)
        self._lock = threading.Lock()
        #: The requests with a first answer, by whether it was nonsense.
        self.first = Counter[bool]()

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Return the move of the player, or nonsense."""
        with self._lock:
            nonsense = self._draw.random() < self._share
            if len(request.messages) == 1:
                self.first[nonsense] += 1
            if nonsense:
                return ModelAnswer("MOVE: a nonsense move", 100, 5)
            prompt = request.messages[0]["content"]
            if self._player is None:
                listed = _listed(prompt, "Legal moves")
                return ModelAnswer(f"MOVE: {listed[len(listed) // 2]}", 100, 5)
            position = Position.from_names(self._game, _listed(prompt, "Moves so far"))
            move = position.name(self._player.choose(position, Limit()).action)
            return ModelAnswer(f"MOVE: {move}", 100, 5)


def _listed(prompt: str, title: str) -> list[str]:
    """Return the names of the moves that a line of a prompt lists."""
    (moves,) = re.findall(rf"^{title}: (.*)$", prompt, re.MULTILINE)
    return [] if moves == "none" else moves.split(", ")


def play(game: Game, pairs: int, seed: int) -> tuple[dict[str, Measured], dict[str, PlayerModel]]:
    """Return what a benchmark of the stand-ins in a game has measured, and the stand-ins."""
    configs = tuple(ModelConfig(f"{name} model", name) for name in STAND_INS)
    clients = {f"{name} model": PlayerModel(*each, game, seed) for name, each in STAND_INS.items()}
    benchmark = Benchmark(
        "", (game,), configs, OPPONENTS, pairs=pairs, calibration=pairs, seed=seed, solved=0
    )
    return {each.name: each for each in results(benchmark, clients)}, clients


def results(benchmark: Benchmark, clients: Mapping[str, ModelClient]) -> list[Measured]:
    """Play a benchmark, and return what it has measured."""
    with (
        tempfile.TemporaryDirectory() as folder,
        durable_files.opened(Path(folder) / "journal.jsonl", "in use") as file,
    ):
        journal = BenchmarkJournal(file)
        arena = Arena(benchmark, journal, clients)
        arena.start()
        arena.ended.wait()
        if arena.reason:
            raise RuntimeError(arena.reason)
        return measured(benchmark, journal, arena.contests)


def drops(bench: Bench) -> ResultTable:
    """Return the Elo that a stand-in with a memory and one that searches lose in variants."""
    benchmark = Benchmark(
        "",
        tuple(map(games.load, VARIED[: bench.pick(None, 1)])),
        tuple(ModelConfig(name, name) for name in ("memory", "search")),
        ("random", "uct(simulations=20)", "uct(simulations=100)"),
        variants=bench.pick(3, 1),
        pairs=bench.pick(20, 4),
        calibration=bench.pick(20, 4),
        solved=0,
    )
    memory = RememberingModel(benchmark.played, "uct(simulations=500,seed=1)", REMEMBERED)
    search = RememberingModel(benchmark.played, "uct(simulations=100,seed=1)", None)
    table = ResultTable(f"Drop from {', '.join(VARIED)} to variants", DROPS)
    for each in results(benchmark, {"memory": memory, "search": search}):
        if each.is_model and each.game == ("" if len(benchmark.games) > 1 else VARIED[0]):
            assert each.elo
            assert each.drop
            drop, error = each.drop.value, each.drop.high - each.drop.value
            target = None if bench.quick else Target("drop", at_least=error)
            if target and each.name == "search":
                target = Target("drop", at_most=error)
            table.add(target, name=each.name, elo=each.elo.value, drop=drop, error=error)
    return table


class DrawnBenchmark:
    """A benchmark whose results are drawn from TRUE ratings."""

    def __init__(self, file: IO[bytes], seed: int) -> None:
        model = ModelConfig("model", "model")
        game = games.load("connect_four")
        self.benchmark = Benchmark("", (game,), (model,), pairs=1000, certain=CERTAIN, solved=0)
        self.journal, self._draw = BenchmarkJournal(file), random.Random(seed)
        self.arena = Arena(self.benchmark, self.journal, {})
        while found := self.arena.next_pair(""):
            self.play(*found)

    def play(self, contest: Contest, pair: int) -> None:
        """Draw the results of both matches of a pair."""
        for letter, two in (("a", contest.two), ("b", contest.two[::-1])):
            one, other = (each.name for each in two)
            match, chance = f"{contest.digest}-{pair}{letter}", expected(TRUE[one] - TRUE[other])
            winner = 1 if self._draw.random() < chance else 2
            started = StartedMatch(match, contest.digest, pair, str(contest.game), (one, other), ())
            self.journal.add(started)
            self.journal.add(EndedMatch(match, winner))

    def place(self) -> tuple[str, Fitted]:
        """Return the nearest opponent, and the rating of the model relative to it."""
        game = str(self.benchmark.games[0])
        matches = list(ended(self.journal, self.arena.contests, game))
        found = place(self.benchmark, matches, fitted(self.benchmark, matches), "model")
        assert found
        return found

    def pairs(self, *, sequential: bool) -> int:
        """Return the number of pairs until the place is certain."""
        own = [each for each in self.arena.contests if each.two[0].model]
        for number in itertools.count():
            if sequential:
                found = self.arena.next_pair("model")
            else:
                is_certain = number and not number % len(own) and self.place()[1].error <= CERTAIN
                found = None if is_certain else (own[number % len(own)], number // len(own))
            if found is None:
                return number
            self.play(*found)
        raise AssertionError("the loop does not end")


def expected(difference: float) -> float:
    """Return the chance to win with an advantage in Elo."""
    return 1 / (1 + 10 ** (-difference / 400))


def certainty(bench: Bench) -> ResultTable:
    """Return the pairs until a place is certain, and the share of intervals with the truth."""
    table = ResultTable(f"Pairs until the place is certain to {CERTAIN:.0f} Elo", CERTAINTY)
    for sequential in (True, False):
        pairs, within = list[float](), 0
        for seed in range(bench.pick(100, 3)):
            with tempfile.TemporaryFile() as file:
                drawn = DrawnBenchmark(file, seed)
                pairs.append(drawn.pairs(sequential=sequential))
                name, (elo, error) = drawn.place()
                within += abs(elo - (TRUE["model"] - TRUE[name])) <= error
        table.add(
            None,
            name="sequential" if sequential else "fixed",
            pairs=statistics.fmean(pairs),
            within=Share(within, len(pairs)),
        )
    return table


def ratings(name: str, short: int, long: int) -> Iterator[tuple[dict[str, Cell], int]]:
    """Yield the cells of each stand-in in a game, of benchmarks with `short` and `long` pairs.

    With each comes the number of its illegal first answers in the short one.
    """
    game = games.load(name)
    truth, _ = play(game, long, 1000)
    found, clients = play(game, short, 1001)
    for model, client in clients.items():
        mine, its = found[model], truth[model]
        assert mine.elo
        assert its.elo
        assert mine.illegal_first
        errors = (mine.elo.high - mine.elo.value, its.elo.high - its.elo.value)
        is_within = abs(mine.elo.value - its.elo.value) <= math.hypot(*errors)
        told = round(mine.illegal_first.value * mine.moves)
        yield (
            {
                "game": name,
                "name": model.removesuffix(" model"),
                "true": its.elo.value,
                "error": errors[1],
                "measured": mine.elo.value,
                "measured_error": errors[0],
                "illegal": Share(told, mine.moves),
                "exact": told,
                "within": "yes" if is_within else "no",
            },
            client.first[True],
        )


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each stand-in and game, and the share of all intervals."""
    names = GAMES[: bench.pick(None, 1)]
    table = ResultTable("Ratings of stand-ins, with 95 % intervals", COLUMNS)
    for _, name in zip(bench.track(names), names, strict=True):
        for cells, answered in ratings(name, *bench.pick((SHORT, LONG), (4, 8))):
            table.add(Target("exact", at_least=answered, at_most=answered), **cells)
    good = [each.cells["within"] for each in table.rows].count("yes")
    columns = (Column("ratings", "ratings"), Column("within", "within"), Column("share", "share"))
    whole = ResultTable("Ratings within their intervals", columns)
    target = None if bench.quick else Target("within", at_least=0.9 * len(table.rows))
    share = Share(good, len(table.rows))
    whole.add(target, ratings=len(table.rows), within=good, share=share)
    return [table, whole, drops(bench), certainty(bench)]
