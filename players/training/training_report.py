"""The curves of a run: an HTML file in the style of tournament reports, or one of TensorBoard."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

import msgspec

from playout.commands.html_page import page, section
from playout.players.training import TrainingError
from playout.players.training.run_folder import (
    EvaluationRound,
    NetRound,
    RoundRecord,
    ScoreRecord,
    duration,
)
from playout.players.training.settings import TrainingSettings
from playout.ratings import plot
from playout.ratings.plot import Plane

_HEIGHT = 220
#: A curve: a title, the number of a record, and the bounds of the axis where they are given.
Curve = tuple[str, str, tuple[float, float] | None]
_VALUE: Curve = (
    "Value of the first position, for the player to move",
    "value_of_start",
    (-1.05, 1.05),
)
_RESULTS: tuple[Curve, ...] = (
    ("Games that the first player wins", "first_player_wins", (0, 1)),
    ("Ties", "ties", (0, 1)),
)
_CURVES: Mapping[type[RoundRecord], tuple[Curve, ...]] = {
    NetRound: (
        _VALUE,
        ("Loss of the policy (cross entropy)", "policy_loss", None),
        ("Loss of the value (squared error)", "value_loss", None),
        ("Entropy of the net's policy, in nats", "policy_entropy", None),
        ("Positions where the net's best action is the search's", "agreement", (0, 1)),
        *_RESULTS,
        ("Plies of a game", "plies", None),
        ("Evaluations a second", "evaluations_per_s", None),
    ),
    EvaluationRound: (
        _VALUE,
        *_RESULTS,
        ("Weights that have been changed", "weights_met", (0, 1)),
        ("Mean step size of these weights", "step_size", (0, 1)),
        ("Positions a second", "positions_per_s", None),
    ),
}


def write(
    settings: TrainingSettings,
    records: Sequence[RoundRecord],
    scores: Sequence[ScoreRecord],
) -> str:
    """Return the page for one or more records, with curves over the work done (`_millions`)."""
    body = ["<ul>", *(f"<li>{escape(line)}</li>" for line in _summary(settings, records[-1]))]
    body.append("</ul>")
    for opponent, terms in dict.fromkeys((each.opponent, each.terms) for each in scores):
        own = [each for each in scores if (each.opponent, each.terms) == (opponent, terms)]
        body.append(section(f"Elo against {opponent}, {terms}", _elo(records, own)))
    for title, name, bounds in _CURVES[type(records[-1])]:
        points = [(_millions(each), float(getattr(each, name))) for each in records]
        body.append(section(title, _curve(title, points, bounds)))
    return page(f"Training of {settings.game}", body)


def write_tensorboard(folder: Path, records: Sequence[RoundRecord]) -> None:
    """Add an event file with the numbers of the rounds to a folder.

    Raises TrainingError if the package for that is missing, or the file cannot be written.
    """
    try:
        tensorboard = importlib.import_module("tensorboardX")
    except ImportError as error:
        raise TrainingError(
            "an event file needs the package tensorboardX, which is missing: "
            'pip install ".[tensorboard]" in a checkout of Playout'
        ) from error
    try:
        with tensorboard.SummaryWriter(str(folder)) as writer:
            for each in records:
                for name, value in msgspec.structs.asdict(each).items():
                    if isinstance(value, int | float) and name not in ("round", "time"):
                        writer.add_scalar(name, value, each.round, walltime=each.time)
    except OSError as error:
        raise TrainingError(f"{folder}: cannot be written: {error.strerror or error}") from error


def _summary(settings: TrainingSettings, last: RoundRecord) -> Iterator[str]:
    yield f"{settings.learned}, seed {settings.seed}"
    yield f"{last.round} rounds in {duration(last.seconds)}: {last.games:,} games"
    unit = "positions"
    if isinstance(last, NetRound):
        unit = "evaluations"
        yield f"{last.positions:,} samples, {last.evaluations:,} evaluations"
    yield f"The axis at the bottom of each curve is in millions of {unit}"


def _millions(record: RoundRecord) -> float:
    """Return the evaluations of a net, or the positions that an evaluation has learned from."""
    return (record.evaluations if isinstance(record, NetRound) else record.positions) / 1e6


def _across(records: Sequence[RoundRecord]) -> tuple[float, float]:
    return 0.0, max(1e-6, _millions(records[-1]))


def _curve(
    title: str, points: Sequence[tuple[float, float]], bounds: tuple[float, float] | None
) -> str:
    up = bounds or plot.around([value for _, value in points])
    plane = Plane((0.0, max(1e-6, points[-1][0])), up, _HEIGHT)
    parts = [*_grid(plane, points[-1][0]), plane.curve("curve", points)]
    return plot.svg(title, _HEIGHT, parts)


def _elo(records: Sequence[RoundRecord], scores: Sequence[ScoreRecord]) -> str:
    """Return a plot of Elo with 95 % intervals; an infinite end is at the edge."""
    millions = {each.round: _millions(each) for each in records}
    known = [
        each
        for one in scores
        for each in (one.score.elo, one.score.elo_low, one.score.elo_high)
        if each is not None
    ]
    low, high = plot.around([*known, 0.0])
    plane = Plane(_across(records), (low, high), _HEIGHT)
    parts = [*_grid(plane, _across(records)[1])]
    for one in sorted(scores, key=lambda each: each.round):
        x, score = millions.get(one.round, 0.0), one.score
        ends = [
            (x, low if score.elo_low is None else score.elo_low),
            (x, high if score.elo_high is None else score.elo_high),
        ]
        parts.append(plane.curve("bar", ends))
        if score.elo is not None:
            parts.append(plane.dot("dot", (x, score.elo)))
    return plot.svg("Elo with 95% error bars", _HEIGHT, parts)


def _grid(plane: Plane, last: float) -> Iterator[str]:
    """Yield grid lines at round numbers; those of the bottom axis are millions."""
    yield from plane.level_grid()
    marks = plot.Axis(0.0, max(1e-6, last)).marks()
    yield from plane.upright_grid((each, f"{each:g} M") for each in marks)
