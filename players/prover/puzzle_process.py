"""The finder of puzzles as a process: reads orders and writes answers, one per line.

    python -m playout.players.prover.puzzle_process

It ends at the end of its input. It has the lowest priority.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

import msgspec

from playout import games
from playout.commands.subprocesses import LOWEST_NICENESS, begin
from playout.games import Game
from playout.players.prover.puzzles import PuzzleFinder, played_match
from playout.protocol.puzzles import PuzzleAnswer, PuzzleOrder

_decode = msgspec.json.Decoder(PuzzleOrder).decode


class PuzzleSearch:
    """Answers orders; it keeps the finder of the last game."""

    def __init__(self) -> None:
        self._loaded: tuple[Game, PuzzleFinder] | None = None

    def answer(self, order: PuzzleOrder) -> PuzzleAnswer:
        """Return the puzzle of a match, or the reason why it cannot be searched."""
        try:
            game, finder = self._finder(order.game)
            actions = order.actions
            if actions is None:
                actions = tuple(played_match(game, order.seed))
            return PuzzleAnswer(finder.find(actions, order.match))
        except Exception as error:  # the game may be a plugin
            return PuzzleAnswer(error=str(error) or repr(error))

    def _finder(self, spelled: str) -> tuple[Game, PuzzleFinder]:
        game = games.load(spelled)
        if self._loaded is None or self._loaded[0] is not game:
            if self._loaded:
                self._loaded[1].close()
            self._loaded = game, PuzzleFinder(game)
        return self._loaded


def main() -> None:
    """Answer orders until the end of the input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    begin(os.getppid(), signal.SIGKILL, LOWEST_NICENESS)
    search = PuzzleSearch()
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin.buffer:
            sys.stdout.buffer.write(msgspec.json.encode(search.answer(_decode(line))) + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
