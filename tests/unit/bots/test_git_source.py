"""playout.bots.git_source: real repositories, also hostile ones, which run nothing."""

from __future__ import annotations

import io
import os
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from playout.bots import git_source
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


def test_files_of_tools_are_no_part_of_a_version(made: BotRepository) -> None:
    clean = around(made.top).working_tree()
    made.write({"__pycache__/bot.cpython-311.pyc": "1", "lib/.DS_Store": "2", "bot.py~": "3"})
    assert around(made.top).working_tree() == clean
    assert around(made.top).tree(made.commit({})) == clean
    assert files(around(made.top), clean) == BOT


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


def other_work_tree(made: BotRepository) -> None:
    made.git("config", "core.worktree", str(made.top.parent))
    (made.top.parent / "elsewhere").mkdir()
    made.git("config", "core.worktree", str(made.top.parent / "elsewhere"))


def other_owner(made: BotRepository) -> None:
    if os.geteuid():
        pytest.skip("only root changes the owner of a file")
    os.chown(made.top, 12345, 12345)


def line_break(made: BotRepository) -> Path:
    made.commit({"line\nbreak/bot.py": "1"})
    return made.top / "line\nbreak"


def not_utf8(made: BotRepository) -> Path:
    folder = Path(os.fsdecode(os.fsencode(made.top) + b"/\xff"))
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (other_work_tree, "in another folder, '.*elsewhere', by its setting core.worktree"),
        (other_owner, "dubious ownership .* if you trust it, run: git config --global --add safe"),
        (line_break, r"the path '.*line\\nbreak' has a line break"),
        (not_utf8, "is not UTF-8: rename it"),
        (lambda made: made.git("config", "include.path", __file__), "git: bad config line 1"),
    ],
)
def test_a_repository_that_is_not_read_gets_a_sentence(
    made: BotRepository, change: Callable[[BotRepository], Path | None], reason: str
) -> None:
    folder = change(made)
    with pytest.raises(SourceError, match=reason):
        around(folder if isinstance(folder, Path) else made.top)


def commit_tree(made: BotRepository, tree: str) -> str:
    commit = made.git("commit-tree", "-m", "a tree", tree).strip()
    made.git("update-ref", "HEAD", commit)
    return commit


def tree_of(made: BotRepository, kind: str, identity: str, *names: str) -> str:
    mode = {"blob": "100644", "tree": "040000"}[kind]
    lines = "".join(f"{mode} {kind} {identity}\t{name}\n" for name in names)
    done = subprocess.run(
        ("git", "mktree"), cwd=made.top, input=lines, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("kind", ["blob", "tree"])
def test_few_objects_with_a_trillion_files_are_not_read(made: BotRepository, kind: str) -> None:
    tree = made.git("rev-parse", "HEAD:bot.py" if kind == "blob" else "HEAD:lib").strip()
    for level in range(12):
        tree = tree_of(made, kind if level == 0 else "tree", tree, *map(str, range(10)))
    commit = commit_tree(made, tree)
    repository = around(made.top)
    with pytest.raises(SourceError, match="more than 2000 files and folders"):
        repository.tree(commit)
    assert files(repository, repository.working_tree()) == BOT


def test_a_list_of_files_that_does_not_end_is_given_up(
    made: BotRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = tmp_path / "path" / "git"
    hanging.parent.mkdir()
    real = shutil.which("git")
    hanging.write_text(
        f'#!/bin/sh\ncase "$*" in *ls-tree*) exec sleep 1000;; esac\nexec {real} "$@"\n'
    )
    hanging.chmod(0o755)
    repository, commit = around(made.top), made.git("rev-parse", "HEAD").strip()
    monkeypatch.setenv("PATH", f"{hanging.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(git_source, "_LONGEST_S", 0.01)
    with pytest.raises(SourceError, match=r"git has not ended after 0\.01 seconds"):
        repository.tree(commit)


def test_a_working_tree_is_measured_before_it_is_read(made: BotRepository) -> None:
    with (made.top / "large").open("wb") as file:
        file.truncate(2**40)
    os.mkfifo(made.top / "pipe")
    with pytest.raises(SourceError, match=r"more than 1024 MiB: name .* in .gitignore"):
        around(made.top).working_tree()
    made.write({".gitignore": "large\n"})
    repository = around(made.top)
    assert files(repository, repository.working_tree()) == BOT | {".gitignore": "large\n"}
    made.write({f"many/{number}": "" for number in range(2001)})
    with pytest.raises(SourceError, match="more than 2000 files and folders"):
        around(made.top).working_tree()


def test_paths_are_shown_without_commands_to_the_terminal(made: BotRepository) -> None:
    BotRepository(made.top / "in\x1b[31mner").commit(BOT)
    repository = around(made.top)
    with pytest.raises(SourceError, match=r"^in \[31mner is a submodule"):
        files(repository, repository.working_tree())


def test_an_empty_folder_has_no_version(made: BotRepository) -> None:
    made.write({"empty/lab.toml": "games = ['nim']\n"})
    with pytest.raises(SourceError, match="empty has no files that git would add"):
        around(made.top / "empty").working_tree()


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
        "credential.helper", "uploadpack.packObjectsHook", "diff.external", "core.gitProxy",
        "gpg.program", "sequence.editor",
    ):  # fmt: skip
        made.git("config", key, str(program))
    for command in ("rev-parse", "archive", "add", "ls-files", "ls-tree", "read-tree"):
        made.git("config", f"alias.{command}", f"!{program}")
    (made.top.parent / "included").write_text(f"[core]\n\tfsmonitor = {program}\n")
    made.git("config", "include.path", str(made.top.parent / "included"))
    made.git("update-ref", f"refs/heads/--upload-pack={program}", "HEAD")
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
    made.write({"new.py": "n", "--exec=run": "o"})
    (made.top / "lab.toml").symlink_to("/dev/zero")
    repository = around(made.top)
    commit = repository.commit("HEAD")
    assert commit
    assert repository.commit(f"--upload-pack={made.top.parent / 'run'}") == commit
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
