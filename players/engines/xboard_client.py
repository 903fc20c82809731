"""A client of the Chess Engine Communication Protocol, version 2, which XBoard and WinBoard use.

Engines announce their features after `protover 2`. Between two moves of the engine it is in the
mode `force`, in which it takes moves of both players; `go` lets it move.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from playout.games import Game, IllegalAction, Position
from playout.players.core.player import Info, Limit, PlayResult, Resigned
from playout.players.engines.client import (
    EngineClient,
    clock_of,
    counted,
    is_short,
    move_deadline,
    shown,
    win_rate,
)
from playout.players.engines.config import EngineConfig
from playout.players.engines.process import PING_S, EngineError
from playout.players.engines.uci_games import first_position, uci_game

_FEATURE = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
#: A move, also in the forms of the first version of the protocol: `12. ... e7e5`.
_MOVE = re.compile(r"(?:move +|[Mm]y move is(?: ?: *| +)|\d+\.? *\.\.\. +)(\S+)")
#: A line of a search: depth, hundredths of a pawn, hundredths of a second, nodes, variation. The
#: depth may have a mark, such as `+` for a bound.
_THOUGHT = re.compile(r"\s*([0-9]{1,9})(\S?)\s+([+-]?[0-9]{1,15})\s+\d+\s+([0-9]{1,30})\s(.*)")
#: Marks of a bound at the end of a variation.
_BOUNDS = ("!", "?", "++", "--", " +", " -", " <", " >", " <=", " >=", " fl", " fh")
_REFUSED_MOVE = re.compile(
    r"Illegal (?:move\b[^(:]*(?:\(.*?\))?\s*:?\s*(.*)|position\b)", re.IGNORECASE
)
_ERROR = re.compile(r"Error\b[^(:]*(?:\(.*?\))?\s*:?\s*(.*)", re.IGNORECASE)
#: The commands without which an engine has another position, or does not move.
_VITAL = ("usermove", "setboard", "new", "force", "go")
#: A claim of a result, with a comment in braces; and a resignation in words.
_CLAIM = re.compile(r"(?:result +)?(1-0|0-1|1/2-1/2)(?:\s*(\{.*)|\s*)", re.IGNORECASE)
_RESIGNS = re.compile(r"(?:tell(?:ics|all|user) +)?(?:(white|black) +)?resigns?\b.*", re.IGNORECASE)
#: Seconds in which an engine must name its features: the first one, and the next one.
_FIRST_FEATURE_S, _NEXT_FEATURE_S = 10.0, 2.0
#: A move from square to square, and numbers and moves in front of or within a variation.
_SQUARES = re.compile(r"[a-h][1-8][a-h][1-8][a-z]?|O-O(?:-O)?|[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8].*")
_COUNTS = re.compile(r"[+-]?\d+(?:\.+)?|\.+|<[^>]*>|\([^)]*\)")
_COLOURS = {1: "white", 2: "black"}
#: The features behind options that are commands.
_COMMANDS = {"memory": "memory", "cores": "smp"}


class XboardClient(EngineClient):
    """Plays chess with an XBoard engine."""

    def __init__(self, config: EngineConfig, game: Game, cancelled: threading.Event) -> None:
        """Raises ValueError for a game other than chess."""
        self._moves = uci_game(game)
        if self._moves.variant != "chess":
            raise ValueError(f"XBoard engines play chess, not {game}")
        self._features: dict[str, str] = {}
        self._options: list[str] = []
        #: The number of the last ping, and the moves that the engine knows; None if uncertain.
        self._pings = 0
        self._told: tuple[int, ...] | None = None
        #: The first position of the match, as UCI names it.
        self._first = first_position(game)
        self._is_thinking = self._has_time_control = self._has_played = False
        super().__init__(config, game, cancelled)

    def _start(self, deadline: float) -> None:
        self.process.send("xboard")
        self.process.send("protover 2")
        self._read_features(deadline)
        self.title = self._features.get("myname", "") or self.config.name
        for name, value in self.config.options.items():
            self.process.send(self._option(name, value))
        self.process.send("easy")  # does not think on the opponent's time
        self.process.send("post")

    def _read_features(self, deadline: float) -> None:
        """Read the features until `done=1`.

        Engines of the first version of the protocol have none, and some do not end the list: XBoard
        waits for two seconds.
        """
        while self._features.get("done") != "1":
            pause_s = _NEXT_FEATURE_S if self._features else _FIRST_FEATURE_S
            if self._features.get("done") == "0":  # it asks for more time
                pause_s = max(0.0, deadline - time.monotonic())
            if not self.process.can_be_read(min(deadline, time.monotonic() + pause_s)):
                if self._features.get("done") == "0":
                    self.process.line(deadline)  # raises EngineError
                return
            line = self.process.line(deadline)
            for name, quoted, bare in _FEATURE.findall(line) if "feature " in line else ():
                self._announced(name, quoted or bare)

    def _announced(self, name: str, value: str) -> None:
        """Note a feature, and accept it, except moves as `Nf3`: they are sent as `g1f3`."""
        if name == "option":
            self._options.append(value.partition(" -")[0])
        else:
            self._features[name] = value
        is_rejected = name == "san" and value != "0"
        self.process.send(f"{'rejected' if is_rejected else 'accepted'} {name}")

    def _option(self, name: str, value: object) -> str:
        """Return the command that sets an option. Raises EngineError for an unknown one."""
        known = [key for key, feature in _COMMANDS.items() if self._features.get(feature) == "1"]
        if name in known:
            return f"{name} {value}"
        if name not in self._options:
            raise self.unknown("option", name, [*known, *self._options])
        return f"option {name}={int(value) if isinstance(value, bool) else value}"

    def describe(self) -> Iterable[str]:
        yield f"features: {' '.join(f'{key}={value}' for key, value in self._features.items())}"
        yield f"options: {', '.join(self._options)}"

    def _new_match(self, deadline: float) -> None:
        if self._has_played and self._features.get("reuse") == "0":
            raise self.process.fault("plays one match only (reuse=0)")
        self._set_up(deadline)

    def _set_up(self, deadline: float) -> None:
        """Set the first position."""
        self._told, self._has_time_control = None, False
        self.process.send("new")
        self.process.send("force")
        if self._first.startswith("fen "):
            self.process.send(f"setboard {self._first.removeprefix('fen ')}")
        self._wait_until_ready(deadline)
        self._told = ()

    def settle(self, deadline: float) -> None:
        if self._is_thinking:
            self.process.send("?")  # move now
            self._answer(deadline)

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        first, self._first = self._first, first_position(position.game)
        has_changed = self._told is None or position.moves[: len(self._told)] != self._told
        if has_changed or self._first != first:
            self._set_up(self.ping_deadline())
        told, self._told, self._has_played = self._told or (), None, True
        names = self._moves.names(position.states, position.moves)
        self.process.send("force")
        for name in names[len(told) :]:
            self.process.send(f"usermove {name}" if self._features.get("usermove") == "1" else name)
        self._wait_until_ready(self.ping_deadline())
        self._tell_time(self.time.left(limit), position.to_move)
        self.process.send("go")
        self._is_thinking = True
        named, info = self._answer(move_deadline(limit, position.to_move), position)
        action = self.require_legal(self._action(position, named), position, named)
        self._told = (*position.moves, action)
        return PlayResult(action, info)

    def move_name(self, position: Position, action: int) -> str:
        return self._moves.name(position.state, action)

    def _action(self, position: Position, name: str) -> int | None:
        """Return the legal action of a name, as e1g1 or as O-O; None if there is none."""
        state = position.state
        if found := self._moves.actions(state, name):
            return found[0]
        try:
            return self.game.parse_action(state, name)
        except IllegalAction:
            return None

    def _tell_time(self, limit: Limit, seat: int) -> None:
        """Tell the engine the time control, and both clocks in main time."""
        if is_short(limit, self.config) and self.config.short:
            for key, value in self.config.short.items():
                self.process.send(f"{key} {value}")
            return
        clock = clock_of(limit)
        if clock is None:
            return
        if not clock.left[seat - 1].main_s:
            self.process.send(f"st {max(1, int(limit.seconds or 1))}")
            return
        if not self._has_time_control:
            minutes, seconds = divmod(int(clock.start.main_s), 60)
            self.process.send(f"level 0 {minutes}:{seconds:02} {int(clock.gain_s)}")
            self._has_time_control = True
        if self._features.get("time") == "0":
            return
        for command, each in (("time", seat), ("otim", 3 - seat)):
            left_s = clock.left[each - 1].main_s - clock.overhead_s
            self.process.send(f"{command} {max(1, int(100 * left_s))}")

    def _wait_until_ready(self, deadline: float) -> None:
        """Wait until the engine has handled all commands, if it has the feature ping."""
        if self._features.get("ping") == "1":
            self._pings += 1
            self.process.send(f"ping {self._pings}")
            while (line := self._line(deadline)).split() != ["pong", f"{self._pings}"]:
                self.process.unused(line)
        for line in self.process.discard():  # without ping, at least what has arrived
            self._check(line.strip())

    def _answer(self, deadline: float, position: Position | None = None) -> tuple[str, Info | None]:
        """Return the name of the engine's move, and its analysis of that move. Raises Resigned.

        `position` is None for a move that is not needed.
        """
        claim = ""
        thoughts: dict[str, Info] = {}
        while True:
            try:
                line = self._line(deadline)
            except EngineError as error:
                if claim:
                    text = f"has claimed {shown(claim)} instead of a move; the match is not over"
                    raise self.process.fault(text) from error
                raise
            if found := _MOVE.match(line):
                name = found[1]
                if position and self.is_repeated(self._action(position, name), position, name):
                    continue
                self._is_thinking = False
                return name, self._analysis(thoughts, position, name)
            if thought := thought_of(line):
                # With several variations, those of one depth differ in their first moves.
                thoughts.pop(thought.first, None)
                thoughts[thought.first] = thought.info
            elif position is None and (_RESIGNS.fullmatch(line) or _CLAIM.fullmatch(line)):
                self._is_thinking = False
                return "", None
            elif position and resigns(line, position.to_move):
                self._is_thinking = False
                raise Resigned
            elif _CLAIM.fullmatch(line) and not claim:
                claim, deadline = line, min(deadline, time.monotonic() + PING_S)

    def _analysis(
        self, thoughts: Mapping[str, Info], position: Position | None, name: str
    ) -> Info | None:
        """Return the last exact analysis of the move with that name, or None."""
        if position is None:
            return None
        chosen = self._action(position, name)
        of_it = [info for each, info in thoughts.items() if self._action(position, each) == chosen]
        return of_it[-1] if of_it else None

    def _line(self, deadline: float) -> str:
        """Return the next line, checked."""
        line = self.process.line(deadline).strip()
        self._check(line)
        return line

    def _check(self, line: str) -> None:
        """Raise EngineError for a line that refuses a move or a position."""
        if found := _REFUSED_MOVE.match(line):
            words = (found[1] or "").split()
            if not words or words[0] in _VITAL or _SQUARES.fullmatch(words[0]):
                raise self.process.fault(f"has answered {line[:100]!r}")
            self.process.unused(line)  # a command that it took for a move, as `easy`
        elif found := _ERROR.match(line):
            words = found[1].split() or self.process.command.split()
            if words[:1] and (words[0] in _VITAL or self._is_move(words[0])):
                raise self.process.fault(f"has answered {line[:100]!r}")
            self.process.unused(line)

    def _is_move(self, word: str) -> bool:
        """Return whether a word is a move, which commands without `usermove` consist of."""
        return self._features.get("usermove") != "1" and _SQUARES.fullmatch(word) is not None


class Thought(NamedTuple):
    """An exact analysis of a search, and the first move of its variation."""

    first: str
    info: Info


def thought_of(line: str) -> Thought | None:
    """Return the analysis in a line; None for a bound, and for other lines."""
    found = _THOUGHT.match(line)
    if found is None:
        return None
    depth, mark, score, nodes, rest = found.groups()
    # Newer engines have more numbers before the variation, and a tab.
    words = rest.rpartition("\t")[2].split()
    moves = [each for each in words if not _COUNTS.fullmatch(each)]
    if mark in ("+", "-") or not moves or f" {words[-1].lower()}".endswith(_BOUNDS):
        return None
    first = re.sub(r"^\d+\.+", "", moves[0])
    info = Info(simulations=counted(int(nodes)), depth=int(depth), win_rate=win_rate(int(score)))
    return Thought(first, info)


def resigns(line: str, seat: int) -> bool:
    """Return whether a line of the engine with that seat resigns, in the ways of the protocol.

    Besides `resign`, it is a result by which the engine loses, as `0-1 {White resigns}`.
    """
    if found := _RESIGNS.fullmatch(line):
        return found[1] is None or found[1].lower() == _COLOURS[seat]
    claim = _CLAIM.fullmatch(line)
    return claim is not None and claim[1] == ("0-1", "1-0")[seat - 1]
