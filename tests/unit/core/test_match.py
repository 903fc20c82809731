"""A match: its ends, refused moves, and conditions that always hold."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from playout import games
from playout.protocol.messages import ClockState, Code, Reason
from playout.protocol.time_control import parse_time_control
from playout.server.core.match import Match, Refused, Result, Status, Terms
from support.scale import repetitions

WON = (0, 3, 1, 4, 2)
"""
x x x
o o .
. . .
"""
TIED = (0, 1, 2, 4, 3, 5, 7, 6, 8)
"""
x o x
x o o
o x x
"""


def new_match(
    clock_text: str = "none", *, illegal_moves: int = 3, credit_cap_s: float = 0.0
) -> Match:
    terms = Terms(
        parse_time_control(clock_text), illegal_moves=illegal_moves, credit_cap_s=credit_cap_s
    )
    match = Match("m", games.load("tic_tac_toe"), ("Ann", "Bob"), terms)
    match.start(0.0)
    return match


def play(match: Match, *actions: int, now: float = 0.0) -> Match:
    for action in actions:
        assert match.play(match.to_move, match.ply, action, now)
    return match


def refused(
    match: Match, seat: int, ply: int, action: int, now: float = 0.0, lag_s: float = 0.0
) -> Code:
    """The code with which a move is refused; the position stays."""
    before = match.position.moves
    with pytest.raises(Refused) as refusal:
        match.play(seat, ply, action, now, lag_s)
    assert match.position.moves == before
    assert str(refusal.value)
    return refusal.value.code


def lost_by(match: Match, seat: int, reason: Reason) -> bool:
    """Whether it is over, lost by `seat` for that reason."""
    result = match.result
    return (
        match.status is Status.ENDED
        and result is not None
        and (result.winner, result.reason) == (3 - seat, reason)
        and result.returns[seat - 1] == 0.0
        and sum(result.returns) == 1.0
        and match.to_move == 0
        and match.legal_actions() == ()
        and match.deadline() is None
    )


def test_no_player_moves_before_the_start() -> None:
    match = Match("m", games.load("tic_tac_toe"), ("Ann", "Bob"))
    assert match.status is Status.WAITING
    assert refused(match, 1, 0, 0) is Code.NOT_YOUR_TURN
    with pytest.raises(Refused):
        match.resign(1)


@pytest.mark.parametrize(
    ("actions", "winner", "returns", "text"),
    [(WON, 1, (1.0, 0.0), "Ann won"), (TIED, -1, (0.5, 0.5), "a tie")],
)
def test_the_rules_end_it(
    actions: tuple[int, ...], winner: int, returns: tuple[float, float], text: str
) -> None:
    match = play(new_match(), *actions)
    assert match.status is Status.ENDED
    assert match.result == Result(winner, returns, Reason.RULES, text)
    assert match.to_move == 0
    assert refused(match, 2, match.ply, 8) is Code.MATCH_OVER


@pytest.mark.parametrize("seat", [1, 2])
def test_either_may_resign_at_any_time(seat: int) -> None:
    match = play(new_match("10+0"), 4)
    match.resign(seat)
    assert lost_by(match, seat, Reason.RESIGNATION)
    with pytest.raises(Refused):
        match.resign(3 - seat)


@pytest.mark.parametrize("seat", [1, 2])
def test_a_player_that_does_not_come_back_loses(seat: int) -> None:
    match = new_match()
    match.abandon(seat)
    assert lost_by(match, seat, Reason.ABANDONMENT)


@pytest.mark.parametrize(
    ("winner", "returns", "text"),
    [
        (1, (1.0, 0.0), "adjudicated: Ann wins from here"),
        (2, (0.0, 1.0), "adjudicated: Bob wins from here"),
        (-1, (0.5, 0.5), "adjudicated: a tie from here"),
    ],
)
def test_a_proven_result_ends_the_match(
    winner: int, returns: tuple[float, float], text: str
) -> None:
    match = play(new_match("10+0"), 0, 1)
    match.adjudicate(2, winner)
    assert match.result == Result(winner, returns, Reason.ADJUDICATION, text)
    assert match.deadline() is None


def test_a_proof_is_of_one_position() -> None:
    match = play(new_match(), 0, 1)
    for ply, code in ((0, Code.WRONG_PLY), (1, Code.WRONG_PLY), (3, Code.WRONG_PLY)):
        assert adjudication_refused(match, ply) is code
    assert match.status is Status.PLAYING
    play(match, 3, 4, 6)
    assert adjudication_refused(match, 5) is Code.MATCH_OVER


def adjudication_refused(match: Match, ply: int) -> Code:
    with pytest.raises(Refused) as refusal:
        match.adjudicate(ply, 1)
    return refusal.value.code


def test_an_aborted_match_has_no_result() -> None:
    match = new_match("10+0")
    match.abort("the server stopped")
    assert match.result == Result(0, (0.0, 0.0), Reason.ABORTED, "the server stopped")


def test_the_first_end_counts() -> None:
    match = play(new_match("10+0"), *WON)
    ended = match.result
    match.abandon(1)
    match.abort("late")
    assert not match.flag(1000.0)
    assert match.result is ended


def test_the_flag_falls_for_the_player_to_move() -> None:
    match = play(new_match("10+0"), 4, now=3.0)
    assert match.deadline() == 13.0
    assert not match.flag(12.875)
    assert match.flag(13.0)
    assert lost_by(match, 2, Reason.TIME)
    assert not match.flag(14.0)


def test_a_move_that_comes_too_late_loses_and_is_not_made() -> None:
    match = new_match("10+0")
    assert refused(match, 1, 0, 4, now=10.125) is Code.MATCH_OVER
    assert lost_by(match, 1, Reason.TIME)


def test_time_on_the_way_is_credited_up_to_the_cap() -> None:
    match = new_match("10+0", credit_cap_s=0.5)
    assert match.deadline() == 10.5
    assert match.play(1, 0, 4, now=10.25, lag_s=0.25)
    assert match.clock_states(10.25) == (ClockState(0.0, 0), ClockState(10.0, 0))
    with pytest.raises(Refused):
        match.play(2, 1, 0, now=21.0, lag_s=60.0)
    assert lost_by(match, 2, Reason.TIME)


def test_a_lag_below_zero_takes_no_time_away() -> None:
    match = new_match("10+0", credit_cap_s=0.5)
    assert match.play(1, 0, 4, now=1.0, lag_s=-5.0)
    assert match.clock_states(1.0) == (ClockState(9.0, 0), ClockState(10.0, 0))


def test_a_repeated_move_is_recognised_and_not_played_twice() -> None:
    match = play(new_match(), 4, 0)
    assert not match.play(1, 0, 4, 1.0)
    assert not match.play(2, 1, 0, 1.0)
    assert match.position.moves == (4, 0)
    play(match, 8)
    assert not match.play(1, 0, 4, 2.0)


@pytest.mark.parametrize(
    ("seat", "ply", "action", "code"),
    [
        (2, 2, 1, Code.NOT_YOUR_TURN),
        (1, 0, 1, Code.WRONG_PLY),
        (2, 0, 4, Code.WRONG_PLY),
        (1, 3, 1, Code.WRONG_PLY),
        (1, 2, 4, Code.ILLEGAL_ACTION),
        (1, 2, 9, Code.ILLEGAL_ACTION),
        (1, 2, 2**31 - 1, Code.ILLEGAL_ACTION),
    ],
)
def test_a_move_that_does_not_fit_is_refused(seat: int, ply: int, action: int, code: Code) -> None:
    match = play(new_match(), 4, 0)
    assert refused(match, seat, ply, action) is code
    assert match.status is Status.PLAYING


def test_one_illegal_move_too_many_forfeits() -> None:
    match = play(new_match(illegal_moves=2), 4)
    for _ in range(2):
        assert refused(match, 2, 1, 4) is Code.ILLEGAL_ACTION
        assert match.status is Status.PLAYING
    assert refused(match, 2, 1, 4) is Code.ILLEGAL_ACTION
    assert lost_by(match, 2, Reason.ILLEGAL_MOVES)


def test_illegal_moves_are_counted_for_each_player() -> None:
    match = new_match(illegal_moves=1)
    assert refused(match, 1, 0, 9) is Code.ILLEGAL_ACTION
    play(match, 4)
    assert refused(match, 2, 1, 4) is Code.ILLEGAL_ACTION
    assert match.status is Status.PLAYING


def test_neither_out_of_turn_nor_wrong_ply_counts_as_illegal() -> None:
    match = new_match(illegal_moves=0)
    assert refused(match, 2, 0, 4) is Code.NOT_YOUR_TURN
    assert refused(match, 1, 1, 4) is Code.WRONG_PLY
    assert match.status is Status.PLAYING


# Eighths of a second add up exactly.
eighths = st.integers(0, 40).map(lambda n: n / 8)
MAIN_S, INCREMENT_S, CAP_S, ILLEGAL = 20.0, 2.0, 0.5, 1
LIFE = [Status.WAITING, Status.PLAYING, Status.ENDED]


class Refereeing(RuleBasedStateMachine):
    """Two players that send random moves, and the match that referees them."""

    @initialize(spec=st.sampled_from(["tic_tac_toe", "nim(chips=9)", "othello(size=4)"]))
    def begin(self, spec: str) -> None:
        self.game = games.load(spec)
        control = parse_time_control(f"{MAIN_S}+{INCREMENT_S}")
        terms = Terms(control, illegal_moves=ILLEGAL, credit_cap_s=CAP_S)
        self.match = Match("m", self.game, ("Ann", "Bob"), terms)
        self.now = self.moved_at = self.credited_s = 0.0
        self.illegal = {1: 0, 2: 0}
        self.life = [self.match.status]
        self.result: Result | None = None
        self.match.start(self.now)

    def playing(self) -> bool:
        return self.match.status is Status.PLAYING

    @rule(elapsed_s=eighths)
    def let_time_pass(self, elapsed_s: float) -> None:
        self.now += elapsed_s

    @precondition(playing)
    @rule(data=st.data(), lag_s=st.sampled_from([-1.0, 0.0, 0.25, 3.0]))
    def move(self, data: st.DataObject, lag_s: float) -> None:
        match, seat, ply = self.match, self.match.to_move, self.match.ply
        action = data.draw(st.sampled_from(match.legal_actions()))
        used_s = self.now - self.moved_at
        credit_s = min(max(lag_s, 0.0), CAP_S, used_s)
        readings = match.clock_states(self.moved_at)
        assert readings is not None
        if used_s - credit_s > readings[seat - 1].main_s:
            assert refused(match, seat, ply, action, self.now, lag_s) is Code.MATCH_OVER
            assert lost_by(match, seat, Reason.TIME)
            return
        assert match.play(seat, ply, action, self.now, lag_s)
        assert match.position.moves[ply:] == (action,)
        assert match.mover(ply) == seat
        self.credited_s += credit_s
        self.moved_at = self.now

    @precondition(playing)
    @rule(action=st.integers(0, 40))
    def move_illegally(self, action: int) -> None:
        match, seat = self.match, self.match.to_move
        if action in match.legal_actions():
            return
        assert refused(match, seat, match.ply, action, self.now) is Code.ILLEGAL_ACTION
        self.illegal[seat] += 1
        assert self.playing() is (self.illegal[seat] <= ILLEGAL)

    @rule(seat=st.sampled_from([1, 2]), ply=st.integers(0, 12), action=st.integers(0, 8))
    def move_at_another_time(self, seat: int, ply: int, action: int) -> None:
        match = self.match
        if ply == match.ply and seat == match.to_move:
            return
        if ply < match.ply and (seat, action) == (match.mover(ply), match.position.moves[ply]):
            assert not match.play(seat, ply, action, self.now)
        elif match.status is Status.ENDED:
            assert refused(match, seat, ply, action, self.now) is Code.MATCH_OVER
        elif ply == match.ply:
            assert refused(match, seat, ply, action, self.now) is Code.NOT_YOUR_TURN
        else:
            assert refused(match, seat, ply, action, self.now) is Code.WRONG_PLY

    @rule()
    def look_at_the_clock(self) -> None:
        deadline, was_playing = self.match.deadline(), self.playing()
        flagged = self.match.flag(self.now)
        assert flagged is (was_playing and deadline is not None and self.now >= deadline)

    @precondition(lambda self: self.match.ply > 3)
    @rule(seat=st.sampled_from([1, 2]), how=st.sampled_from(["resign", "abandon", "abort"]))
    def break_off(self, seat: int, how: str) -> None:
        if how == "resign" and self.playing():
            self.match.resign(seat)
        elif how == "abandon":
            self.match.abandon(seat)
        elif how == "abort":
            self.match.abort("enough")

    @invariant()
    def the_moves_replay_to_the_states(self) -> None:
        state = self.game.initial_state()
        states = [state]
        for ply, action in enumerate(self.match.position.moves):
            assert self.match.mover(ply) == self.game.current_player(state)
            state = self.game.next_state(state, action)
            states.append(state)
        assert self.match.position.states == tuple(states)

    @invariant()
    def life_goes_forward(self) -> None:
        self.life.append(self.match.status)
        assert self.life == sorted(self.life, key=LIFE.index)

    @invariant()
    def there_is_one_result_and_it_stays(self) -> None:
        if self.result is not None:
            assert self.match.result is self.result
        self.result = self.match.result
        assert (self.result is not None) is (self.match.status is Status.ENDED)

    @invariant()
    def no_time_is_lost_or_made(self) -> None:
        deadline = self.match.deadline()
        if deadline is None or self.now > deadline - CAP_S:
            return
        readings = self.match.clock_states(self.now)
        assert readings is not None
        given = 2 * MAIN_S + self.match.ply * INCREMENT_S + self.credited_s
        assert sum(left.main_s for left in readings) == given - self.now


Refereeing.TestCase.settings = settings(
    max_examples=repetitions(80, short=6), stateful_step_count=40
)
TestRefereeing = Refereeing.TestCase
