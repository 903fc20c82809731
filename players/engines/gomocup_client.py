"""A client of the Gomocup protocol, which is also that of Piskvork, for five in a row."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Sequence

from playout.games import Game, Position, State
from playout.games.core import spec
from playout.players.core.player import Info, Limit, PlayResult
from playout.players.engines.client import (
    REPEATED_S,
    EngineClient,
    clock_of,
    counted,
    is_short,
    legal_line,
    move_deadline,
    win_rate,
)
from playout.players.engines.config import EngineConfig, Options
from playout.players.engines.process import EngineError
from playout.players.engines.vertices import VertexError, action_at, cell_at, cell_of, coordinates

_GAMES = ("gomoku", "mnk")
_ABOUT = re.compile(r'(\w+)\s*=\s*"([^"]*)"')
_REFUSAL = re.compile(r"(?:UNKNOWN|ERROR)\b.*", re.IGNORECASE)
_UNLIMITED_MS = 2**31 - 1
#: Seconds after which an engine that does not answer ABOUT is asked again.
RETRY_S = 0.05
#: Seconds in which the answer to ABOUT follows a line that an engine writes at its start.
BANNER_S = 1.0
#: Seconds in which a move may follow the refusal of another command.
REFUSED_S = 2.0
#: The numbers of a search, as Rapfi writes them.
_COUNT = re.compile(r"\b(Depth|Node)\s+(\d{1,15})(?:-\d+)?([KMG]?)\b")
#: The evaluation, in which `+M5` is a win in five moves.
_EVAL = re.compile(r"\bEval\s+([+-]?)(M?)(\d{1,15})\b")
_WON = 10_000
#: The answer to START, which a text may follow.
_OK = re.compile(r"OK\b.*", re.IGNORECASE)
#: Brackets and blanks around coordinates.
_AROUND = " \t()[]"
_BEST_LINE = re.compile(r"Bestline((?:\s+[A-Z]\d{1,3})+)")
_THOUSANDS = {"": 1, "K": 1000, "M": 10**6, "G": 10**9}


class GomocupClient(EngineClient):
    """Plays gomoku with a brain, the term of Gomocup for an engine."""

    farewell = "END"

    def __init__(self, config: EngineConfig, game: Game, cancelled: threading.Event) -> None:
        """Raises ValueError for a game that the protocol does not have."""
        view = game.view(game.initial_state())
        self._size = view.rows
        name = spec.parse(str(game)).name
        if name not in _GAMES or getattr(game, "k", 5) != 5 or view.columns != view.rows:
            raise ValueError(f"Gomocup engines play five in a row on a square board, not {game}")
        self._told: tuple[int, ...] | None = None
        self._is_thinking = False
        #: What the engine says of itself, and whether it knows the question.
        self._about, self._knows_about = "", True
        super().__init__(config, game, cancelled)

    def _start(self, deadline: float) -> None:
        self._about = said = self._asked_about(deadline)
        known = dict(_ABOUT.findall(said))
        named = (known.get(key, "") for key in ("name", "version"))
        self.title = " ".join(filter(None, named)) or said[:50] or self.config.name

    def _asked_about(self, deadline: float) -> str:
        """Return the engine's answer to ABOUT, "" if it does not know the command.

        A line without `name="..."` may be one that it writes at its start.
        """
        self._send("ABOUT")
        said = ""
        while not said or self.process.can_be_read(min(deadline, time.monotonic() + BANNER_S)):
            line = self.process.line(deadline).strip()
            if _ABOUT.search(line):
                return line
            if _REFUSAL.match(line):
                self._knows_about = False
                return ""
            said = line or said
        return said

    def _is_about(self, line: str) -> bool:
        """Return whether a line answers ABOUT."""
        return line == self._about or _ABOUT.match(line) is not None

    def describe(self) -> Iterable[str]:
        for key, value in _ABOUT.findall(self._about):
            yield f"{key}: {value}"

    def _new_match(self, deadline: float) -> None:
        self._begin(deadline)
        self._synchronise(deadline)

    def settle(self, deadline: float) -> None:
        if self._is_thinking:
            self._move(deadline, [])

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        told, self._told = self._told, None
        self._synchronise(self.ping_deadline())
        in_step = told is not None and position.moves[: len(told)] == told
        new = position.moves[len(told) :] if told is not None and in_step else position.moves
        if not in_step:
            self._begin(self.ping_deadline())
        given = self.time.left(limit)
        self._tell_time(given, position.to_move)
        self._synchronise(self.ping_deadline())  # it may refuse a setting
        self._is_thinking = True
        if not position.moves:
            self._send("BEGIN")
        elif in_step and len(new) == 1:
            self._send(f"TURN {self._place(position, len(position.moves) - 1)}")
        else:
            self._send_board(position)
        messages: list[str] = []
        deadline = move_deadline(limit, position.to_move)
        said = self._move(deadline, messages)
        while self.is_repeated(self._action(position, said), position, said):
            said = self._move(deadline, messages)
        self.time.answered(given.seconds)
        action = self.require_legal(self._action(position, said), position, said)
        self._told = (*position.moves, action)
        return PlayResult(action, self._info(position, messages))

    def _action(self, position: Position, said: str) -> int | None:
        """Return the legal action of an answer, or None."""
        try:
            cell = cell_at(said.strip(_AROUND), self._size, self._size)
        except VertexError:
            return None
        return action_at(self.game.view(position.state), cell)

    def move_name(self, position: Position, action: int) -> str:
        cell = cell_of(self.game.view(position.state), action)
        return "" if cell is None else coordinates(cell, self._size)

    def _synchronise(self, deadline: float) -> None:
        """Ask the engine about itself, again and again until it answers.

        Rapfi sends its move before it reads commands again, and drops words that come at once. What
        it has written before its answer is dropped: a second move, and refusals of settings, which
        have no answer.
        """
        while self._knows_about:
            self._send("ABOUT")
            while self.process.can_be_read(min(deadline, time.monotonic() + RETRY_S)):
                if self._is_about(line := self.process.line(deadline).strip()):
                    self.process.discard()
                    return
                self.process.unused(line)
            if time.monotonic() >= deadline:
                self.process.line(deadline)  # raises EngineError
        self.process.discard()

    def _begin(self, deadline: float) -> None:
        """Start an empty board."""
        self._send(f"START {self._size}")
        while not _OK.fullmatch(said := self._answer(deadline, [])):
            self.process.unused(said)  # the rest of an answer to ABOUT
            if not self.process.can_be_read(deadline):
                raise self.process.fault(f"has answered {said[:100]!r}, not OK")
        is_exact = spec.parse(str(self.game)).options.get("exact") == "true"
        self._inform({"rule": 1 if is_exact else 0, "game_type": 1})
        self._inform(self.config.options)
        self._told = ()

    def _send_board(self, position: Position) -> None:
        """Send the whole position: each stone with 1 for the engine, 2 for the opponent."""
        self._send("BOARD")
        for ply in range(len(position.moves)):
            is_own = position.states[ply][0] == position.to_move
            self._send(f"{self._place(position, ply)},{1 if is_own else 2}")
        self._send("DONE")

    def _place(self, position: Position, ply: int) -> str:
        """Return the coordinates of a move."""
        cell = cell_of(self.game.view(position.states[ply]), position.moves[ply])
        assert cell is not None
        return coordinates(cell, self._size)

    def _tell_time(self, limit: Limit, seat: int) -> None:
        """Send the time for the move, the match and the rest, in milliseconds."""
        if is_short(limit, self.config) and self.config.short:
            self._inform(self.config.short)
            return
        clock = clock_of(limit)
        match_s = left_s = 0.0
        if clock and clock.start.main_s:
            match_s, left_s = clock.start.main_s, clock.left[seat - 1].main_s - clock.overhead_s
        turn_s = limit.seconds
        self._inform({
            "timeout_turn": _UNLIMITED_MS if turn_s is None else max(1, int(1000 * turn_s)),
            "timeout_match": int(1000 * match_s),
            "time_left": max(1, int(1000 * left_s)) if match_s else _UNLIMITED_MS,
        })  # fmt: skip

    def _inform(self, values: Options) -> None:
        for key, value in values.items():
            shown = int(value) if isinstance(value, bool) else value
            self._send(f"INFO {key} {shown}")

    def _send(self, line: str) -> None:
        self.process.send(f"{line}\r")

    def _move(self, deadline: float, messages: list[str]) -> str:
        """Return the move that the engine answers, as text; add its messages."""
        self._is_thinking = True
        said = self._answer(deadline, messages)
        if said.upper().startswith("SUGGEST "):
            self._send(f"PLAY {said.split(maxsplit=1)[1]}")
            said = self._answer(deadline, messages)
        self._is_thinking = False
        return said

    def _answer(self, deadline: float, messages: list[str]) -> str:
        """Return the next line that is an answer; a late one to ABOUT is skipped.

        Raises EngineError for UNKNOWN and ERROR, unless an answer follows: engines without ABOUT
        may refuse a setting late, and others complain of one while they think.
        """
        refusal = ""
        while True:
            try:
                line = self.process.line(deadline).strip()
            except EngineError as error:
                if refusal:
                    raise self.process.fault(f"has answered {refusal[:100]!r}") from error
                raise
            kind, _, text = line.partition(" ")
            kind = kind.upper().rstrip(":")
            if _REFUSAL.match(line):
                if not self._is_thinking:
                    raise self.process.fault(f"has answered {line[:100]!r}")
                refusal, deadline = line, min(deadline, time.monotonic() + REFUSED_S)
                self.process.unused(line)
            elif kind == "MESSAGE":
                messages.append(text)
            elif line and kind != "DEBUG" and not self._is_about(line):
                if self._is_thinking and not self._is_move(line, deadline):
                    self.process.unused(line)
                    continue
                return line

    def _is_move(self, line: str, deadline: float) -> bool:
        """Return whether a line is a move, or the last one for a second: others have no numbers."""
        is_text = not any(map(str.isdigit, line))
        until = min(deadline, time.monotonic() + REPEATED_S)
        return not (is_text and self.process.can_be_read(until))

    def _info(self, position: Position, messages: Sequence[str]) -> Info | None:
        """Return the analysis in the messages, as Rapfi writes it, or None."""
        text = "\n".join(messages)
        counts = {key: int(value) * _THOUSANDS[k] for key, value, k in _COUNT.findall(text)}
        scores = _EVAL.findall(text)
        if not scores:
            return None
        sign, mates, digits = scores[-1]
        score = (_WON if mates else int(digits)) * (-1 if sign == "-" else 1)
        lines = _BEST_LINE.findall(text)
        names = lines[-1].split() if lines else ()
        return Info(
            simulations=counted(counts.get("Node", 0)),
            depth=counted(counts.get("Depth", 0)),
            win_rate=win_rate(score),
            pv=legal_line(position, names, self._named_action),
        )

    def _named_action(self, state: State, name: str) -> int | None:
        """Return the action of a move in a principal variation, as A1; columns include I."""
        row, column = self._size - int(name[1:]), ord(name[0]) - ord("A")
        if not (0 <= row < self._size and column < self._size):
            return None
        return action_at(self.game.view(state), row * self._size + column)
