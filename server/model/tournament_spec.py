"""What a tournament is to be, as its file says."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

MODELS = ("normalized", "logistic")


@dataclass(frozen=True)
class Entrant:
    """One who takes part. Exactly one of `player` and `command`, or neither.

    `player`: a built-in player with its options, `"uct(c=1.2)"`; `command`: a program that connects
    by itself; neither: a name that logs in from elsewhere. `version` is given, or a digest of all
    that decides how it plays; empty where nothing of that is known.
    """

    name: str
    version: str
    player: str | None = None
    command: str | None = None
    threads: int = 1


@dataclass(frozen=True)
class Openings:
    """Where pairs start: `plies` random moves, or the lines of a file; neither: the first position.

    `lines`: the actions of each opening, as the file had them, for each game by name.
    """

    plies: int = 0
    lines: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Adjudication:
    """When a match is ended early: `max_plies`, a tie; 0 for never.

    `proofs`: as soon as the minimax player has proven how it ends.
    """

    max_plies: int = 0
    proofs: bool = False


@dataclass(frozen=True)
class Sprt:
    """A sequential test of `elo0` against `elo1` (entrant 0 over entrant 1).

    `model`: "normalized" or "logistic"; which Elo the bounds are in.
    """

    elo0: float = 0.0
    elo1: float = 5.0
    alpha: float = 0.05
    beta: float = 0.05
    model: str = "normalized"


@dataclass(frozen=True)
class TournamentSpec:
    """A tournament. `rounds`: for each pairing and game, how many pairs; of a Swiss, its rounds.

    Of a sequential test, it is how many at most; 0: as many as it takes.
    """

    name: str
    games: tuple[str, ...]
    format: str
    entrants: tuple[Entrant, ...]
    rounds: int = 1
    clock: str = "0.1/move"
    concurrency: int = 0
    seed: int = 0
    openings: Openings = field(default_factory=Openings)
    adjudication: Adjudication = field(default_factory=Adjudication)
    sprt: Sprt | None = None
    anchor: str | None = None


def dumps(spec: TournamentSpec) -> str:
    """As JSON, to be stored."""
    return msgspec.json.encode(spec).decode()


def loads(text: str) -> TournamentSpec:
    """What `dumps` has made text of. Raises msgspec.DecodeError."""
    return msgspec.json.decode(text, type=TournamentSpec)
