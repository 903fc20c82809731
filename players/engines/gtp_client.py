"""A client of the Go Text Protocol, version 2, for games in which a move is one cell or a pass.

Each command has a number, which the engine repeats in its answer, so that a late answer to an
earlier command is recognized.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable

from playout.games import BoardView, Game, Position, State
from playout.games.go import Go
from playout.players.core.player import Info, Limit, PlayResult, Resigned
from playout.players.engines import gtp
from playout.players.engines.client import EngineClient, clock_of, is_short, move_deadline
from playout.players.engines.config import EngineConfig
from playout.players.engines.gtp import COLOURS, PASS, analysis, board_of, of_move
from playout.players.engines.process import EngineError
from playout.players.engines.vertices import VertexError

_ANSWER = re.compile(r"([=?])(\d*)[ \t]*(.*)")
#: Commands whose answer may have several lines, or none. It ends with an empty line, or after a
#: silence of SILENCE_S seconds; the answers to all others end with their first line.
_OF_LINES, _OF_TEXT = ("list_commands", "final_status_list"), ("name", "version")
SILENCE_S = 0.5
#: Commands that report analyses, and choose a move.
_REPORTS = ("kata-genmove_analyze", "lz-genmove_analyze")
#: Hundredths of a second between two reports of an analysis.
_REPORT_CS = 50


class GtpRefusal(EngineError):
    """An engine has refused a command with `?`; another command may do the same."""


class GtpClient(EngineClient):
    """Plays a game with a GTP engine."""

    def __init__(self, config: EngineConfig, game: Game, cancelled: threading.Event) -> None:
        """Raises SpecError for a game that GTP cannot express."""
        self._board = board_of(game, config.first_row, config.column_i)
        self._commands: tuple[str, ...] = ()
        self._number = 0
        #: The number and the text of a command that is not answered, and the first line of the
        #: answer if that has come.
        self._unanswered: tuple[int, str] | None = None
        self._first: re.Match[str] | None = None
        #: The moves of the match that the engine knows; None if that is uncertain.
        self._told: tuple[int, ...] | None = None
        self._takes_passes = True
        #: Whether the engine repeats the numbers of commands.
        self._repeats_numbers = False
        self._time_settings = ""
        super().__init__(config, game, cancelled)

    def _start(self, deadline: float) -> None:
        if (version := self._ask("protocol_version", deadline)) != "2":
            raise self.process.fault(f"speaks version {version[:20]!r} of GTP, not 2")
        self._commands = tuple(self._ask("list_commands", deadline).split())
        missing = [name for name in ("boardsize", "clear_board", "play", "genmove")
                   if name not in self._commands]  # fmt: skip
        if missing:
            raise self.process.fault(f"has no command {missing[0]} among its list_commands")
        names = [self._tell(each, deadline) for each in ("name", "version")]
        self.title = " ".join(filter(None, (" ".join(each.split()) for each in names)))
        self._set_options(self.config.options, deadline)
        self._ask(f"boardsize {self._board.vertices.rows}", deadline)
        if self._board.komi is not None and "komi" in self._commands:
            self._ask(f"komi {self._board.komi:g}", deadline)

    def describe(self) -> Iterable[str]:
        yield f"commands: {' '.join(self._commands)}"

    def _new_match(self, deadline: float) -> None:
        self._told, self._time_settings = None, ""
        self._clear_board(deadline)
        self._told = ()

    def _clear_board(self, deadline: float) -> None:
        """Have an empty board, or the handicap stones of Go."""
        self._ask("clear_board", deadline)
        if isinstance(self.game, Go):
            for cell, owner in enumerate(self.game.cells(self.game.initial_state())):
                if owner:
                    self._ask(f"play {_letter(owner)} {self._board.vertices.name(cell)}", deadline)

    def settle(self, deadline: float) -> None:
        if self._unanswered is not None:
            self._answer(*self._unanswered, deadline)

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        self._tell_moves(position)
        if isinstance(self.game, Go) and self.game.is_counting(position.state):
            return PlayResult(self._count(self.game, position.state))
        self._tell_time(self.time.left(limit), position.to_move)
        colour = _letter(position.to_move)
        report = next((each for each in _REPORTS if each in self._commands), "")
        command = f"{report or 'genmove'} {colour}{f' {_REPORT_CS}' if report else ''}"
        infos: list[Info] = []

        def handle(line: str) -> None:
            if info := analysis(self._board, position, line, is_kata=report[:5] == "kata-"):
                infos[:] = [info]
                self.report(info)

        deadline = move_deadline(limit, position.to_move)
        said = self._ask(command, deadline, handle)
        if report:
            lines = said.splitlines()
            played = next((line for line in reversed(lines) if line.startswith("play ")), "")
            said = (played or lines[-1]).removeprefix("play ")
        action = self._action(said, position)
        self._told = (*position.moves, action)
        return PlayResult(action, of_move(infos[-1], action) if infos else None)

    def _count(self, game: Go, state: State) -> int:
        """Return the action that brings the marks of dead stones to those of the engine.

        The match is continued if the engine names no dead stones, or others than whole groups.
        """
        accept, resume = game.size**2, game.size**2 + 1
        if "final_status_list" not in self._commands:
            return resume
        said = self._ask("final_status_list dead", self.ping_deadline())
        try:
            dead = set(map(self._board.vertices.cell, said.split()))
        except VertexError:
            self.process.unused(said)
            return resume
        marked = dead_cells(game.view(state))
        if marked == dead:
            return accept
        for action, cells in game.view(state).clicks.items():
            if marked.symmetric_difference(dead).issuperset(cells) and cells:
                after = dead_cells(game.view(game.next_state(state, action)))
                if after.symmetric_difference(dead) < marked.symmetric_difference(dead):
                    return action
        return resume

    def move_name(self, position: Position, action: int) -> str:
        return self._board.name(position.state, action)

    def _action(self, said: str, position: Position) -> int:
        """Return the action that an answer names. Raises Resigned, EngineError."""
        word = re.sub("^([A-Za-z])0+", r"\1", "".join(said.split()[:1]))  # a comment may follow
        if word.lower() == "resign":
            raise Resigned
        action = self._board.action(position.state, word)
        return self.require_legal(action, position, said)

    # The position.

    def _tell_moves(self, position: Position) -> None:
        """Bring the engine to the position, from the start if it refuses a move."""
        told = self._told
        self._told = None
        if told is not None and position.moves[: len(told)] == told:
            try:
                self._play(position, len(told))
            except GtpRefusal:
                pass
            else:
                return
        self._clear_board(self.ping_deadline())
        self._play(position, 0)

    def _play(self, position: Position, first: int) -> None:
        """Tell the engine the moves from number `first` on."""
        for ply in range(first, len(position.moves)):
            state, action = position.states[ply], position.moves[ply]
            if isinstance(self.game, Go) and self.game.is_counting(state):
                continue
            colour, name = _letter(state[0]), self._board.name(state, action)
            if name == PASS:
                if self._takes_passes:
                    self._play_pass(colour)
            else:
                self._ask(f"play {colour} {name}", self.ping_deadline())
        self._told = position.moves

    def _play_pass(self, colour: str) -> None:
        """Tell the engine of a pass. Some, such as GRhino, refuse it, and follow the colours."""
        try:
            self._ask(f"play {colour} pass", self.ping_deadline())
        except GtpRefusal:
            self._takes_passes = False

    # Time.

    def _tell_time(self, limit: Limit, seat: int) -> None:
        """Tell the engine the time control, at the start of a match, and both clocks."""
        if is_short(limit, self.config) and self.config.short:
            self._set_options(self.config.short, self.ping_deadline())
            return
        clock = clock_of(limit)
        if clock is None:
            return
        if not self._time_settings:
            self._time_settings = gtp.time_settings(clock, self._commands)
            if self._time_settings:
                self._tell(self._time_settings, self.ping_deadline())
        if "time_left" in self._commands:
            for each in (3 - seat, seat):
                left = gtp.time_left(clock, clock.left[each - 1], self._time_settings)
                self._tell(f"time_left {_letter(each)} {left}", self.ping_deadline())

    # Commands.

    def _set_options(self, options: object, deadline: float) -> None:
        """Send options: commands with arguments. Raises EngineError for an unknown one."""
        assert isinstance(options, dict)
        for command, value in options.items():
            if command not in self._commands:
                raise self.unknown("command", command, self._commands)
            shown = str(value).lower() if isinstance(value, bool) else value
            self._ask(f"{command} {shown}".rstrip(), deadline)

    def _tell(self, command: str, deadline: float) -> str:
        """Send a command without which a match goes on; "" if the engine refuses it."""
        try:
            return self._ask(command, deadline)
        except GtpRefusal as refusal:
            self.process.unused(refusal.what)
            return ""

    def _ask(
        self, command: str, deadline: float, handle: Callable[[str], None] | None = None
    ) -> str:
        """Send a command, and return the answer. Raises GtpRefusal, EngineError, Cancelled.

        `handle` gets the lines of an analysis, which begin with `info`, when they arrive.
        """
        self._number += 1
        self.process.send(f"{self._number} {command}")
        self._unanswered = self._number, command
        is_error, text = self._answer(self._number, command, deadline, handle)
        if is_error:
            raise GtpRefusal(str(self.process.fault(f"has answered '? {text[:100]}'")))
        return text

    def _answer(
        self,
        number: int,
        command: str,
        deadline: float,
        handle: Callable[[str], None] | None = None,
    ) -> tuple[bool, str]:
        """Return the answer to a command: whether it is an error, and its text.

        Earlier lines, and answers to earlier commands, are dropped. Some engines do not write the
        empty line that ends an answer.
        """
        while not (found := self._first):
            self._first = self._first_line(number, deadline)
        lines = [found[3].strip()]
        name = command.partition(" ")[0]
        while not self._is_complete(name, found[1] == "?", lines):
            if name in _OF_TEXT or (name in _OF_LINES and lines != [""]):
                silence = min(deadline, time.monotonic() + SILENCE_S)
                if not self.process.can_be_read(silence):
                    break
            if not (line := self.process.line(deadline).strip()):
                if lines == [""] and name == "genmove":  # the move is on a line of its own
                    continue
                break
            lines.append(line)
            if handle and line.startswith("info "):
                handle(line)
        self._unanswered = self._first = None
        return found[1] == "?", "\n".join(lines).strip()

    def _first_line(self, number: int, deadline: float) -> re.Match[str] | None:
        """Read a line; return it if it begins the answer to a command, otherwise None."""
        line = self.process.line(deadline)
        found = _ANSWER.match(line)
        if found and found[2] == str(number):
            self._repeats_numbers = True
            return found
        if found and not found[2] and not self._repeats_numbers:
            return found
        self.process.unused(line)
        return None

    @staticmethod
    def _is_complete(name: str, is_error: bool, lines: list[str]) -> bool:
        """Return whether the answer to a command has no further lines, except an empty one."""
        if name in _REPORTS:
            return is_error or lines[-1].startswith("play ")
        return name not in _OF_LINES and (lines != [""] or name not in ("genmove", *_OF_TEXT))


def dead_cells(view: BoardView) -> set[int]:
    """Return the cells of the stones that are marked as dead."""
    return {cell for cell, kind in enumerate(view.kinds) if kind == "dead stone"}


def _letter(seat: int) -> str:
    """Return the colour of a seat as commands name it."""
    return COLOURS[seat][0]
