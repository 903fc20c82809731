"""Files to which matches are appended: each match once, whatever is in them before."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
import pytest
from msgspec import structs

from playout.protocol.messages import Fixture
from playout.server.export import jsonl, pgn
from playout.server.model.records import StoredMatch
from playout.server.organizer.match_files import MatchFile, MatchFiles
from support.match_records import portable
from support.stored_game import PlayedGame


def match(name: str) -> StoredMatch:
    played = PlayedGame("tic_tac_toe").play_anything(1).stored
    return StoredMatch(
        started=structs.replace(played.started, match=name),
        moves=tuple(structs.replace(move, match=name) for move in played.moves),
        ended=played.ended and structs.replace(played.ended, match=name),
    )


def fixture(name: str, winner: int | None = 1) -> Fixture:
    place = {"tournament": "t", "round": 1, "board": 1, "number": 1, "leg": 1}
    players = ("Ann", "Bob")
    return Fixture(**place, match=name, game="tic_tac_toe", players=players, winner=winner)


def files(paths: Iterable[Path], *stored: str, said: list[str] | None = None) -> MatchFiles:
    """The files as they are opened when a tournament is run or resumed."""
    found = {name: match(name) for name in stored}
    opened = [MatchFile(path, path.suffix[1:]) for path in paths]
    return MatchFiles(opened, found.get, [].append if said is None else said.append)


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "o.pgn", tmp_path / "o.jsonl"


def test_matches_are_appended_as_they_end_and_once_after_a_resumption(
    paths: tuple[Path, Path],
) -> None:
    first = files(paths, "m1", "m2")
    for name in ("m1", "m2", "m1"):
        first.match_ended(fixture(name))
    again = files(paths, "m1", "m2", "m3")
    for name in ("m1", "m2", "m3"):
        again.match_ended(fixture(name))
    expected = [match(name) for name in ("m1", "m2", "m3")]
    assert paths[0].read_text() == "".join(map(pgn.write, expected))
    lines = paths[1].read_text().splitlines()
    assert [jsonl.read(line) for line in lines] == [portable(each) for each in expected]


def test_matches_without_result_are_left_out(paths: tuple[Path, Path]) -> None:
    written = files(paths, "m1")
    for winner in (0, None):
        written.match_ended(fixture("m1", winner))
    assert [path.read_text() for path in paths] == ["", ""]


def test_a_file_with_other_content_is_continued(paths: tuple[Path, Path]) -> None:
    paths[0].write_text('[Event "x"]\n\n1. e4 *')
    paths[1].write_text('no JSON\n{"match": "m1"}\n{"other": 1}')
    files(paths, "m1").match_ended(fixture("m1"))
    assert paths[0].read_text() == f'[Event "x"]\n\n1. e4 *\n\n{pgn.write(match("m1"))}'
    assert paths[1].read_text() == 'no JSON\n{"match": "m1"}\n{"other": 1}'


@pytest.mark.parametrize("line", [b'{"match": "m\xe8"}', b'{"other": ' + b"[" * 5000])
def test_a_file_with_lines_that_are_no_text_is_continued(
    paths: tuple[Path, Path], line: bytes
) -> None:
    paths[1].write_bytes(line)
    files(paths, "m1").match_ended(fixture("m1"))
    assert paths[1].read_bytes().startswith(line + b"\n{")


def test_a_failed_write_is_reported_once_and_repeated(tmp_path: Path) -> None:
    path, said = tmp_path / "folder" / "o.jsonl", list[str]()
    path.parent.mkdir()
    written = files([path], "m1", "m2", "m3", said=said)
    path.parent.rename(tmp_path / "away")
    for name in ("m1", "m2"):
        written.match_ended(fixture(name))
    assert len(said) == 1
    assert said[0].startswith("matches cannot be written, and are tried again: ")
    path.parent.mkdir()
    written.match_ended(fixture("m3"))
    assert len(path.read_text().splitlines()) == 3


def test_a_match_that_is_not_stored_yet_is_written_with_a_later_one(tmp_path: Path) -> None:
    found: dict[str, StoredMatch] = {}
    path = tmp_path / "o.pgn"
    written = MatchFiles([MatchFile(path, "pgn")], found.get, print)
    written.match_ended(fixture("m1"))
    assert path.read_text() == ""
    found.update(m1=match("m1"), m2=match("m2"))
    written.match_ended(fixture("m2"))
    assert path.read_text() == pgn.write(match("m1")) + pgn.write(match("m2"))


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match=r"none/o\.pgn: No such file"):
        MatchFile(tmp_path / "none" / "o.pgn", "pgn")
