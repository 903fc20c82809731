"""Views: a client can draw a match without knowing its rules."""

from __future__ import annotations

from typing import Any

import pytest

from playout import games
from playout.games import Position
from playout.games.core.view import BoardView, draw
from playout.games.tic_tac_toe import TicTacToe
from playout.protocol.messages import (
    Analysis,
    AnswerOffer,
    Ended,
    Move,
    MoveAnalysis,
    Offer,
    Resign,
    Started,
    TakeOver,
    Update,
    Watch,
)
from playout.server.core.view import (
    DELAY_PLIES,
    NAMED,
    board_of,
    drawn,
    legal_moves_of,
    position_view_of,
)
from support.hub_harness import HubHarness, MemoryClient, match_between, only, sit_down
from support.variants import EXAMPLES


def watcher(harness: HubHarness, name: str, **hello: Any) -> MemoryClient:
    return harness.client(name, role="spectator", **hello)


def test_the_board_and_the_first_position_come_with_the_start() -> None:
    harness = HubHarness()
    ann, bob, _ = sit_down(harness, views=True)
    (started,) = ann.heard(Started)
    assert started.board
    assert (started.board.rows, started.board.columns) == (3, 3)
    assert started.board.column_labels == ("a", "b", "c")
    assert started.view
    assert started.view.cells == (0,) * 9
    assert (started.view.last, started.view.name) == ((), None)
    assert started.legal_moves
    assert [(each.action, each.cells) for each in started.legal_moves] == [
        (a, (a,)) for a in range(9)
    ]
    (started,) = bob.heard(Started)
    assert (started.board, started.view, started.legal_moves) == (None, None, None)


def test_legal_moves_are_for_the_player_to_move() -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann", views=True), harness.client("Bob", views=True)
    eve = watcher(harness, "Eve", views=True)
    match = match_between(ann, bob)
    assert eve.ask(Watch(match=match), Started).legal_moves is None
    (started,) = bob.heard(Started)
    assert started.legal_moves is None
    ann.say(Move(match=match, ply=0, action=4))
    told = {client: only(client.inbox, Update) for client in (ann, bob, eve)}
    assert [update.legal_moves is None for update in told.values()] == [True, False, True]
    for update in told.values():
        assert update.view
        assert update.view.cells == (0, 0, 0, 0, 1, 0, 0, 0, 0)
        assert (update.view.last, update.view.name) == ((4,), "b2")


def test_a_player_that_comes_back_is_sent_its_legal_moves() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness, views=True)
    ann.say(Move(match=match, ply=0, action=4))
    bob.say(Move(match=match, ply=1, action=0))
    ann.hang_up()
    again = harness.client("Ann", session=ann.token, views=True)
    started = only(again.inbox, Started)
    assert started.view
    assert (started.view.last, started.view.name) == ((0,), "a1")
    assert started.legal_moves
    assert [choice.name for choice in started.legal_moves] == [
        "b1",
        "c1",
        "a2",
        "c2",
        "a3",
        "b3",
        "c3",
    ]


LONG = "nim(chips=200)"


def played(match: str, players: tuple[MemoryClient, MemoryClient], *plies: int) -> None:
    """Make these moves of a match of Nim, each with an analysis."""
    for ply in plies:
        info = Analysis(win_rate=ply / 100, pv=(0,) * 50)
        players[ply % 2].say(Move(match=match, ply=ply, action=0, info=info))


def test_an_analysis_is_shown_some_moves_later_or_at_the_end() -> None:
    harness = HubHarness(take_over_after_s=0.0)
    ann, bob, eve = harness.client("Ann"), harness.client("Bob"), watcher(harness, "Eve")
    match = match_between(ann, bob, game=LONG)
    played(match, (ann, bob), *range(3))
    preview = watcher(harness, "Zoe")
    preview.ask(Watch(match=match, preview=True), Started)
    for client in (eve, ann):
        client.ask(Watch(match=match), Started)
    played(match, (ann, bob), *range(3, DELAY_PLIES))
    assert not eve.heard(MoveAnalysis)
    played(match, (ann, bob), DELAY_PLIES, DELAY_PLIES + 1)
    shown = eve.heard(MoveAnalysis)
    assert [(each.ply, each.player, each.info.win_rate) for each in shown] == [
        (0, 1, 0.0),
        (1, 2, 0.01),
    ]
    assert len(shown[0].info.pv) == DELAY_PLIES, "only what was played since"
    bob.say(Resign(match=match))
    assert [each.ply for each in eve.heard(MoveAnalysis)] == list(range(DELAY_PLIES + 2))
    assert isinstance(eve.inbox[-1], Ended)
    for client in (ann, bob, preview):
        assert not client.heard(MoveAnalysis)


def test_the_analysis_of_a_move_that_was_taken_back_is_never_shown() -> None:
    harness = HubHarness()
    ann, bob, eve = harness.client("Ann"), harness.client("Bob"), watcher(harness, "Eve")
    match = match_between(ann, bob, game=LONG)
    eve.ask(Watch(match=match), Started)
    played(match, (ann, bob), 0, 1, 2)
    ann.say(Offer(match=match, offer="takeback", ply=3))
    bob.say(AnswerOffer(match=match, offer="takeback", ply=3, accept=True))
    ann.say(Move(match=match, ply=2, action=1))
    bob.say(Resign(match=match))
    assert [each.ply for each in eve.heard(MoveAnalysis)] == [0, 1]


def test_the_analysis_of_the_mover_is_drawn_for_spectators_only() -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann", views=True), harness.client("Bob", views=True)
    match = match_between(ann, bob)
    eve = watcher(harness, "Eve", views=True)
    zoe = watcher(harness, "Zoe")
    for client in (eve, zoe):
        client.ask(Watch(match=match), Started)
    thought = Analysis(
        pv=(4, 0, 4, 8),
        actions=((0, 7, 0.25), (4, 9, 0.5), (99, 50, 1.0)),
        policy=((4, 0.75), (99, 0.25)),
    )
    ann.say(Move(match=match, ply=0, action=4, info=thought))
    bob.say(Resign(match=match))
    (shown,) = eve.heard(MoveAnalysis)
    assert shown.pv == ("b2", "a1"), "up to what is not legal"
    tops = [(top.action, top.name, top.cells, top.visits) for top in shown.candidates]
    assert tops == [(4, "b2", (4,), 9), (0, "a1", (0,), 7)], "and nothing that is not legal"
    assert [top.prior for top in shown.candidates] == [0.75, None]
    for client in (ann, bob, eve):
        (update,) = client.heard(Update)
        assert update.view
        assert (update.view.pv, update.view.candidates) == ((), ())
    (shown,) = zoe.heard(MoveAnalysis)
    assert (shown.info, shown.pv, shown.candidates) == (thought, (), ())


def test_a_session_that_takes_a_seat_stops_watching() -> None:
    harness = HubHarness(take_over_after_s=0.0)
    ann, bob = harness.client("Ann", guest=False), harness.client("Bob")
    match = match_between(ann, bob)
    ann.hang_up()
    again = harness.client("Ann", token=ann.account_token)
    again.ask(Watch(match=match), Started)
    again.ask(TakeOver(match=match), Started)
    again.say(Move(match=match, ply=0, action=4))
    assert len(again.heard(Update)) == 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_game_can_be_drawn_and_clicked_through(name: str) -> None:
    game = games.load(name)
    board = board_of(game)
    position = Position(game)
    while choices := legal_moves_of(position):
        choice = choices[position.ply * 7 % len(choices)]
        position = position.play(choice.action)
        picture = position_view_of(position)
        assert len(picture.cells) == board.rows * board.columns
        assert (set(choice.cells) <= set(picture.last), picture.name) == (True, choice.name)
        assert all(0 <= cell < len(picture.cells) for cell in choice.cells)
    assert position.winner


def named_moves(game: games.Game, *names: str) -> Position:
    """The position after moves by their names."""
    position = Position(game)
    for name in names:
        position = position.play(game.parse_action(position.state, name))
    return position


def test_a_small_board_that_is_won_is_said_to_be_somebodys() -> None:
    game = games.load("ultimate_tic_tac_toe")
    position = named_moves(game, "i3", "i7", "g3", "c7", "h3")
    owners = [position_view_of(position.at(ply)).blocks for ply in range(6)]
    assert owners == [(0,) * 9] * 5 + [(0, 0, 1, 0, 0, 0, 0, 0, 0)]


def test_the_last_cells_are_those_of_all_moves_of_the_last_player_in_a_row() -> None:
    game = games.load("amazons(size=6)")
    position = named_moves(game, "a2", "d2", "d3", "b6", "b3", "a2")
    last = [position_view_of(position.at(ply)).last for ply in range(7)]
    assert last == [(), (24,), (24, 27), (24, 27, 21), (1,), (1, 19), (1, 19, 24)]


def test_named_candidates_are_limited_and_include_the_played_move() -> None:
    game = games.load("gomoku")
    actions = tuple((action, action, 0.5) for action in range(225))
    info = Analysis(pv=tuple(range(100)), actions=actions)
    picture = position_view_of(Position(game, [7]), info)
    assert len(picture.pv) == NAMED
    assert [top.action for top in picture.candidates] == [*range(224, 224 - NAMED, -1), 7]


class Shy(TicTacToe):
    """A game whose view fails after the first move."""

    def view(self, state: games.State) -> BoardView:
        if any(state[2:]):
            raise RuntimeError("I would rather not")
        return super().view(state)


def test_a_game_that_cannot_be_drawn_is_played_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(games, "load", lambda text: Shy())
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    eve = watcher(harness, "Eve", views=True)
    eve.ask(Watch(match=match), Started)
    for ply, action in enumerate((0, 3, 1, 4, 2)):
        (ann, bob)[ply % 2].say(Move(match=match, ply=ply, action=action))
    assert [update.view for update in eve.heard(Update)] == [None] * 5
    (client,) = [client for client in harness.logged if "is not drawn" in client]
    assert "RuntimeError: I would rather not" in client
    assert [ended.winner for ended in eve.heard(Ended)] == [1]


@pytest.mark.parametrize("spec", EXAMPLES)
def test_a_position_is_drawn_from_what_clients_are_sent_as_by_its_game(spec: str) -> None:
    game = games.load(spec)
    position = Position(game)
    while position.ply < 4 and position.legal_actions:
        position = position.play(position.legal_actions[-1])
    sent = position_view_of(position)
    assert drawn(board_of(game), sent) == draw(game.view(position.state))
