"""The spectators of a match: moves are sent to them later, if the tournament says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from playout.protocol.messages import (
    REQUESTS,
    SESSIONS,
    Analysis,
    Ended,
    Join,
    Move,
    MoveAnalysis,
    Request,
    Resign,
    Started,
    SubscribeLobby,
    Update,
    Watch,
)
from playout.protocol.tournament_spec import Openings
from playout.server.core.match import shown_plies
from support.hub_harness import HubHarness, only
from support.protocol_document import examples_of
from support.tournaments import account, member, new_tournament, spec_of, stored_tournament

DELAY = 4
OPENING = (10, 20)
#: Two ways to go on, of moves that are legal in any order.
ONE, OTHER = (0, 1, 2, 3, 4, 5, 6, 7), (40, 41, 42, 43, 44, 45, 46, 47)


class DelayedMatch:
    """A match of a tournament with a delay, its players, and a spectator."""

    def __init__(self, delay: int = DELAY, game: str = "mnk(m=7,n=7,k=7)") -> None:
        self.harness = HubHarness()
        self.players = [member(self.harness, name) for name in ("Ann", "Bob")]
        openings = Openings(lines={game: (OPENING,)}) if game.startswith("mnk") else Openings()
        spec = spec_of(games=(game,), delay=delay, concurrency=1, clock="300+3", openings=openings)
        new_tournament(self.harness, spec)
        for each in self.players:
            each.say(Join())
        self.started = only(self.players[0].inbox, Started)
        self.match = self.started.match
        self.eve = self.harness.client("Eve", role="spectator", views=True, legal_actions=True)

    def play(self, moves: Sequence[int], ply: int = len(OPENING)) -> None:
        """Make the moves from number `ply` on, each with an analysis and after a second."""
        for number, action in enumerate(moves, start=ply):
            self.harness.wait(1.0)
            info = Analysis(win_rate=action / 100, pv=(action, 48))
            seat = number % 2 if self.started.seat == 1 else 1 - number % 2
            move = Move(match=self.match, ply=number, action=action, info=info)
            self.players[seat].say(move)

    def watch(self) -> Started:
        return self.eve.ask(Watch(match=self.match), Started)


@pytest.mark.parametrize(
    ("movers", "opening", "delay", "shown"),
    [
        ((1, 2, 1, 2), 0, 0, 4),
        ((1, 2, 1, 2), 0, 3, 1),
        ((1, 2, 1, 2), 0, 9, 0),
        ((1, 2, 1, 2), 3, 2, 3),
        ((0, 1, 0, 2, 0), 0, 0, 5),
        ((0, 1, 0, 2, 0), 0, 1, 3),
        ((0, 1, 0, 2, 0), 0, 2, 3),
        ((0, 1, 0, 2, 0), 0, 3, 1),
        ((0, 1, 0, 2, 0), 0, 9, 1),
        ((1, 0, 2, 0), 1, 9, 2),
        ((), 0, 5, 0),
    ],
)
def test_a_move_is_shown_with_its_rolls_and_the_opening_always(
    movers: tuple[Any, ...], opening: int, delay: int, shown: int
) -> None:
    assert shown_plies(movers, opening, delay) == shown


def test_spectators_are_sent_each_move_after_so_many_others_and_the_rest_at_the_end() -> None:
    table = DelayedMatch()
    started = table.watch()
    assert (started.moves, started.delay, started.seat) == (OPENING, DELAY, None)
    assert (table.started.delay, table.started.seat is None) == (0, False)
    for number in range(len(ONE)):
        table.play(ONE[number : number + 1], ply=2 + number)
        shown = [each.action for each in table.eve.heard(Update)]
        assert shown == list(ONE[: max(0, number + 1 - DELAY)])
    late = table.harness.client("Lea", role="spectator", views=True, legal_actions=True)
    seen = late.ask(Watch(match=table.match, preview=True), Started)
    assert seen.moves == (*OPENING, *ONE[:-DELAY])
    assert seen.clocks == table.eve.heard(Update)[-1].clocks
    assert (seen.state, seen.view) == (
        table.eve.heard(Update)[-1].state,
        table.eve.heard(Update)[-1].view,
    )
    table.players[0].say(Resign(match=table.match))
    assert [each.action for each in late.heard(Update)] == list(ONE[-DELAY:])
    assert [each.action for each in table.eve.heard(Update)] == list(ONE)
    assert [each.ply for each in table.eve.heard(MoveAnalysis)] == list(range(2, 10))
    assert isinstance(late.inbox[-1], Ended)


def test_with_a_delay_of_ten_moves_each_analysis_comes_with_its_move() -> None:
    table = DelayedMatch(delay=10)
    table.watch()
    table.play([*ONE, 30, 31, 32, 33])
    assert [each.ply for each in table.eve.heard(Update)] == [2, 3]
    assert [each.ply for each in table.eve.heard(MoveAnalysis)] == [2, 3]


def about_matches() -> list[type[Request]]:
    """The requests that a spectator may send about a match, or about all."""
    return [each for each in REQUESTS if each.sent_by >= SESSIONS]


def seen_by_a_spectator(hidden: Sequence[int]) -> list[bytes]:
    """Everything that a spectator is sent: before, between and after moves that are not shown."""
    table = DelayedMatch()
    table.eve.say(SubscribeLobby())
    table.watch()
    requests = [example for kind in about_matches() for example in examples_of(kind)]

    def ask() -> None:
        for each in requests:
            fields = {"match": table.match, "re": None}
            given = {name: fields[name] for name in each.__struct_fields__ if name in fields}
            table.eve.say(msgspec.structs.replace(each, **given))
        table.watch()

    ask()
    for number, action in enumerate(hidden):
        table.play([action], ply=2 + number)
        ask()
    return [msgspec.msgpack.encode(each) for each in table.eve.inbox]


def test_nothing_that_a_spectator_can_ask_for_depends_on_the_hidden_moves() -> None:
    assert len(about_matches()) > 20
    assert seen_by_a_spectator(ONE[:DELAY]) == seen_by_a_spectator(OTHER[:DELAY])
    assert seen_by_a_spectator(ONE[: DELAY + 1]) != seen_by_a_spectator(OTHER[: DELAY + 1])


def test_the_delay_holds_after_a_restart_of_the_server() -> None:
    table = DelayedMatch()
    table.play(ONE[:6])
    stored = stored_tournament(table.harness.stored)
    again = HubHarness()
    for name in ("Ann", "Bob"):
        account(again, name)
    again.hub.restore_tournaments([stored])
    again.do(again.hub.restore_matches(stored.matches, again.now))
    eve = again.client("Eve", role="spectator", views=True)
    assert eve.ask(Watch(match=table.match), Started).moves == (*OPENING, *ONE[:2])
