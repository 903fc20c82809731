"""The specification of a tournament, as its file and `create_tournament` give it."""

from __future__ import annotations

import functools
import operator
import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

MODELS = ("normalized", "logistic")
ORDERS = ("shuffled", "in_order")
#: The protocols of programs that play over their standard input and output.
PROGRAM_PROTOCOLS = ("gtp", "uci", "gomocup", "lines")
#: The parts of a sandbox that can be given up where a machine lacks them.
SANDBOX_PARTS = ("cgroup", "seccomp")

#: The metadata of a field that only the organizer may read; without it, a field is public.
PRIVATE = MappingProxyType({"private": True})
#: The metadata of a field whose absolute paths are public without their folders.
FILE_NAMES = MappingProxyType({"file_names": True})
#: The folders of an absolute path, also of one below the home folder or after `file:`, but not of
#: the address of a site. Folders have blanks only in quotes and in values of options. The last part
#: of the path of a home folder is the name of a user.
_FOLDERS = re.compile(
    r"""(?P<site> \w+://[\w\[@] [^\s'"]*)
    | (?<![\w./~-]) (?:
        (?P<home> (?<=") /+(?:home|Users)/+[^/"\n]+/*(?=")
            | (?<=['=]) /+(?:home|Users)/+[^/,()'"=\n]+/*(?=[',)]))
        | (?<=") ~?/+(?:[^/"\n]+/+)* (?=[^/"\n]*")
        | (?<=['=]) ~?/+(?:[^/,()'"=\n]+/+)* (?=[^/,()'"=\n]*['",)])
        | (?P<its_home> /+(?:home|Users)/+[^\s/,()'"=:]+/*(?![^\s,()'"=:.]))
        | (?:~[\w.-]*)?/+(?:[^\s/,()'"=:]+/+)*
    )
    | \b[A-Za-z]:\\+(?:[^\s\\,()'"=:]+\\+)*""",
    re.VERBOSE,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Entrant:
    """A participant of a tournament, with a `player`, a `command` or neither.

    `player`: a built-in player with its options, `"uct(c=1.2)"`; `command`: a program that connects
    by itself, or that speaks a `protocol` on its standard input and output; neither: an account
    that logs in from elsewhere. `version`: a given one, or a digest of everything that decides how
    the entrant plays, or empty if that is not known. `threads`: the number of threads that it
    thinks with in each match. `clock`: its own clock, None for that of the tournament.

    `folder`: where the command starts, relative to the folder of the file; None for that folder.
    `sandbox`: whether the command runs in a sandbox, which shows it no other folder of the user.
    `since`: the first round of a Swiss or a ladder in which it is paired; above 1 for a late
    entrant.
    """

    name: str
    version: str
    player: str | None = field(default=None, metadata=FILE_NAMES)
    command: str | None = field(default=None, metadata=PRIVATE)
    threads: int = 1
    clock: str | None = None
    protocol: str | None = None
    folder: str | None = field(default=None, metadata=PRIVATE)
    sandbox: bool = False
    since: int = 1


@dataclass(frozen=True)
class SandboxSettings:
    """The limits of a program in a sandbox, for each process that plays.

    `memory_mb`: memory of the program with its children, in MiB. `processes`: maximum number of
    processes and threads. `disk_mb`: size of its temporary folder, in MiB. `reads`: further files
    and folders that it may read. `without`: parts of the sandbox that are left out. `command`: the
    command line that isolates, instead of bubblewrap. `uses`: file to which the resources used in
    each match are appended; the program is then started for each match.
    """

    memory_mb: int = 512
    processes: int = 64
    disk_mb: int = 64
    reads: tuple[str, ...] = field(default=(), metadata=PRIVATE)
    without: tuple[str, ...] = ()
    command: str | None = field(default=None, metadata=PRIVATE)
    uses: str | None = field(default=None, metadata=PRIVATE)


@dataclass(frozen=True)
class Openings:
    """The openings of pairs: `plies` random moves, or given openings; otherwise none.

    `lines`: the actions of each given opening, by the name of the game. `fens`: the positions with
    which these begin, as values of the game's parameter `fen`, "" for the usual one; nothing for a
    game if all its openings begin with that. `order`: as listed, or shuffled by the seed. `near`:
    maximum distance of random moves from the centre of the board, in rows and columns; 0 for no
    limit.
    """

    plies: int = 0
    lines: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    near: int = 0
    order: str = "shuffled"
    fens: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Adjudication:
    """The conditions that end a match early.

    `max_plies`: number of moves after which it is a tie; 0 for no limit. `proofs`: whether it ends
    as soon as the player `minimax` has proven its result.

    The win rates that the players report can end a match, too. A player loses if its win rate was
    at most `resign_below`, and that of the opponent at least 1 - `resign_below`, for `resign_moves`
    moves of each player. The match is a tie if both win rates differed by at most `draw_within`
    from 0.5 for `draw_moves` moves of each player, after `draw_after` plies. 0 moves switch a rule
    off.
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
    `without_luck`: whether it uses the scores without the luck of the rolls.
    """

    elo0: float = 0.0
    elo1: float = 5.0
    alpha: float = 0.05
    beta: float = 0.05
    model: str = "normalized"
    without_luck: bool = False


@dataclass(frozen=True)
class Betting:
    """A race: which of the other entrants is stronger than entrant 0, by evidence from betting.

    `alpha` is the probability that a candidate is accepted although none is stronger, `elo1` the
    normalized Elo for which the test is quickest. A candidate is given up when its results are
    unlikely at `elo1`, with the probability `beta` although it is as strong as that. `tried`: the
    number of candidates that were tested against entrant 0 before, which share `alpha`.
    `without_luck`: whether it uses the scores without the luck of the rolls.
    """

    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05
    tried: int = 0
    without_luck: bool = False


@dataclass(frozen=True)
class TournamentSpec:
    """The specification of a tournament, which determines its pairs.

    `rounds`: number of pairs for each pairing and game; of a Swiss, the number of rounds; of a
    ladder, a sequential test and a race, the maximum number of rounds or pairs, 0 for no limit.
    `concurrency`: maximum number of matches at a time, 0 for no limit. `anchor`: the entrant whose
    rating is 0. `machine`: for the report, the machine that runs the entrants, with the versions of
    Python and Playout. `draw_offers`: whether the players of a match may agree on a draw.
    `sandbox`: the limits of entrants in a sandbox, None for the defaults. `evaluation`: the file
    of the evaluation that values rolls, on the server's machine; "shipped" is the one that comes
    with each game. `core_speed`: the speed of the cores to which the clocks apply: on a worker
    of a cluster with another speed, clocks are scaled by the ratio; 0 for no scaling. `delay`: of
    a running match, spectators are shown all but the last `delay` moves. `starts`: the time before
    which no match begins, in ISO 8601 with its offset from UTC; None for at once. `weight`: the
    share of the cores among the tournaments that a server hosts at the same time is proportional
    to it.
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
    betting: Betting | None = None
    anchor: str | None = None
    machine: str = ""
    draw_offers: bool = False
    sandbox: SandboxSettings | None = None
    evaluation: str = field(default="shipped", metadata=FILE_NAMES)
    core_speed: float = 0.0
    delay: int = 0
    starts: str | None = None
    weight: int = 1

    @property
    def starts_at(self) -> float:
        """When its first match may begin, in seconds since 1970; 0 for at once."""
        return datetime.fromisoformat(self.starts).timestamp() if self.starts else 0.0

    @property
    def tests_without_luck(self) -> bool:
        """Whether the sequential test or the race uses scores without luck."""
        tests = (self.sprt, self.betting)
        return any(each.without_luck for each in tests if each is not None)

    def clock_of(self, entrant: int) -> str:
        """Return the clock of an entrant, by its place in the list."""
        return self.entrants[entrant].clock or self.clock


def without_folders(text: str) -> str:
    """Return the text with the last part of each absolute path, for readers on other machines."""
    return _FOLDERS.sub(
        lambda found: found["site"] or ("~" if found["home"] or found["its_home"] else ""), text
    )


def public(value: T) -> T:
    """Return the public part of a specification, or of a part of one."""
    if isinstance(value, tuple):
        parts = tuple(map(public, value))
        return value if all(map(operator.is_, parts, value)) else parts  # type: ignore[return-value]
    kind: Any = type(value)
    changes: dict[str, Any] = {}
    for name, default, is_private, has_folders in _fields(kind):
        held = getattr(value, name)
        if is_private:
            shown = default
        elif has_folders and held:
            shown = without_folders(held)
        elif isinstance(held, (str, int, float)):
            continue
        else:
            shown = public(held)
        if shown is not held:
            changes[name] = shown
    return replace(value, **changes) if changes else value  # type: ignore[type-var]


@functools.cache
def _fields(kind: type) -> tuple[tuple[str, Any, bool, bool], ...]:
    """The fields of a dataclass: name, default, whether private, whether it has names of files.

    There are none for another type. They are kept, as a tournament may have 256 entrants.
    """
    if not is_dataclass(kind):
        return ()
    return tuple(
        (each.name, each.default, "private" in each.metadata, "file_names" in each.metadata)
        for each in fields(kind)
    )


_decode = msgspec.json.Decoder(TournamentSpec).decode  # prepared before threads use it


def dumps(spec: TournamentSpec) -> str:
    """Return the JSON text of a specification, for storage."""
    return msgspec.json.encode(spec).decode()


def loads(text: str) -> TournamentSpec:
    """Return the specification of a text from `dumps`. Raises msgspec.DecodeError."""
    return _decode(text)
