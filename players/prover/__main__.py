"""The prover as a process: positions come in and proofs go out, a line each."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys

import click
import msgspec

from players.prover.solver import MatchPosition, Proof, ProofFailure, Solver

#: Those who play have the processors first.
_NICE = 10
_CHUNK = 65536


class LineReader:
    """Whole lines of a file."""

    def __init__(self, file: int) -> None:
        """`file`: its descriptor."""
        self.is_open = True
        self._file = file
        self._rest = b""

    def read(self, *, wait: bool) -> list[bytes]:
        """Those that have come in meanwhile; if there are none, `wait` for some, or the end."""
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
    """Answer all of them; of the positions of a match that wait, the newest one only."""
    waiting: dict[str, MatchPosition] = {}
    while waiting or lines.is_open:
        for line in lines.read(wait=not waiting):
            try:
                position = msgspec.json.decode(line, type=MatchPosition)
            except (msgspec.DecodeError, RecursionError) as error:
                _say(answers, ProofFailure(None, f"expected a position: {error}"))
            else:
                waiting[position.match] = position
        if waiting:
            longest = next(iter(waiting))
            _say(answers, solver.solve(waiting.pop(longest)))


def _say(answers: int, answer: Proof | ProofFailure) -> None:
    os.write(answers, msgspec.json.encode(answer) + b"\n")


@click.command()
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=0.05,
    show_default=True,
    help="How long it thinks about a position.",
)
def main(seconds: float) -> None:
    """Prove how matches end: positions come in and proofs go out, a line of JSON each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for who started this
    os.nice(_NICE)
    with contextlib.suppress(BrokenPipeError):
        prove(LineReader(sys.stdin.fileno()), Solver(seconds), sys.stdout.fileno())


if __name__ == "__main__":
    main()
