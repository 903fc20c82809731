"""gnubg as the judge of files of backgammon: it reads ours, and we read its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from playout.players.engines.config import search_path
from playout.server.export import backgammon, writer
from playout.server.model.records import StoredMatch
from support.requirements import skip_without
from support.scale import repetitions
from support.stored_game import PlayedGame


@pytest.fixture
def gnubg() -> str:
    """The program of Debian."""
    program = shutil.which("gnubg", path=search_path())
    if program is None:
        skip_without("gnubg (apt install gnubg)")
    return program


def turns_in(text: str) -> list[tuple[int, tuple[int, ...], list[str]]]:
    """Return the turns of a `.mat`; the order in which a player moves checkers does not count."""
    (game,) = backgammon.read_mat(text)
    return [
        (each.player, tuple(sorted(each.dice)), sorted(each.moves.replace("*", "").split()))
        for each in game.turns
    ]


def test_gnubg_reads_and_writes_the_same_turns(gnubg: str, tmp_path: Path) -> None:
    played = [
        PlayedGame("backgammon").play_anything(seed).stored
        for seed in range(repetitions(50, short=3))
    ]
    orders = []
    for number, stored in enumerate(played):
        for kind, load in (("mat", "import mat"), ("sgf", "load match")):
            file = tmp_path / f"{number}.{kind}"
            file.write_text(writer(kind)(stored))
            orders += [f"{load} {file}", f"export match mat {file}.mat", f"save match {file}.sgf"]
    subprocess.run(  # in a home without settings of a user
        [gnubg, "-t", "-q", "-r"],
        input="\n".join([*orders, ""]),
        text=True,
        check=True,
        capture_output=True,
        env={"HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
    )
    for number, stored in enumerate(played):
        wanted = turns_in(writer("mat")(stored))
        assert turns_in((tmp_path / f"{number}.mat.mat").read_text()) == wanted
        # White is the left player of gnubg, and the second one of ours.
        turned = [(3 - player, *others) for player, *others in wanted]
        assert turns_in((tmp_path / f"{number}.sgf.mat").read_text()) == turned
        for kind in ("mat", "sgf"):
            for suffix in ("mat", "sgf"):
                (found,) = backgammon.read((tmp_path / f"{number}.{kind}.{suffix}").read_text())
                assert isinstance(found, StoredMatch), found
                assert found.ended
                assert len(found.moves) == len(stored.moves)
