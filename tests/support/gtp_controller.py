"""A controller of a GTP engine, written from the specification: it shares no code with Playout."""

from __future__ import annotations

from typing import NamedTuple

from support.commands import Command, finish, start


class GtpResponse(NamedTuple):
    """A response: whether it was `=`, its number as text, and its text, lines joined."""

    good: bool
    number: str
    text: str


class GtpController:
    """Runs `playout-engine gtp` and talks to it."""

    def __init__(self, *arguments: str) -> None:
        self.process: Command = start("playout-engine", "gtp", *arguments)

    def send(self, line: str) -> None:
        """Write a line without waiting for a response."""
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def response(self) -> GtpResponse:
        """Read the next response: up to an empty line."""
        assert self.process.stdout
        lines: list[str] = []
        while (line := self.process.stdout.readline()) not in ("\n", ""):
            lines.append(line.rstrip("\n"))
        assert line == "\n", f"the engine ended: {lines}"
        head, _, text = lines[0].partition(" ")
        assert head[0] in "=?", lines
        return GtpResponse(head[0] == "=", head[1:], "\n".join([text, *lines[1:]]).strip("\n"))

    def ask(self, line: str) -> GtpResponse:
        """Write a command, and return its response."""
        self.send(line)
        return self.response()

    def good(self, line: str) -> str:
        """Write a command, and return the text of its response, which must be good."""
        response = self.ask(line)
        assert response.good, (line, response)
        return response.text

    def bad(self, line: str) -> str:
        """Write a command, and return the text of its response, which must be an error."""
        response = self.ask(line)
        assert not response.good, (line, response)
        return response.text

    def finish(self) -> tuple[int, str]:
        """Close the input, and return the exit code and the rest of the output."""
        return finish(self.process)
