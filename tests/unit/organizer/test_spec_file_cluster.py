"""The cluster of a tournament file and of the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from playout.server.organizer import spec_file
from playout.server.tournament.spec_parser import ClusterSettings
from support.organizer import invoke


def test_a_file_names_its_cluster(tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_text('[cluster]\ndask = "tcp://lab1:8786"\nfiles = ["bots", "net.onnx"]\n')
    assert spec_file.cluster_settings(file) == ClusterSettings(
        "tcp://lab1:8786", ("bots", "net.onnx")
    )
    assert spec_file.cluster_settings(tmp_path / "none.toml") == ClusterSettings()


def test_without_the_package_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = invoke("run", str(tmp_path / "none.toml"), "--dask", "local")
    assert result.exit_code == 1
    needs = "Dask needs the package distributed"
    sentence = f'{needs}: pip install ".[cluster]" in a checkout of Playout'
    assert result.output == f"Error: {sentence}\n"


def test_an_address_without_a_scheduler_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    result = invoke("run", str(tmp_path / "none.toml"), "--dask", "carrier-pigeon://lab1")
    assert result.exit_code == 1
    assert "there is no scheduler of Dask at carrier-pigeon://lab1" in result.output
