"""A program that drives a UCI engine, written from the protocol: it shares no code with Playout."""

from __future__ import annotations

from support.commands import Command, finish, start


class UciGui:
    """Runs `playout-engine uci` and talks to it."""

    def __init__(self, *arguments: str) -> None:
        self.process: Command = start("playout-engine", "uci", *arguments)

    def send(self, *lines: str) -> None:
        """Write lines without waiting for an answer."""
        assert self.process.stdin
        for line in lines:
            self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def until(self, word: str) -> list[str]:
        """Return the lines up to one that begins with a word."""
        assert self.process.stdout
        lines: list[str] = []
        while line := self.process.stdout.readline():
            lines.append(line.rstrip("\n"))
            if lines[-1].split()[:1] == [word]:
                return lines
        raise AssertionError(f"the engine ended: {lines}")

    def ready(self, *lines: str) -> list[str]:
        """Write lines, and return what the engine says before it is ready."""
        self.send(*lines, "isready")
        return self.until("readyok")[:-1]

    def go(self, position: str, limits: str) -> list[str]:
        """Search a position; return the lines of the search, the last one with the best move."""
        self.send(f"position {position}", f"go {limits}")
        return self.until("bestmove")

    def best(self, position: str, limits: str = "nodes 20") -> str:
        """Search a position; return the best move."""
        return self.go(position, limits)[-1].split()[1]

    def finish(self) -> tuple[int, str]:
        """Send `quit`, and return the exit code and the rest of the output."""
        return finish(self.process, "quit\n")


def word_after(line: str, word: str) -> str:
    """Return the word that follows another one in a line."""
    words = line.split()
    return words[words.index(word) + 1]
