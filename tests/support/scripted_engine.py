"""An engine that answers each line by a rule of its script, to show one habit of real engines.

    python -I -S scripted_engine.py PROTOCOL RULES

RULES is JSON: a list of pairs of a regular expression for the beginning of a command, and the texts
that answer it, one after the other, the last one again and again. In a text, {n} is the number of
the command in GTP, and {1}, {2} ... its groups. The rules of the protocol follow.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from typing import TextIO

_COMMANDS = "protocol_version name version list_commands boardsize clear_board play genmove quit"
#: For each protocol, the usual answers to the commands before a match.
USUAL: dict[str, list[tuple[str, list[str]]]] = {
    "uci": [("uci$", ["id name Habit\nuciok\n"]), ("isready", ["readyok\n"])],
    "xboard": [
        ("protover", ['feature ping=1 usermove=1 setboard=1 myname="Habit" done=1\n']),
        ("ping (.*)", ["pong {1}\n"]),
    ],
    "gomocup": [
        ("START", ["OK\r\n"]),
        ("ABOUT", ['name="Habit", version="1"\r\n']),
    ],
    "lines": [],
    "gnubg": [("version", ["Interface: 2\nRFBF: 0\nEngine: 1.00\nSoftware: 1.0\n"])],
    "gtp": [
        ("protocol_version", ["={n} 2\n\n"]),
        ("name", ["={n} Habit\n\n"]),
        ("version", ["={n}\n\n"]),
        ("list_commands", ["={n} " + _COMMANDS.replace(" ", "\n") + "\n\n"]),
        ("", ["={n}\n\n"]),
    ],
}


def _connected(lines: TextIO) -> tuple[TextIO, int]:
    """Return the lines of a connection to the socket that a command names, and its descriptor."""
    path = next(line for line in lines if line.startswith("external ")).split()[1]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        connection = listener.accept()[0]
    return connection.makefile(), os.dup(connection.fileno())


def main() -> None:
    protocol, given = sys.argv[1:]
    rules = [*json.loads(given), *USUAL[protocol]]
    lines, output = sys.stdin, 1
    if protocol == "gnubg":
        lines, output = _connected(sys.stdin)
    for line in lines:
        number, command = "", line.strip()
        if protocol == "gtp" and command[:1].isdigit():
            number, _, command = command.partition(" ")
        if command in ("quit", "END"):
            return
        for pattern, texts in rules:
            if found := re.match(pattern, command):
                text = texts.pop(0) if len(texts) > 1 else texts[0]
                for place, group in enumerate(found.groups(), start=1):
                    text = text.replace(f"{{{place}}}", group)
                os.write(output, text.replace("{n}", number).encode())
                break


if __name__ == "__main__":
    main()
