"""Versions of a bot in a git repository: commits, and the working tree as it is.

The repository of the user is not trusted: it may come from somebody else. It is asked only for the
names of commits, which runs nothing. All other work is done with a repository of the laboratory,
which reads the user's objects and has a configuration of its own: so no hook, filter, attribute,
`core.fsmonitor` or transport of the repository takes effect, and nothing is written to it.

The identity of a version is its tree, without `lab.toml`: equal files are the same version. The
laboratory of a command that ends is in a temporary folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

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
_LONGEST_S = 300.0


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
        done = _run(("git", *_SAFE, "-C", str(folder), "rev-parse", *asked), _environment())
        if done.returncode:
            if b"not a git repository" in done.stderr or b"work tree" in done.stderr:
                return None
            raise SourceError(_last_line(done.stderr))
        top, prefix, objects, exclude, kind = done.stdout.decode().split("\n")[:5]
        prefix, objects_folder = prefix.rstrip("/"), (folder / objects).resolve()
        home = home_of(homes, Path(top, prefix).name, f"{objects_folder}\n{prefix}")
        found = cls(Path(top), prefix, objects_folder, (folder / exclude).resolve(), home)
        found._prepare(kind)
        return found

    def commit(self, revision: str) -> str | None:
        """Return the commit of a revision of the user's repository; None without one."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        done = _run(("git", *_SAFE, "-C", str(self.top), *words), _environment())
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
            self._git("add", "--all", "--", place or ".", more=index, folder=self.top)
            return self._written(index, place)

    def pack(self, tree: str, file: IO[bytes]) -> None:
        """Write the files of a tree as a tar archive. Raises SourceError."""
        self._refuse_links_and_submodules(tree)
        self._git("archive", "--format=tar", tree, output=file)

    def _written(self, index: Mapping[str, str], place: str) -> str:
        """Return the tree of an index at a place, without the file of the laboratory."""
        within = Path(index["GIT_WORK_TREE"])
        path = f"{place}{LAB_FILE}"
        self._git("update-index", "--force-remove", "--", path, more=index, folder=within)
        options = (f"--prefix={place}",) if place else ()
        return self._git("write-tree", *options, more=index).decode().strip()

    def _refuse_links_and_submodules(self, tree: str) -> None:
        for entry in self._git("ls-tree", "-r", "-z", tree).split(b"\0"):
            mode, _, path = entry.decode(errors="replace").partition(" ")
            name = path.rpartition("\t")[2]
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
                raise SourceError(_last_line(done.stderr))
            self._git("config", "core.bare", "false")
        information = self.store / "info"
        information.mkdir(exist_ok=True)
        (information / "attributes").write_text(_ATTRIBUTES)
        (self.store / "objects" / "info").mkdir(parents=True, exist_ok=True)
        (self.store / "objects" / "info" / "alternates").write_text(f"{self.objects}\n")
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
            raise SourceError(_last_line(done.stderr))
        return done.stdout or b""


def home_of(homes: Path, name: str, identity: str) -> Path:
    """Return the folder of a laboratory, from the name of the bot and what identifies it."""
    readable = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:40]
    return homes / f"{readable}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


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


def _run(
    words: tuple[str, ...],
    environment: Mapping[str, str],
    folder: Path | None = None,
    output: IO[bytes] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output or subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            timeout=_LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SourceError(f"git has not ended after {_LONGEST_S:g} seconds") from None


def _last_line(errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    return f"git: {lines[-1] if lines else 'it failed'}"
