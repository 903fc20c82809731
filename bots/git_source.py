"""Versions of a bot in a git repository: commits, and the working tree as it is.

The repository of the user is not trusted: it may come from somebody else. It is asked only for the
names of commits, which runs nothing. All other work is done with a repository of the laboratory,
which reads the user's objects and has a configuration of its own: so no hook, filter, attribute,
`core.fsmonitor` or transport of the repository takes effect, and nothing is written to it. The
files are counted before they are read: a few objects that name each other can be a trillion files.

The identity of a version is its tree, without `lab.toml` and files such as `__pycache__`, which
`archive` leaves out: equal files are the same version. The
laboratory of a command that ends is in a temporary folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from playout.bots.archive import MOST_FILES, MOST_PACKED, is_ignored
from playout.commands.text import plain

#: The file with the conditions of tests, which is no part of a bot.
LAB_FILE = "lab.toml"
#: Settings that keep a configuration from running programs.
_SAFE = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"),
    *("-c", "protocol.allow=never", "-c", "core.autocrlf=false", "-c", "core.symlinks=true"),
)
#: Of the attributes of a tree, none changes its files.
_ATTRIBUTES = (
    "* !export-ignore !export-subst !filter !text !eol !ident !working-tree-encoding !diff\n"
)
_LINK, _SUBMODULE = "120000", "160000"
#: The longest time of git: for files, and for questions about names.
_LONGEST_S, _ANSWER_S = 300.0, 30.0
#: The bytes of a list of MOST_FILES files.
_LONGEST_LIST = 2**21
_LATE = "git has not ended after {:g} seconds"
_TOO_MANY = (
    f"there are more than {MOST_FILES} files and folders: test the folder of the bot only, and "
    "name generated files in .gitignore"
)


class SourceError(ValueError):
    """A version cannot be found or built from; the message is a sentence for its author."""


@dataclass(frozen=True)
class GitRepository:
    """The repository around a folder.

    `top` is its top folder, `prefix` the path of the folder in it, empty for the top. `home` is the
    folder of the laboratory of this bot, which the working trees of a repository share.
    """

    top: Path
    prefix: str
    objects: Path
    exclude: Path
    home: Path

    @property
    def store(self) -> Path:
        """The folder of the laboratory's own repository."""
        return self.home / "objects.git"

    @classmethod
    def around(cls, folder: Path, homes: Path) -> GitRepository | None:
        """Return the repository of a folder, None without one; `homes` has the laboratories.

        Raises SourceError if git refuses it.
        """
        if shutil.which("git") is None:
            return None
        paths = ("--git-path", "objects", "--git-path", "info/exclude")
        asked = ("--show-toplevel", "--show-prefix", *paths, "--show-object-format")
        done = _asked(folder, *asked)
        if done.returncode:
            if b"not a git repository" in done.stderr or b"work tree" in done.stderr:
                return None
            raise SourceError(_fault(done.stderr))
        try:
            found = done.stdout.decode().split("\n")
        except UnicodeDecodeError:
            found = []
        if len(found) != 6:
            raise SourceError(
                f"the path {str(folder.resolve())!r} has a line break, or is not UTF-8: rename it"
            )
        top, prefix, objects, exclude, kind, _ = found
        if Path(top, prefix).resolve() != folder.resolve():
            raise SourceError(
                f"the files of this repository are in another folder, {plain(top)!r}, by its "
                "setting core.worktree: remove the setting"
            )
        prefix, objects_folder = prefix.rstrip("/"), (folder / objects).resolve()
        home = home_of(homes, Path(top, prefix).name, f"{objects_folder}\n{prefix}")
        repository = cls(Path(top), prefix, objects_folder, (folder / exclude).resolve(), home)
        repository._prepare(kind)
        return repository

    def commit(self, revision: str) -> str | None:
        """Return the commit of a revision of the user's repository; None without one."""
        words = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        done = _asked(self.top, *words)
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def tree(self, commit: str) -> str:
        """Return the tree of the folder in a commit. Raises SourceError."""
        where = f"{commit}:{self.prefix}" if self.prefix else f"{commit}^{{tree}}"
        try:
            found = self._git("rev-parse", "--verify", "--quiet", where).decode().strip()
        except SourceError:
            if self.prefix:
                text = f"commit {commit[:7]} has no folder {self.prefix}"
            else:
                text = (
                    f"the files of commit {commit[:7]} are missing: fetch them, as by "
                    "git fetch --unshallow or --refetch"
                )
            raise SourceError(text) from None
        self._entries(found)
        with tempfile.TemporaryDirectory(prefix="playout-lab-") as own:
            index = {"GIT_INDEX_FILE": f"{own}/index", "GIT_WORK_TREE": own}
            self._git("read-tree", found, more=index)
            return self._written(index, "")

    def working_tree(self) -> str:
        """Return the tree of the folder as it is, without ignored files. Raises SourceError."""
        with tempfile.TemporaryDirectory(prefix="playout-lab-") as own:
            index = {"GIT_INDEX_FILE": f"{own}/index", "GIT_WORK_TREE": str(self.top)}
            place = f"{self.prefix}/" if self.prefix else ""
            if head := self.commit("HEAD"):
                try:
                    known = self.tree(head)
                except SourceError:
                    known = ""  # the folder is new
                if known:
                    self._refuse_links_and_submodules(known)
                    options = (f"--prefix={place}",) if place else ()
                    self._git("read-tree", *options, known, more=index, folder=self.top)
            self._require_few(place or ".", index)
            self._git("add", "--all", "--", place or ".", more=index, folder=self.top)
            return self._written(index, place)

    def pack(self, tree: str, file: IO[bytes]) -> None:
        """Write the files of a tree as a tar archive. Raises SourceError."""
        self._refuse_links_and_submodules(tree)
        self._git("archive", "--format=tar", tree, output=file)

    def _written(self, index: Mapping[str, str], place: str) -> str:
        """Return the tree of an index at a place, without files that are no part of a bot."""
        within = Path(index["GIT_WORK_TREE"])
        names = [os.fsdecode(each) for each in self._listed(("ls-files", "-z"), index, within)]
        others = [
            name
            for name in names
            if (path := name.removeprefix(place)) == LAB_FILE or is_ignored(path.split("/"))
        ]
        if place and len(names) == len(others):
            raise SourceError(f"{self.prefix} has no files that git would add")
        self._git("update-index", "--force-remove", "--", *others, more=index, folder=within)
        options = (f"--prefix={place}",) if place else ()
        return self._git("write-tree", *options, more=index).decode().strip()

    def _require_few(self, place: str, index: Mapping[str, str]) -> None:
        """Raise SourceError if the working tree has too many files, or too large ones."""
        words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", place)
        total = 0
        for name in self._listed(words, index, self.top):
            with contextlib.suppress(OSError):  # it was removed
                total += (self.top / os.fsdecode(name)).lstat().st_size
        if total > MOST_PACKED:
            raise SourceError(
                f"the files of the working tree have more than {MOST_PACKED // 2**20} MiB: name "
                "those that do not belong to the bot in .gitignore"
            )

    def _entries(self, tree: str) -> list[bytes]:
        """Return a line for each file and folder of a tree. Raises SourceError for too many."""
        return self._listed(("ls-tree", "-r", "-t", "-z", tree), {}, self.store)

    def _listed(self, words: Sequence[str], more: Mapping[str, str], folder: Path) -> list[bytes]:
        """Return the lines of a list of files by git. Raises SourceError for too many."""
        environment = _environment() | {"GIT_DIR": str(self.store)} | dict(more)
        with subprocess.Popen(
            ("git", *_SAFE, *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
        ) as process:
            assert process.stdout
            until = time.monotonic() + _LONGEST_S
            late = threading.Timer(_LONGEST_S, process.kill)
            late.start()
            found = process.stdout.read(_LONGEST_LIST)
            late.cancel()
            process.kill()
        if time.monotonic() >= until:  # the list may be incomplete
            raise SourceError(_LATE.format(_LONGEST_S))
        lines = found.split(b"\0")[:-1]
        if len(lines) > MOST_FILES or len(found) == _LONGEST_LIST:
            raise SourceError(_TOO_MANY)
        return lines

    def _refuse_links_and_submodules(self, tree: str) -> None:
        for entry in self._entries(tree):
            mode, _, path = entry.decode(errors="replace").partition(" ")
            name = plain(path.partition("\t")[2])
            if mode == _SUBMODULE:
                raise SourceError(
                    f"{name} is a submodule, whose files git does not keep: copy them, or build "
                    "from a folder that has them"
                )
            if mode == _LINK:
                raise SourceError(f"{name} is a link: a bot has only files and folders")

    def _prepare(self, kind: str) -> None:
        """Make the laboratory's repository, or bring its settings up to date."""
        if not (self.store / "HEAD").exists():
            self.store.parent.mkdir(parents=True, exist_ok=True)
            words = ("init", "--quiet", "--bare", "--template=", f"--object-format={kind}")
            done = _run(("git", *_SAFE, *words, str(self.store)), _environment())
            if done.returncode:
                raise SourceError(_fault(done.stderr))
            self._git("config", "core.bare", "false")
        information = self.store / "info"
        information.mkdir(exist_ok=True)
        (information / "attributes").write_text(_ATTRIBUTES)
        (self.store / "objects" / "info").mkdir(parents=True, exist_ok=True)
        (self.store / "objects" / "info" / "alternates").write_bytes(
            os.fsencode(self.objects) + b"\n"
        )
        if self.exclude.is_file():
            (information / "exclude").write_bytes(self.exclude.read_bytes())

    def _git(
        self,
        *words: str,
        more: Mapping[str, str] | None = None,
        folder: Path | None = None,
        output: IO[bytes] | None = None,
    ) -> bytes:
        """Run git with the laboratory's repository; return its output. Raises SourceError."""
        environment = _environment() | {"GIT_DIR": str(self.store)} | dict(more or {})
        done = _run(("git", *_SAFE, *words), environment, folder or self.store, output)
        if done.returncode:
            raise SourceError(_fault(done.stderr))
        return done.stdout or b""


def home_of(homes: Path, name: str, identity: str) -> Path:
    """Return the folder of a laboratory, from the name of the bot and what identifies it."""
    readable = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:40]
    return homes / f"{readable}-{hashlib.sha256(os.fsencode(identity)).hexdigest()[:8]}"


def _environment() -> dict[str, str]:
    """Return the environment of git: no variable of the caller's git, no prompt, no transport."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return own | {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_SSH_COMMAND": "false",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _asked(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Ask the user's repository by `git rev-parse`."""
    words = ("git", *_SAFE, "-C", str(folder), "rev-parse", *words)
    return _run(words, _environment(), longest_s=_ANSWER_S)


def _run(
    words: tuple[str, ...],
    environment: Mapping[str, str],
    folder: Path | None = None,
    output: IO[bytes] | None = None,
    *,
    longest_s: float = _LONGEST_S,
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output or subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            timeout=longest_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SourceError(_LATE.format(longest_s)) from None


def _fault(errors: bytes) -> str:
    """Return the reason of git in its errors: the first one, as advice may follow."""
    lines = [plain(each).strip() for each in errors.decode(errors="replace").splitlines()]
    reasons = [each for each in lines if each.startswith(("fatal: ", "error: "))] or lines
    text = reasons[0].partition(": ")[2] or reasons[0] if reasons else "it failed"
    advice = [each for each in lines if each.startswith("git config ")]
    return f"git: {text}" + (f"; if you trust it, run: {advice[0]}" if advice else "")
