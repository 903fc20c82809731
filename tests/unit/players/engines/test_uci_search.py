"""players.engines.uci_search: one search, its reports, and players that resign or fail."""

from __future__ import annotations

import io
import math
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
from playout.players.engines.engine_server import EngineServer, LineInput, LocalMatch
from playout.players.engines.uci_games import uci_game
from playout.players.engines.uci_options import UciSettings
from playout.players.engines.uci_search import SearchBudget, UciSearch, parse_go

CHESS = games.load("chess")
START = CHESS.initial_state()
#: What a player does when it has to choose.
Choice = Callable[[Limit, Report], PlayResult]


class ScriptedPlayer(Player):
    """Makes one choice after the other; the last one again and again."""

    def __init__(self, *choices: Choice) -> None:
        super().__init__(CHESS)
        self.choices = list(choices)
        self.limits: list[Limit] = []
        self.reported = threading.Event()

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        self.limits.append(limit)
        choice = self.choices.pop(0) if len(self.choices) > 1 else self.choices[0]
        return choice(limit, report or (lambda info: None))

    def until_cancelled(self, *infos: Info, result: PlayResult | None = None) -> Choice:
        """Return a choice that reports, and searches until it is cancelled, whatever the limit."""

        def choice(limit: Limit, report: Report) -> PlayResult:
            for info in infos:
                report(info)
            self.reported.set()
            assert self.cancelled.wait(60)
            if result is None:
                raise Cancelled
            return result

        return choice


class StoringServer(EngineServer):
    """Stores the lines that are written."""

    refusals = (PlayerError,)

    def __init__(self) -> None:
        super().__init__(spec.parse("random"), LineInput(io.BytesIO()))
        self.written: list[str] = []

    def answer(self, line: str) -> bool:
        raise NotImplementedError

    def write(self, text: str) -> None:
        self.written.append(text)


class Searched:
    """A search for `go`, and the lines that it has written so far."""

    def __init__(self, player: Player, go: str, game: str = "chess", lines: int = 1) -> None:
        self.match = LocalMatch(games.load(game), spec.parse("random(seed=1)"))
        self.match.player = player
        server = StoringServer()
        self.lines = server.written
        settings = UciSettings(spec.parse("random"), "chess")
        settings.set("MultiPV", str(lines))
        uci = uci_game(self.match.game)
        command = parse_go(go.split(), lambda name: bool(uci.actions(self.match.state, name)))
        self.search = UciSearch(self.match, uci, command, settings, server)

    def end(self) -> list[str]:
        """Search to the end; return all lines."""
        self.search.start()
        self.search.wait(60)
        assert self.search.has_ended
        return self.lines


def info(name: str, depth: int, nodes: int = 1) -> Info:
    """Return an analysis whose best move has that name."""
    return Info(simulations=nodes, depth=depth, pv=uci_game(CHESS).actions(START, name))


def move(name: str, depth: int = 0, nodes: int = 1) -> Choice:
    """Return the choice of a move, with an analysis if it has a depth."""
    (action,) = uci_game(CHESS).actions(START, name)
    return lambda limit, report: PlayResult(action, info(name, depth, nodes) if depth else None)


def failing(error: Exception, *infos: Info) -> Choice:
    """Return a choice that reports, and then fails."""

    def choice(limit: Limit, report: Report) -> PlayResult:
        for each in infos:
            report(each)
        raise error

    return choice


def test_a_player_without_a_result_plays_a_legal_move_after_stop() -> None:
    player = ScriptedPlayer()
    player.choices = [player.until_cancelled()]
    searched = Searched(player, "infinite")
    searched.search.start()
    searched.search.stop()
    searched.search.wait(60)
    assert searched.lines == [f"bestmove {first_legal()}"]


def first_legal() -> str:
    return uci_game(CHESS).name(START, CHESS.legal_actions(START)[0])


def test_an_endless_search_is_one_search_with_all_its_reports() -> None:
    player = ScriptedPlayer()
    last = move("d2d4", depth=7, nodes=500)(Limit(), lambda info: None)
    player.choices = [player.until_cancelled(info("e2e4", 5), info("d2d4", 6), result=last)]
    searched = Searched(player, "infinite")
    searched.search.start()
    assert player.reported.wait(60)
    assert len(searched.lines) == 2
    searched.search.stop()
    searched.search.wait(60)
    assert player.limits == [Limit(math.inf)]
    depths = [line.split()[2] for line in searched.lines[:-1]]
    assert depths == ["5", "6", "7"]
    assert " nodes 500 " in searched.lines[-2]
    assert searched.lines[-1] == "bestmove d2d4"


@pytest.mark.parametrize(("depth", "best"), [(3, "e2e4"), (4, "d2d4"), (5, "d2d4")])
def test_a_less_deep_search_after_ponderhit_does_not_replace_a_deeper_one(
    depth: int, best: str
) -> None:
    player = ScriptedPlayer()
    first = move("e2e4", depth=4)(Limit(), lambda info: None)
    player.choices = [player.until_cancelled(info("e2e4", 4), result=first), move("d2d4", depth)]
    searched = Searched(player, "ponder movetime 60000")
    searched.search.start()
    assert player.reported.wait(60)
    searched.search.ponderhit()
    searched.search.wait(60)
    assert searched.lines[-1] == f"bestmove {best}"
    assert len(player.limits) == 2


def test_stop_plays_the_move_that_was_reported_last() -> None:
    player = ScriptedPlayer()
    player.choices = [player.until_cancelled(info("a2a3", 1), info("e2e4", 5))]
    searched = Searched(player, "infinite")
    searched.search.start()
    assert player.reported.wait(60)
    searched.search.stop()
    searched.search.wait(60)
    assert searched.lines[-1] == "bestmove e2e4"


def test_a_reply_that_a_stopped_search_has_lost_is_kept() -> None:
    line = uci_game(CHESS).line(START, ["e2e4", "e7e5"])
    cut = PlayResult(line[0], Info(simulations=9, depth=5, pv=line[:1]))

    def choice(limit: Limit, report: Report) -> PlayResult:
        report(Info(simulations=5, depth=5, pv=line))
        return cut

    lines = Searched(ScriptedPlayer(choice), "nodes 9").end()
    assert lines[-1] == "bestmove e2e4 ponder e7e5"
    assert lines[-2].endswith(" pv e2e4 e7e5")


def test_a_search_ends_at_the_depth_that_was_asked_for() -> None:
    player = ScriptedPlayer()
    first = move("e2e4", depth=4)(Limit(), lambda info: None)
    player.choices = [player.until_cancelled(info("e2e4", 3), info("e2e4", 4), result=first)]
    assert Searched(player, "depth 4").end()[-1] == "bestmove e2e4"


@pytest.mark.parametrize("has_result", [True, False])
def test_after_ponderhit_the_search_continues_with_its_limits(has_result: bool) -> None:
    player = ScriptedPlayer()
    first = move("e2e4", depth=4, nodes=30)(Limit(), lambda info: None)
    player.choices = [
        player.until_cancelled(info("e2e4", 3), result=first if has_result else None),
        move("d2d4", depth=5, nodes=7),
    ]
    searched = Searched(player, "ponder movetime 60000")
    searched.search.start()
    assert player.reported.wait(60)
    searched.search.ponderhit()
    searched.search.wait(60)
    assert searched.lines[-1] == "bestmove d2d4"
    assert f" nodes {37 if has_result else 7} " in searched.lines[-2]
    assert player.limits[0] == Limit(math.inf)
    assert 50 < (player.limits[1].seconds or 0) < 60


def test_a_player_that_resigns_moves_all_the_same() -> None:
    player = ScriptedPlayer(failing(Resigned(), info("e2e4", 2)))
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
    player = ScriptedPlayer(failing(PlayerError("no memory"), info("e2e4", 1)))
    assert Searched(player, "nodes 500").end()[1:] == [
        "info string error: no memory",
        "bestmove e2e4",
    ]


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
            rate = rates[position.state]
            return PlayResult(legal[0], Info(10, depth=2, win_rate=rate, pv=legal[:1]))

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


# What a search has left of its limits.


class SetClock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_a_limit_the_time_is_infinite() -> None:
    assert SearchBudget(Limit(), waits=True).left() == Limit(math.inf)
    assert SearchBudget(Limit(1.0), waits=True).left() == Limit(math.inf)
    assert SearchBudget(Limit(None, 1000), waits=False).left() == Limit(None, 1000)


def test_there_is_always_time_for_a_first_move() -> None:
    clock = SetClock()
    budget = SearchBudget(Limit(0.5), waits=False, clock=clock)
    clock.now += 9.0
    assert budget.left()
    budget.has_move = True
    assert budget.left() is None


def test_the_time_of_pondering_counts_when_the_move_was_expected() -> None:
    clock = SetClock()
    budget = SearchBudget(Limit(1.0, 500, time_carries_over=True), waits=True, clock=clock)
    assert not SearchBudget(Limit(1.0), waits=True).is_limited
    budget.has_move = True
    clock.now += 0.8
    assert budget.left() == Limit(None, 500)
    budget.waits = False
    assert budget.is_limited
    assert budget.left() == Limit(pytest.approx(0.2), 500, time_carries_over=True)


def test_nodes_are_counted_over_all_searches() -> None:
    budget = SearchBudget(Limit(None, 1000), waits=False)
    budget.has_move, budget.nodes = True, 100
    assert budget.left() == Limit(None, 900)
    budget.nodes = 1000
    assert budget.left() is None


def test_rounds_share_what_is_left() -> None:
    clock = SetClock()
    budget = SearchBudget(Limit(2.0, 1000), waits=False, clock=clock)
    clock.now += 1.0
    assert budget.share(8, 1, 0.5) == Limit(pytest.approx(1 / 32), 31)
    assert budget.share(3, 3, 0.5) == Limit(pytest.approx(1 / 3), 333)
    assert budget.share(1, 1, 0.5) == budget.left()
    assert SearchBudget(Limit(), waits=True).share(8, 1, 0.5) == Limit(0.5)
    assert SearchBudget(Limit(), waits=True).share(1, 1, 0.5) == Limit(math.inf)
    budget.has_move, budget.nodes = True, 1000
    assert budget.share(8, 1, 0.5) is None
