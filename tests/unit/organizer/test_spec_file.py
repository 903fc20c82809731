"""Specification files: versions of entrants, and the size of books of openings."""

from __future__ import annotations

from pathlib import Path

import pytest

from playout import players
from playout.protocol.tournament_spec import Entrant
from playout.server.organizer import spec_file
from support.organizer import SPEC, read_file


def test_a_new_release_of_playout_makes_new_versions(
    spec_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = spec_folder / "SPEC.toml"
    file.write_text(SPEC.replace('command = "cat bot.txt"', 'player = "uct"'))
    before = read_file(file)
    assert spec_file.changed(before.entrants, spec_folder) == []
    monkeypatch.setattr(spec_file, "installed", lambda: "another")
    assert spec_file.changed(before.entrants, spec_folder) == ["Ann"]


def test_installed_changes_with_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = spec_file.installed.__wrapped__()
    assert first == spec_file.installed.__wrapped__()
    (tmp_path / "another.py").touch()
    assert players.__spec__
    folders = [*players.__path__, str(tmp_path)]
    monkeypatch.setattr(players.__spec__, "submodule_search_locations", folders)
    assert spec_file.installed.__wrapped__() != first


def test_versions_that_were_given_are_believed(spec_folder: Path) -> None:
    given = Entrant("Ann", "2.1", command="cat bot.txt")
    assert spec_file.changed([given], spec_folder / "elsewhere") == []
    read = read_file(spec_folder / "SPEC.toml").entrants
    assert spec_file.changed(read, spec_folder) == []
    assert spec_file.changed(read, spec_folder / "elsewhere") == ["Ann"]
