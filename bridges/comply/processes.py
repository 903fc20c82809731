"""The processes of a trial: the bot under test, and the private server on which it is tested."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from playout.commands.child import Child, LogFolder, Program
from playout.commands.identity import TOKEN_FD
from playout.commands.subprocesses import begin, others_environment
from playout.server.organizer.local_server import LocalServer, LocalServerError, new_tokens

#: The last character that a check prints, in a copy of this process.
_PASSED, _FAILED = "\x06", "\x15"
_CHUNK = 2**16


def in_child(check: Callable[[], bool]) -> bool:
    """Return the result of a check that runs in a copy of this process, and prints its rows.

    If that process ends without a result, by `os._exit` or a fault of a library, the row says so,
    and the result is False. To be called while this process has one thread.
    """
    sys.stdout.flush()
    parent = os.getpid()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent exits, and this process with it
        begin(parent, signal.SIGKILL, 0)
        sys.stdout = os.fdopen(writing, "w", encoding="utf-8", errors="replace")
        try:
            click.echo(_PASSED if check() else _FAILED, nl=False)
        finally:
            os._exit(1)
    os.close(writing)
    printed, decoder = "", codecs.getincrementaldecoder("utf-8")()
    with open(reading, "rb", buffering=0) as pipe:
        while more := pipe.read(_CHUNK):
            printed = decoder.decode(more)
            click.echo(printed.rstrip(_PASSED + _FAILED), nl=False)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not printed.endswith((_PASSED, _FAILED)):
        ended = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        click.echo(f"FAILED: it ended the process, with {ended}")
    return printed.endswith(_PASSED)


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


#: The accounts of the referee, an administrator, and of the bot.
REFEREE, BOT = "referee", "bot"
_POLL_INTERVAL_S = 0.05
#: Longest time to start: the first start on a machine compiles the rules of all games.
_START_S = 300.0


class PrivateServer:
    """A server on this machine for the test of one bot, with a database of its own."""

    def __init__(self, folder: Path, games: Sequence[str] = ()) -> None:
        """Choose a database in the folder, and the accounts. Raises ClickException.

        `games`: those that it loads when it starts; none stands for all.
        """
        url = f"sqlite:///{folder}/playout.db"
        #: The tokens of the accounts, by name.
        self.tokens, accounts = new_tokens(REFEREE, [BOT])
        self._logs = LogFolder()
        try:
            self._server = LocalServer(
                url, 0, self._logs, games=games, accounts=accounts, registration="open"
            )
        except LocalServerError as error:
            raise click.ClickException(str(error)) from error

    @property
    def address(self) -> tuple[str, int]:
        """Its host and its port, which stays the same."""
        return self._server.address

    async def start(self) -> None:
        """Start it, and wait until it accepts connections. Raises ClickException."""
        give_up_at = time.monotonic() + _START_S
        try:
            while not await self._accepts():
                self._server.poll(time.monotonic())
                if time.monotonic() > give_up_at:
                    raise click.ClickException(f"the server does not start in {_START_S:g} s")
                await asyncio.sleep(_POLL_INTERVAL_S)
        except LocalServerError as error:
            raise click.ClickException(str(error)) from error
        self._server.logged_in()

    async def restart(self) -> None:
        """Stop it by SIGTERM, as an operator does, and start it again."""
        await asyncio.to_thread(self._server.stop)
        await self.start()

    def close(self) -> None:
        """Stop it, and remove its log."""
        self._server.stop()
        self._logs.wanted = False
        self._logs.close()

    async def _accepts(self) -> bool:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(*self.address)
            writer.close()
            return True
        return False
