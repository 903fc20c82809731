"""The tools of an agent that writes a bot: it tests candidates, and reads why they lost."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import click
from pydantic import Field

from playout.bots.git_source import SourceError
from playout.commands.agent_parameters import Matches, SearchSeconds, Version, Wait
from playout.commands.agent_tools import LINES, AgentError, Described, last_lines, tool_server
from playout.commands.child import Child, Program
from playout.commands.subprocesses import own_environment
from playout.laboratory.journal import VersionTest
from playout.laboratory.losses import losses_of
from playout.laboratory.sources import VersionSources
from playout.laboratory.trial import Laboratory

_INSTRUCTIONS = """\
Tests versions of the bot in a folder under git: is a candidate stronger than its base?
Change the bot, call submit_candidate, and then test_status until it is not running. Believe the
verdict, not the Elo. losses and read_log say what to mend. All candidates are counted: a change
that is submitted again under another name makes the next verdict stricter.
"""
_LABORATORY = "playout.commands.entry_points:laboratory"
#: The number of tests that an answer has, unless asked for more; seconds until a stopped test ends.
_TESTS, _END_S = 5, 30.0
#: A line of progress, such as `old 3 pairs Elo ...`: an answer needs only the last one.
_PROGRESS = re.compile(r".* \.\.\. \d+ s|.*  \d+ pairs?  Elo .*")

Number = Annotated[int | None, Field(description="A test of list_tests; default: the last one")]


async def serve(tools: LabTools, clean_up: Callable[[], object]) -> None:
    """Serve the tools until the input ends or a signal comes; the process ends after `clean_up`."""

    def leave(code: int) -> None:
        tools.close()
        clean_up()
        sys.stdout.flush()
        os._exit(code)  # threads that read the input or search cannot be stopped in another way

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, leave, 128 + number)
    try:
        await tool_server(_INSTRUCTIONS, tools).run_stdio_async()
    finally:
        tools.close()
    leave(0)


class LabTools:
    """The tools; their docstrings and the descriptions of their parameters are for the agent."""

    def __init__(
        self,
        folder: Path,
        sources: VersionSources,
        laboratory: Laboratory,
        words: tuple[str, ...],
    ) -> None:
        """`words` are the options with which `playout-lab` finds the bot and its conditions."""
        self._folder = folder
        self._sources = sources
        self._laboratory = laboratory
        self._words = words
        self._child: Child | None = None

    def close(self) -> None:
        """Interrupt the running test; the same submission continues it later."""
        if self._child and self._child.code is None:
            self._child.send(signal.SIGINT)
            if self._child.wait(_END_S) is None:
                self._child.send(signal.SIGKILL)

    async def submit_candidate(
        self,
        versions: Annotated[
            list[str],
            Field(
                description="The base and the candidates: revisions of git or folders. With a base "
                "only, the candidate is the working tree. Default: the working tree against the "
                "last commit"
            ),
        ] = [],  # noqa: B006 - the schema shows it
        pairs: Annotated[
            int | None, Field(ge=1, description="The maximum number of pairs, to continue a test")
        ] = None,
        wait_s: Wait = 60,
    ) -> Described:
        """Build the versions and play pairs of matches until the verdict; return the status.

        A submission that was stopped, or was undecided with fewer pairs, continues.
        """
        if self._child and self._child.code is None:
            raise AgentError("A test is running. Call test_status to wait for it, or stop_test.")
        for each in versions:
            if self._is_player(each):  # it would run outside of the sandbox
                raise AgentError(f"{each!r} is a player. Submit revisions of git or folders.")
        words = ["test", *self._words, "--http", "none"]
        if pairs is not None:
            words += ["--pairs", str(pairs)]
        program = Program.own(
            _LABORATORY, *words, "--", *versions, environment=own_environment(), niceness=0
        )
        self._child = program.start()
        return await self.test_status(wait_s)

    def _is_player(self, version: str) -> bool:
        try:
            return self._sources.version(version).player is not None
        except SourceError:
            return False  # the test says why

    async def test_status(self, wait_s: Wait = 60) -> Described:
        """Wait until the submitted test has ended, and return its verdict or its progress.

        Exit codes: 0 a candidate is stronger, 1 none is, 125 undecided or not buildable, 2 wrong
        usage, 130 stopped.
        """
        child = self._child
        if child is None:
            raise AgentError("Nothing was submitted in this session. Call submit_candidate.")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(child.exited(), wait_s)
        code = child.code
        if code is not None and code < 0:  # a signal, as shells tell it
            code = 128 - code
        return {
            "running": code is None,
            "exit_code": code,
            "output": _without_progress(child.tail(LINES)),
        }

    async def stop_test(self) -> Described:
        """Interrupt the running test. The same submission continues it; it stays a try."""
        if self._child and self._child.code is None:
            self._child.send(signal.SIGINT)
        return await self.test_status(_END_S)

    async def list_tests(
        self, number: Annotated[int, Field(ge=1, le=50, description="How many")] = _TESTS
    ) -> list[Described]:
        """List the last tests of this bot, the newest at the end, with verdict and Elo."""
        return [described(each) for each in list(self._laboratory.journal)[-number:]]

    async def losses(
        self,
        test: Number = None,
        version: Version = None,
        matches: Matches = 3,
        seconds: SearchSeconds = 20,
    ) -> Described:
        """Return the most instructive matches that a version has lost, with its costliest moves.

        A search finds the moves. `ply` counts all moves from 1; the first `opening` ones were made
        for the players. `win_rate` and `left` are the version's, before and after the move.
        """
        try:
            found = await asyncio.to_thread(
                losses_of,
                *(self._laboratory.journal, self._folder, test, version, matches, seconds),
                lambda line: None,
            )
        except click.UsageError as error:
            raise AgentError(error.message) from error
        return {
            "test": found.test,
            "version": found.version,
            "summary": found.summary,
            "matches": [each.described() for each in found.matches],
        }

    async def read_log(
        self,
        version: Annotated[
            str | None, Field(description="A revision or a folder; default: the working tree")
        ] = None,
        lines: Annotated[int, Field(ge=1, le=400, description="How many, the last ones")] = LINES,
    ) -> list[str]:
        """Read the log of the build of a version: its commands, their output and the checks."""
        try:
            if version is not None:
                chosen = self._sources.version(version)
            else:
                chosen = self._sources.working_tree()
            path = self._laboratory.log(chosen)
        except SourceError as error:
            raise AgentError(str(error)) from error
        return last_lines(path.read_text(encoding="utf-8", errors="replace").splitlines(), lines)


def described(test: VersionTest) -> Described:
    """Return a test for an agent, as a map for JSON."""
    base, *candidates = test.names
    return {
        "number": test.number,
        "kind": test.kind,
        "base": base,
        "candidates": candidates,
        "state": test.state,
        "winner": test.winner or None,
        "pairs": test.pairs,
        "elo": test.elo,
        "elo_interval": [test.elo_low, test.elo_high],
    }


def _without_progress(lines: list[str]) -> list[str]:
    """Return lines without those of progress that another one of progress follows."""
    are_progress = [bool(_PROGRESS.fullmatch(each)) for each in lines]
    last = [not both for both in map(all, itertools.pairwise([*are_progress, False]))]
    return last_lines(list(itertools.compress(lines, last)))
