"""The command `scripts/release`: builds a source distribution and a wheel, and checks both.

It uses the standard library only, because it runs without the project's environment. Everything
happens in a temporary folder, with a copy of the last commit: neither files that are not committed
nor remains of earlier builds get into a release. Files are moved to dist/ when they have passed all
checks.

The packages in `src/playout` are links to folders of the repository. The checks make sure that the
source distribution has their files instead of the links: the wheel that is built from it must equal
the one that is built from the repository, and must have every file that the links lead to.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]


class ReleaseError(Exception):
    """A check that failed, as a message for the user."""


def main() -> int:
    """Runs the command, and returns its exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with tempfile.TemporaryDirectory(prefix="playout-release-") as folder:
            release(Path(folder))
    except ReleaseError as error:
        print(f"scripts/release: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted: dist/ is unchanged.", file=sys.stderr)
        return 128 + signal.SIGINT
    return 0


def release(folder: Path) -> None:
    """Makes a release in an empty folder, and moves its files to dist/."""
    with step("Reading the version, and whether everything is committed"):
        version = committed_version()
    with step("Copying the last commit into a temporary folder"):
        source = folder / "source"
        git("checkout-index", "--all", f"--prefix={source}/")
    with step("Installing build, twine and cyclonedx-bom into a temporary environment (15 s)"):
        tools = environment(folder, "tools")
        run(folder, tools, "-m", "pip", "install", "--quiet", "build", "twine", "cyclonedx-bom")
    with step("Building the source distribution, and the wheel from it (10 s)"):
        run(folder, tools, "-m", "build", "--outdir", folder / "dist", source)
    with step("Building the wheel from the repository, for comparison (5 s)"):
        run(folder, tools, "-m", "build", "--wheel", "--outdir", folder / "direct", source)
    archive, wheel = built(folder / "dist", version)
    with step("Checking the metadata with twine (2 s)"):
        run(folder, tools, "-m", "twine", "check", "--strict", archive, wheel)
    with step("Checking what the files contain"):
        check_contents(wheel, folder / "direct" / wheel.name, source)
        check_archive(archive)
    with step("Installing the wheel into an empty environment (a minute)"):
        python = environment(folder, "empty")
        run(folder, python, "-m", "pip", "install", "--quiet", wheel)
    with step("Running playout-player --help, and loading a game (20 s)"):
        check_installed(folder, python)
    bill = folder / f"playout-{version}.cdx.json"
    with step("Writing the software bill of materials: what the wheel installs (2 s)"):
        options = ("--output-reproducible", "--of", "JSON", "--output-file", bill)
        run(folder, tools, "-m", "cyclonedx_py", "environment", *options, python)
        check_bill(bill)
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    for file in (archive, wheel, bill):
        shutil.move(file, dist / file.name)
    names = (f"\n  dist/{file.name}" for file in (archive, wheel, bill))
    say(f"\nAll checks passed. The files:{''.join(names)}")
    say(next_steps(version, archive, wheel))


# The repository.


def committed_version() -> str:
    """The version of the project.

    Raises ReleaseError if a tracked file has changes, or the version belongs to another commit.
    """
    if changes := git("status", "--porcelain", "--untracked-files=no"):
        raise ReleaseError(
            f"these files have changes that are not committed:\n{changes}\n"
            "Commit them or take them back: a release has what the last commit has."
        )
    version = configuration()["metadata"]["version"]
    tag = f"v{version}"
    if git("tag", "--list", tag) and git("rev-list", "-1", tag) != git("rev-parse", "HEAD"):
        raise ReleaseError(
            f"the tag {tag} belongs to another commit. "
            "Raise the version in setup.cfg, and commit that."
        )
    return version


def configuration() -> configparser.ConfigParser:
    """The configuration of the package in setup.cfg."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def git(*arguments: str) -> str:
    """The output of a git command. Raises ReleaseError if it fails."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise ReleaseError("git is not installed") from None
    if done.returncode:
        raise ReleaseError(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip()


# Environments.


def environment(folder: Path, name: str) -> Path:
    """Makes an empty virtual environment inside `folder`, and returns its Python."""
    run(folder, sys.executable, "-m", "venv", name)
    return folder / name / "bin" / "python"


def run(folder: Path, *words: str | Path, **variables: Path) -> str:
    """The output of a command that runs in `folder`. Raises ReleaseError with it if that fails.

    `variables` are added to the environment. The caller's settings of Python are left out of it:
    PYTHONPATH, for instance, would lead to other code than what is installed.
    """
    settings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    settings["TMPDIR"] = str(folder)  # what a killed pip leaves is removed with it
    command = [str(word) for word in words]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=settings | {name: str(value) for name, value in variables.items()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate()
        except BaseException:
            # With all processes that it has started: they would write into the removed folder.
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise ReleaseError(f"{shlex.join(command)} failed:\n{output.strip()}")
    return output


# The files.


def built(folder: Path, version: str) -> tuple[Path, Path]:
    """The source distribution and the wheel in a folder."""
    files = sorted(folder.iterdir())
    names = [f"playout-{version}-py3-none-any.whl", f"playout-{version}.tar.gz"]
    if [file.name for file in files] != names:
        raise ReleaseError(f"expected {' and '.join(names)}, and got {files}")
    wheel, archive = files
    return archive, wheel


def check_contents(wheel: Path, direct: Path, source: Path) -> None:
    """Compares a wheel with the one that was built from the repository, and with its files."""
    contents = wheel_contents(wheel)
    tops = {name.partition("/")[0] for name in contents}
    expected = {"playout", f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"}
    if tops != expected:
        raise ReleaseError(f"the wheel has {sorted(tops)}, and should have {sorted(expected)}")
    others = wheel_contents(direct)
    differing = [
        name for name in contents.keys() | others.keys() if contents.get(name) != others.get(name)
    ]
    if differing:
        raise ReleaseError(
            "the wheel from the source distribution differs from that from the repository in "
            f"{some(differing)}"
        )
    missing = package_files(source) - contents.keys()
    if missing:
        raise ReleaseError(
            f"the wheel lacks {some(missing)}: see [options.package_data] in setup.cfg"
        )


def check_archive(archive: Path) -> None:
    """Checks that a source distribution has no links: their targets are not in it."""
    with tarfile.open(archive) as files:
        links = [member.name for member in files if member.issym() or member.islnk()]
    if links:
        raise ReleaseError(f"the source distribution has links: {some(links)}")


def wheel_contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel, by name."""
    with ZipFile(wheel) as files:
        return {name: files.read(name) for name in files.namelist()}


def package_files(source: Path) -> set[str]:
    """The files of the package in a copy of the repository, by the names that a wheel has."""
    found = set()
    for folder, _, names in os.walk(source / "src" / "playout", followlinks=True):
        for name in names:
            found.add((Path(folder) / name).relative_to(source / "src").as_posix())
    return found


def some(names: Sequence[str] | set[str]) -> str:
    """Up to five names, and how many there are."""
    shown = ", ".join(sorted(names)[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def check_installed(folder: Path, python: Path) -> None:
    """Runs the package that is installed in an environment inside `folder`."""
    stored = {"XDG_CACHE_HOME": folder / "cache", "XDG_DATA_HOME": folder / "data"}
    usage = run(folder, python.with_name("playout-player"), "--help", **stored)
    if "Usage: playout-player" not in usage:
        raise ReleaseError(f"playout-player --help printed:\n{usage}")
    code = "import playout; print(playout.__file__); playout.load('nim')"
    place = run(folder, python, "-c", code, **stored).splitlines()[0]
    if not Path(place).is_relative_to(python.parents[1]):
        raise ReleaseError(f"Python did not import the installed package, but {place}")


def check_bill(bill: Path) -> None:
    """Raises ReleaseError if a bill of materials lacks the package or one of its dependencies."""
    components = json.loads(bill.read_text(encoding="utf-8"))["components"]
    names = {each["name"].lower().replace("_", "-") for each in components}
    wanted = configuration()["options"]["install_requires"].strip().splitlines()
    missing = {re.split(r"[^\w-]", each)[0].lower() for each in [*wanted, "playout"]} - names
    if missing:
        raise ReleaseError(f"the software bill of materials lacks {', '.join(sorted(missing))}")


# What the user reads.


def next_steps(version: str, archive: Path, wheel: Path) -> str:
    """What a maintainer does with the files."""
    lines = []
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changes, re.MULTILINE):
        lines += [
            f"First give {version} its date in CHANGELOG.md, as in",
            f"  ## {version} ({time.strftime('%Y-%m-%d')})",
            "commit that, and run scripts/release again: then tag and upload.",
            "",
        ]
    lines += [
        "Next, once scripts/test has passed for this commit:",
        f'  git tag --annotate v{version} --message "Playout {version}"',
        f"  git push origin v{version}",
        f"  pipx run twine upload dist/{archive.name} dist/{wheel.name}",
    ]
    return "\n".join(["", *lines])


@contextmanager
def step(text: str) -> Iterator[None]:
    """Prints what is under way, and how long it took."""
    say(f"{text} ...", end="")
    start = time.monotonic()
    try:
        yield
    except BaseException:
        say("")
        raise
    say(f" done in {time.monotonic() - start:.0f} s")


def say(text: str, end: str = "\n") -> None:
    """Prints a text without delay, also into a pipe."""
    print(text, end=end, flush=True)


if __name__ == "__main__":
    sys.exit(main())
