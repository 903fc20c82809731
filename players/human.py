"""A person at a terminal, or a program that writes moves to a pipe."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence

from playout.games import Game, IllegalAction, Position, SpecError
from playout.players.core import rendering
from playout.players.core.player import (
    MATCH_REQUESTS,
    Cancelled,
    Limit,
    MatchRequest,
    MatchRequested,
    Player,
    PlayResult,
    Report,
    Resigned,
)

HELP = """\
Type a move as it is written on the board's edges, for instance {example}.
  moves     list the legal moves       board     show the board again
  draw      offer a draw               takeback  ask to take your last move back
  accept    accept an offer            decline   decline an offer
  withdraw  withdraw your own offer    abort     end without result, before your first move
  resign    give up                    help      this text
You can type draw, takeback, accept, decline, withdraw and abort while your opponent thinks, too."""
_PROMPT = "Your move: "


class Interrupted(Exception):
    """Raised when Ctrl-C is pressed while a line of input is awaited."""


class Terminal:
    """Reads lines from standard input; another thread can interrupt the wait.

    A blocking read cannot be interrupted from another thread. So `ask` waits for input, or for a
    byte in a pipe that `interrupt` and `cancel` write.
    """

    def __init__(self) -> None:
        if sys.stdin is None or sys.stdin.closed:
            raise SpecError("human reads moves from standard input, which is closed")
        self._input = sys.stdin.fileno()
        self._awake, self._waker = os.pipe()
        self._pending = b""
        self._has_ended = False

    def ask(self, prompt: str) -> str:
        """Print `prompt`, and return a line of input without its end.

        Raises EOFError at the end of the input, Interrupted or Cancelled if it was interrupted.
        """
        print(prompt, end="", flush=True)
        while b"\n" not in self._pending:
            if self._has_ended and not self._pending:
                self._has_ended = False  # at a terminal, more may be typed
                raise EOFError
            try:
                self._read()
            except (Interrupted, Cancelled):
                print()
                raise
        return self._take_line()

    def wait_for(self, words: Sequence[str]) -> str:
        """Wait until the next line of input is one of these words, and return it; keep other lines.

        Raises Interrupted or Cancelled if it was interrupted.
        """
        while True:
            line, end, _ = self._pending.partition(b"\n")
            if end and line.decode(errors="replace").strip().lower() in words:
                return self._take_line().lower()
            self._read(more=not end)

    def _read(self, *, more: bool = True) -> None:
        """Wait for an interruption, and for input if `more` is useful; read the input."""
        waits = more and not self._has_ended
        ready, _, _ = select.select([self._input] * waits + [self._awake], [], [])
        if self._awake in ready:
            raise Interrupted if os.read(self._awake, 1) == b"i" else Cancelled
        chunk = os.read(self._input, 4096)
        if not chunk:
            self._has_ended = True
            chunk = b"\n" if self._pending else b""
        self._pending += chunk

    def _take_line(self) -> str:
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode(errors="replace").strip()

    def interrupt(self) -> None:
        """Make `ask` raise Interrupted, from any thread."""
        os.write(self._waker, b"i")

    def cancel(self) -> None:
        """Make `ask` raise Cancelled, from any thread."""
        os.write(self._waker, b"c")

    def forget(self) -> None:
        """Discard earlier calls of `interrupt` and `cancel`."""
        while select.select([self._awake], [], [], 0)[0]:
            os.read(self._awake, 1)


class Human(Player):
    """Shows the board at a terminal, and asks a person for moves."""

    human = True
    ponders = True

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._terminal = Terminal()
        self._console = rendering.console()
        self._seat = 0
        #: Whether it waits for a move, or for a request while the opponent thinks.
        self._asking = self._listening = False
        self._warned = False

    def started(self, seat: int, opponent: str, position: Position) -> None:
        self._seat = seat
        self._warned = False
        is_marked = position.game.view(position.state).geometry not in ("text", "scores")
        mark = "XO"[seat - 1] if is_marked else f"player {seat}"
        self._console.print(
            f"You are {mark}, against {opponent}. Type help for help.", markup=False
        )
        self._console.print(rendering.board(position))

    def moved(self, seat: int, position: Position) -> None:
        if seat == 0:
            self._console.print(f"The roll is {position.move_name()}.", markup=False)
        else:
            subject = "You" if seat == self._seat else "They"
            self._console.print(f"{subject} played {position.move_name()}.", markup=False)
        self._console.print(rendering.board(position))

    def taken_back(self, seat: int, position: Position) -> None:
        text = "You took your move back." if seat == self._seat else "They took a move back."
        self._console.print(text)
        self._console.print(rendering.board(position))

    def notice(self, text: str) -> None:
        # A prompt may be on the line.
        self._console.print(f"\n{text}" if self._asking else text, markup=False)
        if self._asking:
            print(_PROMPT, end="", flush=True)

    def ended(self, winner: int, reason: str) -> None:
        self._warned = False
        texts = {0: "No result.", -1: "It is a tie.", self._seat: "You won!"}
        self._console.print(texts.get(winner, "You lost."))

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        self._asking = True
        self._terminal.forget()
        try:
            while not self.cancelled.is_set():
                action = self._answer(position, self._ask())
                if action is not None:
                    return PlayResult(action)
            raise Cancelled
        finally:
            self._asking = False

    def ponder(self, position: Position) -> None:
        self._listening = True
        self._terminal.forget()
        try:
            if not self.cancelled.is_set():
                raise MatchRequested(_match_request(self._terminal.wait_for(MATCH_REQUESTS)))
        finally:
            self._listening = False

    def cancel(self) -> None:
        super().cancel()
        if self._asking or self._listening:
            self._terminal.cancel()

    def interrupt(self) -> bool:
        if self._asking:
            self._terminal.interrupt()
            return True
        if not self._warned:
            self._warned = True
            self._console.print("Ctrl-C again to resign and leave.")
            return True
        return False

    def _ask(self) -> str:
        """Return a line of input. The end of the input resigns, and so does Ctrl-C with yes."""
        try:
            return self._terminal.ask(_PROMPT)
        except EOFError:
            self._console.print("\nThe input has ended: resigning.")
            raise Resigned from None
        except Interrupted:
            pass
        try:
            answer = self._terminal.ask("Resign? [y/N] ")
        except (EOFError, Interrupted):
            raise Resigned from None
        if answer.lower() in ("y", "yes"):
            raise Resigned
        return "board"

    def _answer(self, position: Position, line: str) -> int | None:
        """Return the action that a line names; None if it is a command or an illegal move."""
        state = position.state
        names = [self.game.action_name(state, a) for a in position.legal_actions]
        match line.lower():
            case "":
                pass
            case "help" | "?":
                self._console.print(HELP.format(example=names[0]), markup=False)
            case "moves":
                between = ", " if any(" " in name for name in names) else " "
                self._console.print(between.join(names), markup=False)
            case "board":
                self._console.print(rendering.board(position))
            case "resign" | "quit" | "exit":
                raise Resigned
            case word if word in MATCH_REQUESTS:
                raise MatchRequested(_match_request(word))
            case _:
                try:
                    return self.game.parse_action(state, line)
                except IllegalAction as error:
                    self._console.print(f"{error}", markup=False)
        return None


def _match_request(word: str) -> MatchRequest:
    return next(each for each in MATCH_REQUESTS if each == word)
