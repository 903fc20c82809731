"""Versions of bots by what the user types: a revision of git, a folder, or a player."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playout import players
from playout.bots.archive import digest_of
from playout.bots.git_source import LAB_FILE, GitRepository, SourceError, home_of
from playout.bots.packing import files_of, write_tar
from playout.commands.options import PLAYER
from playout.commands.progress import doing
from playout.games import SpecError
from playout.games.core import spec as notation
from playout.protocol import versions
from playout.protocol.names import LONGEST, BadName, normalised
from playout.protocol.versions import files_in, installed

#: The label of the working tree.
WORKING_TREE = "working tree"


class UnknownVersion(SourceError):
    """A text names no version."""


@dataclass(frozen=True)
class Version:
    """A version of a bot: equal versions have equal `id`s.

    `label` is the user's text. A player has `player`, with its options; a bot has `pack`, which
    writes its files to a tar archive.
    """

    id: str
    label: str
    player: str | None = None
    pack: Callable[[Path], None] | None = None

    @property
    def name(self) -> str:
        """The name of the version in matches and reports, which no other version has."""
        try:
            return normalised(f"{self.label[: LONGEST - 8].strip()} {self.id[:7]}")
        except BadName:  # not every name of a branch or a folder can be one of a player
            return f"version {self.id[:7]}"


class VersionSources:
    """Finds versions from a folder, which may be in a git repository."""

    def __init__(self, folder: Path, homes: Path) -> None:
        """`homes` is the folder of all laboratories. Raises SourceError if git refuses a folder."""
        self._folder = folder
        self.repository = GitRepository.around(folder, homes)
        if self.repository:
            self.home = self.repository.home
        else:
            self.home = home_of(homes, folder.resolve().name, str(folder.resolve()))

    def working_tree(self) -> Version:
        """Return the working tree as it is. Raises SourceError."""
        repository = self._repository()
        return self._of_tree(repository, repository.working_tree(), WORKING_TREE)

    def last_commit(self) -> Version:
        """Return the last commit. Raises SourceError."""
        repository = self._repository()
        commit = repository.commit("HEAD")
        if commit is None:
            raise UnknownVersion("there is no commit yet: commit a version to compare with")
        return self._of_tree(repository, repository.tree(commit), commit[:7])

    def version(self, typed: str) -> Version:
        """Return the version that a text names. Raises UnknownVersion, SourceError."""
        if not typed.isprintable():
            raise UnknownVersion(f"{typed!r} has characters that are not shown: rename it")
        folder = self._folder / typed
        commit = self.repository.commit(typed) if self.repository else None
        is_path = folder.is_dir() and ("/" in typed or typed in (".", ".."))
        if commit and folder.is_dir() and not is_path:
            raise UnknownVersion(
                f"{typed!r} is a folder and a revision of git: write ./{typed} for the folder, or "
                f"the commit {commit[:7]}"
            )
        if self.repository and commit and not is_path:
            label = commit[:7] if typed == "HEAD" or commit.startswith(typed) else typed
            return self._of_tree(self.repository, self.repository.tree(commit), label)
        if folder.is_dir():
            return self.of_folder(folder, typed)
        if PLAYER.fullmatch(typed) and self._is_player(typed):
            identity = versions.of_player(typed, files_in(self._folder), installed())
            return Version(identity, typed, player=typed)
        kinds = "a revision of git, a folder" if self.repository else "a folder"
        known = "" if self.repository else "; this folder is in no git repository"
        raise UnknownVersion(f"{typed!r} is not {kinds}, or a player such as 'uct(c=1.2)'{known}")

    @staticmethod
    def _is_player(typed: str) -> bool:
        """Return whether a text is a player. Raises UnknownVersion for wrong options."""
        try:
            wanted = notation.parse(typed)
            if wanted.name in players.names():
                with doing(f"Loading {wanted.name}"):
                    notation.bind(players.find(wanted.name), wanted, skip=1)
                return True
        except SpecError as error:
            raise UnknownVersion(str(error)) from error
        return ":" in wanted.name

    def _repository(self) -> GitRepository:
        if self.repository is None:
            raise UnknownVersion(
                f"{self._folder.resolve()} is in no git repository: name two folders or players, "
                "or run git init and git commit"
            )
        return self.repository

    @staticmethod
    def _of_tree(repository: GitRepository, tree: str, label: str) -> Version:
        def pack(upload: Path) -> None:
            with upload.open("wb") as file:
                repository.pack(tree, file)

        return Version(tree, label, pack=pack)

    @staticmethod
    def of_folder(folder: Path, label: str) -> Version:
        """Return the version that the files of a folder are. Raises SourceError without files."""
        try:
            files = [each for each in files_of(folder) if each.name != LAB_FILE]
            identity = digest_of(folder, files)
        except OSError as error:
            raise SourceError(f"{error.filename} cannot be read: {error.strerror}") from error
        if not files:
            raise SourceError(f"{label} has no files")

        def pack(upload: Path) -> None:
            with upload.open("wb") as file:
                write_tar(folder, file, "w")

        name = Path(label).name or folder.resolve().name
        return Version(identity, name, pack=pack)
