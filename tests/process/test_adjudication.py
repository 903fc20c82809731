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


def test_a_tournament_with_proofs_from_its_file_to_its_report(tmp_path: Path) -> None:
    entrants = [
        f'[[entrants]]\nname = "{name}"\nplayer = "uct(time=2,solver=false)"' for name in NAMES[:2]
    ]
    # A match takes a minute at least, unless the prover answers, a process that has to start. It is
    # asked again after each move, so players that only wait would wait for ever on a busy machine.
    head = (
        'name = "proofs"\ngames = ["nim(chips=99)"]\nformat = "match"\nclock = "9/move"\n'
        "concurrency = 1\nadjudication = { proofs = true }\n"
    )
    file = tmp_path / "SPEC.toml"
    file.write_text(head + "\n".join(entrants))
    code, output = run(
        "playout-tournament", "run", str(file), "--database", f"sqlite:///{tmp_path}/t.db"
    )
    assert code == 0, output
    assert output.count(" (adjudication), ") == 2
    assert "cannot be proven" not in output
