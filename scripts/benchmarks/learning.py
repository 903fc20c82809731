"""Evaluations a second of alphazero and of self-play, against the bare net in the same run.

The nets have random weights, which are as fast as trained ones. But random play is deeper in some
games, and shallower in others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from playout import games, players
from playout.games import KernelGame, Position
from playout.games.core.spec import Spec
from playout.players import Limit
from playout.players.nets import graph
from playout.players.nets.encoding import Encoding
from playout.players.nets.graph import Architecture
from playout.players.nets.net import Net, installed, load
from playout.players.training.samples import Played
from playout.players.training.self_play import SelfPlay
from playout.players.training.settings import SelfPlaySettings
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import Sample, alternate, rate

PLAY_BATCHES = (1, 8, 64)
SELF_PLAY_BATCHES = (64, 128)
#: The batch that alphazero has by default, and those of self-play, have targets.
PLAY_TARGET = Target("share", at_least=0.5)
SELF_PLAY_TARGET = Target("inside", at_least=0.7)


class Setting(NamedTuple):
    """A game with a net, and the runtime that evaluates it."""

    game: str
    size: str
    net: Path
    backend: str


def sizes(bench: Bench) -> dict[str, Architecture]:
    """Return the nets to measure, by the game."""
    small = {"mnk(m=6,n=6,k=4)": Architecture(3, 32)}
    return small if bench.quick else {**small, "mnk(m=8,n=8,k=5)": Architecture(5, 64)}


COLUMNS = (
    Column("game", "game"),
    Column("size", "blocks x filters"),
    Column("backend", "runtime"),
    Column("batch", "batch"),
    Column("bare", "bare net, evaluations/s", ",.0f"),
)
PLAY_COLUMNS = (
    *COLUMNS,
    Column("search", "alphazero, evaluations/s", ",.0f"),
    Column("share", "of the bare net", ".2f"),
)
SELF_PLAY_COLUMNS = (
    *COLUMNS,
    Column("search", "self-play, evaluations/s", ",.0f"),
    Column("games", "games/s", ".1f"),
    Column("inside", "time inside the net", ".2f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each net, runtime and batch: at play, and in self-play."""
    play = ResultTable("Evaluations a second at play, leaves of one tree", PLAY_COLUMNS)
    own = ResultTable("Evaluations a second in self-play, a leaf of each game", SELF_PLAY_COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        settings = [
            Setting(spec, f"{size.blocks} x {size.filters}", _write(Path(folder), spec, size), name)
            for spec, size in sizes(bench).items()
            for name in installed()
        ]
        for setting in bench.track(settings, lambda each: f"{each.game}, {each.backend}"):
            for batch in PLAY_BATCHES:
                _measure_play(bench, play, setting, batch)
            for batch in SELF_PLAY_BATCHES:
                _measure_self_play(bench, own, setting, batch)
    return [play, own]


def _write(folder: Path, spec: str, size: Architecture) -> Path:
    """Write a net with random weights."""
    game, path = games.load(spec), folder / f"{spec}.onnx"
    about = {"author": "a benchmark", "licence": "MIT", "trained": "not at all"}
    graph.write(path, game, size.initial(game, np.random.default_rng(1)), about)
    return path


def _bare(net: Net, batch: int, seconds: float) -> Callable[[], float]:
    """Return a measure of the evaluations a second of the net alone."""
    planes = np.zeros((batch, *Encoding(net.game).shape), dtype=np.float32)

    def evaluate(times: int) -> None:
        for _ in range(times):
            net.evaluate(planes)

    return lambda: batch * rate(evaluate, seconds)


def _measure_play(bench: Bench, table: ResultTable, setting: Setting, batch: int) -> None:
    game, seconds = games.load(setting.game), bench.pick(1.0, 0.2)
    net = load(setting.net, game, backend=setting.backend, batch=batch)
    options = {
        "net": str(setting.net),
        "backend": setting.backend,
        "batch": str(batch),
        "decisive": "false",  # each simulation is an evaluation
        "reuse": "false",
        "seed": "1",
    }
    player = players.load(Spec("alphazero", options), game)

    def search() -> float:
        info = player.choose(Position(game), Limit(seconds=seconds)).info
        assert info is not None
        return info.simulations / info.seconds

    search()
    taken = alternate(bench.pick(7, 3), bare=_bare(net, batch, seconds / 2), search=search)
    player.close()
    net.close()
    table.add(
        PLAY_TARGET if batch == 8 else None,
        **_names(setting, batch),
        **taken,
        share=taken["search"].over(taken["bare"]),
    )


def _measure_self_play(bench: Bench, table: ResultTable, setting: Setting, batch: int) -> None:
    game = games.load(setting.game)
    assert isinstance(game, KernelGame)
    net = load(setting.net, game, backend=setting.backend, batch=batch)
    self_play = SelfPlay(game, SelfPlaySettings(games=batch), seed=1)
    results: list[Played] = []

    def search() -> float:
        result = self_play.play(net.evaluate, bench.pick(600, 200)).played
        results.append(result)
        return result.evaluations / result.seconds

    search()  # the games begin together; later they are at different plies
    results.clear()
    taken = alternate(bench.pick(5, 2), bare=_bare(net, batch, 0.2), search=search)
    net.close()
    table.add(
        SELF_PLAY_TARGET,
        **_names(setting, batch),
        **taken,
        games=Sample(each.games / each.seconds for each in results),
        inside=Sample(each.net_seconds / each.seconds for each in results),
    )


def _names(setting: Setting, batch: int) -> dict[str, str | int]:
    return {
        "game": setting.game,
        "size": setting.size,
        "backend": setting.backend,
        "batch": batch,
    }
