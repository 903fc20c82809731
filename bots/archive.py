"""Unpacks an upload, in a process of its own because uploads are not trusted.

    python -m playout.bots.archive UPLOAD NAME FOLDER MOST_BYTES [versions]

UPLOAD is a file whose kind follows from NAME: a Python file, or a folder as .zip, .tar or .tar.gz.
Its files are written to FOLDER, a new folder. Only plain files and folders are unpacked, with
relative paths; links, devices and paths that lead out are refused, and so are too many files and
too many bytes, which are counted when they are written, whatever the archive says about them.

The output is JSON: the digest of the files, and how the bot is started (`bot_file`), or with
`versions` the names of the folders at the top; or one sentence, with exit code 1, about what is
wrong.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import resource
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

import msgspec

from playout.bots import bot_file
from playout.bots.bot_file import BotFile, BotFileError
from playout.commands.text import beginning

#: The suffixes of accepted uploads.
SUFFIXES = (".py", ".zip", ".tar", ".tar.gz", ".tgz")
#: Maximum number of files and folders, levels of folders, and bytes of a name.
MOST_FILES, MOST_LEVELS, LONGEST_NAME = 2000, 8, 100
#: Maximum number of bytes of a folder that is packed; the limits of those who unpack it are lower.
MOST_PACKED = 2**30
#: Files that operating systems and tools add to archives, in lower case.
_IGNORED = (
    *("__macosx", "._*", ".ds_store", ".appledouble", ".localized", ".spotlight-v100", ".trashes"),
    *(".fseventsd", "icon\r", "desktop.ini", "thumbs.db", "ehthumbs.db", "$recycle.bin", "~$*"),
    *("*:zone.identifier", "system volume information", ".directory", ".trash-*", ".nfs*"),
    *("@eadir", ".temporaryitems", ".documentrevisions-v100", ".volumeicon.icns", ".appledb"),
    *(
        ".#*",
        "#*#",
        ".dropbox*",
        ".vs",
        "thumbs.db:*",
        "icon\uf00d",
        "*:com.apple.*",
        ".appledesktop",
    ),
    *("network trash folder", ".com.apple.*", "recycler", ".~lock.*#", "pax_global_header"),
    *(".tmp.drive*", ".project", ".settings", ".fleet", ".spyproject", ".ropeproject", "*.swo"),
    *(".git", ".svn", ".hg", ".idea", ".vscode", "*.swp", "*~"),
    *("__pycache__", "*.pyc", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".ipynb_checkpoints"),
)
#: The drive of a path of Windows.
_DRIVE = re.compile(r"\s*[A-Za-z]:")
#: Limits of this process: seconds of processor time, and bytes of memory.
_CPU_S, _MEMORY = 30, 2**30
_CHUNK = 2**16
#: Maximum number of characters of a library's error that are shown.
_LONGEST_FAULT = 200


class ArchiveError(ValueError):
    """A submission cannot be unpacked; the message says in a sentence what was expected."""


class Unpacked(msgspec.Struct, frozen=True):
    """The digest of the unpacked files, their root in the folder, and how the bot is started."""

    digest: str
    root: str
    bot: BotFile


@dataclass(frozen=True)
class _Member:
    """A file of an archive, or a folder without `content`."""

    path: str
    executable: bool
    content: IO[bytes] | None


#: The exit code if this machine has a fault, and not the file: EX_TEMPFAIL of sysexits.h.
MACHINE_FAULT = 75
#: Errors of the system that no file causes.
_OF_MACHINE = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ENFILE, errno.EMFILE),
    *(errno.ENOMEM, errno.EACCES),
)


def main() -> int:
    """Unpack the file of the command line; return the exit code."""
    upload, name, folder, most, *kind = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
    try:
        unpacked: object
        call = unpack_versions if kind else unpack
        unpacked = call(Path(upload), name, Path(folder), int(most))
    except (ArchiveError, BotFileError) as error:
        print(error)
        cause = error.__cause__
        return MACHINE_FAULT if isinstance(cause, OSError) and cause.errno in _OF_MACHINE else 1
    except MemoryError:
        print(f"the archive needs more than {_MEMORY // 2**20} MiB of memory to be unpacked")
        return 1
    print(msgspec.json.encode(unpacked).decode())
    return 0


def unpack(upload: Path, name: str, folder: Path, most: int) -> Unpacked:
    """Unpack a file into a new folder, at most `most` bytes. Raises ArchiveError, BotFileError."""
    _unpack_files(upload, name, folder, most)
    root = _root(folder)
    return Unpacked(digest_of(root), str(root.relative_to(folder)), bot_file.read(root))


def unpack_versions(upload: Path, name: str, folder: Path, most: int) -> list[str]:
    """Unpack an archive that has only folders at its top; return their names.

    Raises ArchiveError.
    """
    _unpack_files(upload, name, folder, most)
    if other := next((each.name for each in folder.iterdir() if not each.is_dir()), None):
        raise ArchiveError(f"{_shown(other)} is in no folder: each version has a folder of its own")
    return sorted(each.name for each in folder.iterdir())


def _unpack_files(upload: Path, name: str, folder: Path, most: int) -> None:
    """Unpack a file into a new folder, at most `most` bytes. Raises ArchiveError."""
    folder.mkdir(mode=0o700)
    try:
        _write(_members(upload, name), folder, most)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        fault = beginning(str(error), _LONGEST_FAULT)  # it may quote a header
        raise ArchiveError(f"{name} is damaged, or no archive of this kind: {fault}") from error
    except (NotImplementedError, RuntimeError, UnicodeError, ValueError, OSError) as error:
        if isinstance(error, ArchiveError):
            raise
        fault = beginning(str(error), _LONGEST_FAULT)
        raise ArchiveError(f"{name} cannot be unpacked: {fault}") from error


def digest_of(folder: Path, files: Iterable[Path] | None = None) -> str:
    """Return a digest of the paths, contents and executable bits of files in a folder, or of all.

    Raises OSError.
    """
    total = hashlib.sha256()
    for path in sorted(each for each in files or folder.rglob("*") if each.is_file()):
        executable = path.stat().st_mode & stat.S_IXUSR != 0
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(folder)}\0{executable}\0{content}\n".encode())
    return total.hexdigest()


def _members(upload: Path, name: str) -> Iterator[_Member]:
    """Yield the members of an archive, or the Python file as the only one."""
    kind = name.lower()
    if kind.endswith(".zip"):
        yield from _zip_members(upload)
    elif kind.endswith((".tar", ".tar.gz", ".tgz")):
        yield from _tar_members(upload, "r:" if kind.endswith(".tar") else "r:gz")
    elif kind.endswith(".py"):
        with upload.open("rb") as file:
            yield _Member("bot.py", False, file)
    else:
        raise ArchiveError(f"{name} must be one of {', '.join(SUFFIXES)}")


def _zip_members(upload: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(upload) as archive:
        for each in archive.infolist():
            mode = each.external_attr >> 16
            kind = stat.S_IFMT(mode)
            if each.flag_bits & 1:
                raise ArchiveError(
                    f"{_shown(each.filename)} is encrypted: archive without password"
                )
            if not checked_path(each.filename):
                yield _Member(each.filename, False, None)
                continue
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _special(each.filename)
            if each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ArchiveError("the archive is compressed by a method other than deflate")
            if each.filename.endswith(("/", "\\")) or kind == stat.S_IFDIR:
                yield _Member(each.filename, False, None)
                continue
            with archive.open(each) as content:
                yield _Member(each.filename, bool(mode & stat.S_IXUSR), content)


def _tar_members(upload: Path, mode: str) -> Iterator[_Member]:
    with tarfile.open(upload, mode) as archive:  # type: ignore[call-overload]
        for each in archive:
            if each.isdir() or not checked_path(each.name):  # ignored, as a lock of Emacs, a link
                yield _Member(each.name, False, None)
            elif each.isreg() and not each.issparse():
                yield _Member(each.name, bool(each.mode & stat.S_IXUSR), archive.extractfile(each))
            else:
                raise _special(each.name)


def _special(path: str) -> ArchiveError:
    return ArchiveError(f"{_shown(path)} is a link or a device: only files and folders are allowed")


def _write(members: Iterator[_Member], folder: Path, most: int) -> None:
    """Write the members below the folder, which nobody else writes to. Raises ArchiveError."""
    left, seen = most, 0
    for member in members:
        seen += 1
        if seen > MOST_FILES:
            raise ArchiveError(f"there are more than {MOST_FILES} files and folders")
        parts = checked_path(member.path)
        if not parts:
            continue
        path = folder.joinpath(*parts)
        try:
            (path.parent if member.content else path).mkdir(parents=True, exist_ok=True)
            if member.content:
                left = _copy(member.content, path, left, executable=member.executable)
        except (FileExistsError, NotADirectoryError) as error:
            raise ArchiveError(f"{_shown(member.path)} is there twice") from error
        if left < 0:
            raise ArchiveError(f"the files have more than {most // 2**20} MiB together")


def checked_path(path: str) -> tuple[str, ...]:
    """Return the parts of a relative path of an archive, () for a file that is ignored.

    A backslash separates folders, too, as in archives of Windows. Raises ArchiveError for other
    paths.
    """
    plain = path.replace("\\", "/")
    parts = tuple(each for each in plain.split("/") if each not in ("", "."))
    if plain.startswith("/") or ".." in parts or _DRIVE.match(plain):
        raise ArchiveError(f"{_shown(path)} leads out of the folder: paths must be relative")
    if is_ignored(parts):
        return ()
    if not path.isprintable() or any(len(os.fsencode(each)) > LONGEST_NAME for each in parts):
        raise ArchiveError(
            f"{_shown(path)} is not a name of at most {LONGEST_NAME} printable characters"
        )
    if len(parts) > MOST_LEVELS:
        raise ArchiveError(f"{_shown(path)} is deeper than {MOST_LEVELS} folders")
    return parts


def is_ignored(parts: Iterable[str]) -> bool:
    """Return whether a path is of a file that systems or tools add, such as `__pycache__`."""
    return any(fnmatchcase(part.lower(), pattern) for part in parts for pattern in _IGNORED)


def _copy(content: IO[bytes], path: Path, left: int, *, executable: bool) -> int:
    """Write a new file; return how many of the `left` bytes remain, negative if too few."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(path, flags, 0o755 if executable else 0o644), "wb") as file:
        while left >= 0 and (chunk := content.read(_CHUNK)):
            left -= len(chunk)
            if left >= 0:
                file.write(chunk)
    return left


def _root(folder: Path) -> Path:
    """Return the folder with the bot: the only folder in an archive, if there is nothing else."""
    entries = list(folder.iterdir())
    if len(entries) == 1 and entries[0].is_dir():
        return entries[0]
    return folder


def _shown(path: str) -> str:
    """Return a path of an archive in quotes, with its printable characters."""
    return repr(beginning(path, 80))


if __name__ == "__main__":
    sys.exit(main())
