"""The base of our GTP, UCI and Gomocup sides, which read commands and let a player answer them.

The lines of the other program are read in a thread, so that some take effect while the player
thinks.
"""

from __future__ import annotations

import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, ClassVar, NamedTuple

from playout.commands.text import beginning
from playout.games import Game, Position, State
from playout.games.core import spec
from playout.players import find, load
from playout.players.core.player import (
    Cancelled,
    Limit,
    Player,
    PlayResult,
    Report,
    Resigned,
)


def checked_player(text: str) -> spec.Spec:
    """Return the specification of a player that can be an engine.

    Raises SpecError for a person, an unknown player, and options that it does not have.
    """
    wanted = spec.parse(text)
    make = find(wanted.name)
    spec.bind(make, wanted, skip=1)
    if make.human:
        raise spec.SpecError(f"{wanted.name} is a person at a terminal, not an engine")
    return wanted


class Kept(NamedTuple):
    """The positions of a match, and the plies that were skipped."""

    positions: tuple[Position, ...]
    skipped: tuple[int, ...] = ()


class LocalMatch:
    """A game, its player, and the positions of a match, newest last."""

    def __init__(self, game: Game, wanted: spec.Spec) -> None:
        """Load the player. Raises SpecError if it cannot play this game, and for chance."""
        game.require_no_chance("the protocols of engines have no dice for")
        self.game = game
        self._wanted = wanted
        self.player: Player = load(wanted, game)
        self.positions = [Position(game)]

    @property
    def position(self) -> Position:
        """The last position, in which the player chooses."""
        return self.positions[-1]

    @property
    def state(self) -> State:
        """The current position as a tuple."""
        return self.position.state

    @property
    def mover(self) -> int:
        """The player to move, 1 or 2."""
        return self.position.to_move

    @property
    def winner(self) -> int:
        """1 or 2 for the winner, -1 for a tie, 0 while the game goes on."""
        return self.position.winner

    @property
    def plies(self) -> int:
        """The number of moves that can be taken back."""
        return len(self.positions) - 1

    def kept(self) -> Kept:
        """Return the positions, for `restore` after a command that has failed."""
        return Kept(tuple(self.positions))

    def restore(self, kept: Kept) -> None:
        """Return to the positions of an earlier time."""
        self.positions = [*kept.positions]

    def clear(self, state: State | None = None) -> None:
        """Start again, at the first position of the game or at `state`."""
        self.positions = [Position(self.game, start=state)]

    def play(self, action: int) -> None:
        """Play an action. Raises IllegalAction."""
        self.positions.append(self.position.play(action))

    def was_skipped(self, seat: int) -> bool:
        """Return whether the last ply was a pass of that seat that nobody named."""
        return False

    def turn(self, state: State) -> None:
        """Replace the current position, such as by one with another player to move.

        The player is not told the moves that led to it.
        """
        if state != self.state:
            self.positions[-1] = Position(self.game, start=state)

    def replayed(self, game: Game) -> LocalMatch:
        """Return a match of another game with the same actions, with these moves and this player.

        Where `turn` has replaced a position, it has the same state. Raises SpecError if the player
        cannot play it.
        """
        match = type(self)(game, self._wanted)
        match.positions.clear()
        for each in self.positions:
            if each.moves and match.positions:
                match.positions.append(match.position.play(each.moves[-1]))
            else:
                begins = each.state == each.game.initial_state()
                match.positions.append(Position(game, start=None if begins else each.state))
        return match

    def take_back(self) -> None:
        """Take back the last move. Raises IndexError if there is none."""
        if not self.plies:
            raise IndexError("there is no move to take back")
        self.positions.pop()

    def choose(self, limit: Limit, report: Report | None = None) -> PlayResult:
        """Return the player's choice, which is not played.

        Raises Cancelled if the player was cancelled since its `ready` and has no result, Resigned
        and PlayerError.
        """
        return self.player.choose(self.position, limit, report)

    def close(self) -> None:
        """Release the threads and the memory of the player."""
        self.player.close()


class SkippingMatch(LocalMatch):
    """A match in which a player without a move is skipped: its pass is played at once.

    A pass is an action that clicks no cell.
    """

    def __init__(self, game: Game, wanted: spec.Spec) -> None:
        super().__init__(game, wanted)
        #: The numbers of the plies that were skipped.
        self._skipped: list[int] = []

    def clear(self, state: State | None = None) -> None:
        super().clear(state)
        self._skipped.clear()
        self._skip()

    def kept(self) -> Kept:
        return super().kept()._replace(skipped=tuple(self._skipped))

    def restore(self, kept: Kept) -> None:
        super().restore(kept)
        self._skipped = [*kept.skipped]

    def play(self, action: int) -> None:
        super().play(action)
        self._skip()

    def replayed(self, game: Game) -> LocalMatch:
        match = super().replayed(game)
        assert isinstance(match, SkippingMatch)
        match._skipped = [*self._skipped]
        return match

    def take_back(self) -> None:
        while self._skipped and self._skipped[-1] == self.plies - 1:
            super().take_back()
            self._skipped.pop()
        super().take_back()

    def was_skipped(self, seat: int) -> bool:
        return self.plies - 1 in self._skipped and self.positions[-2].to_move == seat

    def _skip(self) -> None:
        while not self.winner and (action := self._only_pass()) is not None:
            self._skipped.append(self.plies)
            super().play(action)

    def _only_pass(self) -> int | None:
        """Return the pass if it is the only action; otherwise None."""
        clicks = self.game.view(self.state).clicks
        return next(iter(clicks)) if [*clicks.values()] == [()] else None


#: The length at which the text of an error is cut: it may repeat what the other program has sent.
LONGEST_ERROR = 600
#: The length at which a line is cut, so that input without line ends does not fill the memory.
LONGEST_LINE = 65536

#: Returns whether the waiting lines stop the player; None is the end of the input.
Stops = Callable[[Sequence[str | None]], bool]


class LineInput:
    """Reads lines in a thread of its own, and can call a function when certain lines arrive."""

    def __init__(self, stream: BinaryIO) -> None:
        """Start to read `stream`, which must be unbuffered, as its thread may never end."""
        self._stream = stream
        self._lines: deque[str | None] = deque()
        self._changed = threading.Condition()
        self._watch: tuple[Callable[[], None], Stops] | None = None
        threading.Thread(target=self._read, name="input", daemon=True).start()

    def next(self) -> str | None:
        """Wait for the next line, and return it without its end; None at the end of the input."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines)
            line = self._lines[0]
            if line is not None:  # the end stays
                self._lines.popleft()
            return line

    @contextmanager
    def watched(self, stop: Callable[[], None], stops: Stops) -> Iterator[None]:
        """Within the block, call `stop` as soon as `stops` returns true for the waiting lines.

        It is called at the beginning and after each further line. The lines stay, so that `next`
        returns them later.
        """
        with self._changed:
            self._watch = stop, stops
            if stops(self._lines):
                stop()
        try:
            yield
        finally:
            with self._changed:
                self._watch = None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for a line or the end of the input; return whether one has arrived."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._lines), seconds)

    def _read(self) -> None:
        rest, cut = b"", False  # whether `rest` begins with the end of a cut line
        while data := self._stream.read(LONGEST_LINE):
            *complete, rest = (rest + data).split(b"\n")
            for line in complete:
                if not cut:
                    self._add(line)
                cut = False
            if len(rest) >= LONGEST_LINE:
                if not cut:
                    self._add(rest)
                rest, cut = b"", True
        if rest and not cut:
            self._add(rest)
        self._put(None)

    def _add(self, line: bytes) -> None:
        text = line.decode(errors="replace").rstrip("\r")
        self._put(text.removeprefix("\ufeff"))  # a program on .NET begins with a byte order mark

    def _put(self, line: str | None) -> None:
        with self._changed:
            self._lines.append(line)
            self._changed.notify_all()
            if self._watch:
                stop, stops = self._watch
                if stops(self._lines):
                    stop()


class EngineServer(ABC):
    """Answers the commands of one program, until it quits or its input ends.

    A subclass is a protocol. It has the match of the player in `match`, once there is one.
    """

    #: The end of each line that is written.
    line_end = "\n"
    #: The errors whose text is the answer: those of commands, and PlayerError.
    refusals: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, wanted: spec.Spec, lines: LineInput) -> None:
        """`wanted` is the player, and `lines` the input."""
        self.wanted, self.lines = wanted, lines
        self.match: LocalMatch | None = None
        self._writing = threading.Lock()

    def run(self) -> None:
        """Answer commands until the program quits, or until the end of the input."""
        try:
            while (line := self.lines.next()) is not None and not self.answer(line):
                pass
        except Cancelled:  # the program quit while the player was thinking
            pass
        finally:
            self.close()

    @abstractmethod
    def answer(self, line: str) -> bool:
        """Carry out a line, and return whether it was the last one."""

    def close(self) -> None:
        """Release the memory and the threads of the player."""
        if self.match:
            self.match.close()

    def attempt(self, carry_out: Callable[[], str | None]) -> tuple[str | None, bool]:
        """Return the text of an answer, and whether it is about an error.

        Raises Cancelled, Resigned and BrokenPipeError.
        """
        try:
            return carry_out(), False
        except self.refusals as error:
            return beginning(str(error), LONGEST_ERROR), True
        except (Cancelled, Resigned, BrokenPipeError):
            raise
        except Exception as error:  # the player may be any program
            traceback.print_exc()
            return f"the player failed: {error!r}", True

    def choose(
        self, match: LocalMatch, limit: Limit, stops: Stops, report: Report | None = None
    ) -> PlayResult:
        """Let the player choose; lines for which `stops` is true cancel it.

        Raises Cancelled, Resigned and PlayerError.
        """
        match.player.ready()
        with self.lines.watched(match.player.cancel, stops):
            return match.choose(limit, report)

    def write(self, text: str) -> None:
        """Write a line; safe from any thread."""
        with self._writing:
            sys.stdout.write(f"{text}{self.line_end}")
            sys.stdout.flush()
