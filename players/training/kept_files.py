"""The nets or evaluations of a run: a file for each kept round, such as `nets/0012.onnx`."""

from __future__ import annotations

from pathlib import Path

from playout.players.training import TrainingError
from playout.players.training.settings import EVALUATION, NET

#: The folder and the suffix of the files, by what a run learns.
_PLACES = {NET: ("nets", ".onnx"), EVALUATION: ("evaluations", ".npz")}


class KeptFiles:
    """Files by the rounds after which they were written; 0 is the start."""

    def __init__(self, run: Path, kind: str) -> None:
        """`kind` is what the run in the folder `run` learns."""
        name, self.suffix = _PLACES[kind]
        self.folder = run / name
        self._run = run
        self.kind = kind

    def paths(self) -> dict[int, Path]:
        """Return the files by their rounds, in order."""
        found = self.folder.glob(f"*{self.suffix}")
        return dict(sorted((int(each.stem), each) for each in found if each.stem.isdigit()))

    def place(self, number: int) -> Path:
        """Return the path of the file of a round, whether it is there or not."""
        return self.folder / f"{number:04}{self.suffix}"

    def path(self, number: int) -> Path:
        """Return the file of a round. Raises TrainingError if it was not kept."""
        kept = self.paths()
        if number in kept:
            return kept[number]
        if not kept:
            text = f"there is no {self.kind} yet; `playout-train run` makes one"
        else:
            rounds = ", ".join(map(str, kept))
            text = f"there is no {self.kind} of round {number}; kept are: {rounds}"
        raise TrainingError(f"{self._run}: {text}")

    def forget(self, before: int, keep_every: int = 0) -> None:
        """Remove those before a round, except each `keep_every`-th with the first, if not 0."""
        for number, path in self.paths().items():
            if number < before and (not keep_every or number % keep_every):
                path.unlink(missing_ok=True)
