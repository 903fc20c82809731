"""The settings of a run: a TOML file, with defaults that follow from the size of the game.

Each setting has a check and a meaning (`Key`). They are used to write the file of a new run, and to
check a file; a fault is reported with its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from playout import games
from playout.commands import toml_table
from playout.commands.toml_table import (
    Check,
    TomlError,
    TomlTable,
    number,
    one_of,
    truth,
    visible,
    whole,
)
from playout.games import Game, KernelGame, SpecError
from playout.players.nets.encoding import block_side
from playout.players.nets.graph import Architecture
from playout.players.nets.net import EXTRAS, PRECISIONS
from playout.players.training import TrainingError

#: What a run learns.
NET, EVALUATION = KINDS = ("net", "evaluation")
#: The name of the key in the metadata of a field.
_KEY = "key"
#: The ways in which the learning rate changes during a run.
SCHEDULES = ("constant", "cosine")
_MANY = 10**9
#: Largest values of settings that are also options of commands.
MOST_SEED, MOST_ROUNDS, MOST_EVALUATIONS, MOST_MINUTES = 2**63 - 1, _MANY, 10**15, 10_000_000
MOST_GAMES = 10**12
MOST_WORKERS = 1024
#: Maximum number of bytes that a worker reserves for its games, of which it uses few; minimum
#: number of games.
_RESERVED, _LEAST_GAMES = 2**32, 8


class Key(NamedTuple):
    """The check of a value, its meaning for the comment in the file, and the runs that have it."""

    check: Check[Any]
    meaning: str
    kinds: tuple[str, ...] = (NET,)


def _key(default: object, check: Check[Any], meaning: str, *kinds: str) -> Any:
    """Return a field of settings, for runs of the given kinds, by default those of nets."""
    key = Key(check, meaning, kinds or (NET,))
    return field(default=default, metadata={_KEY: key})


def _keys_of(settings: type) -> dict[str, Key]:
    """Return the keys of a class of settings, by name."""
    found = ((each.name, each.metadata.get(_KEY)) for each in fields(settings))
    return {name: key for name, key in found if key}


@dataclass(frozen=True)
class SelfPlaySettings:
    """How games are played; with the defaults, a net learned mnk(m=6,n=6,k=4) in minutes."""

    games: int = _key(128, whole(1, 4096), "games that a worker plays at a time: the net's batch")
    simulations: int = _key(128, whole(2, 100_000), "of a full search, whose move is a sample")
    quick_simulations: int = _key(24, whole(2, 100_000), "of the other searches")
    full_share: float = _key(0.25, number(0.01, 1), "share of the moves that become samples")
    c_puct: float = _key(1.5, number(0, 100), "exploration constant of PUCT")
    fpu_reduction: float = _key(
        0.25, number(0, 2), "unvisited moves: the parent's value minus this"
    )
    dirichlet_alpha: float = _key(
        10.0, number(0.01, 1000), "noise at the root, divided by the number of actions"
    )
    noise: float = _key(0.25, number(0, 1), "share of the noise in the policy at the root")
    temperature_plies: int = _key(
        6, whole(0, 1000), "first moves of a game, which are drawn in proportion to their visits"
    )
    random_openings: float = _key(0.5, number(0, 1), "share of the games with random first moves")
    opening_plies: int = _key(4, whole(0, 100), "maximum number of random first moves")
    handicap_games: float = _key(
        0.0, number(0, 1), "share in which one player moves by the policy alone"
    )
    solver: bool = _key(True, truth, "proven results count instead of the net's value")
    decisive: bool = _key(True, truth, "the search sees wins and losses within two moves")
    playout_rounds: int = _key(
        0, whole(0, 10_000), "first rounds, in which playouts evaluate, no net"
    )
    playout_simulations: int = _key(
        1000, whole(2, 100_000), "of a full search in them; quick ones in proportion"
    )


@dataclass(frozen=True)
class LearningSettings:
    """How the net is trained."""

    positions_per_round: int = _key(3000, whole(1, _MANY), "samples between two nets")
    least_rounds: int = _key(4, whole(1, 10_000), "last rounds from which the net learns, at first")
    most_rounds: int = _key(25, whole(1, 10_000), "last rounds from which the net learns, finally")
    batch: int = _key(256, whole(1, 65_536), "samples of a step")
    positions_per_step: int = _key(24, whole(1, 65_536), "a step for this many new samples")
    learning_rate: float = _key(2e-3, number(0, 1), "of AdamW")
    schedule: str = _key("cosine", one_of("schedule", SCHEDULES), "constant, or cosine down to 0")
    weight_decay: float = _key(1e-4, number(0, 1), "of AdamW")
    averaging: float = _key(
        0.99, number(0, 0.99999), "decay of the moving average that is the playing net"
    )
    outcome_weight: float = _key(
        0.5, number(0, 1), "of the result; the rest is of the search's value"
    )
    symmetries: bool = _key(True, truth, "turn and reflect samples at random")


@dataclass(frozen=True)
class Limits:
    """The limits of a run, which ends at the first of them; 0 is no limit."""

    rounds: int = _key(0, whole(0, MOST_ROUNDS), "rounds of self-play and learning", *KINDS)
    evaluations: int = _key(
        0, whole(0, MOST_EVALUATIONS), "positions that the net evaluates in self-play"
    )
    games: int = _key(0, whole(0, MOST_GAMES), "games of self-play", *KINDS)
    minutes: float = _key(
        0.0, number(0, MOST_MINUTES), "of training; interruptions are not counted", *KINDS
    )


@dataclass(frozen=True)
class ProcessSettings:
    """How a run uses the machine."""

    workers: int = _key(
        0, whole(0, MOST_WORKERS), "processes or threads that play; 0: one for each core", *KINDS
    )
    backend: str = _key(
        "auto", one_of("backend", ("auto", *EXTRAS)), "runtime of nets; auto: the faster one"
    )
    precision: str = _key("auto", one_of("precision", PRECISIONS), "of self-play")
    overlap: bool = _key(False, truth, "play with the last net while the next one learns")
    keep_every: int = _key(
        10,
        whole(1, _MANY),
        "keep the result of each of this many rounds, the first and the last two",
        *KINDS,
    )
    seconds_per_round: float = _key(
        10.0, number(0.1, 86_400), "after which the evaluation is stored", EVALUATION
    )


@dataclass(frozen=True)
class TrainingSettings:
    """All settings of a run; together with the machine, they determine it.

    A run that learns an evaluation has no use for some of them: see `Key.kinds`.
    """

    game: Game
    kind: str = _key(NET, one_of("kind", KINDS), "what is learned: a net, or an evaluation", *KINDS)
    seed: int = _key(
        1, whole(0, MOST_SEED), "the same seed and one worker give the same result", *KINDS
    )
    author: str = _key(
        "unknown", visible(200), "for the metadata of what is learned: your name", *KINDS
    )
    licence: str = _key(
        "unknown", visible(200), "for the metadata of what is learned, such as MIT", *KINDS
    )
    net: Architecture = field(default_factory=Architecture)
    self_play: SelfPlaySettings = field(default_factory=SelfPlaySettings)
    learning: LearningSettings = field(default_factory=LearningSettings)
    limits: Limits = field(default_factory=Limits)
    processes: ProcessSettings = field(default_factory=ProcessSettings)

    @property
    def learned(self) -> str:
        """What the run learns, in words."""
        if self.kind == EVALUATION:
            return "An evaluation"
        return f"A net of {self.net.blocks} blocks of {self.net.filters} filters"


#: The keys above the tables, besides the game.
TOP: Mapping[str, Key] = _keys_of(TrainingSettings)

#: The tables of the file, which are fields of `TrainingSettings`, and their keys.
TABLES: Mapping[str, Mapping[str, Key]] = {
    "net": {
        "blocks": Key(whole(0, 40), "residual blocks of two 3x3 convolutions"),
        "filters": Key(whole(1, 1024), "planes between the convolutions"),
        "head_planes": Key(whole(1, 256), "planes of the policy and value heads"),
        "value_hidden": Key(whole(1, 4096), "units of the value head"),
    },
    "self_play": _keys_of(SelfPlaySettings),
    "learning": _keys_of(LearningSettings),
    "limits": _keys_of(Limits),
    "processes": _keys_of(ProcessSettings),
}
#: Time in which an evaluation is learned.
_EVALUATION_MINUTES = 5.0
_COMMENTS = {
    "limits": "The run ends at the first of these; 0: no limit.",
}


def defaults(game: Game, kind: str = NET) -> TrainingSettings:
    """Return settings for the size of a game: its cells, its actions and its longest match.

    The nets of most games are below a megabyte, and learning takes an evening on a small machine;
    an evaluation takes minutes.
    """
    if kind == EVALUATION:
        return TrainingSettings(game, kind, limits=Limits(minutes=_EVALUATION_MINUTES))
    view = game.view(game.initial_state())
    cells = view.rows * view.columns
    plies = game.max_plies
    self_play = SelfPlaySettings(
        games=max(_LEAST_GAMES, min(SelfPlaySettings().games, _RESERVED // _game_bytes(game))),
        temperature_plies=max(2, min(8, plies // 6)),
        opening_plies=max(1, min(4, plies // 6)),
    )
    return TrainingSettings(
        game, net=_net(game, cells), self_play=self_play, limits=Limits(evaluations=680_000 * cells)
    )


def _game_bytes(game: Game) -> int:
    """Estimate the memory that a game of self-play reserves: its samples twice, and its tree."""
    sample = 8 * len(game.initial_state()) + 4 * game.num_actions
    tree = 40 * SelfPlaySettings().simulations * game.num_actions
    return 2 * game.max_plies * sample + tree


def _net(game: Game, cells: int) -> Architecture:
    if block_side(game) > 1:  # few cells, one for each block
        return Architecture(blocks=2, filters=64, head_planes=32)
    filters = 32 if cells <= 64 else 40
    return Architecture(filters=filters, head_planes=_head_planes(cells, game.num_actions))


def _head_planes(cells: int, actions: int) -> int:
    """Return the maximum number of planes, 2 to 8, with dense layers of at most 130,000 weights."""
    return max(2, min(8, 130_000 // (cells * (actions + Architecture().value_hidden))))


def parse(text: str, where: str) -> TrainingSettings:
    """Return the settings of a text. A key that is missing has the default of the game.

    Raises TrainingError with all faults, a line for each; `where` names the text in them.
    """
    try:
        values, faults = toml_table.load(text, where)
    except TomlError as error:
        raise TrainingError(str(error)) from None
    top = TomlTable(values, (), "the settings", faults)
    game = top.need("game", toml_table.game, games.load("tic_tac_toe"))
    taken = {
        key: top.take(key, each.check, getattr(TrainingSettings, key)) for key, each in TOP.items()
    }
    try:
        if taken["kind"] == NET:
            game.require_no_chance("playout-train trains no nets of")
    except SpecError as error:
        raise TrainingError(f"{error}; set kind = 'evaluation'") from None
    settings = replace(defaults(game, taken["kind"]), **taken)
    for name, keys in tables_of(settings.kind).items():
        table = top.table(name, f"[{name}]")
        settings = replace(settings, **{name: _taken(table, keys, getattr(settings, name))})
    top.close()
    if faults.found:
        raise TrainingError(faults.text())
    return settings


def tables_of(kind: str) -> Mapping[str, Mapping[str, Key]]:
    """Return the part of `TABLES` with the keys for a kind of run, without empty tables."""
    keys = {
        name: {key: each for key, each in table.items() if kind in each.kinds}
        for name, table in TABLES.items()
    }
    return {name: table for name, table in keys.items() if table}


def text_of(settings: TrainingSettings) -> str:
    """Return the file of these settings, with a comment on each key."""
    lines = [f"game = {toml_table.notation(str(settings.game))}", *_written(settings, TOP)]
    for name, keys in tables_of(settings.kind).items():
        lines += ["", f"[{name}]"]
        lines += [f"# {_COMMENTS[name]}"] if name in _COMMENTS else []
        lines += _written(getattr(settings, name), keys)
    return "\n".join(lines) + "\n"


def _written(values: Any, keys: Mapping[str, Key]) -> list[str]:
    """Return a line for each key, with its value and its meaning."""
    written = {key: f"{key} = {toml_table.notation(getattr(values, key))}" for key in keys}
    width = max(map(len, written.values()))
    return [f"{written[key]:{width}}  # {each.meaning}" for key, each in keys.items()]


def _taken(table: TomlTable, keys: Mapping[str, Key], usual: Any) -> Any:
    """Return the values of a table, with the defaults of the game where it has none."""
    taken = {key: table.take(key, each.check, getattr(usual, key)) for key, each in keys.items()}
    table.close()
    return replace(usual, **taken)


def trainable(game: Game) -> KernelGame:
    """Return a game for which a net can be trained. Raises TrainingError for any other."""
    if not isinstance(game, KernelGame):
        raise TrainingError(
            f"{game}: training needs compiled rules, as all games that come with Playout have; "
            "see docs/writing-a-game.md"
        )
    view = game.view(game.initial_state())
    if any(view.kinds):
        raise TrainingError(
            f"{game}: has pieces of several kinds, which the input of a net does not distinguish"
        )
    if view.counts:
        raise TrainingError(
            f"{game}: has several pieces on a cell, which the input of a net does not count"
        )
    return game
