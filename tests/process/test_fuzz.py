"""Hostile inputs and honest players: `scripts/bench fuzz` for a few seconds."""

from __future__ import annotations

import random

import msgpack
import pytest

from playout.protocol.codec import Unreadable, decode_request
from playout.protocol.messages import REQUESTS
from support.scale import repetitions
from testbed.fuzzer import Fuzzer, KnownValues, Mutator, packed
from testbed.honest_players import NAMES, playing
from testbed.server_process import PLAYOUT, UNLIMITED, serving, stored

USUAL = {"welcome", "started", "update", "malformed", "invalid"}
SEED = random.SystemRandom().randrange(2**32)


@pytest.mark.usefixtures("copied_processes")
@pytest.mark.parametrize(
    "options",
    [[*UNLIMITED, "--analysis-s=0.1"], [*PLAYOUT, "--analyses=0"]],
    ids=["without limits", "with limits"],
)
def test_hostile_inputs_cause_no_fault_and_honest_players_continue(options: list[str]) -> None:
    with (
        stored() as database,
        serving([*options, database, "--reconnect-s=1", "--bots=1"]) as server,
        playing(server.port, size=9) as honest_players,
    ):
        fuzzer = Fuzzer(server, SEED, list(NAMES))
        fuzzer.run(repetitions(2500, short=700))
        for _ in range(100):  # whatever the seed, until the server has given every usual answer
            if set(fuzzer.answers) >= USUAL:
                break
            fuzzer.run(100)
        left = fuzzer.connections_left()
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
