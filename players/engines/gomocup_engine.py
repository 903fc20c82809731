"""A Gomocup brain: a player as an engine for Piskvork and the tournaments of gomoku engines.

The protocol: https://plastovicka.github.io/protocl2en.htm. Lines end in CR LF. A cell is `x,y`,
column and row from 0 at the top left. Boards have 5 to 20 rows and columns; the rules are five or
more in a row (`INFO rule 0`) and exactly five (`INFO rule 1`). INFO also limits the time of the
brain, and the memory of its process.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from playout import games
from playout.games import Game, SpecError, State
from playout.games.core import spec
from playout.games.mnk import MAX_SIDE
from playout.players import find
from playout.players.core.budget import ReportedClock
from playout.players.core.player import Info, Limit, PlayerError, Resigned, paced
from playout.players.engines.engine_server import EngineServer, LineInput, LocalMatch
from playout.players.engines.vertices import VertexError, cell_at, coordinates
from playout.protocol.messages import ClockState, TimeControl

#: The option of players whose memory can be limited.
OPTION = "memory_mb"
#: Bytes that the process needs beside the interpreter and the search tree: for a report of the
#: search, and for objects of Python during a match.
RESERVE = 32 * 2**20
#: The memory of a trial search, which shows how much the process takes without its tree.
_SMALL_MB = 4
#: The time of a move when the manager asks for moves as fast as possible (`timeout_turn 0`).
FASTEST_S = 0.02
#: Seconds of a turn for what passes outside the player, in the manager and in this process.
LAG_S = 0.05
#: The shortest time between two messages about a search.
_MESSAGE_S = 1.0

_NUMBERS = ("timeout_turn", "timeout_match", "time_left", "max_memory", "rule")
_UNLIMITED_MS = 2**31 - 1

#: The smallest board, and the stones in a row that win.
FIVE = 5
#: The owners of stones in BOARD.
OWN, OTHER = 1, 2
#: The bits of `INFO rule`: exactly five, and rules that Playout does not have. The bit 2, a
#: continuous game, changes nothing here.
_EXACT = 1
_RULES = {4: "renju", 8: "caro"}

_FIELD = re.compile(r"\s*(.*?)\s*,\s*([0-9]{1,2})\s*", re.ASCII)


def within_memory(game: Game, wanted: spec.Spec, limit: int) -> LocalMatch:
    """Return a match whose process stays within `limit` bytes; 0 is no limit.

    If the player has an option for its memory, it gets the rest that the interpreter and the
    compiled search leave. Raises SpecError if that is too little.
    """
    if not limit or OPTION not in spec.parameters_of(find(wanted.name), skip=1):
        return LocalMatch(game, wanted)
    trial = LocalMatch(game, _limited(wanted, _SMALL_MB))
    trial.choose(Limit(seconds=0.01, simulations=1))
    trial.close()
    del trial
    left = (limit - resident_bytes() - RESERVE) // 2**20
    if left < 1:
        raise SpecError(
            f"{limit} bytes are too little: the program itself takes {resident_bytes()}, "
            f"and the search {RESERVE} and more"
        )
    return LocalMatch(game, _limited(wanted, left))


def resident_bytes() -> int:
    """Return the resident memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _limited(wanted: spec.Spec, megabytes: int) -> spec.Spec:
    """Return the specification with at most that much memory."""
    given = wanted.options.get(OPTION, "")
    least = min(megabytes, int(given)) if given.isdecimal() else megabytes
    return spec.Spec(wanted.name, {**wanted.options, OPTION: str(least)})


class GomocupLimits:
    """The latest value of each key of INFO, with times in milliseconds."""

    def __init__(self) -> None:
        self._values: dict[str, int] = {}
        self._used_s = 0.0  # in this match

    @property
    def rule(self) -> int:
        """The sum of the bits of `INFO rule`; 0 is five or more in a row."""
        return self._values.get("rule", 0)

    @property
    def memory_bytes(self) -> int:
        """Maximum memory of the process; 0 for no limit."""
        return max(0, self._values.get("max_memory", 0))

    def set(self, key: str, value: str) -> None:
        """Store a value; unknown keys, and values that are no number, are ignored.

        The protocol has no answer to INFO.
        """
        if key in _NUMBERS and re.fullmatch("-?[0-9]{1,18}", value):
            self._values[key] = int(value)

    def restart(self) -> None:
        """Begin a match, with its full time."""
        self._used_s = 0.0
        self._values.pop("time_left", None)

    def used(self, seconds: float) -> None:
        """Count the time of a move; the manager's `time_left` replaces it."""
        self._used_s += seconds
        self._values.pop("time_left", None)

    def limit(self, seat: int, ply: int, max_plies: int) -> Limit:
        """Return the limit for a move: the smaller of those by the turn and by the match."""
        clock, turn_ms = ReportedClock(), self._values.get("timeout_turn")
        if turn_ms is not None:
            clock.move_s = max(FASTEST_S, turn_ms / 1000 - LAG_S)
        total_s = self._values.get("timeout_match", 0) / 1000
        left_ms = self._values.get("time_left", _UNLIMITED_MS)
        if total_s > 0 or left_ms < _UNLIMITED_MS:
            left_s = total_s - self._used_s if left_ms == _UNLIMITED_MS else left_ms / 1000
            clock.control = TimeControl(max(left_s, total_s), 0.0, 0, 0.0)
            clock.left = {1: ClockState(max(0.0, left_s), 0), 2: ClockState(max(0.0, left_s), 0)}
        return clock.limit(seat, ply=ply, max_plies=max_plies)


class GomocupError(ValueError):
    """Raised for a command that fails; the message is the answer after `ERROR`."""


class GomocupBrain(EngineServer):
    """Answers the commands of one manager, until `END` or the end of its input."""

    line_end = "\r\n"
    refusals = (GomocupError, VertexError, SpecError, PlayerError)

    def __init__(self, wanted: spec.Spec, lines: LineInput) -> None:
        super().__init__(wanted, lines)
        self._limits = GomocupLimits()
        self._sides: tuple[int, int] | None = None  # columns and rows
        self._made_for: tuple[object, ...] = ()
        #: The board and the position of the match that was closed last, for the next one.
        self._closed_at: tuple[object, State | None] = None, None
        self._commands: dict[str, Callable[[str], str | None]] = {
            "START": self._start,
            "RECTSTART": self._rectstart,
            "RESTART": self._restart,
            "BEGIN": self._begin,
            "TURN": self._turn,
            "BOARD": self._board,
            "TAKEBACK": self._takeback,
            "INFO": self._info,
            "ABOUT": self._about,
        }

    def answer(self, line: str) -> bool:
        name, _, rest = line.strip().partition(" ")
        handler = self._commands.get(name.upper())
        if handler:
            text, failed = self.attempt(lambda: handler(rest.strip()))
            if text:
                self.write(" ".join([*["ERROR"] * failed, *text.split()]))
        elif name and not _is_end(line):
            self.write(f"UNKNOWN command {name[:40]!r}")
        return _is_end(line)

    # The commands, which return their answers.

    def _about(self, _: str) -> str:
        own = version("playout")
        return f'name="Playout {self.wanted.name}", version="{own}", author="Playout authors"'

    def _info(self, rest: str) -> None:
        key, _, value = rest.partition(" ")
        self._limits.set(key.lower(), value.strip())

    def _start(self, rest: str) -> str:
        if not re.fullmatch("[0-9]{1,3}", rest):
            raise GomocupError(f"expected START SIZE, not {rest[:40]!r}")
        return self._open(int(rest), int(rest))

    def _rectstart(self, rest: str) -> str:
        found = re.fullmatch(r"([0-9]{1,3})\s*,\s*([0-9]{1,3})", rest)
        if not found:
            raise GomocupError(f"expected RECTSTART WIDTH,HEIGHT, not {rest[:40]!r}")
        return self._open(int(found[1]), int(found[2]))

    def _open(self, columns: int, rows: int) -> str:
        if not (FIVE <= columns <= MAX_SIDE and FIVE <= rows <= MAX_SIDE):
            raise GomocupError(f"unsupported size: expected {FIVE} to {MAX_SIDE} rows and columns")
        before, self._sides = self._sides, (columns, rows)
        try:
            self._prepared().clear()
        except ValueError:  # the match before goes on
            self._sides = before
            raise
        self._limits.restart()
        return "OK"

    def _restart(self, _: str) -> str:
        self._prepared().clear()
        self._limits.restart()
        return "OK"

    def _begin(self, _: str) -> str:
        match = self._prepared()
        if any(match.state[2:]):
            raise GomocupError("BEGIN needs an empty board")
        return self._move(match)

    def _turn(self, rest: str) -> str:
        match = self._prepared()
        cell = self._cell(rest)
        if match.winner:
            raise GomocupError("the game is over")
        if match.state[2 + cell]:
            raise GomocupError(f"there is a stone at {rest} already")
        match.play(cell)
        return self._move(match)

    def _board(self, _: str) -> str:
        lines = []
        while (line := self.lines.next()) is not None and line.strip().upper() != "DONE":
            lines.append(line)
        match = self._prepared()
        cells = self._owners(lines, len(match.state) - 2)
        own, other = cells.count(OWN), cells.count(OTHER)
        if own not in (other, other - 1):
            raise GomocupError(
                f"with {own} own stones and {other} of the opponent it is not our turn"
            )
        seat = {OWN: 1, OTHER: 2} if own == other else {OWN: 2, OTHER: 1}
        stones = tuple(seat.get(owner, 0) for owner in cells)
        match.clear((seat[OWN], 0, *stones))
        return self._move(match)

    def _owners(self, lines: list[str], size: int) -> list[int]:
        """Return the owner of each cell, from the lines after BOARD. Raises GomocupError."""
        owners = [0] * size
        for line in filter(str.strip, lines):
            found = _FIELD.fullmatch(line)
            if not found or int(found[2]) not in (OWN, OTHER):
                raise GomocupError(f"expected x,y,1 or x,y,2 or DONE, not {line[:40]!r}")
            cell = self._cell(found[1])
            if owners[cell]:
                raise GomocupError(f"there are two stones at {found[1]}")
            owners[cell] = int(found[2])
        return owners

    def _takeback(self, rest: str) -> str:
        match = self._prepared()
        cell = self._cell(rest)
        stones = list(match.state[2:])
        if not stones[cell]:
            raise GomocupError(f"there is no stone at {rest}")
        seat, stones[cell] = stones[cell], 0
        match.clear((seat, 0, *stones))
        return "OK"

    # The player.

    def _prepared(self) -> LocalMatch:
        """Return the match, with a player made for the current settings. Raises SpecError."""
        if self._sides is None:
            raise GomocupError("there is no board: START comes first")
        settings = (self._sides, self._limits.rule, self._limits.memory_bytes)
        if self.match is None or self._made_for != settings:
            game = self._game()
            if self.match:
                self._closed_at = self._made_for[0], self.match.state
                self.match.close()
                self.match = None  # so that its memory is free
            self.match = within_memory(game, self.wanted, self._limits.memory_bytes)
            self._made_for = settings
            sides, state = self._closed_at
            if state and sides == self._sides:
                self.match.clear(state)
        return self.match

    def _game(self) -> Game:
        """Return the game of the current settings. Raises GomocupError for unsupported rules."""
        assert self._sides
        for bit, name in _RULES.items():
            if self._limits.rule & bit:
                raise GomocupError(f"the rules of {name} are not supported")
        columns, rows = self._sides
        exact = str(bool(self._limits.rule & _EXACT)).lower()
        return games.load(
            f"gomoku(size={rows},exact={exact})"
            if rows == columns
            else f"mnk(m={columns},n={rows},exact={exact})"
        )

    def _move(self, match: LocalMatch) -> str:
        """Let the player move; return its move."""
        if match.winner or 0 not in match.state[2:]:
            raise GomocupError("the game is over")
        plies = sum(stone != 0 for stone in match.state[2:])
        limit = self._limits.limit(match.mover, plies, match.game.max_plies)
        started = time.monotonic()
        try:
            result = self.choose(match, limit, _ends_next, paced(self._show, _MESSAGE_S))
        except Resigned:
            raise GomocupError("the player resigns, which this protocol does not have") from None
        self._limits.used(time.monotonic() - started)
        if result.info and result.info.simulations:
            self._show(result.info)
        match.play(result.action)
        return self._text(result.action)

    def _show(self, info: Info) -> None:
        moves = " ".join(self._text(action) for action in info.pv[:10])
        self.write(
            f"MESSAGE {info.simulations} simulations in {info.seconds:.2f} s, "
            f"win rate {100 * info.win_rate:.1f}%, depth {info.depth}, expects {moves}"
        )

    def _cell(self, text: str) -> int:
        assert self._sides
        columns, rows = self._sides
        return cell_at(text, rows, columns)

    def _text(self, action: int) -> str:
        assert self._sides
        return coordinates(action, self._sides[0])


def _is_end(line: str | None) -> bool:
    """Return whether a line, or the end of the input, ends the brain."""
    return line is None or line.strip().upper() == "END"


def _ends_next(lines: Sequence[str | None]) -> bool:
    """Return whether the next line ends the brain: commands before it are carried out."""
    return bool(lines) and _is_end(lines[0])
