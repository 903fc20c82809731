"""Games that fail: nobody loses by them, and the operator is sent the game and the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from playout import games
from playout.games.tic_tac_toe import TicTacToe
from playout.protocol.messages import (
    ChallengeBot,
    Code,
    CreateTournament,
    Ended,
    EnterLadder,
    Error,
    Hello,
    Join,
    Move,
    Notice,
    Reason,
    Seek,
    Started,
    Tournament,
    Update,
    Watch,
)
from playout.protocol.tournament_spec import Openings, dumps
from playout.server.core.guarded_game import GuardedGame
from playout.server.core.handlers.ladders import MOST_VOID
from playout.server.core.handlers.tournaments import MOST_ATTEMPTS
from playout.server.model.offered_bots import parse_offered_bots
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    StoredMatch,
    StoredTournament,
    TournamentCreated,
)
from support.hub_harness import (
    HubHarness,
    MemoryClient,
    administrator,
    match_between,
    only,
    sit_down,
)
from support.tournaments import member, spec_of

#: A value that a function of a game may not return.
Wrong = Callable[[], object]


def fail() -> object:
    raise RuntimeError("I would rather not")


class FailingGame(TicTacToe):
    """Tic-tac-toe, one of whose functions fails once it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = "faulty"
        self.fault: tuple[str, Wrong] | None = None

    def __getattribute__(self, name: str) -> Any:
        fault = super().__getattribute__("__dict__").get("fault")
        if fault and fault[0] == name:
            return lambda *arguments: fault[1]()
        return super().__getattribute__(name)


@pytest.fixture
def game(monkeypatch: pytest.MonkeyPatch) -> FailingGame:
    faulty = FailingGame()
    monkeypatch.setattr(games, "load", lambda text: faulty)
    return faulty


def seated(harness: HubHarness) -> tuple[MemoryClient, MemoryClient, str]:
    """Two members in a rated match, in which both have moved."""
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    match = match_between(ann, bob, clock="60+1", rated=True)
    ann.ask(Move(match=match, ply=0, action=0), Update)
    bob.ask(Move(match=match, ply=1, action=3), Update)
    return ann, bob, match


def require_told(harness: HubHarness, *words: str) -> None:
    """Check that the operator was told of one fault, with these words."""
    (line,) = (each for each in harness.logged if "has failed" in each or "cannot" in each)
    assert all(word in line for word in ("faulty", *words)), line


WRONG: tuple[tuple[str, Wrong], ...] = (
    *((name, fail) for name in ("step", "winner", "returns", "current_player")),
    ("step", lambda: None),
    ("step", lambda: (("x", 0), ())),
    ("step", lambda: ((2**70, 0), ())),
    ("step", lambda: ((1, 0), (0.5,))),
    ("winner", lambda: 3),
    ("winner", lambda: None),
    ("current_player", lambda: 0),
    ("returns", lambda: (float("nan"), 0.0)),
    ("returns", lambda: (1.0,)),
)


@pytest.mark.parametrize(("function", "wrong"), WRONG)
def test_a_match_of_a_game_that_fails_has_no_result(
    game: FailingGame, function: str, wrong: Wrong
) -> None:
    harness = HubHarness()
    ann, bob, match = seated(harness)
    state = harness.matches[match].state
    game.fault = function, wrong
    error, ended = ann.say(Move(id=7, match=match, ply=2, action=1))
    assert isinstance(error, Error)
    assert (error.code, error.re) == (Code.INTERNAL, 7)
    assert isinstance(ended, Ended)
    assert (ended.winner, ended.reason, ended.returns) == (0, Reason.ABORTED, (0.0, 0.0))
    assert ended.state == state
    assert bob.heard(Ended) == [ended]
    assert "faulty" in ended.text
    record = harness.stored[-1]
    assert isinstance(record, MatchEnded)
    assert (record.winner, record.reason) == (0, Reason.ABORTED)
    require_told(harness, match, function if function != "step" else "", "state")


def test_the_operator_is_sent_the_state_the_action_and_the_line_of_code(game: FailingGame) -> None:
    harness = HubHarness()
    ann, _, match = seated(harness)
    game.fault = "step", fail
    ann.say(Move(match=match, ply=2, action=1))
    state = "(1, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0)"
    require_told(harness, state, "action 1", "RuntimeError: I would rather not", __file__)


def test_an_error_for_an_illegal_action_is_a_refusal(game: FailingGame) -> None:
    """So nobody ends a match by an action that the author of the game has not thought of."""
    harness = HubHarness()
    ann, _, match = seated(harness)
    game.fault = "step", fail
    assert ann.refused(Move(match=match, ply=2, action=99)) is Code.ILLEGAL_ACTION
    assert ann.refused(Move(match=match, ply=2, action=0)) is Code.ILLEGAL_ACTION
    assert match in harness.matches


def test_numbers_of_numpy_are_sent_as_numbers(game: FailingGame) -> None:
    harness = HubHarness()
    ann, bob, match = seated(harness)
    after, legal = game.step(harness.matches[match].state, 1)
    values = [np.array(each, dtype=np.int64) for each in (after, legal)]
    game.fault = "step", lambda: (tuple(values[0]), tuple(values[1]))
    assert ann.ask(Move(match=match, ply=2, action=1), Update).state == after
    assert bob.heard(Update)[-1].legal_actions == legal


@pytest.mark.parametrize("asks", [Watch, Hello])
def test_a_match_ends_if_its_legal_actions_cannot_be_sent(game: FailingGame, asks: type) -> None:
    harness = HubHarness()
    ann, bob, match = seated(harness)
    harness.matches[match]._legal = None
    game.fault = "legal_actions", fail
    if asks is Watch:
        eve = harness.client("Eve", role="spectator", legal_actions=True)
        assert eve.ask(Watch(match=match), Started).legal_actions is None
    else:
        ann.hang_up()
        harness.client("Ann", session=ann.token, legal_actions=True)
    assert only(bob.inbox, Ended).reason is Reason.ABORTED
    require_told(harness, "legal_actions")


def test_other_matches_continue(game: FailingGame) -> None:
    harness = HubHarness()
    ann, _, match = seated(harness)
    cyd, dan = harness.client("Cyd"), harness.client("Dan")
    other = match_between(cyd, dan)
    game.fault = "step", fail
    ann.say(Move(match=match, ply=2, action=1))
    game.fault = None
    cyd.ask(Move(match=other, ply=0, action=0), Update)
    assert list(harness.matches) == [other]


def test_a_player_that_needs_views_does_not_lose_by_a_view_that_fails(game: FailingGame) -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness, views=True)
    game.fault = "view", fail
    ann.say(Move(match=match, ply=0, action=0))
    assert only(bob.inbox, Ended).reason is Reason.ABORTED
    require_told(harness, "RuntimeError: I would rather not")


@pytest.mark.parametrize("function", ["initial_state", "current_player"])
def test_seeks_of_a_game_that_fails_are_closed(game: FailingGame, function: str) -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    game.fault = function, fail
    ann.say(Seek(game="faulty"))
    bob.say(Seek(game="faulty"))
    for client in (ann, bob):
        assert only(client.inbox, Notice).code == "game_failed"
    assert not harness.hub.lobby
    require_told(harness, "RuntimeError")


def test_a_bot_of_a_game_that_fails_ends(game: FailingGame) -> None:
    harness = HubHarness(bots=1, offered=parse_offered_bots(["random"]))
    ann = harness.client("Ann")
    game.fault = "initial_state", fail
    ann.say(ChallengeBot(player="random", game="faulty"))
    (bot,) = harness.bots.values()
    harness.client(bot.name, session=bot.token)
    assert only(ann.inbox, Notice).code == "game_failed"
    assert not harness.bots
    assert len(harness.hub.bots) == 0


@pytest.mark.parametrize("function", ["initial_state", "next_state", "legal_actions"])
def test_a_ladder_of_a_game_that_fails_sends_all_away(game: FailingGame, function: str) -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    game.fault = function, fail
    for _ in range(2):
        ann.say(EnterLadder(game="faulty"))
        bob.say(EnterLadder(game="faulty"))
    for client in (ann, bob):
        assert client.heard(Notice)[-1].code == "ladder_left"
    assert not harness.matches
    game.fault = None
    ann.say(EnterLadder(game="faulty"))
    bob.say(EnterLadder(game="faulty"))
    assert len(harness.matches) == 1


def test_a_ladder_of_a_game_that_fails_late_ends_after_some_matches(game: FailingGame) -> None:
    harness = HubHarness()
    players = {name: member(harness, name) for name in ("Ann", "Bob")}
    for client in players.values():
        client.say(EnterLadder(game="faulty"))
    for _ in range(MOST_VOID):
        match = harness.only_match()
        mover = players[match.players[match.to_move - 1]]
        action = match.legal_actions()[0]
        game.fault = "step", fail
        mover.say(Move(match=match.id, ply=match.ply, action=action))
        game.fault = None
        harness.finish_jobs()
    assert not harness.matches
    assert all(not each.winner for each in harness.stored if isinstance(each, MatchEnded))


def test_a_tournament_ends_if_its_game_fails_again_and_again(game: FailingGame) -> None:
    harness = HubHarness()
    zoe = administrator(harness, "Zoe")
    zoe.ask(CreateTournament(id=1, spec=spec_of(games=("faulty",))), Tournament)
    players = {name: member(harness, name) for name in ("Ann", "Bob")}
    for client in players.values():
        client.say(Join())
    for _ in range(MOST_ATTEMPTS):
        game.fault = None
        match = next(each for each in harness.matches.values())
        game.fault = "step", fail
        players[match.players[0]].say(Move(match=match.id, ply=0, action=0))
        game.fault = None
        harness.finish_jobs()
    assert not harness.matches
    assert "tournament_failed" in [each.code for each in zoe.heard(Notice)]


@pytest.mark.parametrize(("plies", "function"), [(0, "initial_state"), (2, "next_state")])
def test_a_tournament_whose_game_does_not_begin_ends(
    game: FailingGame, plies: int, function: str
) -> None:
    harness = HubHarness()
    zoe = administrator(harness, "Zoe")
    spec = spec_of(games=("faulty",), openings=Openings(plies=plies))
    zoe.ask(CreateTournament(id=1, spec=spec), Tournament)
    game.fault = function, fail
    for name in ("Ann", "Bob"):
        member(harness, name).say(Join())
    harness.finish_jobs()
    assert not harness.matches
    assert "tournament_failed" in [each.code for each in zoe.heard(Notice)]
    require_told(harness, "RuntimeError")


@pytest.mark.parametrize("function", ["initial_state", "next_state", "winner"])
def test_a_match_of_a_game_that_fails_after_a_restart_stays_as_it_is(
    game: FailingGame, function: str
) -> None:
    harness = HubHarness()
    _, _, match = seated(harness)
    records = harness.stored
    (started,) = (each for each in records if isinstance(each, MatchStarted))
    moves = tuple(each for each in records if isinstance(each, MovePlayed))
    game.fault = function, fail
    again = HubHarness()
    again.do(again.hub.restore_matches([StoredMatch(started=started, moves=moves)], 0.0))
    assert not again.matches
    require_told(again, match, function, "cannot continue")


def test_a_tournament_of_a_game_that_fails_after_a_restart_stays_as_it_is(
    game: FailingGame,
) -> None:
    spec = spec_of(games=("faulty",), openings=Openings(plies=2, near=2))
    created = TournamentCreated(tournament="t", name=spec.name, spec=dumps(spec), at=0.0)
    game.fault = "initial_state", fail
    harness = HubHarness()
    harness.hub.restore_tournaments([StoredTournament(created=created)])
    harness.wait(0.1)
    harness.client("Ann")
    assert any("cannot continue" in each and "I would rather not" in each
               for each in harness.logged)  # fmt: skip


def test_the_first_position_is_checked(game: FailingGame) -> None:
    assert GuardedGame(game).start().returns == (0.0, 0.0)
