"""The specification of a tournament: the values of its file, and of `create_tournament`."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

MODELS = ("normalized", "logistic")
ORDERS = ("shuffled", "in_order")


@dataclass(frozen=True)
class Entrant:
    """A participant of a tournament, with a `player`, a `command` or neither.

    `player`: a built-in player with its options, `"uct(c=1.2)"`; `command`: a program that connects
    by itself; neither: an account that logs in from elsewhere. `version` is given, or a digest of
    everything that decides how the entrant plays; empty if nothing of that is known. `threads`: the
    number of threads that it thinks with, in each match. `clock`: its own clock, None for that of
    the tournament.
    """

    name: str
    version: str
    player: str | None = None
    command: str | None = None
    threads: int = 1
    clock: str | None = None


@dataclass(frozen=True)
class Openings:
    """Where pairs start: after `plies` random moves or given openings, else at the first position.

    `lines`: for each game by name, the actions of each given opening; `order`: they are used as
    they are listed, or shuffled by the seed. `near`: random moves are at most that many rows and
    columns from the centre of the board; 0 for anywhere.
    """

    plies: int = 0
    lines: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    near: int = 0
    order: str = "shuffled"


@dataclass(frozen=True)
class Adjudication:
    """When a match is ended early.

    `max_plies`: the number of moves after which it is a tie; 0 for never. `proofs`: whether it ends
    as soon as the minimax player has proven its result.

    The players' own win rates decide, too. `resign_moves`: a player loses when the last so many
    moves of both agree: its own win rate is at most `resign_below`, and the other's at least 1 less
    that. `draw_moves`: a tie when after `draw_after` plies the win rates of the last so many moves
    of both are at most `draw_within` from 0.5. 0 for never, both.
    """

    max_plies: int = 0
    proofs: bool = False
    resign_moves: int = 0
    resign_below: float = 0.05
    draw_moves: int = 0
    draw_within: float = 0.05
    draw_after: int = 0


@dataclass(frozen=True)
class Sprt:
    """A sequential test of `elo0` against `elo1` (entrant 0 over entrant 1).

    `alpha` is the probability of accepting `elo1` if `elo0` is true, `beta` that of accepting
    `elo0` if `elo1` is true. `model`: the Elo of the bounds, "normalized" or "logistic".
    """

    elo0: float = 0.0
    elo1: float = 5.0
    alpha: float = 0.05
    beta: float = 0.05
    model: str = "normalized"


@dataclass(frozen=True)
class TournamentSpec:
    """Everything that decides what a tournament plays.

    `rounds`: the number of pairs for each pairing and game; of a Swiss, the number of rounds; of a
    sequential test, the most pairs, 0 for no limit. `concurrency`: the most matches at once, 0 for
    as many as possible. `anchor`: the entrant whose rating is 0. `machine`: where the entrants are
    started, and with which versions of Python and Playout, for the report. `draw_offers`: whether
    the players of a match may agree on a draw.
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
    machine: str = ""
    draw_offers: bool = False

    def clock_of(self, entrant: int) -> str:
        """The clock that an entrant plays with, by its place in the list."""
        return self.entrants[entrant].clock or self.clock


def dumps(spec: TournamentSpec) -> str:
    """The JSON text of a specification, for storage."""
    return msgspec.json.encode(spec).decode()


def loads(text: str) -> TournamentSpec:
    """The specification of a text from `dumps`. Raises msgspec.DecodeError."""
    return msgspec.json.decode(text, type=TournamentSpec)
