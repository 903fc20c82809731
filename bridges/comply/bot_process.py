"""The bot under test, as a process."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from playout.commands.identity import TOKEN_FD
from playout.commands.subprocesses import (
    Process,
    Program,
    how_it_ended,
    last_lines,
    others_environment,
    stop,
)

_POLL_INTERVAL_S = 0.01
#: Seconds that a bot has to end after SIGTERM.
_STOP_S = 2.0
_TAIL_LINES = 8


@dataclass(frozen=True)
class BotCommand:
    """The command line of a bot, with the placeholders {host}, {port}, {game} and {name}."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> BotCommand:
        """Parse the command as a shell would. Raises ValueError."""
        words = tuple(shlex.split(text))
        if not words:
            raise ValueError("the command is empty")
        return cls(words)

    def start(
        self, values: Mapping[str, str], environment: Mapping[str, str], token: str, log: Path
    ) -> BotProcess:
        """Run it, and write its output to a file. Raises ClickException if it cannot be run.

        It can read the token of its account from its standard input.
        """
        words = self.words
        for name, value in values.items():
            words = tuple(word.replace(f"{{{name}}}", value) for word in words)
        variables = others_environment() | dict(environment) | {TOKEN_FD: "0"}
        program = Program(words, Path.cwd(), variables, secret=token)
        try:
            return BotProcess(program.start(log), log)
        except OSError as error:
            raise click.ClickException(f"{words[0]} cannot be run: {error.strerror}") from error


class BotProcess:
    """A running bot; its children end with it."""

    def __init__(self, process: Process, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def code(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._process.poll()

    async def exited(self) -> None:
        """Wait until it has exited."""
        while self.code is None:
            await asyncio.sleep(_POLL_INTERVAL_S)

    def how_it_ended(self) -> str:
        """Return in words how the exited bot has ended."""
        return how_it_ended(self._process)

    def tail(self) -> list[str]:
        """Return the last lines of its output."""
        with self._log.open("rb") as file:
            return last_lines(file, _TAIL_LINES)

    async def stop(self) -> None:
        """End it and its children: by SIGTERM, and after 2 s by SIGKILL."""
        await asyncio.to_thread(stop, [self._process], _STOP_S)
