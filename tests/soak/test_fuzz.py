"""Hostile inputs and honest players: for a few seconds, or for a share of `--soak SECONDS`.

Inputs are messages of every type about existing matches, names and tokens, with mutated bytes, and
bytes that are no frames. They arrive over many connections at once, in pieces, from guests,
players, spectators and peers without `hello`. Meanwhile two honest players in a process of their
own play match after match, and check every message. At the end no file of the server may be open
that was not before, and with a soak its memory may not have grown since a quarter of the time: the
tables and caches are full by then.
"""

from __future__ import annotations

import os
import random
import time

import msgpack
import pytest

from playout.protocol.codec import Unreadable, decode_request
from playout.protocol.messages import REQUESTS
from soak.fuzzer import Fuzzer, KnownValues, Mutator, packed
from soak.honest_players import NAMES, playing
from support import scale
from support.scale import repetitions
from testbed.machine import children, resident_kib
from testbed.server_process import PLAYOUT, UNLIMITED, serving, stored

pytestmark = pytest.mark.timeout(300 + scale.soak_s)

#: The share of the soak of each of the two servers.
SHARE = 0.15
#: Growth of the memory of the server that a soak allows, in KiB.
GROWTH_KIB = 4 * 1024
#: Pipes to an analyst, which ends a minute after its last analysis.
PIPES = 3
RECONNECT_S = 1
USUAL = {"welcome", "started", "update", "malformed", "invalid"}
SEED = random.SystemRandom().randrange(2**32)


def run_until(end: float, fuzzer: Fuzzer) -> None:
    while time.monotonic() < end and not fuzzer.faults:
        fuzzer.run(500)


def settled_kib(fuzzer: Fuzzer, pid: int) -> int:
    """Return the server's memory when no peer is connected or may still reconnect.

    Its children are left out: bots and analysts load games and fill their trees.
    """
    fuzzer.connections_left()
    time.sleep(RECONNECT_S + 0.5)
    return resident_kib(pid) - sum(map(resident_kib, children(pid)))


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.usefixtures("copied_processes")
@pytest.mark.parametrize(
    "options",
    [[*UNLIMITED, "--analysis-s=0.1"], [*PLAYOUT, "--analyses=0"]],
    ids=["without limits", "with limits"],
)
def test_hostile_inputs_cause_no_fault_and_honest_players_continue(options: list[str]) -> None:
    with (
        stored() as database,
        serving([*options, database, f"--reconnect-s={RECONNECT_S}", "--bots=1"]) as server,
        playing(server.port, size=9) as honest_players,
    ):
        fuzzer = Fuzzer(server, SEED, list(NAMES))
        end = time.monotonic() + SHARE * scale.soak_s
        files = open_files(server.pid)
        if scale.soak_s:
            run_until(end - 0.75 * SHARE * scale.soak_s, fuzzer)
            before_kib = settled_kib(fuzzer, server.pid)
            run_until(end, fuzzer)
            after_kib = settled_kib(fuzzer, server.pid)
            print(f"{before_kib} to {after_kib} KiB, {files} to {open_files(server.pid)} files")
            assert after_kib - before_kib < GROWTH_KIB
        fuzzer.run(repetitions(2500, short=700))
        for _ in range(100):  # whatever the seed, until the server has given every usual answer
            if set(fuzzer.answers) >= USUAL:
                break
            fuzzer.run(100)
        left = fuzzer.connections_left()
        assert open_files(server.pid) <= files + PIPES
        seen = honest_players.finish()
        assert not fuzzer.faults, fuzzer.faults[0]
        assert not seen.fault
        assert seen.matches >= 1
        assert left == 0
        assert set(fuzzer.answers) >= USUAL


def test_messages_of_every_type_are_generated_and_some_are_valid() -> None:
    mutator = Mutator(SEED, KnownValues())
    valid = set()
    for _ in range(repetitions(2000, short=1000)):
        try:
            valid.add(type(decode_request(packed(mutator.message()))))
        except Unreadable:
            continue
    assert valid == set(REQUESTS)


def test_the_same_seed_makes_up_the_same() -> None:
    first, second = ([Mutator(seed, KnownValues()).input() for _ in range(100)] for seed in (5, 5))
    assert first == second


def test_a_map_may_hold_raw_bytes() -> None:
    body = packed({"type": "ping", "id": 1}, {"id": b"\x91\xc0"})
    assert msgpack.unpackb(body) == {"type": "ping", "id": [None]}
