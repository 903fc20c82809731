"""Packs the folder of a bot, or takes its file, as `archive` unpacks them."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

import click

from playout.bots.archive import MOST_PACKED, SUFFIXES
from playout.bots.git_source import GitRepository, SourceError
from playout.protocol.versions import OTHER_FOLDERS


def packed(path: Path) -> tuple[str, bytes]:
    """Return the name and content of an upload; a folder is packed as .tar.gz.

    Raises UsageError.
    """
    if path.is_file():
        if not path.name.lower().endswith(SUFFIXES):
            raise click.UsageError(f"{path} must be a folder, or one of {', '.join(SUFFIXES)}")
        return path.name, path.read_bytes()
    buffer = io.BytesIO()
    try:
        write_tar(path, buffer, "w:gz")
    except OSError as error:
        raise click.UsageError(f"{error.filename} cannot be read: {error.strerror}") from error
    except SourceError as error:
        raise click.UsageError(str(error)) from error
    return f"{_as_name(path)}.tar.gz", buffer.getvalue()


def _as_name(folder: Path) -> str:
    """Return the name of a folder in ASCII, shortened for the name of an upload."""
    name = folder.resolve().name.encode("ascii", "replace").decode().replace("?", "_")
    return name[:60] or "bot"


def packed_commit(folder: Path, revision: str) -> tuple[str, bytes]:
    """Return the name and content of an upload with the files of a folder in a revision of git.

    Raises UsageError.
    """
    with tempfile.TemporaryDirectory(prefix="playout-submit-") as own:
        try:
            repository = GitRepository.around(folder, Path(own)) if folder.is_dir() else None
            if repository is None:
                raise click.UsageError(f"--commit: {folder} is no folder of a git repository")
            commit = repository.commit(revision)
            if commit is None:
                raise click.UsageError(f"--commit: {revision!r} is no revision of {folder}")
            with Path(own, "files.tar").open("w+b") as file:
                repository.pack(repository.tree(commit), file)
                file.seek(0)
                content = gzip.compress(file.read(), mtime=0)
        except SourceError as error:
            raise click.UsageError(str(error)) from error
    return f"{_as_name(folder)}-{commit[:7]}.tar.gz", content


def write_tar(path: Path, output: IO[bytes], mode: Literal["w", "w:gz"]) -> None:
    """Write the files of a folder as an archive. Raises SourceError, OSError."""
    with tarfile.open(fileobj=output, mode=mode) as archive:
        for each in files_of(path):
            archive.add(each, str(each.relative_to(path)), recursive=False)


def files_of(path: Path) -> list[Path]:
    """Return the files of a folder that belong to its bot, without hidden and generated ones.

    Links to folders are among them, as `archive` refuses these. Raises SourceError if they have
    more than MOST_PACKED bytes, OSError for a folder that cannot be read.
    """
    found = sorted(_files_below(path))
    if sum(each.lstat().st_size for each in found) > MOST_PACKED:
        raise SourceError(f"{path} has more than {MOST_PACKED // 2**20} MiB: is it the bot?")
    return found


def _files_below(path: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(path, onerror=_raise):
        names[:] = [name for name in names if not (name.startswith(".") or name in OTHER_FOLDERS)]
        yield from (Path(folder, each) for each in files if not each.startswith("."))
        yield from (each for each in (Path(folder, name) for name in names) if each.is_symlink())


def _raise(error: OSError) -> None:
    raise error
