"""Fairy-Stockfish as an independent judge of rules, names of moves and FEN."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Self

import pytest

from playout import games
from playout.games import TIE
from playout.players.engines.config import search_path
from playout.players.engines.uci_games import VARIANTS, UciVariant, uci_game
from support.requirements import skip_without
from support.scale import repetitions

#: The variants of the Debian package; it has neither ataxx nor amazons nor flipello.
PACKAGED = [
    each for each in VARIANTS if each.name in ("chess", "breakthrough", "clobber", "clobber10")
]


class FairyStockfish:
    """A running Fairy-Stockfish that is asked about positions of one variant."""

    def __init__(self, variant: str) -> None:
        program = shutil.which("fairy-stockfish", path=search_path())
        if program is None:
            skip_without("fairy-stockfish (apt install fairy-stockfish)")
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self._send(f"setoption name UCI_Variant value {variant}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate("quit\n")

    def moves(self, played: list[str]) -> set[str]:
        """Return the legal moves after these moves."""
        self._send(f"position startpos moves {' '.join(played)}\ngo perft 1")
        return {line.partition(":")[0] for line in self._lines("Nodes searched") if ": 1" in line}

    def fen(self) -> str:
        """Return the position of the last question."""
        self._send("d")
        (found,) = (line for line in self._lines("Checkers") if line.startswith("Fen: "))
        return found.removeprefix("Fen: ")

    def _send(self, command: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def _lines(self, last: str) -> Iterator[str]:
        """Yield the lines of an answer, up to one that begins with `last`."""
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith(last):
                return
            yield line.strip()
        raise AssertionError("Fairy-Stockfish has exited")


@pytest.mark.parametrize("variant", PACKAGED, ids=lambda each: each.game)
def test_random_positions_have_the_same_moves_and_the_same_fen(variant: UciVariant) -> None:
    game = games.load(variant.game)
    uci, draw = uci_game(game), random.Random(9)
    with FairyStockfish(variant.name) as judge:
        for _ in range(repetitions(100, short=2)):
            state, played = game.initial_state(), list[str]()
            while not game.winner(state) and len(played) < 60:
                named = {uci.name(state, each): each for each in game.legal_actions(state)}
                assert judge.moves(played) == set(named), played
                assert board(judge.fen()) == board(uci.fen(state))
                played.append(draw.choice(sorted(named)))
                state = game.next_state(state, named[played[-1]])
            if game.winner(state) not in (0, TIE) and variant.name != "chess":
                assert judge.moves(played) == set()


def board(fen: str) -> list[str]:
    """Return the ranks and the player to move."""
    return re.split(r"[\[ ]", fen)[:2]
