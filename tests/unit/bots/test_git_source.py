"""playout.bots.git_source: real repositories, also hostile ones, which run nothing."""

from __future__ import annotations

import io
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from playout.bots.git_source import GitRepository, SourceError
from support.repositories import BotRepository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
BOT = {"bot.py": "print(1)\n", "lib/more.py": "x = 2\n"}


@pytest.fixture
def made(tmp_path: Path) -> BotRepository:
    made = BotRepository(tmp_path / "bot")
    made.commit(BOT)
    return made


def around(folder: Path) -> GitRepository:
    found = GitRepository.around(folder, folder.parent / "laboratories")
    assert found
    return found


def files(repository: GitRepository, tree: str) -> dict[str, str]:
    packed = io.BytesIO()
    with (repository.home / "packed").open("wb+") as file:
        repository.pack(tree, file)
        file.seek(0)
        packed.write(file.read())
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        found = ((each, archive.extractfile(each)) for each in archive)
        return {each.name: content.read().decode() for each, content in found if content}


def test_a_commit_has_its_files(made: BotRepository) -> None:
    repository = around(made.top)
    commit = repository.commit("main")
    assert commit
    assert files(repository, repository.tree(commit)) == BOT
    assert repository.commit("nothing") is None
    assert repository.commit("--all") is None


def test_a_folder_without_a_repository_has_none(tmp_path: Path) -> None:
    assert GitRepository.around(tmp_path, tmp_path / "laboratories") is None


def test_the_working_tree_has_new_and_changed_files_and_no_ignored_ones(
    made: BotRepository,
) -> None:
    made.commit({".gitignore": "*.log\ntracked.txt\n", "tracked.txt": "1"})
    (made.top / "lib/more.py").unlink()
    made.write({"bot.py": "print(2)\n", "new/file.py": "y\n", "out.log": "x", "tracked.txt": "2"})
    repository = around(made.top)
    found = files(repository, repository.working_tree())
    assert found == {
        ".gitignore": "*.log\ntracked.txt\n",
        "bot.py": "print(2)\n",
        "new/file.py": "y\n",
        "tracked.txt": "2",
    }


def test_a_committed_working_tree_is_the_same_version(made: BotRepository) -> None:
    made.write({"bot.py": "print(3)\n", "lab.toml": "games = ['nim']\n"})
    dirty = around(made.top).working_tree()
    clean = around(made.top).tree(made.commit({}))
    assert dirty == clean
    assert made.commit({"lab.toml": "games = ['hex']\n"})
    assert around(made.top).working_tree() == dirty, "the conditions are no part of a version"


def test_a_repository_without_a_commit_has_a_working_tree(tmp_path: Path) -> None:
    made = BotRepository(tmp_path / "bot")
    made.write(BOT)
    repository = around(made.top)
    assert repository.commit("HEAD") is None
    assert files(repository, repository.working_tree()) == BOT


def test_the_bot_of_a_folder_is_independent_of_the_others(tmp_path: Path) -> None:
    made = BotRepository(tmp_path / "all")
    made.commit({"one/bot.py": "1", "two/bot.py": "2", "two/lab.toml": "x"})
    repository = around(made.top / "two")
    before = repository.tree(made.git("rev-parse", "HEAD").strip())
    assert files(repository, before) == {"bot.py": "2"}
    made.commit({"one/bot.py": "changed"})
    assert repository.working_tree() == before
    made.write({"two/new.py": "n"})
    assert files(repository, repository.working_tree()) == {"bot.py": "2", "new.py": "n"}
    assert repository.home != around(made.top / "one").home
    (made.top / "three").mkdir()
    commit = made.git("rev-parse", "HEAD").strip()
    with pytest.raises(SourceError, match="has no folder three"):
        around(made.top / "three").tree(commit)


def test_working_trees_of_a_repository_share_a_laboratory(made: BotRepository) -> None:
    made.git("worktree", "add", "--quiet", "../bot2/bot", "-b", "feature")
    other = around(made.top.parent / "bot2" / "bot")
    assert other.home.name == around(made.top).home.name
    assert files(other, other.working_tree()) == BOT


def test_the_laboratory_writes_nothing_to_the_repository(made: BotRepository) -> None:
    made.write({"new.py": "n"})

    def contents() -> dict[str, bytes]:
        paths = [each for each in (made.top / ".git").rglob("*") if each.is_file()]
        return {str(each): each.read_bytes() for each in paths}

    before = contents()
    repository = around(made.top)
    repository.working_tree()
    repository.tree(made.git("rev-parse", "HEAD").strip())
    assert contents() == before


def test_variables_of_another_git_are_ignored(
    made: BotRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of a hook or of `git bisect run`."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    repository = around(made.top)
    assert files(repository, repository.working_tree()) == BOT


def test_a_submodule_and_a_link_are_refused(made: BotRepository, tmp_path: Path) -> None:
    inner = BotRepository(tmp_path / "inner")
    inner.commit({"x": "1"})
    made.git("submodule", "--quiet", "add", str(inner.top), "engine")
    made.commit({})
    repository = around(made.top)
    with pytest.raises(SourceError, match="engine is a submodule"):
        files(repository, repository.tree(made.git("rev-parse", "HEAD").strip()))
    with pytest.raises(SourceError, match="engine is a submodule"):
        repository.working_tree()
    other = BotRepository(tmp_path / "linked")
    (other.top / "link").symlink_to("/etc/passwd")
    other.commit(BOT)
    with pytest.raises(SourceError, match="link is a link"):
        files(around(other.top), around(other.top).working_tree())
    nested = BotRepository(tmp_path / "nested")
    nested.commit(BOT)
    shutil.copytree(inner.top, nested.top / "vendored")
    with pytest.raises(SourceError, match="vendored is a submodule"):
        files(around(nested.top), around(nested.top).working_tree())


HOOKS = ("pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor")


def hostile(made: BotRepository, marker: Path) -> None:
    """Make a repository in which ordinary commands of git run a program."""
    program = made.top.parent / "run"
    program.write_text(f"#!/bin/sh\necho $0 $@ >> {marker}\ncat\n")
    program.chmod(0o755)
    made.commit(
        {
            ".gitattributes": "* filter=evil ident diff=evil text eol=crlf\n"
            "secret export-ignore\nbot.py export-subst\n",
            "secret": "kept",
            "bot.py": "$Format:%H$ $Id$\n",
        }
    )
    for key in (
        "core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
        "diff.evil.command", "diff.evil.textconv", "core.sshCommand", "core.askPass", "core.pager",
        "core.gitProxy", "core.alternateRefsCommand", "core.editor", "tar.tar.command",
        "credential.helper", "uploadpack.packObjectsHook",
    ):  # fmt: skip
        made.git("config", key, str(program))
    made.git("config", "filter.evil.required", "true")
    made.git("config", "core.hooksPath", str(made.top.parent / "hooks"))
    made.git("config", "remote.origin.url", "ext::" + str(program))
    made.git("config", "remote.origin.promisor", "true")
    made.git("config", "remote.origin.uploadpack", str(program))
    made.git("config", "protocol.ext.allow", "always")
    for folder in (made.top.parent / "hooks", made.top / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / name).write_text(program.read_text())
            (folder / name).chmod(0o755)
    (made.top / ".git" / "info").mkdir(exist_ok=True)
    (made.top / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    lines = ('[submodule "x"]', "path = x", f"url = {program}", f"update = !{program}")
    (made.top / ".gitmodules").write_text("\n".join(lines))


def test_a_hostile_repository_runs_nothing_and_changes_no_file(
    made: BotRepository, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    hostile(made, marker)
    made.write({"new.py": "n"})
    repository = around(made.top)
    commit = repository.commit("HEAD")
    assert commit
    assert files(repository, repository.tree(commit))["bot.py"] == "$Format:%H$ $Id$\n"
    dirty = files(repository, repository.working_tree())
    assert dirty["secret"] == "kept"
    assert dirty["new.py"] == "n"
    assert not marker.exists(), marker.read_text()
    # A blob that is missing is not fetched by a transport of the repository.
    blob = made.git("rev-parse", "HEAD:secret").strip()
    lost = made.top / ".git" / "objects" / blob[:2] / blob[2:]
    lost.chmod(stat.S_IRUSR | stat.S_IWUSR)
    lost.unlink()
    with pytest.raises(SourceError):
        files(repository, repository.tree(commit))
    assert not marker.exists(), marker.read_text()
    # The programs work: git itself runs them.
    subprocess.run(("git", "status"), cwd=made.top, capture_output=True, check=False)
    assert marker.exists()
