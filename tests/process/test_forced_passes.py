"""Forced passes of Othello in GTP, under programs that pair engines in two ways.

`TwoGtp` does what gogui-twogtp does. The other way is to ask for the side to move.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from playout.players.engines.config import search_path
from support.commands import invoke
from support.gtp_controller import GtpController
from support.requirements import skip_without

#: After these moves black has no move.
TO_A_PASS = ["D3", "C3", "E6", "D2", "D1", "E1", "B2", "C1"]
COLOURS = ("b", "w")


@pytest.fixture(scope="module", params=["say", "skip"])
def engines(request: pytest.FixtureRequest) -> Iterator[list[GtpController]]:
    """Two engines for a small board, on which random matches have passes."""
    words = ("--game", "othello(size=4)", "--forced-passes", request.param)
    both = [GtpController(f"random(seed={seed})", *words) for seed in (1, 2)]
    yield both
    for each in both:
        each.good("quit")
        assert each.finish() == (0, "")


class TwoGtp:
    """Pairs two engines as gogui-twogtp does.

    The colours move in turn. Each move is sent to the other engine, in capital letters and a pass
    as PASS. A match ends after two passes in a row, or with an error of an engine.
    """

    def __init__(self, *engines: GtpController) -> None:
        self.engines = engines
        self.moves: list[str] = []

    def play(self) -> list[str]:
        """Play a match; return the final scores of both."""
        for each in self.engines:
            each.good("clear_board")
        while self.moves[-2:] != ["PASS", "PASS"]:
            mover = len(self.moves) % 2
            self.moves.append(self.engines[mover].good(f"genmove {COLOURS[mover]}").upper())
            self.engines[1 - mover].good(f"play {COLOURS[mover].upper()} {self.moves[-1]}")
        return [each.good("final_score") for each in self.engines]


def test_two_engines_play_under_a_program_like_gogui_twogtp(engines: list[GtpController]) -> None:
    forced = 0
    for _ in range(8):
        pairing = TwoGtp(*engines)
        first, second = pairing.play()
        assert first == second != ""
        forced += "PASS" in pairing.moves[:-2]
    assert forced, "eight matches without a pass"


@pytest.fixture(scope="module")
def skipping() -> Iterator[GtpController]:
    words = ("--game", "othello", "--forced-passes", "skip")
    controller = GtpController("uct(simulations=20,seed=1)", *words)
    yield controller
    controller.good("quit")
    assert controller.finish() == (0, "")


def to_a_pass(*engines: GtpController) -> None:
    """Play the moves up to a pass of black."""
    for each in engines:
        each.good("clear_board")
        for ply, vertex in enumerate(TO_A_PASS):
            each.good(f"play {COLOURS[ply % 2]} {vertex}")


def test_a_skipped_pass_needs_no_word_and_may_be_said(skipping: GtpController) -> None:
    to_a_pass(skipping)
    board = skipping.good("showboard")
    assert "white (O) to move" in board
    assert skipping.good("genmove b") == "pass"
    assert skipping.good("play b pass") == ""
    assert skipping.good("showboard") == board
    assert skipping.bad("play b a1").startswith("illegal move")
    skipping.good("undo")
    assert skipping.good("gogui-rules_side_to_move") == "white"
    assert skipping.bad("play w pass").startswith("illegal move")
    skipping.good(f"play w {TO_A_PASS[-1]}")
    assert skipping.good("showboard") == board
    assert skipping.good("genmove w") != "pass"


def test_grhino_and_a_skipping_engine_play_a_match_to_the_end(skipping: GtpController) -> None:
    """GRhino refuses a pass of its opponent, and makes its own forced passes without a command."""
    rhino = GRhino()
    to_a_pass(skipping, rhino)
    assert not rhino.ask("play b pass").good
    names = {"black": 0, "white": 1}
    engines = (skipping, rhino)
    while skipping.good("gogui-rules_final_result") == "unknown":
        mover = names[skipping.good("gogui-rules_side_to_move")]
        vertex = engines[mover].good(f"genmove {COLOURS[mover]}")
        assert vertex.lower() != "pass"
        engines[1 - mover].good(f"play {COLOURS[mover]} {vertex}")
    assert rhino.good("final_score")[0] == skipping.good("final_score")[0]
    rhino.good("quit")


class GRhino(GtpController):
    """The engine of Debian."""

    def __init__(self) -> None:
        program = shutil.which("gtp-rhino", path=search_path())
        if program is None:
            skip_without("GRhino, an engine for Othello (apt install grhino)")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([program, "-l", "1"], stdin=pipe, stdout=pipe, text=True)


def test_another_setting_is_refused() -> None:
    code, output = invoke("playout-engine", "gtp", "random", "--forced-passes", "never")
    assert code == 2
    assert "is not one of 'say', 'skip'" in output
