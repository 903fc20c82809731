"""A search of our UCI engine: the player thinks in turns, and each turn is reported.

A player has no way to report while it thinks, and a turn that is cancelled has no result. So a
search begins with a short turn, and later turns are longer; `stop` cancels a turn, and the move is
that of the turn before.

If only some moves are to be searched, the player searches the positions after them, in rounds after
which the worse half is left out (sequential halving: Karnin, Koren and Somekh, "Almost Optimal
Exploration in Multi-Armed Bandits", 2013).
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from playout.players.core.player import (
    Cancelled,
    Info,
    Limit,
    PlayerError,
    PlayResult,
    Resigned,
)
from playout.players.engines.local_match import LocalMatch
from playout.players.engines.uci_budget import SearchBudget
from playout.players.engines.uci_games import UciGame
from playout.players.engines.uci_go import GoCommand
from playout.players.engines.uci_info import (
    InfoWriter,
    MoveLine,
    SearchTotals,
    line_after,
    lines_of,
)
from playout.players.engines.uci_options import UciSettings

NO_MOVE = "bestmove (none)"
#: Without a limit: seconds of the first turn, and of later turns of a search that keeps its tree.
_FIRST_S, _KEPT_S = 0.02, 0.5
#: Without a limit, a turn or a round takes this many times as long as the one before.
_GROWTH = 2
#: Seconds of a turn that begins when the search is to stop.
_LAST_S = 0.01
#: Seconds that a first turn may take after `stop`.
_PATIENCE_S = 1.0
#: A search that keeps its tree has at least this many visits per simulation of a turn.
_KEPT = 1.2
#: A turn that takes less than this share of its time has nothing more to find.
_EARLY = 0.5


class UciSearch:
    """One search in a thread, which writes `info` lines, and finally `bestmove`."""

    def __init__(
        self,
        match: LocalMatch,
        uci: UciGame,
        go: GoCommand,
        settings: UciSettings,
        write: Callable[[str], None],
    ) -> None:
        """Take the match at the position to search, which nobody else uses until the end."""
        self._match, self._uci, self._go = match, uci, go
        self._settings, self._write = settings, write
        self._info = InfoWriter(match.game, uci, match.state, shows_wdl=settings.shows_wdl)
        limit = go.limit(match, settings.overhead_s, uci.actions_per_move)
        self._budget = SearchBudget(limit, waits=go.is_endless or go.ponders)
        #: The best lines so far, the best one first.
        self._lines: list[MoveLine] = []
        #: Guards the next three, `waits` of the budget, and the player's `ready` and `cancel`.
        self._changed = threading.Condition()
        self._stopped = False
        self._abandoned = False
        #: Whether even the first turn was cancelled.
        self._hurries = False
        self._thread = threading.Thread(target=self._run, name="search", daemon=True)

    def start(self) -> None:
        """Start the thread of the search."""
        self._thread.start()

    def stop(self) -> None:
        """Let the search end now, with its best move so far."""
        with self._changed:
            self._stopped = True
            self._interrupt()
        self._thread.join(_PATIENCE_S)
        if not self.has_ended:  # in the first turn, by a player that keeps no limits
            with self._changed:
                self._hurries = True
                self._match.player.cancel()

    def ponderhit(self) -> None:
        """Let the limits hold: the expected move was played."""
        with self._changed:
            self._budget.waits = self._go.is_endless
            self._interrupt()

    def abandon(self) -> None:
        """End the search without a move."""
        with self._changed:
            self._stopped = self._abandoned = True
            self._match.player.cancel()
            self._changed.notify_all()

    @property
    def has_ended(self) -> bool:
        """Whether the search has written `bestmove`."""
        return not self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the search has ended, or for a number of seconds."""
        self._thread.join(seconds)

    def _interrupt(self) -> None:
        if self._lines:  # otherwise the first turn, which is short, has to give a move
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
                self._write(f"info string error: {error}")
            self._write(self._bestmove())
        except OSError:  # the other program has exited
            pass

    def _guarded(self, think: Callable[[], None]) -> str:
        """Let the player think; return why it could not, "" for the usual end."""
        try:
            think()
        except (Cancelled, Resigned):  # UCI has no resignation
            if not self._lines:
                first, *_ = self._match.game.legal_actions(self._match.state)
                self._lines = [MoveLine((first,), None)]
        except OSError:
            raise
        except PlayerError as error:
            return str(error)
        except Exception as error:  # the player may be any program
            traceback.print_exc()
            return f"the player failed: {error!r}"
        return ""

    # Turns of the player.

    def _search(self) -> None:
        """Search until a limit is reached, the result is certain, or the player is stopped."""
        if self._go.search_moves:
            state, names = self._match.state, dict.fromkeys(self._go.search_moves)
            self._halve([self._uci.actions(state, name) for name in names])
            return
        seconds, turn, keeps = _FIRST_S, 1, False
        while limit := self._budget.turn(seconds):
            began = time.monotonic()
            try:
                result = self._choose(limit)
            except Cancelled:
                if not self._stopped:
                    continue  # the limits hold from now on
                self._take(self._choose(Limit(_LAST_S), is_last=True), keeps=keeps)
                return
            took_s = time.monotonic() - began
            keeps = keeps or (turn > 1 and _keeps(result.info))
            self._take(result, keeps=keeps)
            if self._is_complete(limit, took_s, turn, keeps=keeps):
                return
            seconds, turn = _KEPT_S if keeps else _GROWTH * seconds, turn + 1

    def _choose(self, limit: Limit, *, is_last: bool = False) -> PlayResult:
        """Let the player choose. Raises Cancelled, after `stop` unless it is the last turn."""
        with self._changed:
            is_over = self._stopped and self._lines and not is_last
            if self._abandoned or self._hurries or is_over:
                raise Cancelled
            self._match.player.ready()
        result = self._match.choose(limit)
        if self._match.player.cancelled.is_set():
            raise Cancelled
        return result

    def _take(self, result: PlayResult, *, keeps: bool) -> None:
        """Take and report the result of a turn, unless an earlier one was deeper."""
        lines = lines_of(result, self._settings.lines_shown)
        seen, known = lines[0].info, self._lines[0].info if self._lines else None
        if seen is None or known is None:
            is_better = not self._lines
        else:
            is_better = keeps or seen.proven is not None or seen.depth >= known.depth
        self._budget.nodes += seen.simulations if seen else 0
        if is_better:
            self._report(lines)

    def _report(self, lines: list[MoveLine]) -> None:
        """Take these lines as the best, and write them."""
        self._lines, self._budget.has_move = lines, True
        totals = SearchTotals(self._budget.nodes, self._budget.elapsed_s)
        for number, each in enumerate(lines[: self._settings.lines_shown], 1):
            if each.info:
                self._write(self._info.line(number, each.info, totals))

    def _is_complete(self, limit: Limit, took_s: float, turn: int, *, keeps: bool) -> bool:
        """Return whether further turns would not change the result."""
        if self._are_certain(self._lines[:1]):
            return True
        if limit.seconds is None:
            return turn > 1
        is_early = took_s < _EARLY * limit.seconds
        return is_early and (not self._budget.waits or (turn > 1 and not keeps))

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
                if self._stopped:
                    return
                continue  # the limits hold from now on
            ranked = sorted((found[each] for each in moves), key=lambda each: -each.value)
            self._report(ranked[:wanted])
            is_last = len(moves) == wanted and self._budget.is_limited
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
            line = found[move] = self._line_after(move, limit)
            self._budget.nodes += line.info.simulations if line.info else 0
            if is_first:
                self._lines = [max(found.values(), key=lambda each: each.value)]
                self._budget.has_move = True

    def _line_after(self, move: tuple[int, ...], limit: Limit) -> MoveLine:
        """Search the position after a move."""
        match, player = self._match, self._match.mover
        with self._played(move):
            if match.winner:
                proven = 0 if match.winner < 0 else 1 if match.winner == player else -1
                ended = Info(win_rate=(1 + proven) / 2, proven=proven)
                return line_after(move, ended, same_player=True)
            info = self._choose(limit).info
            return line_after(move, info, same_player=match.mover == player)

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
            self._report([MoveLine(tuple(actions), info)])

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
        moves = self._uci.line_names(self._match.state, pv)
        if not moves:
            return NO_MOVE
        return f"bestmove {moves[0]}" + (f" ponder {moves[1]}" if len(moves) > 1 else "")


def _keeps(info: Info | None) -> bool:
    """Return whether a search continues with the tree of the turn before."""
    visits = sum(each.visits for each in info.actions) if info else 0
    return info is not None and visits >= _KEPT * info.simulations > 0
