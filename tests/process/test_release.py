"""The command `scripts/release`: what it refuses, Ctrl-C, and with `--slow` a whole release."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from releasing.__main__ import ReleaseError, check_archive, check_contents
from support import scale
from support.commands import PATIENCE_S

ROOT = Path(__file__).parents[2]
FILES = {
    "playout/__init__.py": "",
    "playout/games/nim.py": "nim",
    "playout-1.0.dist-info/METADATA": "",
}
ENDS = ("-py3-none-any.whl", ".cdx.json", ".tar.gz")
needs_git = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


def wheel(path: Path, files: dict[str, str]) -> Path:
    """A wheel with some files."""
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A repository whose package has a link to a folder, as Playout has."""
    source = tmp_path / "source"
    (source / "games").mkdir(parents=True)
    (source / "games" / "nim.py").write_text("nim")
    package = source / "src" / "playout"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "games").symlink_to("../../games")
    return source


@pytest.mark.parametrize(
    ("changed", "built_directly", "text"),
    [
        (
            {"tests/test_nim.py": ""},
            {},
            r"the wheel has \['playout', 'playout-1.0.dist-info', 'tests'",
        ),
        ({}, {"playout/games/nim.py": "other"}, r"differs .* in playout/games/nim.py"),
        ({}, {"playout/games/hex.py": ""}, r"differs .* in playout/games/hex.py"),
    ],
)
def test_a_wheel_with_other_files_is_refused(
    changed: dict[str, str],
    built_directly: dict[str, str],
    text: str,
    source: Path,
    tmp_path: Path,
) -> None:
    name = "playout-1.0-py3-none-any.whl"
    built = wheel(tmp_path / "dist" / name, FILES | changed)
    direct = wheel(tmp_path / "direct" / name, FILES | changed | built_directly)
    with pytest.raises(ReleaseError, match=text):
        check_contents(built, direct, source)


def test_a_wheel_without_a_file_behind_a_link_is_refused(source: Path, tmp_path: Path) -> None:
    built = wheel(tmp_path / "playout-1.0-py3-none-any.whl", FILES)
    check_contents(built, built, source)
    (source / "games" / "nim.txt").touch()
    with pytest.raises(ReleaseError, match=r"lacks playout/games/nim.txt: .*package_data"):
        check_contents(built, built, source)


def test_a_source_distribution_with_links_is_refused(source: Path, tmp_path: Path) -> None:
    archive = tmp_path / "playout-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(source / "src", "playout-1.0/src")
    with pytest.raises(ReleaseError, match=r"has links: playout-1\.0/src/playout/games"):
        check_archive(archive)


def git(folder: Path, *words: str) -> None:
    """Runs a git command in a repository of a test."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> Path:
    """Makes a folder a repository with all its files, and returns it."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "All")
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that has the script and a version, but no package."""
    folder = tmp_path / "repository"
    scripts = folder / "scripts"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "scripts" / "releasing", scripts / "releasing", ignore=ignored)
    for name in ("release", "interpreter"):
        shutil.copy(ROOT / "scripts" / name, scripts)
    (folder / "setup.cfg").write_text("[metadata]\nname = playout\nversion = 1.0\n")
    return commit(folder)


def released(repository: Path, *words: str) -> tuple[int, str]:
    """The exit code of the script, and what it printed."""
    done = subprocess.run(
        [repository / "scripts" / "release", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@needs_git
def test_changes_that_are_not_committed_are_refused(repository: Path) -> None:
    (repository / "setup.cfg").write_text("[metadata]\nname = playout\nversion = 1.1\n")
    code, printed = released(repository)
    assert code == 1
    assert "changes that are not committed:\nM setup.cfg\nCommit them" in printed
    assert "Traceback" not in printed


@needs_git
def test_a_version_with_the_tag_of_another_commit_is_refused(repository: Path) -> None:
    git(repository, "tag", "v1.0")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "Later")
    code, printed = released(repository)
    assert code == 1
    assert "the tag v1.0 belongs to another commit. Raise the version" in printed


def test_an_unknown_argument_is_refused() -> None:
    code, printed = released(ROOT, "--upload")
    assert code == 2
    assert "unexpected argument --upload; see scripts/release --help" in printed


@needs_git
def test_ctrl_c_ends_what_is_under_way_and_leaves_nothing(repository: Path, tmp_path: Path) -> None:
    """It comes while pip waits for an index that does not answer."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as index:
        settings = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": "",
            "PIP_INDEX_URL": f"http://127.0.0.1:{index.getsockname()[1]}/simple",
            "TMPDIR": str(temporary),
        }
        process = subprocess.Popen(
            [repository / "scripts" / "release"],
            env=os.environ | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        index.settimeout(PATIENCE_S)
        connection, _ = index.accept()
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=PATIENCE_S)
        with connection:
            connection.settimeout(PATIENCE_S)
            while connection.recv(4096):
                pass  # the request; at the end of pip the connection ends
    assert process.returncode == 130
    assert printed.endswith("Interrupted: dist/ is unchanged.\n")
    assert "Installing build, twine and cyclonedx-bom into a temporary" in printed
    assert list(temporary.iterdir()) == []
    assert not (repository / "dist").exists()


if scale.slow:  # it installs Playout and what it needs, from the network

    def copied_files(folder: str, names: Sequence[str]) -> set[str]:
        """What a copy of the repository leaves out, for shutil."""
        made = {".git", ".venv", "build", "dist", "node_modules", "__pycache__"}
        return {name for name in names if name in made or name.startswith(".pytest")}

    @needs_git
    @pytest.mark.timeout(1800)
    def test_a_release_is_built_and_checked(tmp_path: Path) -> None:
        copy = tmp_path / "copy"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=copied_files)
        code, printed = released(commit(copy))
        assert code == 0, printed
        assert "All checks passed." in printed
        built = sorted(file.name for file in (copy / "dist").iterdir())
        version = built[0].split("-")[1]
        wheel, bill, archive = (f"playout-{version}{end}" for end in ENDS)
        assert built == [wheel, bill, archive]
        assert f"twine upload dist/{archive} dist/{wheel}" in printed
        with tarfile.open(copy / "dist" / archive) as files:
            names = {name.partition("/src/playout/")[2] for name in files.getnames()}
        for name in (
            "py.typed",
            "players/nets/trained/othello.onnx",
            "server/storage/migrations/script.py.mako",
            "server/web/static/match.js",
            "server/web/templates/lobby.html",
        ):
            assert name in names, name
