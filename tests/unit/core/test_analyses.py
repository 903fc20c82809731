"""Analyses of positions: permission, order, duration, reports and their end."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from playout import games
from playout.protocol.messages import (
    Analyse,
    AnalysisQueued,
    AnalysisUpdate,
    Code,
    Error,
    Ok,
    StopAnalysis,
    Watch,
    Welcome,
)
from playout.server.core.handlers.analyses import LATE_AFTER_REPORT_S, LATE_S, TURN_S
from playout.server.model.offered_bots import parse_offered_bots
from support.hub_harness import (
    GAME,
    THOUGHT,
    WON,
    HubHarness,
    MemoryClient,
    hello_of,
    match_between,
    play,
)

OPEN_SPIEL = pytest.mark.skipif(
    "open_spiel" not in games.names(), reason="OpenSpiel is not installed"
)
OFFERED = parse_offered_bots(["Ursa:strong=uct(time=1)", "Randy:easy=random", "Max=minimax"])
ASKED = Analyse(game=GAME, moves=(4, 0))


def host(**policy: Any) -> HubHarness:
    """A server that offers bots for analyses, but none for matches."""
    return HubHarness(**{"offered": OFFERED} | policy)


def the_analysis(harness: HubHarness) -> str:
    (analysis,) = harness.analyses
    return analysis


def places(client: MemoryClient) -> list[int]:
    return [each.place for each in client.heard(AnalysisQueued)]


def ends(client: MemoryClient) -> list[str]:
    """The texts of the analyses whose end the client was sent."""
    return [each.text for each in client.heard(AnalysisUpdate) if each.over]


def test_the_strongest_bot_analyses_and_its_reports_are_passed_on() -> None:
    harness = host()
    ann = harness.client("Ann", role="spectator")
    queued = ann.ask(Analyse(id=1, game="nim ( chips = 15 )", moves=(2,), played=1), AnalysisQueued)
    order = harness.analyses[queued.analysis]
    assert (queued.re, queued.bot, queued.seconds, queued.place) == (1, "Ursa", 10.0, 0)
    assert (order.player, order.game, order.moves) == ("uct(time=1)", "nim", (2,))
    assert (order.played, order.seconds) == (1, 10.0)
    harness.report(queued.analysis, THOUGHT)
    harness.report(queued.analysis)
    thought, over = ann.heard(AnalysisUpdate)
    assert (thought.info, thought.over) == (THOUGHT, False)
    assert (over.info, over.over, over.text) == (None, True, "")
    ann.hang_up()
    harness.wait(harness.policy.reconnect_s)
    assert harness.is_empty()


@pytest.mark.parametrize("bot", ["Randy", "randy", "random"])
def test_a_bot_is_asked_by_its_name_or_its_player(bot: str) -> None:
    harness = host()
    assert harness.client("Ann").ask(Analyse(game=GAME, bot=bot), AnalysisQueued).bot == "Randy"


@pytest.mark.parametrize(
    ("policy", "fields", "code", "text"),
    [
        ({"analyses": 0}, {}, Code.NOT_ALLOWED, "analyses no positions"),
        ({"offered": ()}, {}, Code.NOT_ALLOWED, "analyses no positions"),
        ({}, {"bot": "rm -rf"}, Code.NOT_ALLOWED, "there are: Ursa, Randy, Max"),
        ({}, {"game": "ludo"}, Code.BAD_GAME, "ludo"),
    ],
)
def test_an_analysis_is_refused(
    policy: dict[str, Any], fields: dict[str, Any], code: Code, text: str
) -> None:
    (error,) = host(**policy).client("Ann").say(Analyse(**{"game": GAME} | fields))
    assert isinstance(error, Error)
    assert error.code is code
    assert text in error.text


def test_the_seconds_are_those_that_are_asked_for_but_not_more_than_allowed() -> None:
    harness = host(analysis_s=5.0)
    ann = harness.client("Ann")
    for asked, given in ((1.5, 1.5), (50.0, 5.0), (0.0, 5.0), (None, 5.0)):
        queued = ann.ask(Analyse(game=GAME, seconds=asked), AnalysisQueued)
        assert queued.seconds == given
        harness.report(queued.analysis)


def test_a_player_cannot_have_its_own_game_analysed() -> None:
    harness = host()
    ann, bob, cy = harness.client("Ann"), harness.client("Bob"), harness.client("Cy")
    match = match_between(ann, bob)
    assert ann.refused(ASKED) is bob.refused(ASKED) is Code.NOT_ALLOWED
    assert cy.ask(ASKED, AnalysisQueued)
    assert ann.ask(Analyse(game="nim"), AnalysisQueued)
    play(match, (ann, bob), WON)
    assert ann.ask(ASKED, AnalysisQueued)


def test_other_parameters_of_a_game_that_is_played_are_not_analysed_either() -> None:
    harness = host()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    match_between(ann, bob, game="othello(size=6)")
    assert ann.refused(Analyse(game="othello")) is Code.NOT_ALLOWED


@pytest.mark.parametrize(
    ("played", "asked"),
    [
        ("gomoku(size=9)", "mnk(m=9,n=9,k=5)"),
        ("mnk(m=9,n=9,k=5)", "gomoku(size=9)"),
        ("gomoku(size=9)", "mnk(m=10,n=9,k=5)"),
        ("tic_tac_toe", "mnk(m=3,n=3,k=3)"),
        pytest.param("gomoku", "open_spiel(game=gomoku)", marks=OPEN_SPIEL),
        pytest.param("open_spiel(game=chess)", "chess", marks=OPEN_SPIEL),
        pytest.param("kalah", "open_spiel(game=mancala)", marks=OPEN_SPIEL),
    ],
)
def test_a_game_that_is_played_is_not_analysed_by_another_name(played: str, asked: str) -> None:
    harness = host()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    match_between(ann, bob, game=played)
    assert ann.refused(Analyse(game=asked)) is Code.NOT_ALLOWED
    assert ann.ask(Analyse(game="nim"), AnalysisQueued)
    assert harness.client("Cy").ask(Analyse(game=asked), AnalysisQueued)


@OPEN_SPIEL
def test_other_games_of_open_spiel_are_analysed() -> None:
    harness = host()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    match_between(ann, bob, game="open_spiel(game=hex)")
    assert ann.refused(Analyse(game="hex(size=5)")) is Code.NOT_ALLOWED
    assert ann.ask(Analyse(game="open_spiel(game=twixt)"), AnalysisQueued)


def test_an_analysis_ends_when_a_match_of_the_game_begins() -> None:
    harness = host()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    ann.say(ASKED)
    match_between(ann, bob)
    harness.report(the_analysis(harness), THOUGHT)
    assert ends(ann) == ["you play a match of this game"]
    assert not any(each.info for each in ann.heard(AnalysisUpdate))
    assert harness.ending_analyses == [the_analysis(harness)]


def test_a_person_has_one_analysis_at_a_time() -> None:
    harness = host(analyses=2)
    ann = harness.client("Ann")
    ann.say(ASKED)
    first = the_analysis(harness)
    second = ann.ask(Analyse(game="nim"), AnalysisQueued).analysis
    assert harness.ending_analyses == [first]
    assert ends(ann) == ["another analysis of yours has begun"]
    harness.report(first, THOUGHT)
    harness.report(first)
    assert len(ann.heard(AnalysisUpdate)) == 1
    assert the_analysis(harness) == second


def test_waiting_analyses_are_sent_their_places() -> None:
    harness = host()
    ann, bob, cy = harness.client("Ann"), harness.client("Bob"), harness.client("Cy")
    for each in (ann, bob, cy):
        each.say(ASKED)
    assert [places(each) for each in (ann, bob, cy)] == [[0], [1], [2]]
    harness.report(the_analysis(harness))
    assert len(harness.analyses) == 1
    harness.report(the_analysis(harness), THOUGHT)
    assert bob.heard(AnalysisUpdate)[0].info == THOUGHT
    assert places(cy) == [2, 1]


def test_while_others_wait_an_analysis_has_a_short_turn_from_its_first_report() -> None:
    harness = host()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    ann.say(ASKED)
    bob.say(ASKED)
    harness.wait(3 * TURN_S)
    assert not harness.ending_analyses
    harness.report(the_analysis(harness), THOUGHT)
    harness.wait(TURN_S)
    assert harness.ending_analyses == [the_analysis(harness)]
    assert ends(ann) == [f"others wait: each analysis has {TURN_S:g} seconds"]
    assert len(harness.analyses) == 1, "its process has not ended it yet"
    harness.report(the_analysis(harness))
    harness.report(the_analysis(harness), THOUGHT)
    harness.wait(3 * TURN_S)
    assert not ends(bob)


def test_an_analysis_that_does_not_end_is_ended() -> None:
    harness = host(analysis_s=5.0)
    ann = harness.client("Ann")
    ann.say(ASKED)
    harness.wait(5.0 + LATE_S)
    assert ends(ann) == ["the server is too busy: try again later"]
    assert harness.ending_analyses == [the_analysis(harness)]


def test_an_analysis_that_does_not_end_after_its_first_report_is_ended_soon() -> None:
    harness = host(analysis_s=5.0)
    ann = harness.client("Ann")
    ann.say(ASKED)
    harness.wait(7.0)
    harness.report(the_analysis(harness), THOUGHT)
    harness.wait(5.0 + LATE_AFTER_REPORT_S)
    assert ends(ann) == ["the server is too busy: try again later"]


def test_a_failure_is_sent() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(ASKED)
    harness.report(the_analysis(harness), error="move 1 is not legal: action 4")
    assert ends(ann) == ["move 1 is not legal: action 4"]


def test_only_its_own_session_ends_an_analysis() -> None:
    harness = host()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    ann.say(ASKED)
    analysis = the_analysis(harness)
    assert bob.ask(StopAnalysis(analysis=analysis), Ok)
    assert not harness.ending_analyses
    over, ok = ann.say(StopAnalysis(id=3, analysis=analysis))
    assert over == AnalysisUpdate(analysis=analysis, over=True)
    assert ok == Ok(re=3)
    assert harness.ending_analyses == [analysis]
    assert ann.ask(StopAnalysis(analysis=analysis), Ok)


def test_the_analyses_of_a_lost_connection_end() -> None:
    harness = host()
    ann, bob, cy = harness.client("Ann"), harness.client("Bob"), harness.client("Cy")
    for each in (ann, bob, cy):
        each.say(ASKED)
    first = the_analysis(harness)
    bob.hang_up()
    ann.hang_up()
    assert harness.ending_analyses == [first]
    harness.report(first)
    harness.report(the_analysis(harness), THOUGHT)
    assert cy.heard(AnalysisUpdate)[0].info == THOUGHT


def test_not_too_many_wait() -> None:
    harness = host(analyses_waiting=2)
    for number in range(3):
        harness.client(f"guest {number}").say(ASKED)
    (error,) = harness.client("Ann").say(ASKED)
    assert isinstance(error, Error)
    assert error.code is Code.TOO_MANY
    assert error.text == "2 analyses wait, and the queue is full: try again in a minute"


def test_addresses_take_turns_and_the_largest_makes_room() -> None:
    harness = host(analyses_waiting=4)
    flooders = [harness.client(f"guest {number}") for number in range(5)]
    for each in flooders:
        each.say(ASKED)

    def other(name: str) -> MemoryClient:
        client = harness.connect("198.51.100.7")
        client.welcome = client.ask(hello_of(name), Welcome)
        client.say(ASKED)
        return client

    honest, second = other("Honest"), other("Second")
    assert (places(honest), places(second)) == ([1], [3])
    assert [len(ends(each)) for each in flooders] == [0, 0, 0, 1, 1]
    assert ends(flooders[4]) == ["4 analyses wait, and the queue is full: try again in a minute"]
    (*_, error) = flooders[4].say(ASKED)
    assert isinstance(error, Error)
    assert error.code is Code.TOO_MANY
    harness.report(the_analysis(harness))  # Honest is next, and then a flooder
    assert (places(honest), places(second), places(flooders[1])) == ([1], [3, 2], [1, 1])


def test_an_address_has_not_too_many_analyses_an_hour() -> None:
    harness = host(analyses_per_hour=2)
    ann = harness.client("Ann")
    for _ in range(2):
        ann.say(ASKED)
    (*_, error) = ann.say(ASKED)
    assert isinstance(error, Error)
    assert error.code is Code.RATE_LIMITED
    assert error.text.startswith("your address may have 2 positions analysed an hour, and has; try")


def test_an_analysis_that_is_over_keeps_no_session() -> None:
    harness = host()
    gc.disable()
    try:
        ann = harness.client("Ann")
        (session,) = map(weakref.ref, harness.hub.registry.sessions.values())
        ann.ask(ASKED, AnalysisQueued)
        analysis = the_analysis(harness)
        ann.hang_up()
        harness.report(analysis)
        harness.wait(600)
        assert session() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("role", "rated", "helped"),
    [("human", False, False), ("human", True, False), ("bot", False, True)],
)
def test_spectators_of_people_who_could_gain_get_no_help(
    role: str, rated: bool, helped: bool
) -> None:
    harness = host()
    ann, bob = (harness.client(name, role=role, guest=not rated) for name in ("Ann", "Bob"))
    cy = harness.client("Cy", role="spectator")
    match = match_between(ann, bob, rated=rated)
    cy.say(Watch(match=match))
    answer = cy.say(ASKED)[-1]
    assert isinstance(answer, AnalysisQueued) == helped
    if not helped:
        assert isinstance(answer, Error)
        assert answer.code is Code.NOT_ALLOWED
        assert cy.ask(Analyse(game="nim"), AnalysisQueued)
    play(match, (ann, bob), WON)
    assert cy.ask(ASKED, AnalysisQueued)
