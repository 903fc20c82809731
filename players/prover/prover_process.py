"""The prover as a process: reads positions and writes proofs by minimax, one per line."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from typing import Any

import click
import msgspec

from playout import games
from playout.games import TIE, Game, Position
from playout.players.core.player import Limit
from playout.players.minimax import Minimax
from playout.protocol.proofs import ProofAnswer, ProofRequest

#: Size of the transposition table; a short search cannot fill more.
_MEMORY_MB = 16
#: Players have priority on the processors.
_NICE = 10
_CHUNK = 65536


class Solver:
    """Solves positions; it keeps a search for each game."""

    def __init__(self, seconds: float) -> None:
        """Take the time limit for each position, in seconds."""
        self._limit = Limit(seconds=seconds)
        self._searches: dict[str, tuple[Game, Minimax]] = {}

    def solve(self, position: ProofRequest) -> ProofAnswer:
        """Return the proven winner of a position, or the reason why it cannot be searched."""
        try:
            winner: Any = self._winner(position)
        except Exception as error:  # the game may be a plugin
            return ProofAnswer(position.match, error=str(error) or repr(error))
        return ProofAnswer(position.match, len(position.actions), winner)

    def _winner(self, position: ProofRequest) -> int | None:
        game, search = self._search(position.game)
        reached = Position(game, position.actions)
        if reached.winner:
            return reached.winner
        info = search.choose(reached, self._limit).info
        if info is None or info.proven is None:
            return None
        return {1: reached.to_move, 0: TIE, -1: 3 - reached.to_move}[info.proven]

    def _search(self, spelled: str) -> tuple[Game, Minimax]:
        if spelled not in self._searches:
            game = games.load(spelled)
            self._searches[spelled] = game, Minimax(game, memory_mb=_MEMORY_MB)
        return self._searches[spelled]


class LineReader:
    """Reads whole lines from a file descriptor."""

    def __init__(self, file: int) -> None:
        self.is_open = True
        self._file = file
        self._rest = b""

    def read(self, *, wait: bool) -> list[bytes]:
        """Return the lines that have arrived; with `wait`, block for the first one or the end."""
        lines: list[bytes] = []
        while self.is_open and self._is_ready(wait and not lines):
            chunk = os.read(self._file, _CHUNK)
            self.is_open = bool(chunk)
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            lines += whole
        return lines

    def _is_ready(self, wait: bool) -> bool:
        return bool(select.select([self._file], [], [], None if wait else 0)[0])


def prove(lines: LineReader, solver: Solver, answers: int) -> None:
    """Answer all positions, but of several waiting positions of a match only the newest."""
    waiting: dict[str, ProofRequest] = {}
    while waiting or lines.is_open:
        for line in lines.read(wait=not waiting):
            try:
                position = msgspec.json.decode(line, type=ProofRequest)
            except (msgspec.DecodeError, RecursionError) as error:
                _write(answers, ProofAnswer(None, error=f"expected a position: {error}"))
            else:
                waiting[position.match] = position
        if waiting:
            longest = next(iter(waiting))
            _write(answers, solver.solve(waiting.pop(longest)))


def _write(answers: int, answer: ProofAnswer) -> None:
    os.write(answers, msgspec.json.encode(answer) + b"\n")


@click.command()
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=0.05,
    show_default=True,
    help="Seconds of search per position.",
)
def main(seconds: float) -> None:
    """Prove the results of positions: read positions and write proofs, a line of JSON each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    os.nice(_NICE)
    with contextlib.suppress(BrokenPipeError):
        prove(LineReader(sys.stdin.fileno()), Solver(seconds), sys.stdout.fileno())


if __name__ == "__main__":
    main()
