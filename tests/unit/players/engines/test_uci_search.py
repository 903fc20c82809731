"""players.engines.uci_search: players that keep no limits, resign, fail, or begin anew."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from playout import games
from playout.games import Position
from playout.games.core import spec
from playout.players.core.player import (
    Cancelled,
    Info,
    Limit,
    Player,
    PlayerError,
    PlayResult,
    Report,
    Resigned,
)
from playout.players.engines import uci_search
from playout.players.engines.local_match import LocalMatch
from playout.players.engines.uci_games import uci_game
from playout.players.engines.uci_go import parse_go
from playout.players.engines.uci_options import UciSettings
from playout.players.engines.uci_search import UciSearch

CHESS = games.load("chess")
Turn = Callable[[Limit], PlayResult]


class ScriptedPlayer(Player):
    """Plays a turn after the other; the last one again and again."""

    def __init__(self, *turns: Turn) -> None:
        super().__init__(CHESS)
        self._turns = list(turns)
        self.limits: list[Limit] = []

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        self.limits.append(limit)
        turn = self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]
        return turn(limit)

    def until_cancelled(self, limit: Limit) -> PlayResult:
        """Think until the search is cancelled, whatever the limit."""
        assert self.cancelled.wait(60)
        raise Cancelled


class Searched:
    """A search for `go`, and the lines that it has written so far."""

    def __init__(self, player: Player, go: str, game: str = "chess", lines: int = 1) -> None:
        self.match = LocalMatch(games.load(game), spec.parse("random(seed=1)"))
        self.match.player = player
        self.lines: list[str] = []
        settings = UciSettings(spec.parse("random"), "chess")
        settings.set("MultiPV", str(lines))
        uci = uci_game(self.match.game)
        command = parse_go(go.split(), lambda name: bool(uci.actions(self.match.state, name)))
        self.search = UciSearch(self.match, uci, command, settings, self.lines.append)

    def end(self) -> list[str]:
        """Search to the end; return all lines."""
        self.search.start()
        self.search.wait(60)
        assert self.search.has_ended
        return self.lines


def move(name: str, depth: int = 0, nodes: int = 1) -> Turn:
    """Return a turn that chooses a move, with an analysis if it has a depth."""
    (action,) = uci_game(CHESS).actions(CHESS.initial_state(), name)
    info = Info(simulations=nodes, depth=depth, pv=(action,)) if depth else None
    return lambda limit: PlayResult(action, info)


def failing(error: Exception) -> Turn:
    def turn(limit: Limit) -> PlayResult:
        raise error

    return turn


def test_a_first_turn_without_end_is_cancelled_after_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(uci_search, "_PATIENCE_S", 0.05)
    player = ScriptedPlayer()
    player._turns = [player.until_cancelled]
    searched = Searched(player, "movetime 10")
    searched.search.start()
    searched.search.stop()
    searched.search.wait(60)
    assert searched.lines == [f"bestmove {first_legal()}"]


def first_legal() -> str:
    state = CHESS.initial_state()
    return uci_game(CHESS).name(state, CHESS.legal_actions(state)[0])


def test_stop_plays_the_move_of_the_last_complete_turn() -> None:
    began = threading.Event()
    player = ScriptedPlayer()

    def second(limit: Limit) -> PlayResult:
        began.set()
        return player.until_cancelled(limit)

    player._turns = [move("e2e4", depth=5), second, move("a2a3", depth=1)]
    searched = Searched(player, "infinite")
    searched.search.start()
    assert began.wait(60)
    searched.search.stop()
    searched.search.wait(60)
    assert searched.lines[-1] == "bestmove e2e4"


@pytest.mark.parametrize(("depth", "best"), [(3, "e2e4"), (4, "d2d4"), (5, "d2d4")])
def test_a_less_deep_turn_does_not_replace_a_deeper_one(depth: int, best: str) -> None:
    turns = move("e2e4", depth=4), move("d2d4", depth=depth)
    lines = Searched(ScriptedPlayer(*turns), "nodes 500").end()
    assert lines[-1] == f"bestmove {best}"
    assert len(lines) == (2 if best == "e2e4" else 3)


def test_a_player_that_resigns_moves_all_the_same() -> None:
    player = ScriptedPlayer(move("e2e4", depth=2), failing(Resigned()))
    assert Searched(player, "nodes 200").end()[-1] == "bestmove e2e4"
    assert Searched(ScriptedPlayer(failing(Resigned())), "nodes 9").end() == [
        f"bestmove {first_legal()}"
    ]


def test_a_player_that_fails_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    error = failing(PlayerError("the net is missing"))
    assert Searched(ScriptedPlayer(error), "nodes 9").end() == [
        "info string error: the net is missing",
        "bestmove (none)",
    ]
    assert Searched(ScriptedPlayer(failing(ZeroDivisionError("zero"))), "nodes 9").end() == [
        "info string error: the player failed: ZeroDivisionError('zero')",
        "bestmove (none)",
    ]
    assert "Traceback" in capsys.readouterr().err


def test_a_move_known_before_a_failure_is_played() -> None:
    player = ScriptedPlayer(move("e2e4", depth=1), failing(PlayerError("no memory")))
    assert Searched(player, "nodes 500").end()[1:] == [
        "info string error: no memory",
        "bestmove e2e4",
    ]


def test_turns_of_an_endless_search_grow_and_its_end_waits() -> None:
    player = ScriptedPlayer(move("e2e4", depth=1), move("e2e4", depth=2))
    searched = Searched(player, "infinite")
    searched.search.start()
    searched.search.stop()
    searched.search.wait(60)
    assert searched.lines[-1] == "bestmove e2e4"
    assert player.limits[0].seconds == pytest.approx(0.02)


def test_the_rounds_end_with_the_best_of_some_moves() -> None:
    """The player likes positions after d2d4 least, so that this is the best move."""
    match = LocalMatch(CHESS, spec.parse("random"))
    after = {
        name: CHESS.next_state(CHESS.initial_state(), *uci_game(CHESS).actions(match.state, name))
        for name in ("a2a3", "d2d4", "e2e4", "h2h4")
    }
    rates = dict(zip(after.values(), (0.6, 0.2, 0.4, 0.9), strict=True))

    class JudgingPlayer(ScriptedPlayer):
        def choose(
            self, position: Position, limit: Limit, report: Report | None = None
        ) -> PlayResult:
            self.limits.append(limit)
            legal = position.legal_actions
            info = Info(10, depth=2, win_rate=rates[position.state], pv=legal[:1])
            return PlayResult(legal[0], info)

    player = JudgingPlayer(move("e2e4"))
    lines = Searched(player, f"searchmoves {' '.join(after)} nodes 1200", lines=2).end()
    assert lines[-1].startswith("bestmove d2d4 ponder ")
    best, second = lines[-3:-1]
    assert " multipv 1 " in best
    assert " pv d2d4 " in best
    assert " multipv 2 " in second
    assert " pv e2e4 " in second
    assert len(player.limits) == 4 + 2
    assert all(each.simulations for each in player.limits)
