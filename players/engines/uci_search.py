"""A search of our UCI engine: the player searches once, and its reports become `info` lines.

`stop` cancels the player, which returns its best move so far. `ponderhit` cancels it, too, and it
continues with what is left of its limits: searches keep their tree or their table.

If only some moves are to be searched, the player searches the positions after them, in rounds after
which the worse half is left out (sequential halving: Karnin, Koren and Somekh, "Almost Optimal
Exploration in Multi-Armed Bandits", 2013).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from playout.players.core.budget import LEAST_S
from playout.players.core.player import (
    Cancelled,
    Info,
    Limit,
    PlayResult,
    Report,
    Resigned,
)
from playout.players.engines.engine_server import EngineServer
from playout.players.engines.local_match import LocalMatch
from playout.players.engines.uci_games import UciGame
from playout.players.engines.uci_go import GoCommand
from playout.players.engines.uci_info import InfoWriter, MoveLine, line_after, lines_of
from playout.players.engines.uci_options import UciSettings

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

        Without any limit, it is an infinite time.
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
