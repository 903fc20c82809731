"""A package with Boards of the original system, as if it were installed."""

from __future__ import annotations

from pathlib import Path

from support import original_boards


def write_package(folder: Path, points: str = "chong = some_boards:ChongBoard") -> None:
    """Write the module `some_boards`, with the Boards of the tests, and its entry points."""
    source = Path(original_boards.__file__).read_text(encoding="utf-8")
    (folder / "some_boards.py").write_text(source, encoding="utf-8")
    info = folder / "some_boards-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-boards\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[jrb_board.games]\n{points}\n")
