"""A client like those of the original system, line by line, or with one fault.

    python -I -S tiny_client.py GAME HOST PORT FAULT PIDS

It plays the first legal action. It appends its process id to the file PIDS, and to PIDS.said each
message, `left` when it leaves as it should, and `spins` where the original uses a whole processor
without end: when the connection is closed without a last message.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.original_boards import BOARDS

game, host, port, fault, pids = sys.argv[1:]


def note(text: str, suffix: str = ".said") -> None:
    with open(pids + suffix, "a") as file:
        file.write(f"{text}\n")


def hang() -> None:
    while True:
        signal.pause()


def answer(connection: socket.socket, board: Any, history: list[Any], moves: int) -> bytes:
    """The line for its next action, unless it has a fault at this move."""
    match fault:
        case _ if not fault.endswith(f" {moves}"):
            pass
        case _ if fault.startswith("hang up"):
            connection.close()
            hang()
        case _ if fault.startswith("hang"):
            hang()
        case _ if fault.startswith("die"):
            print("no memory left", file=sys.stderr, flush=True)
            os._exit(3)
        case _ if fault.startswith("flood"):
            while True:
                connection.sendall(b"x" * 65536)
        case _ if fault.startswith("garbage"):
            return b"\0\xff{\r\n"
        case _ if fault.startswith("illegal"):
            return b'{"type": "action", "message": {"row": 0, "column": 0}}\r\n'
    action = board.to_json_action(board.legal_actions(history)[0])
    extras = {"games": 12, "max_depth": 3, "time": "0:00:01", "actions": [{"percent": 62.5}]}
    return json.dumps({"type": "action", "message": action, "extras": extras}).encode() + b"\r\n"


def main() -> None:
    note(str(os.getpid()), "")
    if fault == "no start":
        sys.exit("No module named 'boardplayer'")
    if fault == "no connection":
        hang()
    connection = socket.create_connection((host, int(port)))
    board, history, player, moves = BOARDS[game](), list[Any](), 0, 0
    running = True
    while running:
        text = ""
        while not text.endswith("\r\n"):
            received = connection.recv(4096).decode()
            if not received:
                note("spins")
                hang()
            text += received
        for line in text.rstrip().split("\r\n"):
            note(line)
            data = json.loads(line)
            print("a drawing " * (20_000 if fault == "chatter" else 20))
            if data["type"] == "player":
                player = data["message"]
            elif data["type"] == "decline":
                running = False
            elif data["type"] == "update":
                history.append(board.to_compact_state(data["state"]))
                if data.get("winners") is not None:
                    running = False
                elif data["state"]["player"] == player:
                    moves += 1
                    connection.sendall(answer(connection, board, history, moves))
    note("left")


main()
