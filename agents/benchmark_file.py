"""The file of a benchmark: its models, games, opponents, prompts and limits.

A contestant is a model with a form of prompts, or a player of Playout. The digest of a contest has
all on which its matches depend: matches are kept while other parts of the file change.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import random
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from playout import players
from playout.agents.prompts import BOARDS, PromptForm
from playout.agents.solved_positions import SolvedEntry, SolvedPosition, entries, solve
from playout.agents.variants import GameVariant, known, opening, variant
from playout.commands import toml_table
from playout.commands.options import registered
from playout.commands.toml_table import Check, TomlError, TomlTable
from playout.games import Game, SpecError
from playout.players.best import LEVELS
from playout.players.engines.config import EngineConfig
from playout.ratings.pairs import OpeningError

#: The opponent that stands for all other models.
MODELS = "models"
#: The opponents by default, from the weakest to the strongest.
ANCHORS = ("random", *LEVELS)
#: The form of prompts by default.
USUAL_FORM = PromptForm()
_MILLION = 1e6
#: Seeds of variants that each seed of a benchmark has.
_SEEDS = 1000


@dataclass(frozen=True)
class ModelConfig:
    """A model: a `command`, an `endpoint` with the name of the model there, or a port for MCP.

    `address` and `key` are the names of environment variables. `parameters` are further fields of
    each request, `rate` is the maximum number of requests a minute, 0 for no limit. Prices are for
    a million tokens.
    """

    name: str
    command: str = ""
    endpoint: str = ""
    mcp: int = 0
    address: str = "OPENAI_BASE_URL"
    key: str = "OPENAI_API_KEY"
    tokens_field: str = "max_tokens"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    concurrency: int = 1
    rate: float = 0.0
    prompt_price: float = 0.0
    completion_price: float = 0.0

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of an answer."""
        paid = prompt_tokens * self.prompt_price + completion_tokens * self.completion_price
        return paid / _MILLION

    def program(self, folder: Path) -> EngineConfig:
        """Return the command as a program in a folder."""
        return EngineConfig(self.name, tuple(shlex.split(self.command)), "lines", folder)


@dataclass(frozen=True)
class BenchmarkContestant:
    """A model with its form of prompts, or a `player` with its options."""

    name: str
    player: str = ""
    model: ModelConfig | None = None
    form: PromptForm = USUAL_FORM

    @property
    def definition(self) -> tuple[object, ...]:
        """Everything on which its moves depend."""
        if not self.model:
            return (self.player,)
        found = self.model
        told = (found.name, found.command, found.endpoint, sorted(found.parameters.items()))
        return (*told, str(self.form))


@dataclass(frozen=True)
class Contest:
    """Up to `pairs` pairs of matches between two contestants in a game; `digest` names them."""

    game: GameVariant
    two: tuple[BenchmarkContestant, BenchmarkContestant]
    pairs: int
    digest: str

    @property
    def owner(self) -> str:
        """The name of the first model; empty between players."""
        return self.two[0].model.name if self.two[0].model else ""


@dataclass(frozen=True)
class Question:
    """A solved position in which a model is asked once for a move; `id` names the match.

    The prompt and the answer of a position that `is_held_out` are neither stored nor shown.
    """

    game: GameVariant
    who: BenchmarkContestant
    solved: SolvedPosition
    is_held_out: bool
    id: str


@dataclass(frozen=True)
class Benchmark:
    """A benchmark. `pairs` is the maximum for each contest, `calibration` that between players.

    Further attempts at a move after a fault are `retries`; `seconds` and `tokens` limit an answer,
    `cost` is the budget. A model has no more pairs in a game once its rating relative to the
    nearest opponent is known to ±`certain` Elo. Each game has that many `variants`. Each model gets
    up to that many `solved` positions of each game and variant, half of which are held out.
    """

    name: str
    games: tuple[Game, ...]
    models: tuple[ModelConfig, ...]
    opponents: tuple[str, ...] = ANCHORS
    prompts: tuple[PromptForm, ...] = (USUAL_FORM,)
    pairs: int = 20
    calibration: int = 20
    plies: int = 2
    seed: int = 1
    variants: int = 0
    certain: float = 0.0
    solved: int = 40
    retries: int = 2
    seconds: float = 60.0
    tokens: int = 2000
    cost: float | None = None

    @functools.cached_property
    def played(self) -> tuple[GameVariant, ...]:
        """The games as they are known, each before its variants. Raises SpecError."""
        seeds = range(self.seed * _SEEDS + 1, self.seed * _SEEDS + 1 + self.variants)
        return tuple(
            each
            for game in self.games
            for each in (known(game), *(variant(game, seed, self.plies) for seed in seeds))
        )

    @property
    def contestants(self) -> list[BenchmarkContestant]:
        """The models, each with each form of prompts."""
        several = len(self.prompts) > 1
        return [
            BenchmarkContestant(
                f"{model.name} ({form})" if several else model.name, "", model, form
            )
            for model in self.models
            for form in self.prompts
        ]

    @property
    def anchors(self) -> list[BenchmarkContestant]:
        """The players among the opponents, from random over the levels to others."""
        listed = [each for each in self.opponents if each != MODELS]
        listed.sort(key=lambda each: (*ANCHORS, each).index(each))
        return [
            BenchmarkContestant(each.capitalize(), f"best(level={each})")
            if each in LEVELS
            else BenchmarkContestant(each, each)
            for each in listed
        ]

    def contests(self) -> Iterator[Contest]:
        """Yield the contests of models, and those by which the opponents are calibrated."""
        anchors, models = self.anchors, self.contestants
        for game in self.played:
            for two in itertools.product(models, anchors):
                yield self._contest(game, two, self.pairs)
            for one, other in itertools.combinations(models, 2):
                if MODELS in self.opponents and one.form == other.form:
                    yield self._contest(game, (one, other), self.pairs)
            for two in itertools.pairwise(anchors):
                yield self._contest(game, two, self.calibration)

    def _contest(
        self, game: GameVariant, two: tuple[BenchmarkContestant, BenchmarkContestant], pairs: int
    ) -> Contest:
        both = tuple(each.definition for each in two)
        terms = (self.retries, self.seconds, self.tokens) if any(each.model for each in two) else ()
        told = (game.definition, both, self.plies, self.seed, terms)
        return Contest(game, two, pairs, _digest(told))

    @functools.cached_property
    def questions(self) -> tuple[Question, ...]:
        """The solved positions of the games and variants, for each model.

        Each second one is held out. Those that are not stored are solved, which takes seconds.
        """
        return tuple(
            Question(game, who, entry.of(game.game), bool(place % 2), _digest(told))
            for game in self.played
            for place, entry in enumerate(self._chosen(game))
            for who in self.contestants
            for told in [(game.definition, who.definition, self.seconds, self.tokens, entry)]
        )

    def _chosen(self, game: GameVariant) -> Iterable[SolvedEntry]:
        """Return solved positions of a game; whether one is held out depends on no seed."""
        stored = entries().get(str(game.game))
        if stored is None:
            return solve(game.game, self.solved)
        drawn = random.Random(self.seed)
        halves = [drawn.sample(half, len(half)) for half in (stored[::2], stored[1::2])]
        return itertools.islice(itertools.chain(*zip(*halves, strict=False)), self.solved)


def _digest(told: object) -> str:
    return hashlib.sha256(repr(told).encode()).hexdigest()[:12]


def _for_json(value: object) -> dict[str, object]:
    """Return a table that JSON can represent; raise ValueError for any other value."""
    table = toml_table.table(value)
    try:
        json.dumps(table, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError("must have values of JSON: no dates, nan or inf") from None
    return table


#: The checks of the keys of a benchmark, of a prompt and of a model, by their names.
KEYS: Mapping[str, Check[Any]] = {
    "pairs": toml_table.whole(1, 100_000),
    "calibration": toml_table.whole(0, 100_000),
    "plies": toml_table.whole(0, 1000),
    "seed": toml_table.whole(0, 2**53 - 1),
    "variants": toml_table.whole(0, 100),
    "certain": toml_table.number(0, 1000),
    "solved": toml_table.whole(0, 1000),
    "retries": toml_table.whole(0, 100),
    "seconds": toml_table.number(0.1, 86_400),
    "tokens": toml_table.whole(1, 10_000_000),
    "cost": toml_table.number(0, 1e9),
}
PROMPT_KEYS: Mapping[str, Check[Any]] = {
    "board": toml_table.one_of("board", BOARDS),
    "legal": toml_table.truth,
    "history": toml_table.truth,
}
MODEL_KEYS: Mapping[str, Check[Any]] = {
    "command": toml_table.command,
    "endpoint": toml_table.visible(200),
    "mcp": toml_table.whole(1, 65535),
    "address": toml_table.visible(100),
    "key": toml_table.visible(100),
    "tokens_field": toml_table.visible(100),
    "parameters": _for_json,
    "concurrency": toml_table.whole(1, 64),
    "rate": toml_table.number(0, 1e6),
    "prompt_price": toml_table.number(0, 1e6),
    "completion_price": toml_table.number(0, 1e6),
}


def read(path: Path) -> Benchmark:
    """Return the benchmark of a file. Raises UsageError with a line for each fault."""
    try:
        values, faults = toml_table.load(toml_table.text_of(path), str(path))
    except TomlError as error:
        raise click.UsageError(str(error)) from error
    top = TomlTable(values, (), "a benchmark", faults)
    usual = Benchmark("", (), ())
    if "games" not in top:
        top.fault("a benchmark needs games", "games")
    loaded = top.elements("games", _game, None) if "games" in top else []
    listed = top.elements("opponents", toml_table.player, "") if "opponents" in top else ANCHORS
    forms = top.tables("prompts", "a prompt") if "prompts" in top else ()
    found = Benchmark(
        name=top.take("name", toml_table.visible(100), path.stem),
        games=tuple(each for each in loaded if each),
        models=tuple(_model(each, path) for each in top.tables("models", "a model")),
        opponents=tuple(listed),
        prompts=tuple(replace(USUAL_FORM, **_taken(each, PROMPT_KEYS)) for each in forms)
        or usual.prompts,
        **{key: top.take(key, check, getattr(usual, key)) for key, check in KEYS.items()},
    )
    top.close()
    if not faults.found:
        _check(found, top)
    if faults.found:
        raise click.UsageError(faults.text())
    return found


def _game(value: object) -> Game:
    try:
        return toml_table.game(registered(toml_table.text(value)))
    except click.UsageError as error:
        raise ValueError(error.message) from error


def _taken(table: TomlTable, keys: Mapping[str, Check[Any]]) -> dict[str, Any]:
    """Return the values that a table has for some keys; any other key is a fault."""
    found = {key: table.take(key, check, None) for key, check in keys.items() if key in table}
    table.close()
    return {key: value for key, value in found.items() if value is not None}


def _model(table: TomlTable, path: Path) -> ModelConfig:
    """Return the model of a table; if that has faults, the result is not used."""
    name = table.need("name", toml_table.visible(27), "model")
    ways = [key for key in ("command", "endpoint", "mcp") if key in table]
    model = ModelConfig(name, **_taken(table, MODEL_KEYS))
    own = {"model", "messages", model.tokens_field} & model.parameters.keys()
    for key in sorted(own):
        table.fault(f"parameters: {key} is a field that each request has", "parameters")
    if len(ways) != 1:
        table.fault("a model needs one of command, endpoint and mcp")
    elif model.command:
        try:
            model.program(path.absolute().parent).require_program()
        except SpecError as error:
            table.fault(str(error).replace("the engine", "the model"), "command")
    return model


def _check(found: Benchmark, top: TomlTable) -> None:
    """Add a fault for names that are used twice, and for opponents that cannot play a game."""
    both = [*found.contestants, *found.anchors]
    for one, other in itertools.combinations(both, 2):
        if one.name == other.name or one.definition == other.definition:
            text = f"{one.name} and {other.name} are the same, or have the same name"
            top.fault(f"{text}: list each model, prompt and opponent once", "models")
    if len(found.models) == 1 and set(found.opponents) == {MODELS}:
        top.fault("opponents: there is no other model, and no player", "opponents")
    if len(set(map(str, found.games))) < len(found.games):
        top.fault("games: a game is listed twice", "games")
        return
    try:
        played = found.played
    except SpecError as error:
        top.fault(f"variants: {error}", "variants")
        return
    for game in played:
        try:
            opening(game.books(found.plies, found.seed), 0)
        except OpeningError as error:
            top.fault(f"games: {error}", "games")
        for each in found.anchors:
            try:
                players.load(each.player, game.game).close()
            except SpecError as error:
                top.fault(f"opponents: {error}", "opponents")
    if found.cost is not None and not any(
        each.prompt_price or each.completion_price for each in found.models
    ):
        top.fault("cost: no model has a prompt_price or a completion_price", "cost")
