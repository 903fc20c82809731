"""A ladder with real bots as processes, on a server that is killed, and what is stored of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from sqlalchemy.exc import SQLAlchemyError

from server.ladder.ratings import solve
from server.ladder.standings import LadderTable, LadderTerms, ladder_table
from server.ladder.state import restore_ladder
from server.model.records import StoredMatch
from server.storage import Database
from server.storage.ladders import stored_ladders
from testbed.killable_server import KillableServer

COMMAND = str(Path(sys.executable).with_name("playout-player"))
#: Seconds without another finished match after which a run is given up.
PATIENCE_S = 300.0
_POLL_S = 0.5


class LadderRun:
    """A server and bots on the ladder of a game; each bot has an account of its name."""

    def __init__(self, folder: Path, game: str, *options: str) -> None:
        """`options`: those of the server."""
        self.game = game
        self._folder = folder
        self._url = f"sqlite:///{folder / 'playout.db'}"
        usual = (f"--database={self._url}", "--http=none", "--registrations-per-hour=0")
        self.server = KillableServer([*usual, *options], folder / "server.log")
        self._bots: dict[str, subprocess.Popen[bytes]] = {}

    def enter(self, name: str, player: str) -> None:
        """Start a bot, in place of the one of that name, which leaves after its match."""
        if before := self._bots.pop(name, None):
            _leave(before)
        with (self._folder / f"{name}.log").open("ab") as log:
            words = [COMMAND, "any", player, f"--ladder={self.game}", f"--name={name}", "--quiet"]
            self._bots[name] = subprocess.Popen(
                [*words, f"--port={self.server.port}", "--retry-s=600"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"XDG_DATA_HOME": str(self._folder)},
                start_new_session=True,
            )

    def wait(self, matches: int) -> None:
        """Wait until so many matches have ended. Raises ClickException if none ends any more."""
        ended, since = 0, time.monotonic()
        while ended < matches:
            time.sleep(_POLL_S)
            if (now := self._ended()) > ended:
                ended, since = now, time.monotonic()
            elif time.monotonic() > since + PATIENCE_S:
                raise click.ClickException(f"the ladder stands still: {self.server.log_tail()}")

    def finish(self) -> None:
        """Let all bots leave after their matches, then stop the server."""
        bots = list(self._bots.values())
        for bot in bots:
            bot.send_signal(signal.SIGINT)
        for bot in bots:
            bot.wait(PATIENCE_S)
        self._bots.clear()
        self.server.stop()

    def close(self) -> None:
        """Kill all processes that still run."""
        for bot in self._bots.values():
            bot.kill()
            bot.wait()
        with contextlib.suppress(ProcessLookupError):
            self.server.kill()

    def stored(self) -> list[StoredMatch]:
        """Return all stored matches, with their moves."""
        with contextlib.closing(Database(self._url)) as database:
            return list(database.matches())

    def table(self) -> LadderTable:
        """Return the ladder that follows from the stored matches, as a server shows it."""
        with contextlib.closing(Database(self._url)) as database:
            names = {each.id: each.name for each in database.accounts()[0]}
            (stored,) = stored_ladders(database, 0.0)
        ladder = restore_ladder(stored)
        if problem := ladder.problem():
            ladder.rated(solve(problem))
        return ladder_table(ladder, names.__getitem__, (), LadderTerms(""))

    def _ended(self) -> int:
        with contextlib.closing(Database(self._url)) as database:
            try:
                ladders = stored_ladders(database, 0.0)
            except SQLAlchemyError:  # there are no tables yet
                return 0
        return sum(each.matches for ladder in ladders for each in ladder.results)


def _leave(bot: subprocess.Popen[bytes]) -> None:
    bot.send_signal(signal.SIGINT)
    bot.wait(PATIENCE_S)


def faults(matches: list[StoredMatch]) -> Iterator[str]:
    """Yield what is wrong with the stored matches of a ladder: lost, double or without result."""
    pairs = Counter(each.started.ladder.pair for each in matches if each.started.ladder)
    openings: dict[str, tuple[int, ...]] = {}
    for each in matches:
        match, ladder = each.started.match, each.started.ladder
        if ladder is None:
            yield f"{match} is not on the ladder"
            continue
        if each.ended is None or not each.ended.winner:
            yield f"{match} has no result: {each.ended.text if each.ended else 'it has not ended'}"
        opening = tuple(move.action for move in each.moves[: each.started.opening])
        if openings.setdefault(ladder.pair, opening) != opening:
            yield f"{match} has another opening than {ladder.pair}"
        if pairs[ladder.pair] > 2:
            yield f"{match} is one of {pairs[ladder.pair]} matches of a pair"


def reversed_pairs(table: LadderTable, order: Mapping[tuple[str, str], int]) -> list[str]:
    """Return the pairs whose error bars exclude the true order.

    `order`: the rank of each version by name and player, the weakest first.
    """
    known = [each for each in table.standings if each.error is not None]
    return [
        f"{high.name} is not stronger than {low.name}"
        for high in known
        for low in known
        if order[high.name, high.version] > order[low.name, low.version]
        and high.rating + (high.error or 0) < low.rating - (low.error or 0)
    ]
