"""Validation of a whole specification, the same for a file and for a client's `create_tournament`.

`FIELDS` has the checks of single values, which the parser of files uses, too. `faults` finds all
faults of a specification, in values and combinations; for a file, the parser adds their lines.
Given openings are played through once: by `opening_file` if they come from a file, which has lines
of its own. For the specification of a client, `check` does both in steps, because it takes long:
0.1 ms an entrant, and more than a second for 10,000 openings of eight moves.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from datetime import UTC
from typing import Any, NamedTuple

from playout import games
from playout.commands import toml_table
from playout.commands.toml_lines import Path
from playout.commands.toml_table import Check
from playout.games import BoardView
from playout.games.core import spec as notation
from playout.games.core.spec import SpecError
from playout.protocol.messages import MOST_EXACT
from playout.protocol.names import skeleton
from playout.protocol.tournament_spec import (
    MODELS,
    ORDERS,
    PROGRAM_PROTOCOLS,
    Adjudication,
    Betting,
    Entrant,
    Openings,
    SandboxSettings,
    Sprt,
    TournamentSpec,
)
from playout.ratings.pairs import Opening, central_cells
from playout.sandbox import settings
from playout.server.tournament import formats

#: The highest number of rounds, and of plies after which a match is tied.
MOST_ROUNDS = 1_000_000
MOST_ENTRANTS = 256
#: Maximum number of characters that describe the machine.
LONGEST_MACHINE = 300
MOST_GAMES = 20
#: Maximum number of moves by which spectators see a match later.
MOST_DELAY = 1000
#: Maximum weight of a tournament among those that share cores.
MOST_WEIGHT = 100
#: Number of entrants checked in a step; each takes 0.1 ms.
ENTRANTS_A_STEP = 16
#: Number of plies of given openings checked in a step; each takes 20 to 60 microseconds.
PLIES_A_STEP = 64
#: The cost of a first position of an opening, in plies.
PLIES_A_POSITION = 8
#: Maximum number of plies of an opening in an error.
SHOWN_PLIES = 20


def _moment(value: object) -> str:
    """Return a time in UTC as ISO 8601; raise ValueError for other values."""
    try:
        return toml_table.moment(value).astimezone(UTC).isoformat()
    except OverflowError as error:
        raise ValueError(
            f"must be a date and time from year 1 to 9999 in UTC, not {value}"
        ) from error


#: The check of each value by itself, by the class that has it.
FIELDS: Mapping[type, Mapping[str, Check[Any]]] = {
    TournamentSpec: {
        "name": toml_table.visible(200),
        "format": toml_table.one_of("format", formats.names()),
        "clock": toml_table.clock,
        "concurrency": toml_table.whole(0, 1024),
        "seed": toml_table.whole(-MOST_EXACT, MOST_EXACT),
        "draw_offers": toml_table.truth,
        "evaluation": toml_table.visible(toml_table.LONGEST_PATH),
        "core_speed": toml_table.number(0, 1_000_000),
        "delay": toml_table.whole(0, MOST_DELAY),
        "starts": _moment,
        "weight": toml_table.whole(1, MOST_WEIGHT),
    },
    Entrant: {
        "name": toml_table.name,
        "version": toml_table.visible(64),
        "player": toml_table.player,
        "command": toml_table.command,
        "threads": toml_table.whole(1, 1024),
        "clock": toml_table.clock,
        "protocol": toml_table.one_of("protocol", PROGRAM_PROTOCOLS),
        "folder": toml_table.visible(toml_table.LONGEST_PATH),
        "sandbox": toml_table.truth,
        "since": toml_table.whole(1, MOST_ROUNDS),
    },
    SandboxSettings: settings.CHECKS,
    Openings: {
        "plies": toml_table.whole(0, 100),
        "near": toml_table.whole(0, 100),
        "order": toml_table.one_of("order", ORDERS),
    },
    Adjudication: {
        "max_plies": toml_table.whole(0, MOST_ROUNDS),
        "proofs": toml_table.truth,
        "resign_moves": toml_table.whole(0, 100),
        "resign_below": toml_table.number(0, 0.49),
        "draw_moves": toml_table.whole(0, 100),
        "draw_within": toml_table.number(0, 0.49),
        "draw_after": toml_table.whole(0, MOST_ROUNDS),
    },
    Sprt: {
        "elo0": toml_table.number(-1000, 1000),
        "elo1": toml_table.number(-1000, 1000),
        "alpha": toml_table.risk,
        "beta": toml_table.risk,
        "model": toml_table.one_of("model", MODELS),
        "without_luck": toml_table.truth,
    },
    Betting: {
        "elo1": toml_table.number(1, 1000),
        "alpha": toml_table.risk,
        "beta": toml_table.risk,
        "tried": toml_table.whole(0, MOST_ROUNDS),
        "without_luck": toml_table.truth,
    },
}


class Fault(NamedTuple):
    """A fault of the value that `path` leads to: keys, and places in lists from 0."""

    path: Path
    text: str

    @property
    def key(self) -> str:
        """The last key of the path, which is the name of the value in a file."""
        return next(each for each in reversed(self.path) if isinstance(each, str))

    def __str__(self) -> str:
        """Return the fault as a client reads it: `entrants[1].name: ...`."""
        steps = (f".{each}" if isinstance(each, str) else f"[{each}]" for each in self.path)
        return f"{''.join(steps).removeprefix('.')}: {self.text}"


def check(spec: TournamentSpec) -> Iterator[None]:
    """Check a specification with its given openings, in steps of a few milliseconds.

    Raises SpecError with the first fault.
    """
    for fault in _faults(spec):
        if fault:
            raise SpecError(str(fault))
        yield
    yield from _check_openings(spec)


def _check_openings(spec: TournamentSpec) -> Iterator[None]:
    """Play given openings through. Raises SpecError with the first one that cannot be played."""
    work = 0
    for text in spec.games:
        usual = games.load(text)
        fens = spec.openings.fens.get(text, ())
        for place, opening in enumerate(spec.openings.lines.get(text, ())):
            game = usual
            if fens and fens[place]:
                game = _beginning_at(usual, fens[place], ("openings", "fens", text, place))
                work += PLIES_A_POSITION
            state = game.initial_state()
            path = ("openings", "lines", text, place)
            for action in opening:
                work += 1
                if work >= PLIES_A_STEP:
                    work = 0
                    yield
                try:
                    state = game.next_state(state, action)
                except games.IllegalAction as error:
                    shown = _shown(opening)
                    fault = Fault(path, f"the opening {shown} cannot be played: {error}")
                    raise SpecError(str(fault)) from error
            work += 1  # an opening may have no plies
            if work >= PLIES_A_STEP:
                work = 0
                yield
            if game.winner(state):
                fault = Fault(path, f"after the opening {_shown(opening)} the game is over")
                raise SpecError(str(fault))


def _beginning_at(game: games.Game, fen: str, path: Path) -> games.Game:
    try:
        return games.beginning_at(game, fen)
    except SpecError as error:
        raise SpecError(str(Fault(path, str(error)))) from error


def check_stored(spec: TournamentSpec) -> None:
    """Raise SpecError if a stored specification, perhaps of an older version, has invalid values.

    Its size is not limited, and the moves of its openings are not checked.
    """
    if fault := next(filter(None, _content(spec)), None):
        raise SpecError(str(fault))


def faults(spec: TournamentSpec) -> Iterator[Fault]:
    """Yield all faults of a specification, except those in the moves of given openings.

    Of a specification that is too large, it yields only that fault.
    """
    return filter(None, _faults(spec))


#: Maximum number of entrants that the server starts for a tournament, and of matches at once.
MOST_HOSTED = 64
_NO_COMMANDS = "the server starts no commands for a tournament: name the player of a bot"
_NO_FILES = "the server reads no files for a tournament"
#: The keys of a file that a tournament that the server hosts cannot have, with the reasons.
NOT_HOSTED: Mapping[str, str] = {
    "cluster": "the server starts the entrants on its own machine",
    "sandbox": "the server starts no programs in a sandbox for a tournament",
    "evaluation": _NO_FILES,
    "openings.file": f"{_NO_FILES}: run it from the machine that has the file, by "
    "playout-tournament run SPEC.toml --server ADDRESS",
    "core_speed": "only for entrants on a cluster",
    "entrants.command": _NO_COMMANDS,
    "entrants.protocol": _NO_COMMANDS,
    "entrants.folder": _NO_COMMANDS,
    "entrants.sandbox": _NO_COMMANDS,
}


def hosted_faults(spec: TournamentSpec, players: Collection[str]) -> Iterator[Fault]:
    """Yield what a server does not start for a tournament that it hosts.

    Entrants have one of the `players` or log in by themselves; they have no programs and no files.
    """
    yield from _not_hosted((), spec, "")
    for place, each in enumerate(spec.entrants):
        yield from _not_hosted(("entrants", place), each, "entrants.")
        if each.player and each.player not in players:
            known = ", ".join(players) or "none"
            text = f"{each.player!r} is the player of no bot of this server (there are: {known})"
            yield Fault(("entrants", place, "player"), text)
    started = sum(each.player is not None for each in spec.entrants)
    for key, number in (("entrants", started), ("concurrency", spec.concurrency)):
        if number > MOST_HOSTED:
            what = "entrants" if key == "entrants" else "matches at once"
            yield Fault((key,), f"the server starts at most {MOST_HOSTED} {what}, not {number}")


def _not_hosted(path: Path, value: TournamentSpec | Entrant, prefix: str) -> Iterator[Fault]:
    """Yield the fields of a specification, or of an entrant, with a value that is not hosted."""
    for field in fields(value):
        text = NOT_HOSTED.get(f"{prefix}{field.name}")
        if text and getattr(value, field.name) != field.default:
            yield Fault((*path, field.name), text)


def _faults(spec: TournamentSpec) -> Iterator[Fault | None]:
    """Yield faults, and None after each step of a few milliseconds."""
    too_large = list(_size(spec))
    yield from too_large or _content(spec)


def _content(spec: TournamentSpec) -> Iterator[Fault | None]:
    yield from _values((), spec)
    if spec.machine:
        yield from _checked(("machine",), toml_table.visible(LONGEST_MACHINE), spec.machine)
    yield from _values(("openings",), spec.openings)
    yield from _values(("adjudication",), spec.adjudication)
    if spec.sandbox:
        yield from _values(("sandbox",), spec.sandbox)
    yield from _games(spec)
    yield from _entrants(spec)
    if spec.format in formats.names():
        yield from _format(spec, formats.find(spec.format))
    yield from _openings(spec)


def rounds_of(format_: str) -> Check[int]:
    """Return the check of the number of rounds of a format; of an unknown one, any is valid."""
    least = formats.find(format_).least_rounds if format_ in formats.names() else 0
    return toml_table.whole(least, MOST_ROUNDS)


def _size(spec: TournamentSpec) -> Iterator[Fault]:
    """Yield a fault if a specification is too large to be checked further."""
    for key, most in (("entrants", MOST_ENTRANTS), ("games", MOST_GAMES)):
        count = len(getattr(spec, key))
        if count > most:
            yield Fault((key,), f"there may be at most {most}, not {count:,}")
            return
    if spec.format in formats.names() and spec.rounds <= MOST_ROUNDS:
        kind = formats.find(spec.format)
        try:
            kind.check_size(spec.format, len(spec.entrants), len(spec.games), spec.rounds)
        except SpecError as error:
            yield Fault(("rounds",), str(error))


def _values(path: Path, values: object) -> Iterator[Fault]:
    """Yield faults of single values. None, and "" as a version, stand for no value."""
    for key, check_ in FIELDS[type(values)].items():
        value = getattr(values, key)
        if value is not None and (key, value) != ("version", ""):
            yield from _checked((*path, key), check_, value)


def _checked(path: Path, check_: Check[Any], value: object) -> Iterator[Fault]:
    try:
        check_(value)
    except ValueError as error:
        yield Fault(path, str(error))


def _games(spec: TournamentSpec) -> Iterator[Fault]:
    if not spec.games:
        yield Fault(("games",), "must be a list of one or more, not an empty list")
    counts = Counter[str]()
    for place, text in enumerate(spec.games):
        counts[text] += 1
        if counts[text] == 2:
            yield Fault(("games", place), f"{text} is there twice")
        try:
            game = games.load(text)
        except SpecError as error:
            yield Fault(("games", place), str(error))
            continue
        if str(game) != text:
            yield Fault(("games", place), f"{text!r} must be spelled {str(game)!r}")
        if game.has_chance and spec.adjudication.proofs:
            told = f"no result of {text} can be proven, for its rolls are chance: leave out proofs"
            yield Fault(("adjudication", "proofs"), told)


def _entrants(spec: TournamentSpec) -> Iterator[Fault | None]:
    known: dict[str, str] = {}
    for place, entrant in enumerate(spec.entrants):
        if place % ENTRANTS_A_STEP == 0:
            yield None
        path = ("entrants", place)
        yield from _values(path, entrant)
        if entrant.player and entrant.command:
            text = "an entrant has a player or a command, not both"
            yield Fault((*path, "command"), text)
        yield from _program(path, entrant)
        alike = skeleton(entrant.name)
        other = known.get(alike)
        if other is None:
            known[alike] = entrant.name
        elif alike:
            how = "has this name" if other == entrant.name else f"is called {other!r}, much alike"
            text = f"{entrant.name!r} is taken: another entrant {how}"
            yield Fault((*path, "name"), text)
    yield None
    yield from _clocks(spec)
    if spec.anchor is not None and spec.anchor not in known.values():
        text = str(notation.unknown("entrant", spec.anchor, known.values()))
        yield Fault(("anchor",), text)


def _program(path: Path, entrant: Entrant) -> Iterator[Fault]:
    """Yield the faults of how the command of an entrant runs."""
    for key in ("protocol", "folder", "sandbox"):
        if getattr(entrant, key) and not entrant.command:
            yield Fault((*path, key), "only for an entrant with a command")
    if entrant.sandbox and entrant.command and not entrant.protocol:
        known = ", ".join(PROGRAM_PROTOCOLS)
        text = (
            "a program that connects by itself needs the network, which a sandbox does not have: "
            f"set the protocol that it speaks on its standard input and output ({known})"
        )
        yield Fault((*path, "sandbox"), text)


def _clocks(spec: TournamentSpec) -> Iterator[Fault]:
    """Yield a fault if only some entrants have a clock: a match has two clocks or none."""
    own = [each.clock for each in spec.entrants]
    if len({(clock or spec.clock).strip().lower() == "none" for clock in own}) > 1:
        place = next(place for place, clock in enumerate(own) if clock)
        text = "either all entrants have a clock, or none of them has"
        yield Fault(("entrants", place, "clock"), text)


def _format(spec: TournamentSpec, format_: type[formats.Format]) -> Iterator[Fault]:
    """Yield the faults by the rules of the format."""
    yield from _checked(("rounds",), rounds_of(spec.format), spec.rounds)
    regular = [each.since == 1 for each in spec.entrants]
    try:
        format_.check_entrants(spec.format, sum(regular))
    except SpecError as error:
        yield Fault(("entrants",), str(error))
    if not all(regular):
        path = ("entrants", regular.index(False), "since")
        if not format_.takes_late_entrants:
            yield Fault(path, f"the format {spec.format!r} takes no late entrants")
        elif True in regular[regular.index(False) :]:
            yield Fault(path, "late entrants stand behind the others")
    yield from _test(spec, "sprt", format_.has_test)
    yield from _test(spec, "betting", format_.has_race)
    if spec.sprt and spec.sprt.elo0 >= spec.sprt.elo1:
        bounds = f"{spec.sprt.elo0:g} and {spec.sprt.elo1:g}"
        yield Fault(("sprt",), f"elo0 must be below elo1, not {bounds}")


def _test(spec: TournamentSpec, key: str, is_needed: bool) -> Iterator[Fault]:
    """Yield the faults of the terms of a test, which only some formats have."""
    terms = getattr(spec, key)
    if is_needed and terms is None:
        yield Fault((key,), f"the format {spec.format!r} needs the terms of its test")
    elif is_needed:
        yield from _values((key,), terms)
        for text in spec.games if terms.without_luck else ():
            with contextlib.suppress(SpecError):  # reported with the games
                if not games.load(text).has_chance:
                    yield Fault((key, "without_luck"), f"{text} has no rolls, and so no luck")
    elif terms is not None:
        kinds = {each: formats.find(each) for each in formats.names()}
        tests = {
            "sprt": [name for name, each in kinds.items() if each.has_test],
            "betting": [name for name, each in kinds.items() if each.has_race],
        }
        known = " or ".join(map(repr, tests[key]))
        yield Fault((key,), f"only for the format {known}, not for {spec.format!r}")


def _openings(spec: TournamentSpec) -> Iterator[Fault]:
    openings = spec.openings
    if openings.plies and not set(spec.games) - openings.lines.keys():
        yield Fault(("openings",), "must be random plies or given openings, not both")
    for text in openings.lines.keys() - set(spec.games):
        error = notation.unknown("game of the tournament", text, spec.games)
        yield Fault(("openings", "lines"), str(error))
    for text, fens in openings.fens.items():
        if len(fens) != len(openings.lines.get(text, ())):
            yield Fault(("openings", "fens", text), "must have one text for each opening of lines")
    for text in spec.games:
        if text in openings.lines:
            continue  # random plies are for the other games
        try:
            game = games.load(text)
        except SpecError:
            continue  # reported with the games
        if openings.plies >= game.max_plies:
            yield Fault(("openings", "plies"), f"{text} lasts at most {game.max_plies} plies")
        elif openings.near:
            yield from _near(text, game.view(game.initial_state()), openings)


def _near(text: str, view: BoardView, openings: Openings) -> Iterator[Fault]:
    """Yield a fault if random moves near the centre are not possible in a game."""
    path = ("openings", "near")
    if not openings.plies:
        yield Fault(path, "needs plies, the number of random moves")
    elif view.geometry not in ("grid", "hex") or any(
        len(clicks) != 1 for clicks in view.clicks.values()
    ):
        yield Fault(path, f"{text} has no moves that are single cells of a grid")
    elif len(central_cells(view, openings.near)) < openings.plies:
        yield Fault(path, f"{text} has fewer than {openings.plies} cells so near to its centre")


def _shown(opening: Opening) -> str:
    return str(list(opening[:SHOWN_PLIES])) + (" ..." if len(opening) > SHOWN_PLIES else "")
