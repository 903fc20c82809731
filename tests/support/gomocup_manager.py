"""A manager of a Gomocup brain, written from the protocol: it shares no code with Playout."""

from __future__ import annotations

from collections.abc import Callable

from support.commands import Command, finish, start


class GomocupManager:
    """Runs `playout-engine gomocup` and talks to it."""

    def __init__(self, player: str, start: Callable[..., Command] = start) -> None:
        self.process = start("playout-engine", "gomocup", player)
        #: The texts of all MESSAGE lines.
        self.messages: list[str] = []

    def send(self, *lines: str) -> None:
        """Write lines without waiting for an answer."""
        assert self.process.stdin
        for line in lines:
            self.process.stdin.write(f"{line}\r\n")
        self.process.stdin.flush()

    def ask(self, *lines: str) -> str:
        """Write lines, and return the answer, without MESSAGE and DEBUG lines before it."""
        assert self.process.stdout
        self.send(*lines)
        while line := self.process.stdout.readline():
            word, _, text = line.rstrip("\n").partition(" ")
            if word == "MESSAGE":
                self.messages.append(text)
            elif word != "DEBUG":
                return line.rstrip("\n")
        raise AssertionError(f"no answer to {lines}")

    def move(self, *lines: str) -> tuple[int, int]:
        """Write lines, and return the answer as x and y."""
        x, y = self.ask(*lines).split(",")
        return int(x), int(y)

    def finish(self) -> tuple[int, str]:
        """Send END, and return the exit code and the rest of the output."""
        return finish(self.process, "END\r\n")
