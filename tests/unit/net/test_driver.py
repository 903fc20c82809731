"""server.net.driver: a driver that could not carry out an effect is not made."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from twisted.internet.task import Clock

from playout.server.core.effects import (
    CheckFile,
    CheckPassword,
    Effect,
    EndAnalysis,
    EndBot,
    RateLadder,
    StartAnalysis,
    StartBot,
    StartOrganizer,
)
from playout.server.core.hub import Hub
from playout.server.core.policy import Policy
from playout.server.net.driver import Driver, EffectWorkers
from playout.server.runtime.reactor import LoopTime
from playout.server.runtime.scheduler import LoopScheduler
from playout.server.storage.client import DatabaseMeasured

ALL: tuple[type[Effect], ...] = (
    RateLadder,
    StartBot,
    EndBot,
    StartAnalysis,
    EndAnalysis,
    CheckPassword,
    CheckFile,
    StartOrganizer,
)


def make_driver(
    policy: Policy, kinds: Iterable[type[Effect]], compilation: str | None = None
) -> Driver:
    """Return a driver whose workers carry out effects of these kinds."""
    carriers = dict.fromkeys(kinds, lambda _: None)
    clock, workers = Clock(), EffectWorkers(carriers, None, lambda: compilation)
    return Driver(
        Hub(policy),
        clock,
        LoopScheduler(clock),
        lambda: None,
        lambda _: workers,
        None,
        LoopTime(clock.seconds),
    )


@pytest.mark.parametrize("missing", ALL)
def test_an_effect_that_nothing_carries_out_is_an_error_at_the_start(
    missing: type[Effect],
) -> None:
    make_driver(Policy(bots=1), ALL)
    with pytest.raises(ValueError, match=f"nothing carries out {missing.__name__}, which"):
        make_driver(Policy(bots=1), set(ALL) - {missing})


def test_effects_that_the_policy_excludes_need_no_worker() -> None:
    make_driver(Policy(bots=0, analyses=0), set(ALL) - {StartBot, EndBot})


def test_the_operator_is_warned_of_a_full_database_and_of_games_that_are_not_ready() -> None:
    driver = make_driver(Policy(database_mb=10), ALL)
    assert driver.warning() is None
    driver = make_driver(Policy(database_mb=10), ALL, "3 of 24 games are ready")
    assert driver.warning() == "3 of 24 games are ready"
    driver.storage_told(DatabaseMeasured(9_500_000))
    assert "the database has 10 of 10 MB" in (driver.warning() or "")
