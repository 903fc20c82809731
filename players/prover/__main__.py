"""The prover as a process: it reads positions and writes proofs, one per line."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys

import click
import msgspec

from players.prover.solver import MatchPosition, Proof, ProofFailure, Solver

#: Players have priority on the processors.
_NICE = 10
_CHUNK = 65536


class LineReader:
    """Reads whole lines from a file descriptor."""

    def __init__(self, file: int) -> None:
        self.is_open = True
        self._file = file
        self._rest = b""

    def read(self, *, wait: bool) -> list[bytes]:
        """Return the lines that are there; with `wait`, block for the first one or the end."""
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
    """Answer all positions; of several waiting positions of one match, only the newest."""
    waiting: dict[str, MatchPosition] = {}
    while waiting or lines.is_open:
        for line in lines.read(wait=not waiting):
            try:
                position = msgspec.json.decode(line, type=MatchPosition)
            except (msgspec.DecodeError, RecursionError) as error:
                _write(answers, ProofFailure(None, f"expected a position: {error}"))
            else:
                waiting[position.match] = position
        if waiting:
            longest = next(iter(waiting))
            _write(answers, solver.solve(waiting.pop(longest)))


def _write(answers: int, answer: Proof | ProofFailure) -> None:
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
