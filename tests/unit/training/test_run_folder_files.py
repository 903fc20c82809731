from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from playout.players.training import TrainingError
from playout.players.training.run_folder import packed, read, unfinished, unpacked, write


def test_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write(path, packed({"net/w": np.arange(3)}, {"round": 7}))
    arrays, about = unpacked(read(path), path, "delete it")
    assert about == {"round": 7}
    assert arrays.keys() == {"net/w"}
    assert arrays["net/w"].tolist() == [0, 1, 2]


def test_a_full_disk_is_a_clear_error_and_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "a.npz"
    write(path, b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TrainingError, match=r"a.npz: .*free some space and try again"):
        write(path, b"new")
    assert path.read_bytes() == b"old"
    assert unfinished(tmp_path) == []


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="No such file"):
        read(tmp_path / "a.npz")


def test_a_pickle_in_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, about=np.array([{}], dtype=object))
    with pytest.raises(TrainingError, match="is damaged"):
        unpacked(read(path), path, "delete it")


def test_files_of_killed_processes_are_found(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", b"")
    half = tmp_path / ".a.npz.k3_xw7ab"
    half.write_bytes(b"half")
    for name in (".settings.toml.swp", ".env.local", ".gitignore"):
        (tmp_path / name).touch()
    assert unfinished(tmp_path) == [half]


def test_a_file_that_is_being_written_counts_as_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[Path]()
    monkeypatch.setattr(os, "replace", lambda name, _: seen.extend(unfinished(Path(name).parent)))
    write(tmp_path / "a.npz", b"new")
    assert len(seen) == 1


def test_a_file_with_any_changed_bit_has_its_content_or_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    content = np.random.default_rng(1).integers(0, 9, 500)
    write(path, packed({"a": content}, {"round": 7}))
    data = path.read_bytes()
    refused = 0
    for bit in range(0, 8 * len(data), 7):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            arrays, _ = unpacked(read(path), path, "delete it")
        except TrainingError:
            refused += 1
        else:
            # Without the array, whoever asks for it refuses the file.
            assert "a" not in arrays or np.array_equal(arrays["a"], content)
    assert refused > len(data) / 2
