"""Adjudication of matches by proofs: an analyst as a process, and a tournament from its file."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from playout.server.net.player_processes import PROVER_NICENESS
from support.commands import run, running_server
from support.given_accounts import accounts_in
from support.raw_client import RawClient
from support.tournaments import NAMES
from support.waiting import wait_until
from testbed.machine import children, runs

ANALYST = "playout.players.analyst.analyst_process"


def test_a_server_has_its_analyst_prove_and_starts_another_when_it_is_killed(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/its.db"
    tokens = accounts_in(url, "Zoe", NAMES[:2])
    spec = {
        "name": "proofs", "games": ["tic_tac_toe"], "format": "match", "rounds": 2, "clock": "none",
        "entrants": [{"name": name, "version": "1"} for name in NAMES[:2]],
        "openings": {"lines": {"tic_tac_toe": [[0, 3, 1, 4]]}},
        "adjudication": {"proofs": True},
    }  # fmt: skip
    with running_server("--database", url, "--analyses", "0") as server:

        def provers() -> list[int]:
            return [each for each in children(server.process.pid) if runs(each, ANALYST)]

        with contextlib.ExitStack() as stack:
            zoe, ann, bob = (
                stack.enter_context(RawClient(server.host, server.port)) for _ in range(3)
            )
            zoe.hello("Zoe", role="spectator", token=tokens["Zoe"])
            zoe.ask("create_tournament", spec=spec)
            ann.hello("Ann", token=tokens["Ann"])
            ann.ask("join")
            bob.hello("Bob", token=tokens["Bob"])
            bob.ask("join")
            zoe.hear_until("fixture", reason="adjudication")
            (prover,) = provers()
            assert os.getpriority(os.PRIO_PROCESS, prover) >= PROVER_NICENESS
            os.kill(prover, signal.SIGINT)  # Ctrl-C is for the server
            zoe.hear_until("fixture", reason="adjudication")
            os.kill(prover, signal.SIGKILL)
            zoe.hear_until("tournament", over=True)
        wait_until(lambda: prover not in provers())


# From the file to the report.


#: A player without a move, so that only the prover ends its matches.
WAITING = """
from playout import Player
from playout.players import Cancelled

class Waiting(Player):
    def choose(self, position, limit, report=None):
        self.cancelled.wait()
        raise Cancelled
"""
SPEC = """
name = "proofs"
games = ["nim(chips=99)"]
format = "match"
clock = "none"
concurrency = 1
adjudication = { proofs = true }
"""


def test_a_tournament_with_proofs_from_its_file_to_its_report(tmp_path: Path) -> None:
    (tmp_path / "waiting.py").write_text(WAITING)
    entrants = [
        f'[[entrants]]\nname = "{name}"\nplayer = "waiting:Waiting"\n' for name in NAMES[:2]
    ]
    (tmp_path / "SPEC.toml").write_text(SPEC + "".join(entrants))
    database = f"sqlite:///{tmp_path}/t.db"
    words = ("playout-tournament", "run", "SPEC.toml", "--database", database)
    code, output = run(*words, cwd=tmp_path)
    assert code == 0, output
    assert output.count(" (adjudication), ") == 2
    assert "cannot be proven" not in output
