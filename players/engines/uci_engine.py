"""A UCI engine: the commands of the protocol, for chess and the variants of Fairy-Stockfish.

The main thread reads commands; a search has a thread of its own, so that `stop`, `ponderhit` and
`isready` are heard while the player thinks. Other commands end a search before they are carried
out. The end of the input does what `quit` does.

The protocol: https://backscattering.de/chess/uci/
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from importlib.metadata import version

from playout import games
from playout.commands.text import beginning
from playout.games import Game, KernelGame, SpecError, State
from playout.games.core import spec
from playout.players import find
from playout.players.core.player import Cancelled, Limit, PlayerError, Resigned
from playout.players.engines.engine_server import (
    LONGEST_ERROR,
    EngineServer,
    LineInput,
    LocalMatch,
)
from playout.players.engines.uci_games import VARIANTS, UciGame, uci_game
from playout.players.engines.uci_options import VARIANT, UciSettings
from playout.players.engines.uci_search import NO_MOVE, PROVEN_CP, UciSearch, parse_go

#: The parameter of players that limits the depth of their searches.
_DEPTH = "depth"
#: The first search of a player, in which compiled code is loaded and caches are filled.
_WARM_UP = Limit(seconds=1.0, simulations=100)
#: Seconds for a player to end its search when the program quits.
_END_S = 2.0
#: Maximum number of errors of one command that are shown.
_MOST_ERRORS = 5
_START: tuple[str, list[str]] = ("startpos", [])
#: Commands that are heard while the player thinks, and those without an effect.
_WHILE_SEARCHING = ("isready", "stop", "ponderhit")
_IGNORED = ("debug", "register")


class UciServer(EngineServer):
    """Answers the commands of UCI."""

    match: LocalMatch
    refusals = (ValueError, PlayerError)

    def __init__(self, game: Game, wanted: spec.Spec, lines: LineInput) -> None:
        """Load the player. Raises SpecError if the player or the game cannot be used with UCI."""
        if not isinstance(game, KernelGame):
            raise SpecError(f"{game} cannot be played with UCI: its rules are not compiled")
        super().__init__(wanted, lines)
        self._uci = _translation(game)
        self._settings = UciSettings(wanted, self._uci.variant)
        self.match = _warm_match(game, wanted)
        self._made_for: tuple[Game, spec.Spec] | None = (game, wanted)
        self._game: Game = game
        #: The position that is set, and the names of the moves that led to it.
        self._position: tuple[str, list[str]] = _START
        #: Whether the last command `position` has failed.
        self._is_refused = False
        #: The depth of the last `go`, for players whose parameter it is.
        self._depth: int | None = None
        self._search: UciSearch | None = None
        self._commands: dict[str, Callable[[list[str]], None]] = {
            "uci": self._introduce,
            "isready": self._isready,
            "setoption": self._setoption,
            "ucinewgame": self._ucinewgame,
            "position": self._set_position,
            "go": self._go,
            "stop": self._stop,
            "ponderhit": self._ponderhit,
            "d": self._show,
        }

    def close(self) -> None:
        if self._search:
            self._search.abandon()
            self._search.wait(_END_S)
        super().close()

    def answer(self, line: str) -> bool:
        """Carry out the first known command in a line, as the protocol says."""
        words = line.split()
        known = [at for at, word in enumerate(words) if word in (*self._commands, *_IGNORED)]
        if not known:
            if words and words[0] != "quit":
                self._error(f"unknown command {words[0][:40]!r}")
            return words[:1] == ["quit"]
        name, *arguments = words[known[0] :]
        if self._search and name not in _WHILE_SEARCHING:
            self._search.stop()
            self._search.wait()
            self._search = None
        if name not in _IGNORED:
            text, failed = self.attempt(lambda: self._commands[name](arguments))
            if failed:
                self._error(f"{text}")
        return False

    # The commands.

    def _introduce(self, _: list[str]) -> None:
        self.write(f"id name Playout {self.wanted.name} {version('playout')}")
        self.write("id author Playout authors")
        for line in self._settings.lines():
            self.write(line)
        self.write("uciok")

    def _isready(self, _: list[str]) -> None:
        if self._search is None or self._search.has_ended:
            self._prepare()
        self.write("readyok")

    def _ucinewgame(self, _: list[str]) -> None:
        self._made_for, self._position, self._is_refused = None, _START, False
        self._prepare()

    def _setoption(self, words: list[str]) -> None:
        """Set an option: `name NAME`, which may have spaces, and `value VALUE`."""
        text = " ".join(words)
        found = re.fullmatch(r"name (.+?)(?: value(?: (.*))?)?", text)
        if not found:
            raise ValueError(f"expected setoption name NAME value VALUE, not {text[:60]!r}")
        name, value = found[1], found[2] or ""
        if name.lower() == VARIANT.lower():
            self._set_variant(value)
        else:
            self._settings.set(name, value)

    def _set_variant(self, name: str) -> None:
        """Change the game, if the player can play it. Raises ValueError."""
        self._settings.set(VARIANT, name)
        if name == self._uci.variant:
            return
        before = self._game, self._uci, self._position
        try:
            self._game = games.load(next(each.game for each in VARIANTS if each.name == name))
            self._uci, self._position = _translation(self._game), _START
            self._use(self._settings.player())
        except SpecError:
            self._game, self._uci, self._position = before
            self._settings.set(VARIANT, self._uci.variant)
            raise

    def _set_position(self, words: list[str]) -> None:
        """Set `startpos` or `fen FEN`, and play the moves after `moves`.

        Raises ValueError; then the position stays, but is not searched.
        """
        end = words.index("moves") if "moves" in words else len(words)
        base, names = " ".join(words[:end]), words[end + 1 :]
        known, kept, self._is_refused = self._position, self.match.kept(), True
        try:
            if known[0] == base and names[: len(known[1])] == known[1]:
                self._play(names[len(known[1]) :])
            else:
                self.match.clear(self._first(base))
                self._play(names)
        except BaseException:
            self.match.restore(kept)
            raise
        self._position, self._is_refused = (base, names), False

    def _first(self, base: str) -> State | None:
        """Return the position before all moves, None for the first one of the game."""
        kind, _, fen = base.partition(" ")
        if kind == "fen":
            return self._uci.position(fen)
        if base != "startpos":
            raise ValueError(f"expected position startpos or position fen FEN, not {base[:40]!r}")
        return None

    def _play(self, names: Sequence[str]) -> None:
        for name in names:
            actions = self._uci.actions(self.match.state, name)
            if not actions:
                raise ValueError(f"the position has an illegal move: {name[:20]!r}")
            for action in actions:
                self.match.play(action)

    def _go(self, words: list[str]) -> None:
        go = parse_go(words, lambda name: bool(self._uci.actions(self.match.state, name)))
        for error in go.errors[:_MOST_ERRORS]:
            self._error(error)
        self._depth = go.depth
        self._prepare()
        if self._is_refused:
            self._error("there is no position to search: the last command position failed")
            self.write(NO_MOVE)
        elif winner := self.match.winner:
            self.write(f"info depth 0 score {_final_score(winner, self.match.mover)}")
            self.write(NO_MOVE)
        else:
            self._search = UciSearch(self.match, self._uci, go, self._settings, self)
            self._search.start()

    def _stop(self, _: list[str]) -> None:
        if self._search:
            self._search.stop()

    def _ponderhit(self, _: list[str]) -> None:
        if self._search:
            self._search.ponderhit()

    def _show(self, _: list[str]) -> None:
        """Write the position, for people who look for a fault."""
        state = self.match.state
        self.write(f"{self.match.game.show(state)}\nFen: {self._uci.fen(state)}")

    # The player.

    def _prepare(self) -> None:
        """Load the player anew if options have changed; keep the old one if they are invalid."""
        wanted = self._settings.player()
        if self._depth and _DEPTH in spec.parameters_of(find(wanted.name), skip=1):
            wanted = spec.Spec(wanted.name, {**wanted.options, _DEPTH: str(self._depth)})
        if (self._game, wanted) != self._made_for:
            try:
                self._use(wanted)
            except SpecError as error:
                self._error(str(error))

    def _use(self, wanted: spec.Spec) -> None:
        """Continue with a new player, at the current position. Raises SpecError."""
        match = _warm_match(self._game, wanted)
        self.match.close()
        self.match, self._made_for = match, (self._game, wanted)
        base, names = self._position
        match.clear(self._first(base))
        self._play(names)

    def _error(self, text: str) -> None:
        self.write(f"info string error: {beginning(text, LONGEST_ERROR)}")


def _warm_match(game: Game, wanted: spec.Spec) -> LocalMatch:
    """Return a match whose player has thought once, so that its first move takes no longer."""
    match = LocalMatch(game, wanted)
    with contextlib.suppress(Cancelled, PlayerError, Resigned):
        match.choose(_WARM_UP)
    return match


def _translation(game: Game) -> UciGame:
    """Return the translation of a game. Raises SpecError for a game that UCI does not have."""
    try:
        return uci_game(game)
    except ValueError as error:
        raise SpecError(str(error)) from error


def _final_score(winner: int, mover: int) -> str:
    """Return the score of a position in which the game is over."""
    if winner < 0:
        return "cp 0"
    return f"cp {PROVEN_CP}" if winner == mover else "mate 0"
