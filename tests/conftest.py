"""Fixtures and options of all tests."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from support import scale
from support.requirements import IN_CI, skip_without

# Fixtures import modules when they are used, as imports take seconds: the process that distributes
# the tests and many unit tests need none of them.
if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from playout.server.storage import Database
    from support.browser import BrowserSite, BrowserUsers
    from support.commands import RunningServer
    from support.http_site import HttpSite
    from support.postgres import Postgres


START_HELP = "start the installed commands, which takes seconds, not copies of a loaded process"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of these tests."""
    help_text = "run all repetitions of random tests, not only a few"
    parser.addoption("--slow", action="store_true", help=help_text)
    help_text = "how long the tests in tests/soak take together, such as 3600"
    parser.addoption("--real-starts", action="store_true", help=START_HELP)
    parser.addoption("--soak", type=float, default=0.0, metavar="SECONDS", help=help_text)


def pytest_configure(config: pytest.Config) -> None:
    """Sets how often tests repeat, before the first test module is imported."""
    gc.disable()  # until all tests are collected, which takes a third less time without it
    # `python -m pytest` adds the current folder, in which `games` and the others are found as well.
    sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != config.rootpath]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)  # as pytest-xdist sets it
    others = [each for each in given if each and Path(each).resolve() != config.rootpath]
    os.environ["PYTHONPATH"] = os.pathsep.join(others)
    text = "long: takes ten seconds or more, which it mostly waits; starts before the others"
    config.addinivalue_line("markers", text)
    scale.slow = config.getoption("--slow")
    scale.real_starts = config.getoption("--real-starts")
    scale.soak_s = config.getoption("--soak")
    # A shell starts background jobs with SIGINT ignored, which all commands of the tests inherit.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A deadline for each example would fail on a busy machine; pytest-timeout ends hanging tests.
    settings.register_profile(
        "suite",
        deadline=None,
        max_examples=scale.repetitions(100, short=30),
        derandomize=IN_CI,
        suppress_health_check=[
            HealthCheck.filter_too_much,
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
        ],
    )
    settings.load_profile("suite")
    # Lines about work that takes seconds would depend on the speed of the machine.
    from playout.commands import progress

    progress.FIRST_S = 3600.0
    set_hypothesis_home_dir(config.rootpath / ".pytest_cache" / "hypothesis")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[object]) -> None:
    """Let the processes of the tests be copies of this one: each would import for ten seconds."""
    from support import copied_workers

    copied_workers.prepare(config, len(specs))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starts the long tests first: at the end, the other processes would have nothing to do.

    pytest-xdist first gives each process an equal part of the list: each part begins with some of
    the long tests.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [each for each in items if each.get_closest_marker("long")]
    others = [each for each in items if not each.get_closest_marker("long")]
    ordered: list[pytest.Item] = []
    for process in range(processes):
        size = (len(items) - len(ordered)) // (processes - process)
        first = long[process::processes]
        rest = max(0, size - len(first))
        ordered += [*first, *others[:rest]]
        del others[:rest]
    items[:] = ordered


def pytest_collection_finish() -> None:
    """Exempts the collected tests, thousands of objects, from garbage collection."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Servers and players store in a temporary folder, not in the user's."""
    folder = tmp_path_factory.mktemp("data")
    os.environ["XDG_DATA_HOME"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    """A server process with web pages, shared by the tests of a worker.

    At the end its log must have no traceback, and it must stop with code 0.
    """
    from support.commands import running_server

    with running_server("--http", "127.0.0.1:0") as server:
        yield server
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log, log


@pytest.fixture
def copied_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the testbed start servers and helpers as copies: imports take seconds."""
    from support.commands import start_like_popen
    from support.forked import preloaded

    preloaded()
    monkeypatch.setattr("testbed.server_process.Popen", start_like_popen)


@pytest.fixture
def postgres(cluster: Postgres) -> Postgres:
    """A running PostgreSQL with an empty database; a test may stop it."""
    import sqlalchemy as sa

    cluster.start()
    with sa.create_engine(cluster.url).begin() as connection:
        for statement in ("DROP SCHEMA public CASCADE", "CREATE SCHEMA public"):
            connection.execute(sa.text(statement))
    return cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Postgres]:
    """A PostgreSQL cluster, shared by the tests of a worker: making it takes a second."""
    from support.postgres import PostgresMissing
    from support.postgres import postgres as postgres_cluster

    try:
        with postgres_cluster() as cluster:
            yield cluster
    except PostgresMissing as lacking:
        skip_without(str(lacking))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, SQLite or PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/playout.db"
    url: str = request.getfixturevalue("postgres").url
    return url


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """A database with empty tables."""
    from playout.server.storage import Database

    database = Database(url)
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def spec_folder(tmp_path: Path) -> Path:
    """A folder with the specification of a tournament, SPEC.toml, and the program of an entrant."""
    from support.organizer import SPEC

    (tmp_path / "bot.txt").write_text("a bot")
    (tmp_path / "SPEC.toml").write_text(SPEC)
    return tmp_path


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A Chromium, shared by the tests of a file."""
    from support.browser import chromium_or_skip

    with chromium_or_skip() as browser:
        yield browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserSite]:
    """A server with web pages and bots, shared by the tests of a file."""
    from support.browser import running_site

    with running_site(tmp_path_factory.mktemp("site"), "--ladder-clock", "none") as site:
        yield site


@pytest.fixture
def people(chromium: Browser, site: BrowserSite) -> Iterator[BrowserUsers]:
    """The users of the site. At the end no page may have had an error."""
    from support.browser import BrowserUsers

    people = BrowserUsers(chromium, site.address)
    yield people
    people.leave()
    assert people.faults == []


@pytest.fixture(scope="session")
def seeded_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpSite]:
    """A server with a seeded database, for tests that change nothing."""
    from support.commands import running_server
    from support.http_site import HttpSite
    from support.seeded_database import SeededDatabase

    url = f"sqlite:///{tmp_path_factory.mktemp('api')}/playout.db"
    seeded = SeededDatabase(url)
    # The players of the unfinished match do not return, and it has to run until the last test.
    options = ("--database", url, "--http", "127.0.0.1:0", "--reconnect-s", "3600")
    with running_server(*options) as server:
        yield HttpSite(server, seeded)
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log, log
