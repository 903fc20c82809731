"""A tiny engine that puts a stone on the first free cell, or misbehaves in one way.

Over UCI it plays Breakthrough, and moves its next pawn from its row of pawns; or it plays the first
of the moves to which its search is restricted.

    python -I -S tiny_engine.py PROTOCOL FAULT PIDS

It appends its process id, and those of its children, to the file PIDS, and the lines that it reads
to the file PIDS.read.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator

LETTERS = "ABCDEFGHJKLMNOPQRST"
VARIANTS = "var breakthrough var amazons"
FEATURES = (
    'feature done=0\nfeature myname="Tiny 1.0" ping=1 usermove=1 setboard=1 memory=1\n'
    'feature option="Style -combo calm /// wild"\nfeature done=1\n'
)
BINARY = "\0\xff\x1b[31m\x07"
protocol, fault, pids = sys.argv[1:]
taken: set[tuple[int, int]] = set()
#: The size of the board, the number of moves chosen, of moves refused, and milliseconds for a move.
counts = {"size": 0, "moves": 0, "refused": 0, "timeout_turn": 0}
#: Seconds that a slow engine needs before a match, and in which a hasty one does not read.
SLOW_S, HASTY_S = 1.2, 0.01


def note_pid() -> None:
    with open(pids, "a") as file:
        file.write(f"{os.getpid()}\n")


def hang() -> None:
    while True:
        signal.pause()


def wait(seconds: float) -> None:
    select.select([], [], [], seconds)


def fork(*, in_new_session: bool) -> None:
    """Start a child process that ignores all signals but SIGKILL."""
    if os.fork() == 0:
        if in_new_session:
            os.setsid()
            if os.fork():
                os._exit(0)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        note_pid()
        hang()


def say(text: str) -> None:
    os.write(1, text.encode())


def is_illegal() -> bool:
    """Misbehave at the move of the fault; return whether to answer an illegal one."""
    counts["moves"] += 1
    moves = counts["moves"]
    if fault == f"hang {moves}":
        hang()
    if fault == f"die {moves}":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == f"exit {moves}":
        os.write(2, b"no memory left\n")
        os._exit(3)
    if fault == f"flood {moves}":
        while True:
            say("info " * 10_000)
    if fault == f"close {moves}":
        os.close(1)
        hang()
    with open(pids) as file:
        is_first = len(file.readlines()) == 1
    return fault == f"illegal {moves}" or (is_first and fault == f"illegal {moves} once")


def chosen() -> tuple[int, int]:
    """The row and column of the next stone, from the top left."""
    size = counts["size"]
    if is_illegal():
        return next(iter(taken), (size - 1, size))
    cells = ((row, column) for row in range(size) for column in range(size))
    cell = next(each for each in cells if each not in taken)
    taken.add(cell)
    return cell


def gtp(line: str) -> str | None:
    """The answer to a command of GTP, without its number; None at the end."""
    command, *words = line.split()
    size = counts["size"]
    if command == "boardsize":
        counts["size"] = int(words[0])
        taken.clear()
    elif command == "clear_board":
        taken.clear()
    elif command == "play":
        cell = (size - int(words[1][1:]), LETTERS.index(words[1][0]))
        if fault == "refuse" or (fault == "refuse once" and not counts["refused"]):
            counts["refused"] += 1
            return "? illegal move"
        taken.add(cell)
    elif command == "genmove":
        row, column = chosen()
        if fault == "binary":
            return f"= {BINARY}"
        return f"= {LETTERS[column]}{size - row}"
    known = "name version protocol_version list_commands boardsize clear_board play genmove quit"
    answers = {"protocol_version": "2", "name": "Tiny", "version": "1.0"}
    answers["list_commands"] = (known + " level").replace(" ", "\n")
    return f"= {answers.get(command, '')}"


def speak_gtp(lines: Iterator[str]) -> None:
    for line in lines:
        number, _, command = line.strip().partition(" ")
        if command == "quit":
            say(f"={number}\n\n")
            return
        answer = gtp(command) or ""
        if fault == "chatter":
            say("Loading the book ...\n\n")
        say(f"{answer[0]}{number}{answer[1:]}\n\n")


def gomocup(line: str, lines: Iterator[str]) -> str:
    """The answer to a command of a brain; empty for none."""
    command, _, rest = line.partition(" ")
    if command == "INFO":
        key, value = rest.split()
        counts[key] = int(value)
    if command == "ABOUT":
        return 'name="Tiny", version="1.0", author="nobody"'
    if command == "START":
        counts["size"] = int(rest)
        taken.clear()
        if fault == "slow":
            wait(SLOW_S)
        return "OK"
    if command in ("BEGIN", "TURN", "BOARD"):
        stones = [rest] if command == "TURN" else []
        if command == "BOARD":
            taken.clear()
            stones = list(iter(lambda: next(lines).strip(), "DONE"))
        taken.update((int(each.split(",")[1]), int(each.split(",")[0])) for each in stones)
        say("MESSAGE Depth 3-5 | Eval 100 | Node 2K\r\n")
        row, column = chosen()
        if fault == "slow":
            wait(counts["timeout_turn"] / 1000)
        return f"{column},{row}"
    return "" if command == "INFO" else f"UNKNOWN {command}"


def speak_gomocup(lines: Iterator[str]) -> None:
    for line in lines:
        if line.strip() == "END":
            return
        if answer := gomocup(line.strip(), lines):
            say(f"{answer}\r\n")
        if fault == "hasty" and answer[:1].isdigit() and select.select([0], [], [], HASTY_S)[0]:
            for word in next(lines).split()[1:]:
                say(f"ERROR Unknown command: {word}\r\n")


def speak_uci(lines: Iterator[str]) -> None:
    made: list[str] = []
    answers = {
        "uci": f"id name Tiny 1.0\noption name UCI_Variant type combo {VARIANTS}\nuciok\n",
        "isready": "readyok\n",
    }
    for line in lines:
        command, *words = line.split()
        if command == "quit":
            return
        if command == "position":
            made = words[2:]
        if command == "go":
            if fault == f"late {1 + counts['moves']}":  # until it is told to stop
                say("info depth 2 nodes 900 score cp 50 pv a2a3\n")
                next(each for each in lines if each.strip() == "stop")
            file, rows = "abcdefgh"[len(made) // 2], "76" if len(made) % 2 else "23"
            move = "a1a1" if is_illegal() else f"{file}{rows[0]}{file}{rows[1]}"
            if "searchmoves" in words:
                move = words[words.index("searchmoves") + 1]
            say(f"info depth 3 nodes 2000 score cp 100 pv {move}\n")
            say(f"bestmove {BINARY if fault == 'binary' else move}\n")
        say(answers.get(command, ""))


def lines() -> Iterator[str]:
    """The lines of the input, each written to the log before it is handled."""
    with open(f"{pids}.read", "a", buffering=1) as log:
        for line in iter(sys.stdin.readline, ""):
            log.write(line)
            yield line


def speak_xboard(lines: Iterator[str]) -> None:
    """Play chess: the next pawn from its row of pawns."""
    made: list[str] = []
    answers = {"protover": FEATURES}
    if fault != "castles":
        answers["setboard"] = "Error (no position): setboard\n"
    for line in lines:
        command, *words = line.split()
        if command == "quit":
            return
        if command == "new":
            made = []
        if command == "usermove":
            made.append(words[0])
        if command == "go":
            file, rows = "abcdefgh"[len(made) // 2], "76" if len(made) % 2 else "23"
            made.append("a1a1" if is_illegal() else f"{file}{rows[0]}{file}{rows[1]}")
            if fault == "castles":
                made[-1] = "O-O"
            say(f" 3 100 5 2000 {made[-1]}\n")
            say(f"move {BINARY if fault == 'binary' else made[-1]}\n")
        say(f"pong {words[0]}\n" if command == "ping" else answers.get(command, ""))


def main() -> None:
    note_pid()
    if fault == "hang":
        hang()
    if fault == "silent exit":
        sys.exit(5)
    if fault == "errors":
        for _ in range(200):
            os.write(2, b"warning " * 4096 + b"\n")
    if fault == "children":
        fork(in_new_session=False)
        fork(in_new_session=True)
    if fault == "deaf":
        select.select([0], [], [])  # otherwise the first command could not be written
        sys.stdin.close()
        os.close(0)
        hang()
    speaks: dict[str, Callable[[Iterator[str]], None]] = {
        "gtp": speak_gtp,
        "gomocup": speak_gomocup,
        "uci": speak_uci,
        "xboard": speak_xboard,
    }
    speaks[protocol](lines())
    if fault == "no quit":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        hang()
    if fault == "crash at quit":
        os.kill(os.getpid(), signal.SIGSEGV)


main()
