"""A search of our UCI engine: the player searches once, and its reports become `info` lines.

`stop` cancels the player, which returns its best move so far. `ponderhit` cancels it, too, and it
continues with what is left of its limits: searches keep their tree or their table.

If only some moves are to be searched, the player searches the positions after them, in rounds after
which the worse half is left out (sequential halving: Karnin, Koren and Somekh, "Almost Optimal
Exploration in Multi-Armed Bandits", 2013).
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from playout.games import Position
from playout.players.core.budget import LEAST_S, ReportedClock
from playout.players.core.player import (
    ActionStats,
    Cancelled,
    Info,
    Limit,
    PlayResult,
    Report,
    Resigned,
)
from playout.players.engines.engine_server import EngineServer, LocalMatch
from playout.players.engines.uci_games import UciGame
from playout.players.engines.uci_options import UciSettings
from playout.protocol.messages import TimeControl

# The lines `info`. A player reports an expected result p from 0 to 1. The score is 400 log10(p / (1
# - p)) centipawns, as in the ratings of chess, and for a proven result the moves to it, if the line
# of moves leads there. What players do not report is left out: selective depth, the use of the
# memory, and in games with ties the chances of a win, a tie and a loss until the result is proven.

#: The score of a proven win whose length is not known, in centipawns.
PROVEN_CP = 10_000
#: Expected results are kept this far from 0 and 1, where the score would be infinite.
_LEAST = 1e-9
_PERMILLE = 1000


@dataclass(frozen=True)
class MoveLine:
    """A move and what is known about it, for the player to move; its actions begin `info.pv`."""

    actions: tuple[int, ...]
    info: Info | None

    @property
    def value(self) -> float:
        """The expected result from 0 to 1; a proven win is above 1, a proven loss below 0."""
        if self.info is None:
            return 0.5
        return 0.5 + self.info.proven if self.info.proven else self.info.win_rate


def lines_of(result: PlayResult, most: int) -> list[MoveLine]:
    """Return the best lines of a search, the chosen move first.

    A player reports its line of moves for the chosen move only.
    """
    info = result.info
    if info is None:
        return [MoveLine((result.action,), None)]
    pv = info.pv if info.pv[:1] == (result.action,) else (result.action,)
    chosen = MoveLine((result.action,), replace(info, pv=pv))
    others = (_other(info, each) for each in info.actions if each.action != result.action)
    return [chosen, *(each for each in others if each)][:most]


def _other(info: Info, stats: ActionStats) -> MoveLine | None:
    """Return the line of a move that was not chosen; None if it was not examined."""
    if not stats.visits and stats.proven is None:
        return None
    pv = (stats.action,)
    rate = stats.win_rate if stats.proven is None else (1 + stats.proven) / 2
    return MoveLine(pv, Info(depth=info.depth, win_rate=rate, pv=pv, proven=stats.proven))


def line_after(actions: tuple[int, ...], info: Info | None, *, same_player: bool) -> MoveLine:
    """Return the line of a move from the analysis of the position after it.

    `same_player` says whether the player who made the move is to move again.
    """
    if info is None:
        return MoveLine(actions, None)
    rate, proven = info.win_rate, info.proven
    if not same_player:
        rate, proven = 1 - rate, None if proven is None else -proven
    seen = Info(
        simulations=info.simulations,
        depth=len(actions) + info.depth,
        win_rate=rate,
        pv=(*actions, *info.pv),
        proven=proven,
    )
    return MoveLine(actions, seen)


class InfoWriter:
    """Writes the lines of a search from one position."""

    def __init__(self, uci: UciGame, position: Position, *, shows_wdl: bool) -> None:
        self._uci, self._position = uci, position
        self._shows_wdl = shows_wdl

    def line(self, number: int, info: Info, nodes: int, seconds: float) -> str:
        """Return the line about the move with that number, 1 for the best.

        `nodes` and `seconds` are those of the whole search so far.
        """
        names = self._uci.line_names(self._position, info.pv)
        words = ["info"]
        if info.depth:
            words += ["depth", str(info.depth)]
        words += ["multipv", str(number), "score", self.score(info)]
        if self._shows_wdl and (chances := self._wdl(info)):
            words += ["wdl", chances]
        words += ["nodes", str(nodes)]
        if seconds > 0:
            words += ["nps", str(round(nodes / seconds))]
        words += ["time", str(round(1000 * seconds))]
        return " ".join([*words, *(["pv", *names] if names else [])])

    def score(self, info: Info) -> str:
        """Return `cp` or `mate` with its number, for the player to move."""
        if not info.proven:
            return f"cp {centipawns(0.5 if info.proven == 0 else info.win_rate)}"
        if self._position.extended(info.pv).winner <= 0:  # the line does not lead to the end
            return f"cp {info.proven * PROVEN_CP}"
        moves = len(self._uci.line_names(self._position, info.pv))
        return f"mate {info.proven * ((moves + 1) // 2)}"

    def _wdl(self, info: Info) -> str:
        """Return the chances of a win, a tie and a loss in thousandths, "" if they are unknown."""
        if info.proven == 0:
            return f"0 {_PERMILLE} 0"
        if info.proven is None and self._uci.has_ties:
            return ""
        rate = info.win_rate if info.proven is None else (1 + info.proven) / 2
        won = round(_PERMILLE * rate)
        return f"{won} 0 {_PERMILLE - won}"


def centipawns(win_rate: float) -> int:
    """Return the score of an expected result from 0 to 1."""
    rate = min(max(win_rate, _LEAST), 1 - _LEAST)
    return round(400 * math.log10(rate / (1 - rate)))


# The command `go`.

#: The least share of `movetime` for the search, whatever passes outside the engine.
_LEAST_SHARE = 0.3
#: The time outside the engine is reserved for this many plies at most: chess may take thousands.
_MOST_PLIES = 100
_NUMBER = re.compile("-?[0-9]{1,12}", re.ASCII)
_NUMBERS = (
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "movetime",
    "nodes",
    "depth",
    "mate",
)
#: The time left and the increment of each player.
_CLOCKS = {1: ("wtime", "winc"), 2: ("btime", "binc")}
_FLAGS = ("infinite", "ponder")


@dataclass(frozen=True)
class GoCommand:
    """The words of a `go`: its numbers, its flags and the moves to search, () for all.

    Times are in milliseconds. `errors` are sentences about words that were ignored.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    search_moves: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def is_endless(self) -> bool:
        """Whether only `stop` ends the search: `infinite`, or no limit at all."""
        return "infinite" in self.flags or not {*self.numbers} - {"winc", "binc", "movestogo"}

    @property
    def ponders(self) -> bool:
        """Whether the limits hold from `ponderhit` on only."""
        return "ponder" in self.flags

    @property
    def depth(self) -> int | None:
        """The depth to reach in moves; to find a mate in n moves, 2n - 1."""
        depths = []
        if "depth" in self.numbers:
            depths.append(self.numbers["depth"])
        if "mate" in self.numbers:
            depths.append(2 * self.numbers["mate"] - 1)
        return max(1, min(depths)) if depths else None

    def limit(self, match: LocalMatch, lag_s: float, actions: int = 1) -> Limit:
        """Return the limit of time and nodes for the next action of a match.

        `lag_s` seconds of each move pass outside the engine; a move is a number of `actions`.
        """
        numbers, clock = self.numbers, ReportedClock()
        if "movetime" in numbers:
            whole_s = _seconds(numbers["movetime"])
            clock.move_s = max(whole_s - lag_s, _LEAST_SHARE * whole_s) / actions
        left, increment = _CLOCKS[match.mover]
        if left in numbers:
            gain_s = max(0, numbers.get(increment, 0)) / 1000
            clock.control = TimeControl(_seconds(numbers[left]), gain_s, 0, 0.0)
            clock.moves = max(0, numbers.get("movestogo", 0))
        plies = min(match.game.max_plies - match.plies, _MOST_PLIES)
        limit = clock.limit(match.mover, ply=0, max_plies=plies, lag_s=lag_s)
        nodes = max(1, numbers["nodes"] // actions) if "nodes" in numbers else None
        return replace(limit, simulations=nodes, clock=None)


def parse_go(words: Sequence[str], is_move: Callable[[str], bool]) -> GoCommand:
    """Return the command of the words after `go`; `is_move` tells the names of legal moves.

    Words that cannot be used are ignored, as the protocol says.
    """
    numbers: dict[str, int] = {}
    moves: list[str] = []
    errors: list[str] = []
    rest = [*words]
    while rest:
        word = rest.pop(0)
        if word in _NUMBERS:
            if rest and _NUMBER.fullmatch(rest[0]):
                numbers[word] = int(rest.pop(0))
            else:
                given = repr(rest[0]) if rest else "nothing"
                errors.append(f"go: expected a whole number after {word}, not {given}")
        elif word == "searchmoves":
            while rest and is_move(rest[0]):
                moves.append(rest.pop(0))
            if not moves:
                errors.append("go: expected legal moves after searchmoves")
        elif word not in _FLAGS:
            errors.append(f"go: {word[:20]!r} is ignored")
    flags = frozenset(word for word in words if word in _FLAGS)
    return GoCommand(numbers, flags, tuple(moves), tuple(errors))


def _seconds(milliseconds: int) -> float:
    return max(1, milliseconds) / 1000


# The search.

NO_MOVE = "bestmove (none)"
#: Without a limit: seconds for each move in the first round, and the growth of later rounds.
_FIRST_S, _GROWTH = 0.02, 2
#: Seconds for a further action of a move when the search is to stop.
_LAST_S = 0.01
#: The time is used up if less than this share is left.
_SPARE = 0.02


class SearchBudget:
    """The limits of one search, and the time and nodes used so far."""

    def __init__(
        self, limit: Limit, *, waits: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`waits`: the time is not limited until it is false, but counts from now on."""
        self._limit, self._clock = limit, clock
        self._began_s = clock()
        self.waits = waits
        #: Whether a move is known: without one, there is always time to find it.
        self.has_move = False
        #: The nodes of the searches that have ended.
        self.nodes = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the search began."""
        return self._clock() - self._began_s

    @property
    def is_limited(self) -> bool:
        """Whether time or nodes end the search."""
        return self._limit.simulations is not None or (
            self._limit.seconds is not None and not self.waits
        )

    @property
    def per_action(self) -> Limit:
        """The limit for a further action of the move that was found."""
        return Limit(self._limit.seconds, self._limit.simulations)

    def left(self) -> Limit | None:
        """Return the time and the nodes that are left; None if either is used up.

        Without a limit, the time is infinite.
        """
        seconds, nodes = self._limit.seconds, self._limit.simulations
        if nodes is not None:
            nodes = max(nodes - self.nodes, 0 if self.has_move else 1)
        if nodes == 0:
            return None
        if self.waits or seconds is None:
            return Limit(math.inf if nodes is None else None, nodes)
        left_s = seconds - self.elapsed_s
        if self.has_move and left_s < _SPARE * seconds:
            return None
        return Limit(max(left_s, LEAST_S), nodes, self._limit.time_carries_over)

    def share(self, moves: int, wanted: int, seconds: float) -> Limit | None:
        """Return the limit for each of several moves in a round, None if nothing is left.

        Rounds halve the moves until `wanted` are left, and take equally long. Without a limit of
        time and nodes, it is `seconds`. A single move gets all that is left.
        """
        left = self.left()
        if left is None or moves == 1:
            return left
        if not self.is_limited:
            return Limit(seconds)
        shares = moves * (1 + math.ceil(math.log2(moves / wanted)))
        nodes = None if left.simulations is None else max(1, left.simulations // shares)
        return Limit(None if left.seconds is None else left.seconds / shares, nodes)


class UciSearch:
    """One search in a thread, which writes `info` lines, and finally `bestmove`."""

    def __init__(
        self,
        match: LocalMatch,
        uci: UciGame,
        go: GoCommand,
        settings: UciSettings,
        server: EngineServer,
    ) -> None:
        """Take the match at the position to search, which nobody else uses until the end."""
        self._match, self._uci, self._go = match, uci, go
        self._settings, self._server = settings, server
        self._info = InfoWriter(uci, match.position, shows_wdl=settings.shows_wdl)
        limit = go.limit(match, settings.overhead_s, uci.actions_per_move)
        self._budget = SearchBudget(limit, waits=go.is_endless or go.ponders)
        #: The best lines so far, the best one first.
        self._lines: list[MoveLine] = []
        #: The depth reached before `ponderhit`: what is found at a smaller depth does not count.
        self._least_depth = 0
        #: Guards the next three, `waits` of the budget, and the player's `ready` and `cancel`.
        self._changed = threading.Condition()
        self._stopped = self._abandoned = False
        #: Whether `ponderhit` came since the player began its search.
        self._was_hit = False
        self._thread = threading.Thread(target=self._run, name="search", daemon=True)

    def start(self) -> None:
        """Start the thread of the search."""
        self._thread.start()

    def stop(self) -> None:
        """Let the search end now, with its best move so far."""
        with self._changed:
            self._stopped = True
            self._interrupt()

    def ponderhit(self) -> None:
        """Let the limits hold: the expected move was played."""
        with self._changed:
            self._budget.waits = self._go.is_endless
            self._was_hit = True
            self._interrupt()

    def abandon(self) -> None:
        """End the search without a move."""
        with self._changed:
            self._stopped = self._abandoned = True
            self._interrupt()

    @property
    def has_ended(self) -> bool:
        """Whether the search has written `bestmove`."""
        return not self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the search has ended, or for a number of seconds."""
        self._thread.join(seconds)

    def _interrupt(self) -> None:
        self._match.player.cancel()
        self._changed.notify_all()

    def _run(self) -> None:
        try:
            error = self._guarded(self._search)
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or not self._budget.waits)
            error = error or self._guarded(self._complete)
            if self._abandoned:
                return
            if error:
                self._server.write(f"info string error: {error}")
            self._server.write(self._bestmove())
        except BrokenPipeError:  # the other program has exited
            pass

    def _guarded(self, think: Callable[[], None]) -> str:
        """Let the player think; return why it could not, "" for the usual end."""
        try:
            return self._server.attempt(think)[0] or ""
        except (Cancelled, Resigned):  # UCI has no resignation
            if not self._lines:
                first, *_ = self._match.game.legal_actions(self._match.state)
                self._lines = [MoveLine((first,), None)]
            return ""

    # The player.

    def _search(self) -> None:
        """Search until a limit is reached, the result is certain, or the player is stopped."""
        if self._go.search_moves:
            state, names = self._match.state, dict.fromkeys(self._go.search_moves)
            self._halve([self._uci.actions(state, name) for name in names])
            return
        while limit := self._budget.left():
            try:
                result = self._choose(limit, self._show)
            except Cancelled:
                if self._was_hit and not self._stopped:
                    continue  # the limits hold from now on
                raise
            self._count(result.info)
            self._report(lines_of(result, self._settings.lines_shown), self._budget.nodes)
            if not self._was_hit:
                return
            best = self._lines[0].info
            self._least_depth = best.depth if best else 0

    def _choose(
        self, limit: Limit, report: Report | None = None, *, is_last: bool = False
    ) -> PlayResult:
        """Let the player choose. After `stop` it returns at once, but searches if it `is_last`.

        Raises Cancelled.
        """
        with self._changed:
            if self._abandoned:
                raise Cancelled
            self._was_hit = False
            if is_last or not self._stopped:
                self._match.player.ready()
        return self._match.choose(limit, report)

    def _count(self, info: Info | None) -> None:
        self._budget.nodes += info.simulations if info else 0

    def _show(self, info: Info) -> None:
        """Report the search that is running, and end it at the depth that was asked for."""
        best = info.pv[:1] or tuple(each.action for each in info.actions[:1])
        if best:
            lines = lines_of(PlayResult(best[0], info), self._settings.lines_shown)
            self._show_lines(lines, info.simulations)

    def _show_lines(self, lines: list[MoveLine], nodes: int) -> None:
        self._report(lines, self._budget.nodes + nodes)
        if self._go.depth and self._are_certain(lines[:1]):
            self._match.player.cancel()

    def _report(self, lines: list[MoveLine], nodes: int) -> None:
        """Take these lines as the best, and write them.

        A search that was stopped may have lost the reply to its best move, which is kept.
        """
        best, known = lines[0], self._lines[0] if self._lines else None
        if best.info and best.info.proven is None and best.info.depth < self._least_depth:
            return
        if best.info and known and known.info and known.actions == best.actions == best.info.pv:
            best = replace(best, info=replace(best.info, pv=known.info.pv))
        self._lines, self._budget.has_move = [best, *lines[1:]], True
        for number, each in enumerate(self._lines[: self._settings.lines_shown], 1):
            if each.info:
                self._server.write(
                    self._info.line(number, each.info, nodes, self._budget.elapsed_s)
                )

    def _are_certain(self, lines: Sequence[MoveLine]) -> bool:
        """Return whether each line is proven, or has the depth that was asked for."""
        wanted = self._go.depth or math.inf
        return all(
            each.info is None or each.info.proven is not None or each.info.depth >= wanted
            for each in lines
        )

    # Rounds of moves.

    def _halve(self, moves: list[tuple[int, ...]]) -> None:
        """Search the positions after these moves, in each round fewer moves for a longer time."""
        wanted = min(self._settings.lines_shown, len(moves))
        seconds, found = _FIRST_S, dict[tuple[int, ...], MoveLine]()
        while limit := self._budget.share(len(moves), wanted, seconds):
            try:
                self._search_after(moves, limit, found)
            except Cancelled:
                if self._was_hit and not self._stopped:
                    self._was_hit = False  # the limits hold from now on
                    continue
                if self._lines:
                    return
                raise
            ranked = sorted((found[each] for each in moves), key=lambda each: -each.value)
            self._report(ranked[:wanted], self._budget.nodes)
            is_last = len(moves) == wanted and (wanted == 1 or self._budget.is_limited)
            if is_last or self._are_certain(ranked[:wanted]):
                return
            moves = [each.actions for each in ranked[: max(wanted, (len(ranked) + 1) // 2)]]
            seconds *= _GROWTH

    def _search_after(
        self,
        moves: Sequence[tuple[int, ...]],
        limit: Limit,
        found: dict[tuple[int, ...], MoveLine],
    ) -> None:
        """Search the position after each move, and note its line. Raises Cancelled."""
        is_first = not self._lines
        for move in moves:
            line = self._line_after(move, limit, shows=len(moves) == 1)
            self._count(line.info)
            if self._was_hit or (self._stopped and self._lines):  # the search was cut short
                raise Cancelled
            found[move] = line
            if is_first:
                self._lines = [max(found.values(), key=lambda each: each.value)]
                self._budget.has_move = True

    def _line_after(self, move: tuple[int, ...], limit: Limit, *, shows: bool) -> MoveLine:
        """Search the position after a move; `shows`: report the search while it runs."""
        match, player = self._match, self._match.mover
        with self._played(move):
            is_same = match.mover == player
            if match.winner:
                proven = 0 if match.winner < 0 else 1 if match.winner == player else -1
                ended = Info(win_rate=(1 + proven) / 2, proven=proven)
                return line_after(move, ended, same_player=True)

            def show(info: Info) -> None:
                self._show_lines([line_after(move, info, same_player=is_same)], info.simulations)

            info = self._choose(limit, show if shows else None).info
            return line_after(move, info, same_player=is_same)

    @contextmanager
    def _played(self, actions: Sequence[int]) -> Iterator[None]:
        """Within the block, the match has these actions, too."""
        done = self._match.plies
        try:
            for action in actions:
                self._match.play(action)
            yield
        finally:
            while self._match.plies > done:
                self._match.take_back()

    # The move.

    def _complete(self) -> None:
        """Let the player choose the further actions of a move."""
        if not self._lines:
            return
        first = self._lines[0]
        actions, pv = [*first.actions], tuple[int, ...]()
        with self._played(actions):
            while len(actions) < self._uci.actions_per_move:
                result = self._further_action()
                self._match.play(result.action)
                actions.append(result.action)
                pv = result.info.pv[1:] if result.info else ()
        if len(actions) > len(first.actions):
            info = first.info and replace(first.info, pv=(*actions, *pv))
            self._report([MoveLine(tuple(actions), info)], self._budget.nodes)

    def _further_action(self) -> PlayResult:
        is_limited = self._budget.is_limited and not self._stopped
        try:
            limit = self._budget.per_action if is_limited else Limit(_LAST_S)
            return self._choose(limit, is_last=True)
        except (Cancelled, Resigned):
            return PlayResult(self._match.game.legal_actions(self._match.state)[0])

    def _bestmove(self) -> str:
        """Return the last line: the best move, and the reply that is expected."""
        if not self._lines:
            return NO_MOVE
        best = self._lines[0]
        pv = best.info.pv if best.info else best.actions
        moves = self._uci.line_names(self._match.position, pv)
        if not moves:
            return NO_MOVE
        return f"bestmove {moves[0]}" + (f" ponder {moves[1]}" if len(moves) > 1 else "")
