"""An engine as a player: a program that speaks a protocol of `players.engines`."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import math
import random
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import msgspec

from playout.games import Game, Option, Position, SpecError
from playout.players.core.player import (
    Cancelled,
    Candidates,
    Limit,
    Player,
    PlayResult,
    Report,
    Reporter,
)
from playout.players.engines import config
from playout.players.engines.client import UNLIMITED_S, EngineClient, is_short, move_deadline
from playout.players.engines.process import MATCH_OVER, EngineError, EngineUsage, MatchUse


class LinesClient(EngineClient):
    """Plays with a script: each position is one line of JSON, and the answer one line, the action.

    It is the simplest protocol. A script needs no state, because each line has the whole position.
    It gets only positions with a choice.
    """

    farewell = ""  # a script is killed
    answers_numbers = True
    tells_rolls = True
    starts_silently = True
    _is_thinking = False
    _has_answered = False

    def _start(self, deadline: float) -> None:
        pass  # it writes nothing before the first position

    def _new_match(self, deadline: float) -> None:
        pass  # the next line has the whole position

    def settle(self, deadline: float) -> None:
        if self._is_thinking:
            self._answer(deadline)

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        self.process.discard()  # a second answer to the position before
        given = self.time.left(limit)
        self.process.send(self._line(position, given))
        self._is_thinking = True
        deadline = move_deadline(limit, position.to_move)
        if not self._has_answered:  # it may still be starting, which nothing tells
            deadline = max(deadline, time.monotonic() + self.config.start_s)
        said = self._answer(deadline)
        self.time.answered(given.seconds)
        action = int(said) if said.isdecimal() and said.isascii() else None
        return PlayResult(self.require_legal(action, position, said))

    def _line(self, position: Position, limit: Limit) -> str:
        state = position.state
        legal = self.game.legal_actions(state)
        told = {
            "game": str(position.game),
            "player": position.to_move,
            "state": list(state),
            "moves": list(position.moves),
            "legal_actions": list(legal),
            "names": [self.game.action_name(state, action) for action in legal],
            "seconds": None if limit.seconds is None else round(limit.seconds, 3),
            "options": dict(self.config.options),
        }
        return json.dumps(told)

    def _answer(self, deadline: float) -> str:
        """Return the next line that is not empty."""
        while not (said := self.process.line(deadline).strip()):
            pass
        self._is_thinking, self._has_answered = False, True
        return said


#: The module and the class of the clients of other protocols. A client imports the games that it
#: translates, which costs 0.2 s, and at the first time minutes of compilation.
_CLIENTS = {
    "gtp": ("gtp_client", "GtpClient"),
    "uci": ("uci_client", "UciClient"),
    "xboard": ("xboard_client", "XboardClient"),
    "gomocup": ("gomocup_client", "GomocupClient"),
    "gnubg": ("gnubg_client", "GnubgClient"),
    "json": ("original_client", "OriginalEngineClient"),
}
#: Limit of the moves of a check.
_CHECK = Limit(seconds=1.0)
#: Seconds in which an engine must end a search after its match, before it is killed.
_STOP_S = 5.0


class Engine(Player):
    """Plays the moves of an engine that `engines.toml` describes."""

    prepares = True

    def __init__(
        self,
        game: Game,
        name: Annotated[str, Option("name of the engine's table in `engines.toml`")],
        file: Annotated[
            str,
            Option(
                "file with the table",
                default="engines.toml in the current folder or the user's configuration folder",
            ),
        ] = "",
        candidates: Candidates = 1,
    ) -> None:
        super().__init__(game)
        self._config = replace(config.find(name, file), candidates=candidates)
        self._config.require_game(game)
        self._config.require_program()
        self._client: EngineClient | None = None
        #: What the engine has used until its last end.
        self.usage = EngineUsage()
        #: Whether the engine was sent no position of this match, and whether it is ready for one.
        self._is_new_match = self._is_prepared = True
        self._has_warned = False
        #: The match whose use is not stored yet, the seat in it, and the fault of the program.
        self._unstored, self._seat, self._fault = "", 0, ""
        #: The last position of the match, and its winner once it is over.
        self._position = Position(game)
        self._winner: int | None = None
        #: Held while the engine is used: a match may end while it thinks, in another thread.
        self._in_use = threading.Lock()
        try:
            self._client = self._started()
        except (EngineError, ValueError) as error:
            raise SpecError(str(error)) from error
        self.ponders = self._client.ponders
        self.start_s = self._config.start_s if self._client.starts_silently else 0.0
        self.version = _version(self._client.title, self._config)

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        began = time.monotonic()
        if limit.seconds == math.inf:
            limit = replace(limit, seconds=UNLIMITED_S)
        legal = position.legal_actions
        if len(legal) == 1:  # GRhino has no move to pass with
            return PlayResult(legal[0])
        self._warn_of_short_moves(limit)
        try:
            with self._in_use, self._search_ended():
                return self._chosen(position, limit, Reporter(report), began)
        finally:
            self._tell_result()

    def _chosen(
        self, position: Position, limit: Limit, reporter: Reporter, began: float
    ) -> PlayResult:
        """Return the engine's choice; `began` is the time at which its clock began."""
        client = self._ready_for_match() if self._is_new_match else self._ready()
        self._is_new_match = self._is_prepared = False
        client.time.begin(began)
        client.reporter = reporter
        try:
            return client.choose(position, limit)
        except EngineError as error:
            self._fault = str(error)
            self._stop()
            raise

    def prepare(self) -> None:
        with self._in_use:
            self._store_use()
            for _ in range(2):  # an engine that fails is started again
                with contextlib.suppress(EngineError):
                    self._ready_for_match()
                    return

    def _ready_for_match(self) -> EngineClient:
        """Return the client of an engine that has forgotten the last match."""
        client = self._ready()
        try:
            if not self._is_prepared:
                client.new_match()
        except EngineError:
            self._stop()
            raise
        except Cancelled:  # some of its answers are pending
            client.process.close()
            self._stop()
            raise
        self._is_prepared = True
        return client

    def ponder(self, position: Position) -> None:
        client = self._ready()
        with self._search_ended():
            try:
                client.ponder()
            except EngineError:
                self._stop()
                raise

    @contextlib.contextmanager
    def _search_ended(self) -> Iterator[None]:
        """End a search that is cancelled in the block, if the match is over; or kill the engine."""
        try:
            yield
        except Cancelled:
            if self._winner is not None and self._client:
                try:
                    with self._client.process.not_cancelled():
                        self._client.end_search(time.monotonic() + _STOP_S)
                except EngineError:
                    self._stop()
            raise

    def started(self, seat: int, opponent: str, position: Position) -> None:
        self._unstored, self._seat, self._fault = self.match, seat, ""
        self._is_new_match = True
        self._position, self._winner = position, None

    def moved(self, seat: int, position: Position) -> None:
        self._position = position

    def taken_back(self, seat: int, position: Position) -> None:
        self._position = position

    def ended(self, winner: int, reason: str) -> None:
        self._winner = winner
        self._tell_result()

    def _tell_result(self) -> None:
        """Tell the engine the end of its match, unless another thread is using the engine."""
        if self._winner is None or not self._in_use.acquire(blocking=False):
            return
        try:
            winner, self._winner = self._winner, None
            if self._client and winner is not None and not self._is_new_match:
                self._client.ended(self._position, winner)
        finally:
            self._in_use.release()

    def close(self) -> None:
        self._stop()
        self._store_use()

    def _stop(self) -> None:
        """End the program; it is started again for the next move or match."""
        client, self._client = self._client, None
        if client:
            client.close()
            self.usage += client.process.usage

    def _store_use(self) -> None:
        """End the program after a match, and store its use, if the sandbox has a file for that."""
        path, match, self._unstored = self._config.uses, self._unstored, ""
        if not (path and match):
            return
        self._stop()
        used, self.usage = self.usage, EngineUsage()
        end = self._fault or MATCH_OVER
        use = MatchUse(match, self._seat, round(used.cpu_s, 2), used.memory_mb, end)
        try:  # processes of several entrants write to it
            with path.open("ab", buffering=0) as file:
                file.write(msgspec.json.encode(use) + b"\n")
        except OSError as error:
            print(f"{path} cannot be written: {error.strerror}", file=sys.stderr)

    def check(self) -> Iterator[str]:
        client = self._ready()
        yield f"{self.game}, {self._config.protocol}: {client.title}"
        yield from client.describe()
        position = Position(self.game)
        for number in (1, 2):
            position = position.rolled(random.randrange)
            if position.winner:
                return
            position = position.play(self.choose(position, _CHECK).action)
            yield f"move {number}: {position.move_name()}"
        self._is_new_match = True

    def _warn_of_short_moves(self, limit: Limit) -> None:
        """Tell the user, once, that the engine cannot be limited to its time."""
        if not self._has_warned and is_short(limit, self._config) and not self._config.short:
            self._has_warned = True
            print(
                f"The engine {self._config.name} cannot be limited to less than "
                f"{self._config.short_s:g} s for a move, and may lose on time. If its command "
                "limits it, set short_s = 0 in engines.toml; otherwise see short in "
                "docs/engines.md.",
                file=sys.stderr,
            )

    def _ready(self) -> EngineClient:
        """Return the client of an engine that waits for commands; start it again if necessary."""
        if self._client:
            try:
                self._client.settle(self._client.ping_deadline())
            except EngineError:
                self._stop()
        if self._client is None:
            self._client = self._started()
        return self._client

    def _started(self) -> EngineClient:
        self._is_new_match = self._is_prepared = True
        return client_of(self._config.protocol)(self._config, self.game, self.cancelled)


def client_of(protocol: str) -> type[EngineClient]:
    """Return the class that speaks a protocol of engines."""
    if protocol == "lines":
        return LinesClient
    module, name = _CLIENTS[protocol]
    package = importlib.import_module(f"playout.players.engines.{module}")
    found: type[EngineClient] = getattr(package, name)
    return found


def _version(title: str, engine: config.EngineConfig) -> str:
    """Return the engine's name and version, and a digest of its command and options."""
    digest = hashlib.sha256("\0".join(engine.digest_words).encode()).hexdigest()
    return f"{title[:50]} {digest[:6]}"
