"""A client of the Universal Chess Interface, for chess and the variants of `uci_games`."""

from __future__ import annotations

import itertools
import math
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from playout.games import Game, Position
from playout.players.core.player import LINES, ActionStats, Cancelled, Info, Limit, PlayResult
from playout.players.engines.client import (
    EngineClient,
    counted,
    is_short,
    move_deadline,
    win_rate,
)
from playout.players.engines.config import EngineConfig, Options
from playout.players.engines.uci_games import first_position, uci_game

_OPTION = re.compile(r"option name (.+?) type (\w+)(.*)")
_CHOICE = re.compile(r"\bvar (.+?)(?= var |$)")
#: Set in this order, before all others: memory is divided among the threads.
_FIRST = ("Threads", "Hash")
#: Seconds for a move without any limit.
_UNLIMITED_S = 1.0
#: The option for the number of moves that an analysis compares.
_LINES_OPTION = "MultiPV"
_RANK = re.compile(r"[1-9][0-9]{0,2}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?")
_MATE = 10_000
#: The names of values in a line of a search, which end a variation.
_KEYWORDS = (
    *("score", "cp", "mate", "lowerbound", "upperbound", "wdl", "depth", "seldepth", "multipv"),
    *("time", "nodes", "nps", "hashfull", "tbhits", "sbhits", "cpuload", "currmove"),
    *("currmovenumber", "currline", "refutation", "string"),
)
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


@dataclass(frozen=True)
class UciInfo:
    """The exact evaluation of a move in a line `info`, with its principal variation.

    `rank` is 1 for the best move, 2 for the next one.
    """

    score: float
    depth: int
    nodes: int
    variation: tuple[str, ...]
    rank: int = 1


def parse_info(line: str) -> UciInfo | None:
    """Return the evaluation in a line of a search.

    None for a bound, for a line without a score or a variation, and for a text: what follows
    `string` are no values.
    """
    words = line.split()
    if words[:1] != ["info"] or "pv" not in words:
        return None
    at = words.index("pv")
    end = next((n for n in range(at + 1, len(words)) if words[n] in _KEYWORDS), len(words))
    variation = words[at + 1 : end]
    values = [*words[1:at], *itertools.takewhile("string".__ne__, words[end:])]
    if "score" not in values or {"string", "lowerbound", "upperbound"} & {*values}:
        return None
    found = dict(pairwise(values))
    kind = found.get("score", "")
    score = found.get(kind, "") if kind in ("cp", "mate") else ""
    rank = found.get("multipv", "1")
    if not (_RANK.fullmatch(rank) and _NUMBER.fullmatch(score)):
        return None
    number = float(score)
    if kind == "mate":  # `mate 0`: the player to move is mated
        number = _MATE if number > 0 else -_MATE
    depth, nodes = (_count(found.get(key, "")) for key in ("depth", "nodes"))
    return UciInfo(number, depth, nodes, tuple(variation[:_LONGEST]), int(rank))


def compared(found: Mapping[int, Info]) -> Info:
    """Return the analysis of the best move, with the other moves and their lines.

    `found` has the last analysis of each rank, 1 included. A rank may be older than the one before
    it; a move that has got a better rank since then counts once.
    """
    ranked: dict[int, Info] = {}
    for rank in sorted(found):
        ranked.setdefault(found[rank].pv[0], found[rank])
    if len(ranked) == 1:
        return found[1]
    best, *others = ranked.values()
    actions = []
    for action, each in ranked.items():
        visits = max(1, each.simulations // len(ranked))  # the engine counts those of all together
        actions.append(ActionStats(action, visits, visits * each.win_rate))
    lines = tuple(each.pv for each in others[: LINES - 1])
    return replace(best, actions=tuple(actions), lines=lines)


def _count(text: str) -> int:
    return counted(float(text)) if _NUMBER.fullmatch(text) else 0


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
    increment = f" winc {_ms(clock.gain_s)} binc {_ms(clock.gain_s)}"
    return f"go wtime {white} btime {black}{increment if clock.gain_s else ''}"


def _movetime(limit: Limit, seat: int, config: EngineConfig) -> float | None:
    """Return the seconds of a move that has a time of its own; None if the engine divides time."""
    if is_short(limit, config) and config.short:
        return None
    return None if limit.clock and limit.clock.left[seat - 1].main_s else limit.seconds


class UciClient(EngineClient):
    """Plays a game with a UCI engine."""

    def __init__(self, config: EngineConfig, game: Game, cancelled: threading.Event) -> None:
        """Raises ValueError for a game that UCI engines do not play."""
        self._moves = uci_game(game)
        self._options: dict[str, UciOption] = {}
        self._is_searching = False
        #: How many commands `isready` have not been answered.
        self._unready = 0
        #: The moves of the position on which the engine ponders.
        self._pondered: tuple[int, ...] | None = None
        #: The actions after the first one of the engine's last move, by the moves before them.
        self._rest: dict[tuple[int, ...], int] = {}
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
        if self.config.candidates > 1 and _LINES_OPTION.lower() in self._options:
            self._set({_LINES_OPTION: self.config.candidates})

    def describe(self) -> Iterable[str]:
        yield f"options: {', '.join(each.name for each in self._options.values())}"

    @property
    def ponders(self) -> bool:
        """Whether the table sets the option Ponder."""
        return self.config.options.get("Ponder") is True

    def _new_match(self, deadline: float) -> None:
        self.end_search(deadline)
        self._expected, self._rest = None, {}
        self.process.send("ucinewgame")
        self._synchronise(deadline)

    def _synchronise(self, deadline: float) -> None:
        """Wait until the engine has handled all commands; what it has written before is dropped.

        So the search that follows gets neither a second `bestmove` nor a late analysis of the one
        before.
        """
        self.process.send("isready")
        self._unready += 1
        while self._unready:
            if (line := self.process.line(deadline).strip()) == "readyok":
                self._unready -= 1
            else:
                self.process.unused(line)
        self.process.discard()  # also what followed at once

    def settle(self, deadline: float) -> None:
        if self._pondered is None:
            self.end_search(deadline)

    def end_search(self, deadline: float) -> None:
        if self._is_searching:
            self._stop(deadline)

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        if (action := self._rest.get(position.moves)) is not None:
            return PlayResult(action)
        is_expected = self._is_searching and self._pondered == position.moves
        if not is_expected:
            self.end_search(self.ping_deadline())
            self._synchronise(self.ping_deadline())
        given = self.time.left(limit)
        if is_expected:
            self.process.send("ponderhit")
        else:
            command = go(given, position.to_move, self.config)
            self._search(position, f"{command}{self._restriction(position)}")
        self._pondered = None
        line, info = self._answer(position, move_deadline(limit, position.to_move))
        self.time.answered(_movetime(given, position.to_move, self.config))
        return self._result(position, given, line, info)

    def ponder(self) -> None:
        """Search the expected position until the move is cancelled."""
        if self._expected is None:
            return
        position, limit = self._expected
        words = go(limit, position.to_move, self.config).removeprefix("go")
        self._synchronise(self.ping_deadline())
        self._pondered = position.moves
        self._search(position, f"go ponder{words}")
        while self.process.line(math.inf).split()[:1] != ["bestmove"]:
            pass
        self._is_searching = False  # it has answered early

    def _search(self, position: Position, command: str) -> None:
        names = self._moves.names(position.states, position.moves)
        moves = " ".join(["moves", *names]) if names else ""
        self.process.send(f"position {first_position(position.game)} {moves}".rstrip())
        self.process.send(command)
        self._is_searching = True

    def _begun(self, position: Position) -> tuple[int, ...]:
        """Return the actions so far of an incomplete move, as after openings of Amazons."""
        number = len(position.moves)
        return position.moves[number - number % self._moves.actions_per_move :]

    def _restriction(self, position: Position) -> str:
        """Return the end of a command `go` that restricts the search to an incomplete move."""
        if not (begun := self._begun(position)):
            return ""
        first = position.states[-1 - len(begun)]
        return " ".join([" searchmoves", *self._moves.moves(first, begun)])

    def _answer(self, position: Position, deadline: float) -> tuple[str, Info | None]:
        """Wait for the move; return its line, and the last analysis of it."""
        info: Info | None = None
        found: dict[int, Info] = {}
        try:
            while not self._is_answer(line := self.process.line(deadline).strip(), position):
                rank, latest = self._info(position, line)
                if latest is None:
                    continue
                found[rank] = latest
                if 1 in found:
                    before, info = info, compared(found)
                    if self.reporter.is_due or before is None or info.depth > before.depth:
                        self.report(info)
        except Cancelled:
            self.process.send("stop")
            raise
        self._is_searching = False
        return line, info

    def _is_answer(self, line: str, position: Position) -> bool:
        """Return whether a line is the move of this search."""
        if line.split()[:1] != ["bestmove"]:
            return False
        actions = self._named(line, position)
        return not self.is_repeated(actions[0] if actions else None, position, line)

    def _named(self, line: str, position: Position) -> tuple[int, ...]:
        """Return the rest of the actions of the move in a line, () if it is not legal."""
        words = line.split()
        begun = self._begun(position)
        whole = self._moves.actions(position.states[-1 - len(begun)], "".join(words[1:2]))
        return whole[len(begun) :] if whole[: len(begun)] == begun else ()

    def move_name(self, position: Position, action: int) -> str:
        begun = self._begun(position)
        first, actions = position.states[-1 - len(begun)], (*begun, action)
        if len(actions) == self._moves.actions_per_move:
            return self._moves.name(first, *actions)
        return next(self._moves.moves(first, actions))

    def _result(self, position: Position, limit: Limit, line: str, info: Info | None) -> PlayResult:
        """Return the move of an answer; `limit` is that of the search."""
        words = line.split()
        actions = self._named(line, position)
        action = self.require_legal(actions[0] if actions else None, position, line)
        self._rest = {
            (*position.moves, *actions[:done]): actions[done] for done in range(1, len(actions))
        }
        self._expect(position, limit, actions, words[3] if len(words) > 3 else "")
        return PlayResult(action, info)

    def _expect(
        self, position: Position, limit: Limit, actions: tuple[int, ...], reply: str
    ) -> None:
        """Note the position that the engine expects after its move, to ponder on it."""
        after = position.extended(actions)
        answer = self._moves.actions(after.state, reply)
        last = after.extended(answer)
        is_ours = not last.winner and last.to_move == position.to_move
        self._expected = (last, limit) if answer and is_ours else None

    def _info(self, position: Position, line: str) -> tuple[int, Info | None]:
        """Return the rank of the move that a line is about, and its analysis.

        None for any other line. An illegal variation belongs to another position.
        """
        found = parse_info(line)
        if found is None:
            return 0, None
        begun = len(self._begun(position))
        pv = self._moves.line(position.states[-1 - begun], found.variation)[begun:]
        if not pv:
            return 0, None
        return found.rank, Info(found.nodes, 0.0, found.depth, win_rate(found.score), pv)

    def _stop(self, deadline: float) -> None:
        """Stop a search whose result is not needed."""
        self._pondered = None
        self.process.send("stop")
        while self.process.line(deadline).split()[:1] != ["bestmove"]:
            pass
        self._is_searching = False

    def _set(self, options: Options) -> None:
        """Set options. Raises EngineError for one that the engine does not announce."""
        for name, value in options.items():
            option = self._options.get(name.lower())
            if option is None:
                raise self.unknown("option", name, [each.name for each in self._options.values()])
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            if option.choices and shown not in option.choices:
                raise self.unknown(f"value of {option.name}", shown, option.choices)
            end = f" value {shown}" if option.kind != "button" else ""
            self.process.send(f"setoption name {option.name}{end}")


def _ms(seconds: float) -> int:
    """Return whole milliseconds, at least 1: engines misbehave with 0 and negative numbers."""
    return max(1, int(1000 * seconds))
