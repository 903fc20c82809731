"""Brings the files of a bot to a program that plays: unpacked, built, checked.

Each stage runs outside of this process: `archive` unpacks the files, with limits; the build and the
check run in a sandbox, unless the terms have none. If this process is killed, so are those that it
has started, and the next builder starts again with the first stage.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from playout.bots.archive import MACHINE_FAULT, Unpacked
from playout.bots.bot_file import BotFile
from playout.commands.child import Child, Program, last_lines
from playout.commands.subprocesses import others_environment, own, own_environment
from playout.commands.text import beginning
from playout.protocol.tournament_spec import SandboxSettings
from playout.sandbox.bubblewrap import Sandbox
from playout.server.organizer.supervisor import engine_table

BuildStage = Literal["unpack", "build", "check"]
#: The longest time of each stage, in seconds.
LONGEST_S: Mapping[BuildStage, float] = {"unpack": 60.0, "build": 300.0, "check": 300.0}
#: How many times larger than an archive its files may be.
UNPACKED = 8
#: The free bytes of a disk below which a stage that fails has met a full disk.
_LEAST_FREE = 2**20
_MB = 2**20
#: The file with the result of a build, and the folders that a stage makes.
_BUILT, _MADE = "built.tar", ("code", "built", "state")
#: Checks a program in the rows of `playout-bridge comply` for players.
_CHECK = "playout.bridges.comply.player_checks:main"
#: Copies the folder of the bot to the first argument, builds it there with the second one, and
#: writes the result to the standard output.
_BUILD = (
    'cp -r . "$1" && cd "$1" && chmod -R u+w . && sh -c "$2" >&2 </dev/null && exec tar -cf - .'
)
#: The place of a log on this machine, in an error of an engine.
_LOG_PLACE = re.compile(r", in /\S+:")
#: How compilers and installers begin the text of an error.
_ERROR = re.compile(r"\berror: ")
#: Texts by which programs report that they have no network.
_NO_NETWORK = re.compile(
    "name resolution|Name or service not known|resolve host|EAI_AGAIN|ENOTFOUND|unreachable"
)
#: Maximum number of characters of the reason why a build has failed.
_LONGEST_REASON = 300
#: The input of a program, in an error of an engine; the log has it.
_GIVEN = re.compile(r", given '.*?'(?=; its last error|$)")

_decode_unpacked = msgspec.json.Decoder(Unpacked).decode
_decode_names = msgspec.json.Decoder(list[str]).decode


class StageFault(Exception):
    """A bot has failed at a stage; the message is for its author."""


class MachineFault(Exception):
    """A stage has failed by a fault of this machine; the message is for its operator."""


@dataclass(frozen=True)
class BuildTerms:
    """The conditions under which bots are built and checked.

    `games` and `clock` are used for the check; without a `sandbox`, programs run as this user.
    Builds reach `hosts`. `most_mb` is the limit of an upload in MiB; its files may have `UNPACKED`
    times as much.
    """

    games: Sequence[str]
    clock: str
    sandbox: SandboxSettings | None
    hosts: tuple[str, ...] = ()
    most_mb: int = 16


class Builder:
    """Runs the stages of one bot, in a folder of its own with the file `upload`."""

    def __init__(
        self,
        terms: BuildTerms,
        folder: Path,
        log: Callable[[str], None],
        exit_within: Callable[[Child, float], Awaitable[bool]],
    ) -> None:
        """`log` receives the lines for the author.

        `exit_within` waits for the exit of a process, and kills it after a number of seconds; it
        returns whether the process exited before.
        """
        self._terms = terms
        self._folder = folder
        self._log = log
        self._exit_within = exit_within

    def remove_code(self) -> None:
        """Remove everything that stages have made; the upload stays."""
        for each in _MADE:
            shutil.rmtree(self._folder / each, ignore_errors=True)
        (self._folder / _BUILT).unlink(missing_ok=True)

    async def unpack(self, name: str) -> Unpacked:
        """Unpack the upload, a file of that name. Raises StageFault.

        The root of the result is relative to the folder.
        """
        archive = self._folder / "upload"
        found = _decode_unpacked(await self._unpacked(archive, name, "code"))
        return msgspec.structs.replace(found, root=str(Path("code", found.root)))

    async def unpack_versions(self, name: str) -> list[str]:
        """Unpack the upload, an archive with a folder for each version, to the folder `code`.

        Returns the names of the folders. Raises StageFault.
        """
        found = await self._unpacked(self._folder / "upload", name, "code", "versions")
        return _decode_names(found)

    async def build(self, root: str, bot: BotFile) -> str:
        """Run the build command of a bot; return the folder of the result. Raises StageFault."""
        if not bot.build:
            return root
        code, sandbox = self._folder / root, self._terms.sandbox
        copy = "/tmp/build" if sandbox else str(self._folder / "state")
        words = ["sh", "-c", _BUILD, "sh", copy, bot.build]
        if sandbox:
            words = Sandbox(sandbox, code, code, self._terms.hosts).words(words)
        archive = self._folder / _BUILT
        fault = await self._run("build", words, others_environment(), archive, code)
        shutil.rmtree(self._folder / "state", ignore_errors=True)
        if fault:
            raise StageFault(f"the build command {fault}")
        await self._unpacked(archive, _BUILT, "built")
        archive.unlink()
        shutil.rmtree(self._folder / "code")
        return "built"

    async def check(self, root: str, bot: BotFile) -> None:
        """Let a bot play a few moves of each game, by the rules of `comply`. Raises StageFault."""
        sandbox = self._terms.sandbox
        engines = self._folder / "engines.toml"
        entrant = bot.entrant("bot", "", self._folder / root, sandbox=sandbox is not None)
        settings = bot.sandbox(sandbox) if sandbox else SandboxSettings()
        engines.write_text(engine_table(entrant, settings, self._folder), encoding="utf-8")
        for game in self._terms.games:
            await self._check_game(str(engines), game)

    async def _check_game(self, engines: str, game: str) -> None:
        terms = self._terms
        words = own(_CHECK, engines, terms.clock, game)
        output, state = self._folder / "check.txt", self._folder / "state"
        environment = own_environment() | {"XDG_STATE_HOME": str(state)}
        fault = await self._run("check", words, environment, output)
        with contextlib.ExitStack() as files:
            errors = [files.enter_context(each.open("rb")) for each in state.rglob("*.log")]
            written = [line for each in errors for line in last_lines(each, 20)]
            told = last_lines(files.enter_context(output.open("rb")), 20)
        shutil.rmtree(state, ignore_errors=True)
        output.unlink()
        rows = [f"{game}, clock {terms.clock}:", *map(for_author, told)]
        self._log("\n".join((*map(for_author, written), *rows)))
        if fault:
            row, failed, reason = rows[-1].partition("FAILED: ")
            reason = _GIVEN.sub("", reason).replace("the engine program ", "the program ", 1)
            reason = reason if failed else f"the check {fault}"
            where = (game, row.strip()) if len(terms.games) > 1 else (row.strip(),)
            raise StageFault(f"{', '.join(where)}: {reason}")

    async def _unpacked(self, archive: Path, name: str, target: str, *kind: str) -> str:
        """Unpack a file into a folder with the name `target`; return the result as JSON.

        Raises StageFault.
        """
        most = str(self._terms.most_mb * UNPACKED * _MB)
        where = str(self._folder / target)
        words = own("playout.bots.archive:main", str(archive), name, where, most, *kind)
        output = self._folder / "unpacked.json"
        fault = await self._run("unpack", words, own_environment(), output)
        text = output.read_text(errors="replace").strip()
        output.unlink()
        if fault:
            raise StageFault(text or f"the file cannot be unpacked: the program {fault}")
        return text

    async def _run(
        self,
        stage: BuildStage,
        words: Sequence[str],
        environment: Mapping[str, str],
        output: Path,
        folder: Path | None = None,
    ) -> str:
        """Run a program to its end, with its errors in the log; return its fault, or nothing.

        The errors of a check are part of its output, with the reason in the last line.
        """
        limit_s = LONGEST_S[stage]
        program = Program(words, environment, folder or output.parent)
        with output.open("wb") as out:
            child = program.start(out) if stage == "check" else program.start(output=out)
        try:
            in_time = await self._exit_within(child, limit_s)
        finally:
            child.send(signal.SIGKILL)
            code = child.wait()
        self._log("\n".join(child.tail(50)))
        if not code:
            return ""
        if why := self._machine_fault(stage, child, code, in_time=in_time):
            raise MachineFault(f"the {stage} {why}")
        if not in_time:
            return f"has not ended after {limit_s:g} seconds"
        return self._why_not_built(child) if stage == "build" else child.how_it_ended()

    def _why_not_built(self, child: Child) -> str:
        """Return in words how a build has failed: with its first error, or else its last line."""
        lines = child.tail(50)
        reasons = [each.strip() for each in lines if _ERROR.search(each)] or lines[-1:]
        text = ": ".join([child.how_it_ended(), *reasons[:1]])
        text = beginning(text, _LONGEST_REASON)
        is_cut_off = self._terms.sandbox is not None and not self._terms.hosts
        if is_cut_off and any(map(_NO_NETWORK.search, lines)):
            text += "; a build has no network, but for the hosts that build_hosts names"
        return text

    def has_room(self) -> bool:
        """Return whether the disk has room for the bot."""
        return has_room(self._folder)

    def _machine_fault(self, stage: BuildStage, child: Child, code: int, *, in_time: bool) -> str:
        """Return the fault of this machine that ended a stage; empty if it may be the bot's."""
        if not self.has_room():
            return f"has met a full disk, {self._folder}"
        if stage == "unpack" and not in_time:  # its processor time has a limit of its own
            return f"has not ended after {LONGEST_S[stage]:g} seconds"
        if stage == "unpack" and code == MACHINE_FAULT:
            return "has met a fault of the disk or of the system"
        # The first process of a stage is a program of this machine, which nothing of a bot ends,
        # except a build without a sandbox.
        # Its limit of processor time is exceeded by what it was given.
        by_others = code < 0 and code != -signal.SIGXCPU and in_time
        if by_others and (stage != "build" or self._terms.sandbox):
            return f"was killed: it {child.how_it_ended()}"
        return ""


def has_room(folder: Path) -> bool:
    """Return whether the disk of a folder has room for a bot."""
    try:
        free = os.statvfs(folder)
    except OSError:
        return False
    has_files = free.f_favail > 0 or not free.f_files
    return has_files and free.f_bavail * free.f_frsize >= _LEAST_FREE


def for_author(text: str) -> str:
    """Return an error of a program without places on this machine."""
    return _LOG_PLACE.sub(":", text)
