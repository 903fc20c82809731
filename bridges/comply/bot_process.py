"""The bot under test, as a process."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from playout.commands.child import Child, Program
from playout.commands.identity import TOKEN_FD
from playout.commands.subprocesses import others_environment


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
    ) -> Child:
        """Run it, and write its output to a file. Raises ClickException if it cannot be run.

        It can read the token of its account from its standard input.
        """
        words = self.words
        for name, value in values.items():
            words = tuple(word.replace(f"{{{name}}}", value) for word in words)
        variables = others_environment() | dict(environment) | {TOKEN_FD: "0"}
        program = Program(words, variables, secret=token)
        try:
            return program.start(log)
        except OSError as error:
            raise click.ClickException(f"{words[0]} cannot be run: {error.strerror}") from error
