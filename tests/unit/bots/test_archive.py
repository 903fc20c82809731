"""playout.bots.archive: what is handed in is unpacked, or refused with a sentence."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.bots import archive
from playout.bots.archive import ArchiveError, Unpacked, checked_path, digest_of, unpack
from playout.bots.bot_file import BotFileError
from playout.commands.subprocesses import own_environment

BOT = {"bot.py": b"print()", "bot.toml": b'protocol = "lines"\ncommand = "python3 bot.py"\n'}
MOST = 2**20


def zipped(files: dict[str, bytes], **modes: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = modes.get("mode", stat.S_IFREG | 0o644) << 16
            made.writestr(info, content)
    return buffer.getvalue()


def tarred(files: dict[str, bytes], *members: tarfile.TarInfo, mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as made:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
        for member in members:
            made.addfile(member, io.BytesIO(b"\0" * member.size))
    return buffer.getvalue()


def member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def unpacked(folder: Path, name: str, content: bytes, most: int = MOST) -> Unpacked:
    (folder / "upload").write_bytes(content)
    return unpack(folder / "upload", name, folder / "code", most)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bot.zip", zipped(BOT)),
        ("bot.tar.gz", tarred(BOT)),
        ("bot.tar", tarred(BOT, mode="w")),
        ("bot.tgz", tarred({f"./{key}": value for key, value in BOT.items()})),
        ("bot.zip", zipped({f"ada/{key}": value for key, value in BOT.items()})),
        ("bot.zip", zipped({**BOT, "__MACOSX/bot.py": b"x", ".DS_Store": b"x"})),
        ("bot.tar.gz", tarred({"._bot.py": b"x", "._bot.toml": b"x", **BOT, "._.": b"x"})),
        (
            "bot.tgz",
            tarred(
                {
                    "._ada": b"x",
                    **{f"ada/{key}": BOT[key] for key in BOT},
                    "ada/._bot.py": b"x",
                    ".DS_Store": b"x",
                }
            ),
        ),
        (
            "bot.zip",
            zipped({**BOT, "desktop.ini": b"x", "Thumbs.db": b"x", "$RECYCLE.BIN/a": b""}),
        ),
        ("bot.zip", zipped({**BOT, "DESKTOP.INI": b"x", "Icon\r": b"x", ".git/config": b"x"})),
        ("bot.zip", zipped({"ada\\": b"", **{f"ada\\{key}": BOT[key] for key in BOT}})),
        ("bot.tar", tarred({f"ada\\{key}": BOT[key] for key in BOT}, mode="w")),
        ("BOT.ZIP", zipped({**BOT, "@eaDir/x": b"x", "#bot.py#": b"x", ".TemporaryItems/x": b"x"})),
        ("bot.tar.gz", tarred(BOT, member(".#bot.py", tarfile.SYMTYPE, "ada@host.1"))),
    ],
)
def test_every_kind_of_archive_gives_the_same_version(
    tmp_path: Path, name: str, content: bytes
) -> None:
    found = unpacked(tmp_path, name, content)
    root = tmp_path / "code" / found.root
    assert {each.name: each.read_bytes() for each in root.iterdir()} == BOT
    assert (found.bot.protocol, found.bot.command) == ("lines", "python3 bot.py")
    (tmp_path / "same").mkdir()
    for key, value in BOT.items():
        (tmp_path / "same" / key).write_bytes(value)
    assert found.digest == digest_of(tmp_path / "same")


def test_one_python_file_is_a_player(tmp_path: Path) -> None:
    found = unpacked(tmp_path, "my_bot.py", b"class Mine: ...")
    assert (found.bot.protocol, found.bot.command) == ("python", "bot.py")


def test_executable_files_stay_executable_and_gain_nothing_else(tmp_path: Path) -> None:
    content = zipped(BOT, mode=stat.S_IFREG | 0o6777)
    unpacked(tmp_path, "bot.zip", content)
    modes = {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "code").iterdir()}
    assert modes == {0o755 & ~umask()}


def umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def test_the_error_of_a_damaged_archive_does_not_quote_its_contents(tmp_path: Path) -> None:
    content = bytearray(zipped({"bot.py": random.Random(1).randbytes(60_000)}))
    content[26:28] = struct.pack("<H", 50_000)  # the length of the name
    with pytest.raises(ArchiveError, match="is damaged") as error:
        unpacked(tmp_path, "bot.zip", bytes(content))
    assert len(str(error.value)) < 400


def bomb() -> bytes:
    return zipped({**BOT, "large": b"\0" * (MOST + 1)})


def lying_zip() -> bytes:
    """A zip whose directory says that a file has one byte."""
    content = bytearray(zipped({"large": b"\0" * (4 * MOST), **BOT}))
    at = content.index(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<I", 1)
    return bytes(content)


def encrypted() -> bytes:
    content = bytearray(zipped(BOT))
    at = content.index(b"PK\x01\x02")
    content[at + 8] |= 1
    return bytes(content)


HOSTILE: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "path up": ("a.zip", lambda: zipped({"../../x": b"x"}), "leads out"),
    "path up in the middle": ("a.zip", lambda: zipped({"a/../../x": b"x"}), "leads out"),
    "absolute path": ("a.zip", lambda: zipped({"/tmp/x": b"x"}), "leads out"),
    "backslashes": ("a.tar", lambda: tarred({"..\\x": b"x"}, mode="w"), "leads out"),
    "backslashes of Windows": ("a.zip", lambda: zipped({"a\\..\\..\\x": b"x"}), "leads out"),
    "a drive of Windows": ("a.zip", lambda: zipped({"C:\\x": b"x"}), "leads out"),
    "a drive without a root": ("a.zip", lambda: zipped({"c:x": b"x"}), "leads out"),
    "a server of Windows": ("a.zip", lambda: zipped({"\\\\host\\x": b"x"}), "leads out"),
    "an ignored path up": ("a.zip", lambda: zipped({"__MACOSX/../../x": b"x"}), "leads out"),
    "both kinds of slashes": ("a.tgz", lambda: tarred({"a/b": b"x", "a\\b": b"y"}), "there twice"),
    "path up in a tar": ("a.tgz", lambda: tarred({"../x": b"x"}), "leads out"),
    "absolute path in a tar": ("a.tgz", lambda: tarred({"/etc/x": b"x"}), "leads out"),
    "symbolic link": (
        "a.tgz",
        lambda: tarred(BOT, member("link", tarfile.SYMTYPE, "/etc")),
        "is a link or a device",
    ),
    "file through a link": (
        "a.tgz",
        lambda: tarred({}, member("d", tarfile.SYMTYPE, "/tmp"), member("d/x", tarfile.REGTYPE)),
        "is a link or a device",
    ),
    "hard link": (
        "a.tgz",
        lambda: tarred(BOT, member("link", tarfile.LNKTYPE, "/etc/passwd")),
        "is a link or a device",
    ),
    "device": ("a.tgz", lambda: tarred({}, member("d", tarfile.CHRTYPE)), "is a link or a device"),
    "pipe": ("a.tgz", lambda: tarred({}, member("p", tarfile.FIFOTYPE)), "is a link or a device"),
    "link in a zip": (
        "a.zip",
        lambda: zipped({"link": b"/etc"}, mode=stat.S_IFLNK | 0o777),
        "is a link or a device",
    ),
    "zip bomb": ("a.zip", bomb, "more than 1 MiB"),
    "tar bomb": ("a.tgz", lambda: tarred({"x": b"\0" * (MOST + 1)}), "more than 1 MiB"),
    "a size that is a lie": ("a.zip", lying_zip, "there must be|damaged|more than"),
    "many files": ("a.zip", lambda: zipped({str(n): b"" for n in range(2001)}), "2000 files"),
    "many levels": ("a.zip", lambda: zipped({"a/" * 9 + "x": b""}), "deeper than 8"),
    "a long name": ("a.zip", lambda: zipped({"x" * 101: b""}), "at most 100"),
    "control characters": ("a.zip", lambda: zipped({"a\nb": b""}), "printable"),
    "twice": ("a.tgz", lambda: tarred(BOT, member("bot.py", tarfile.REGTYPE)), "there twice"),
    "a file that is a folder": (
        "a.tgz",
        lambda: tarred({"a": b"x", "a/b": b"x"}),
        "there twice",
    ),
    "encrypted": ("a.zip", encrypted, "encrypted"),
    "no archive": ("a.zip", lambda: b"hello", "damaged"),
    "a truncated archive": ("a.tgz", lambda: tarred(BOT)[:-30], "damaged"),
    "an empty archive": ("a.zip", lambda: zipped({}), "there must be a bot.toml"),
    "another kind": ("a.rar", lambda: b"Rar!", "must be one of .py, .zip"),
    "two players": ("a.zip", lambda: zipped({"a.py": b"", "b.py": b""}), "not 2"),
    "a faulty bot.toml": (
        "a.zip",
        lambda: zipped({"bot.toml": b'protocol = "smtp"\ncommand = ""'}),
        "bot.toml:1: protocol: .*\nbot.toml:2: command",
    ),
    "a large bot.toml": ("a.zip", lambda: zipped({"bot.toml": b"#" * 70_000}), "65536 bytes"),
    "nested lists": ("a.zip", lambda: zipped({"bot.toml": b"a=" + b"[" * 60_000}), "nested"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused_and_touches_nothing_else(tmp_path: Path, case: str) -> None:
    name, content, error = HOSTILE[case]
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    with pytest.raises((ArchiveError, BotFileError), match=error):
        unpacked(inner, name, content())
    assert sorted(each.name for each in tmp_path.rglob("*") if "code" not in each.parts) == [
        *("a", "b", "upload")
    ]
    for each in (inner / "code").rglob("*"):
        assert not each.is_symlink()
    written = sum(each.stat().st_size for each in (inner / "code").rglob("*") if each.is_file())
    assert written <= MOST


_PIECES = st.lists(st.sampled_from(["..", ".", "a", "", "/", "\\"]))


@given(st.text(max_size=40) | _PIECES.map("/".join))
def test_a_path_stays_below_the_folder_or_is_refused(path: str) -> None:
    try:
        parts = checked_path(path)
    except ArchiveError:
        return
    inside = os.path.normpath(os.path.join("/folder", *parts))
    assert inside == "/folder" or inside.startswith("/folder/")
    assert os.path.join("/folder", *parts).rstrip("/") == inside
    assert not any("\\" in part for part in parts)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "Icon\uf00d",
            "bot.py:com.apple.quarantine",
            "a/.AppleDesktop/x",
            "Network Trash Folder/x",
        ),
        *(".com.apple.timemachine.donotpresent", "RECYCLER/x", ".~lock.bot.py#", ".bot.py.swo"),
        *("pax_global_header", ".tmp.driveupload/1", ".settings/x", ".project"),
    ],
)
def test_files_that_other_programs_add_are_ignored(path: str) -> None:
    assert checked_path(path) == ()


@given(content=st.binary(max_size=300), kind=st.sampled_from([".zip", ".tar", ".tar.gz"]))
def test_any_bytes_are_refused_with_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, kind: str
) -> None:
    with pytest.raises((ArchiveError, BotFileError)):
        unpacked(tmp_path_factory.mktemp("any"), f"bot{kind}", content)


@given(st.data())
def test_a_damaged_archive_is_unpacked_as_it_is_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    name, make = data.draw(
        st.sampled_from([("a.zip", lambda: zipped(BOT)), ("a.tar", lambda: tarred(BOT, mode="w"))])
    )
    content = bytearray(make())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    folder = tmp_path_factory.mktemp("damaged") / "a"
    folder.mkdir()
    with contextlib.suppress(ArchiveError, BotFileError):
        unpacked(folder, name, bytes(content))
    assert [each.name for each in folder.parent.iterdir()] == ["a"]


def test_the_process_unpacks_within_limits(tmp_path: Path) -> None:
    """A header of tar that asks for gigabytes meets the limit of memory, not this process."""
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 2**33
    evil = gzip.compress(header.tobuf(tarfile.GNU_FORMAT)) + 80 * gzip.compress(b"\0" * 2**24)
    for number, (name, content, code) in enumerate(
        (("bot.zip", zipped(BOT), 0), ("bot.tar.gz", evil, 1), ("bot.zip", bomb(), 1))
    ):
        upload = tmp_path / f"upload{number}"
        upload.write_bytes(content)
        words = [sys.executable, "-P", "-m", archive.__name__]
        done = subprocess.run(
            [*words, str(upload), name, str(tmp_path / f"code{number}"), str(MOST)],
            env=own_environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done
        assert "Traceback" not in done.stderr
        assert len(done.stdout.splitlines()) == 1
        if code == 0:
            assert msgspec.json.decode(done.stdout, type=Unpacked).bot.protocol == "lines"
