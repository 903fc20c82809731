"""The conditions of tests: what makes another test, and the openings of a confirmation."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from playout.games.core import plugins
from playout.laboratory import lab_file
from playout.laboratory.trial import FEWEST_OPENINGS, unused
from playout.protocol.tournament_spec import Openings, TournamentSpec
from playout.ratings.opening_generator import shuffled
from playout.ratings.pairs import Pair
from playout.server.organizer.spec_file import SpecFileError

GAME = """\
from playout.games.nim import Nim


class NimOfConditions(Nim):
    '''Nim with another name.'''
"""


def digest(folder: Path, **given: object) -> str:
    return lab_file.read(None, {"isolate": "never", **given}, folder).digest


def test_files_of_games_and_openings_are_conditions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(plugins.VARIABLE, "")  # the game is registered in this test only
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mine_of_conditions.py").write_text(GAME)
    own = {"games": ["mine_of_conditions:NimOfConditions"]}
    first = digest(tmp_path, **own)
    assert digest(tmp_path, **own) == first == digest(tmp_path, **own, pairs=3)
    (tmp_path / "mine_of_conditions.py").write_text(GAME + "    # changed\n")
    assert digest(tmp_path, **own) != first

    listed = {"games": ["nim"], "openings": {"file": "o.txt"}}
    (tmp_path / "o.txt").write_text("[0]\n")
    first = digest(tmp_path, **listed)
    (tmp_path / "o.txt").write_text("[1]\n")
    assert digest(tmp_path, **listed) != first
    by_game = {"games": ["nim"], "openings": {"file": {"nim": "o.txt"}}}
    first = digest(tmp_path, **by_game)
    (tmp_path / "o.txt").write_text("[2]\n")
    assert digest(tmp_path, **by_game) != first


def test_a_test_without_luck_is_another_test(tmp_path: Path) -> None:
    raw = digest(tmp_path, games=["pig"])
    assert digest(tmp_path, games=["pig"], without_luck=False) == raw
    assert digest(tmp_path, games=["pig"], without_luck=True) != raw
    (tmp_path / "own.npz").write_bytes(b"1")
    first = digest(tmp_path, games=["pig"], evaluation="own.npz")
    (tmp_path / "own.npz").write_bytes(b"2")
    assert len({raw, first, digest(tmp_path, games=["pig"], evaluation="own.npz")}) == 3


def test_a_confirmation_uses_other_openings_than_its_test() -> None:
    given = tuple((each,) for each in range(FEWEST_OPENINGS + 20))

    def both(
        count: int, order: str = "shuffled", seed: int = 7, game: str = "nim"
    ) -> tuple[Openings, Mapping[str, int]]:
        openings = Openings(lines={"nim": given}, order=order)
        test = TournamentSpec("a test", ("nim",), "match", (), openings=openings, seed=seed)
        pairs = [Pair((1, 1, number), game, (1, 0), number) for number in range(count)]
        return unused(Openings(lines={"nim": given}), test, pairs)

    def left(count: int, order: str = "shuffled", seed: int = 7, game: str = "nim") -> Openings:
        return both(count, order, seed, game)[0]

    assert set(left(20).lines["nim"]) == set(given) - set(list(shuffled(given, 7))[:20])
    assert left(5, "in_order").lines["nim"] == given[5:]
    assert left(20, seed=8) != left(20), "the seed is that of the test"
    assert left(21).lines["nim"] == given
    assert [both(count)[1] for count in (0, 20, 21)] == [{}, {}, {"nim": FEWEST_OPENINGS - 1}]
    assert left(20, game="hex").lines["nim"] == given
    test = TournamentSpec("a test", ("nim",), "match", (), openings=Openings(plies=4))
    assert unused(Openings(plies=4), test, []) == (Openings(plies=4), {})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('games = ["mine:Mine"]', "games"),
        ('games = ["nim"]\nisolate = "never"', "isolate"),
        ('games = ["nim"]\nbuild_hosts = ["10.0.0.1:80"]', "build_hosts"),
        ('games = ["pig"]\nevaluation = "/root/pig.npz"', "evaluation"),
        ('games = ["nim"]\n[sandbox]\ncommand = "./run"', "sandbox.command"),
        ('games = ["nim"]\n[sandbox]\nreads = ["/"]\nuses = "x"', "sandbox.reads and sandbox.u"),
        ('games = ["nim"]\n[sandbox]\nwithout = ["seccomp"]', "sandbox.without"),
    ],
)
def test_a_file_of_somebody_else_does_not_weaken_the_sandbox(
    tmp_path: Path, text: str, key: str
) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit('it was imported')")
    path = tmp_path / "lab.toml"
    path.write_text(text)
    with pytest.raises(SpecFileError, match=rf"lab.toml: {key}\w* can run .* by --file {path}"):
        lab_file.read(path, {}, tmp_path, trusted=False)
    path.write_text('games = ["nim"]\n[sandbox]\nmemory_mb = 64\n')
    assert lab_file.read(path, {}, tmp_path, trusted=False).games == ("nim",)


def test_a_file_is_trusted_with_its_content_and_at_its_place(tmp_path: Path) -> None:
    path, homes = tmp_path / "lab.toml", tmp_path / "laboratories"
    path.write_text("x")
    assert not lab_file.is_trusted(path, homes)
    lab_file.trust(path, homes)
    assert lab_file.is_trusted(path, homes)
    path.write_text("y")
    assert not lab_file.is_trusted(path, homes)
    (tmp_path / "other.toml").write_text("x")
    assert not lab_file.is_trusted(tmp_path / "other.toml", homes)
