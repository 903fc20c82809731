"""A client of the Universal Chess Interface, for chess and some games of OpenSpiel."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from playout.games import Game, State
from playout.games.core import spec
from playout.players.core.player import Cancelled, Info, Limit, PlayResult
from playout.players.engines.client import (
    EngineClient,
    Position,
    is_short,
    legal_line,
    move_deadline,
    win_rate,
)
from playout.players.engines.config import EngineConfig, Options
from playout.players.engines.process import EngineError

#: The games, each with its UCI_Variant in Fairy-Stockfish.
VARIANTS: Mapping[str, str] = {
    "chess": "chess",
    "breakthrough": "breakthrough",
    "clobber": "clobber",
}


class UciMoves:
    """Names the actions of a game for UCI engines."""

    def __init__(self, game: Game) -> None:
        """Raises ValueError for a game that UCI engines do not play."""
        given = spec.parse(str(game))
        self.variant = VARIANTS.get(given.options.get("game", ""), "")
        #: The first position, as the command `position` names it.
        self.first = "startpos"
        if given.name == "chess":
            self.variant = "chess"
            self.first = f"fen {given.options['fen']}" if given.options else "startpos"
        elif given.name != "open_spiel" or len(given.options) != 1 or not self.variant:
            listed = ", ".join(f"open_spiel(game={each})" for each in VARIANTS)
            raise ValueError(f"UCI engines play chess, {listed}, not {game}")
        self._game: Any = game
        self._name_of = _NAMES[self.variant]

    def name(self, state: State, action: int) -> str:
        """Return the name of a legal action, as `e2e4`."""
        return self._name_of(self._game, state, action)

    def names(self, states: Iterable[State], moves: Iterable[int]) -> list[str]:
        """Return the names of moves, each in its state."""
        return [self.name(state, move) for state, move in zip(states, moves, strict=False)]

    def action(self, state: State, name: str) -> int | None:
        """Return the legal action of that name, or None."""
        legal = self._game.legal_actions(state)
        return next((each for each in legal if self.name(state, each) == name), None)


def _chess(game: Any, state: State, action: int) -> str:
    name: str = game.long_algebraic(state, action)
    return name


def _breakthrough(game: Any, state: State, action: int) -> str:
    """Mirror the ranks: the first player moves down in OpenSpiel, and White up in UCI."""
    name = game.action_name(state, action)
    return "".join(f"{name[i]}{9 - int(name[i + 1])}" for i in (0, 2))


def _clobber(game: Any, state: State, action: int) -> str:
    """Transpose: OpenSpiel has five rows and six columns, UCI six rows and five columns."""
    name = game.action_name(state, action)
    return "".join(f"{'edcba'[int(name[i + 1]) - 1]}{6 - 'abcdef'.index(name[i])}" for i in (0, 2))


_NAMES: Mapping[str, Callable[[Any, State, int], str]] = {
    "chess": _chess,
    "breakthrough": _breakthrough,
    "clobber": _clobber,
}


_OPTION = re.compile(r"option name (.+?) type (\w+)(.*)")
_CHOICE = re.compile(r"\bvar (.+?)(?= var |$)")
#: Set in this order, before all others: memory is divided among the threads.
_FIRST = ("Threads", "Hash")
#: Seconds for a move without any limit.
_UNLIMITED_S = 1.0
_COUNTS = re.compile(r"\b(depth|nodes) (\d+)")
_SCORE = re.compile(r"\bscore (cp|mate) (-?\d+)")
_VARIATION = re.compile(r"\bpv (.+)")
_MATE = 10_000
#: Most moves of a principal variation.
_LONGEST = 60


@dataclass(frozen=True)
class UciOption:
    """An option that an engine announces; `choices` are the values of a combo."""

    name: str
    kind: str
    choices: tuple[str, ...] = ()


def parse_option(line: str) -> UciOption | None:
    """Return the option that a line announces; None for another line."""
    found = _OPTION.match(line)
    return UciOption(found[1], found[2], tuple(_CHOICE.findall(found[3]))) if found else None


def go(limit: Limit, seat: int, config: EngineConfig) -> str:
    """Return the command that starts a search, with its limits in milliseconds, at least 1.

    With main time left, it has both clocks; within a period, and outside matches, the time for this
    move.
    """
    if is_short(limit, config) and config.short:
        return " ".join(["go", *(f"{key} {value}" for key, value in config.short.items())])
    clock, seconds = limit.clock, _movetime(limit, seat, config)
    if clock is None or seconds is not None:
        return f"go movetime {_ms(_UNLIMITED_S if seconds is None else seconds)}"
    white, black = (_ms(each.main_s - clock.overhead_s) for each in clock.left)
    increment = f" winc {_ms(clock.increment_s)} binc {_ms(clock.increment_s)}"
    return f"go wtime {white} btime {black}{increment if clock.increment_s else ''}"


def _movetime(limit: Limit, seat: int, config: EngineConfig) -> float | None:
    """Return the seconds of a move that has a time of its own; None if the engine divides time."""
    if is_short(limit, config) and config.short:
        return None
    return None if limit.clock and limit.clock.left[seat - 1].main_s else limit.seconds


class UciClient(EngineClient):
    """Plays a game with a UCI engine."""

    def __init__(self, config: EngineConfig, game: Game, cancelled: threading.Event) -> None:
        """Raises ValueError for a game that UCI engines do not play."""
        self._moves = UciMoves(game)
        self._options: dict[str, UciOption] = {}
        self._is_searching = False
        #: The moves of the position on which the engine ponders.
        self._pondered: tuple[int, ...] | None = None
        #: The position that the engine expects after its last move, and the limit of that move.
        self._expected: tuple[Position, Limit] | None = None
        super().__init__(config, game, cancelled)

    def _start(self, deadline: float) -> None:
        self.process.send("uci")
        while (line := self.process.line(deadline).strip()) != "uciok":
            if line.startswith("id name "):
                self.title = line.removeprefix("id name ")
            elif option := parse_option(line):
                self._options[option.name.lower()] = option
        variant = self.config.variant or self._moves.variant
        if variant != "chess":
            self._set({"UCI_Variant": variant})
        chosen = self.config.options
        self._set({key: chosen[key] for key in _FIRST if key in chosen})
        self._set({key: value for key, value in chosen.items() if key not in _FIRST})

    def describe(self) -> Iterable[str]:
        yield f"options: {', '.join(each.name for each in self._options.values())}"

    @property
    def ponders(self) -> bool:
        """Whether the table sets the option Ponder."""
        return self.config.options.get("Ponder") is True

    def _new_match(self, deadline: float) -> None:
        self.end_search(deadline)
        self._expected = None
        self.process.send("ucinewgame")
        self.process.send("isready")
        while self.process.line(deadline).strip() != "readyok":
            pass

    def settle(self, deadline: float) -> None:
        if self._pondered is None:
            self.end_search(deadline)

    def end_search(self, deadline: float) -> None:
        if self._is_searching:
            self._stop(deadline)

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        is_expected = self._is_searching and self._pondered == position.moves
        if not is_expected:
            self.end_search(self.ping_deadline())
        given = self.time.left(limit)
        if is_expected:
            self.process.send("ponderhit")
        else:
            self._search(position, go(given, position.seat, self.config))
        self._pondered = None
        line, info = self._answer(move_deadline(limit, position.seat))
        self.time.answered(_movetime(given, position.seat, self.config))
        return self._result(position, given, line, info)

    def ponder(self) -> None:
        """Search the expected position until the move is cancelled."""
        if self._expected is None:
            return
        position, limit = self._expected
        words = go(limit, position.seat, self.config).removeprefix("go")
        self._pondered = position.moves
        self._search(position, f"go ponder{words}")
        while not self.process.line(math.inf).startswith("bestmove"):
            pass
        self._is_searching = False  # it has answered early

    def _search(self, position: Position, command: str) -> None:
        names = self._moves.names(position.states, position.moves)
        moves = " ".join(["moves", *names]) if names else ""
        self.process.send(f"position {self._moves.first} {moves}".rstrip())
        self.process.send(command)
        self._is_searching = True

    def _answer(self, deadline: float) -> tuple[str, str]:
        """Wait for the move; return its line, and the last line about it."""
        info = ""
        try:
            while not (line := self.process.line(deadline).strip()).startswith("bestmove"):
                if line.startswith("info ") and _SCORE.search(line) and " pv " in line:
                    info = line
        except Cancelled:
            self.process.send("stop")
            raise
        self._is_searching = False
        return line, info

    def _result(self, position: Position, limit: Limit, line: str, info: str) -> PlayResult:
        """Return the move of an answer; `limit` is that of the search."""
        words = line.split()
        named = words[1] if len(words) > 1 else ""
        state = position.states[-1]
        action = self.require_legal(self._moves.action(state, named), position, line)
        self._expect(position, limit, action, words[3] if len(words) > 3 else "")
        return PlayResult(action, self._info(position, info) if info else None)

    def _expect(self, position: Position, limit: Limit, action: int, reply: str) -> None:
        """Note the position that the engine expects after its move, to ponder on it."""
        self._expected = None
        after = self.game.next_state(position.states[-1], action)
        answer = self._moves.action(after, reply) if not self.game.winner(after) else None
        if answer is not None:
            last = self.game.next_state(after, answer)
            if self.game.winner(last) == 0 and last[0] == position.seat:
                states = (*position.states, after, last)
                self._expected = Position(states, (*position.moves, action, answer)), limit

    def _info(self, position: Position, line: str) -> Info:
        """Return the analysis in the last line about the best move."""
        counts = {key: int(value) for key, value in _COUNTS.findall(line)}
        found = _SCORE.search(line)
        score = int(found[2]) if found else 0
        if found and found[1] == "mate":
            score = _MATE if score > 0 else -_MATE
        names = _VARIATION.findall(line)
        variation = names[0].split()[:_LONGEST] if names else ()
        return Info(
            simulations=counts.get("nodes", 0),
            depth=counts.get("depth", 0),
            win_rate=win_rate(score),
            pv=tuple(legal_line(self.game, position.states[-1], variation, self._moves.action)),
        )

    def _stop(self, deadline: float) -> None:
        """Stop a search whose result is not needed."""
        self._pondered = None
        self.process.send("stop")
        while not self.process.line(deadline).startswith("bestmove"):
            pass
        self._is_searching = False

    def _set(self, options: Options) -> None:
        """Set options. Raises EngineError for one that the engine does not announce."""
        for name, value in options.items():
            option = self._options.get(name.lower())
            if option is None:
                raise self._unknown("option", name, [each.name for each in self._options.values()])
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            if option.choices and shown not in option.choices:
                raise self._unknown(f"value of {option.name}", shown, option.choices)
            end = f" value {shown}" if option.kind != "button" else ""
            self.process.send(f"setoption name {option.name}{end}")

    def _unknown(self, kind: str, name: str, known: Iterable[str]) -> EngineError:
        return EngineError(f"the engine {self.config.name}: {spec.unknown(kind, name, known)}")


def _ms(seconds: float) -> int:
    """Return whole milliseconds, at least 1: engines misbehave with 0 and negative numbers."""
    return max(1, int(1000 * seconds))
