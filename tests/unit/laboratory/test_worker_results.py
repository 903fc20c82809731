"""Workers of a cluster whose results disagree with those of the others."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from playout.games import TIE
from playout.laboratory.worker_results import FIRST_LOOK, WorkerResult, WorkerResults, suspect
from support import scale

#: The probabilities that player 1 wins, that the match is a tie, and that player 2 wins, by kind.
HONEST = ((0.5, 0.2, 0.3), (0.3, 0.2, 0.5))


def drawn(
    number: int, rng: random.Random, wrong: Sequence[Sequence[float]] = HONEST
) -> list[WorkerResult]:
    """Return the results on four workers; those of the second have the `wrong` probabilities."""
    found = []
    for _ in range(number):
        worker, kind = rng.randrange(4), rng.randrange(2)
        shares = (wrong if worker == 1 else HONEST)[kind]
        (winner,) = rng.choices((1, TIE, 2), shares)
        found.append(WorkerResult(f"w{worker}", kind, winner))
    return found


def found_in(results: Sequence[WorkerResult]) -> list[str]:
    """Return the suspects at all looks at a test."""
    looks = [FIRST_LOOK]
    while looks[-1] * 2 <= len(results):
        looks.append(looks[-1] * 2)
    found = (suspect(results[:number]) for number in (*looks, len(results)))
    return [each.worker for each in found if each]


def test_honest_workers_are_found_in_at_most_one_of_a_hundred_tests() -> None:
    rng, tests = random.Random(1), scale.repetitions(2000, short=8)
    false_alarms = sum(bool(found_in(drawn(1500, rng))) for _ in range(tests))
    assert false_alarms <= 0.01 * tests + 1


@pytest.mark.parametrize(
    ("wrong", "number"),
    [
        ([(0, 0, 1), (0, 0, 1)], 512),  # player 1 never moves
        ([(0.5, 0.5, 0), (0, 0.5, 0.5)], 1024),  # losses are ties
        ([(0.65, 0.2, 0.15), (0.15, 0.2, 0.65)], 4096),  # one player is quicker there
    ],
)
def test_a_worker_with_wrong_results_is_found(
    wrong: Sequence[Sequence[float]], number: int
) -> None:
    found = found_in(drawn(number, random.Random(1), wrong))
    assert set(found) == {"w1"}


def test_of_two_workers_none_is_found() -> None:
    results = [WorkerResult("a", 0, 1), WorkerResult("b", 0, 2)] * 500
    assert suspect(results) is None


def test_where_matches_were_played_is_known_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "workers.jsonl"
    results = WorkerResults(path)
    for match, worker in (("m1", "a"), ("m2", "b"), ("m3", "a"), ("m1", "b")):
        results.note(match, worker)
    path.write_bytes(path.read_bytes() + b'{"match": "m4')
    WorkerResults(path).note("m5", "a")
    assert WorkerResults(path).matches_on("a") == ["m1", "m3", "m5"]


def test_a_look_is_due_once_after_each_doubling(tmp_path: Path) -> None:
    results = WorkerResults(tmp_path / "workers.jsonl")
    due = [number for number in range(600) if results.is_due(number)]
    assert due == [64, 128, 256, 512]


def test_a_new_process_looks_at_further_matches_only(tmp_path: Path) -> None:
    path = tmp_path / "workers.jsonl"
    results = WorkerResults(path)
    for number in range(130):
        results.note(f"m{number}", "a")
    again = WorkerResults(path)
    assert [number for number in range(130, 300) if again.is_due(number)] == [256]
