"""One match: its rules, whose turn it is, its clocks, and how it ends."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from playout.games import RETURNS, TIE, Game, IllegalAction, Position, State
from playout.protocol.dice import Dice
from playout.protocol.messages import ClockState, Code, Mover, Reason, Seat, TimeControl
from playout.protocol.time_control import is_correspondence, spell_time_controls
from playout.server.core.clock import Clock
from playout.server.core.guarded_game import CheckedPosition, GameFault, GuardedGame

#: Rolls in a row after which a game is at fault: EinStein würfelt nicht! begins with three.
_MOST_ROLLS = 100


#: The players as movers, by their numbers.
_MOVERS: tuple[Mover, Mover, Mover] = (0, 1, 2)


class Refused(Exception):
    """A request is refused, with a code for programs and a text for people.

    `seconds`: the wait after which it may be sent again, if a time limit is the reason.
    """

    def __init__(self, code: Code, text: str, seconds: float | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.seconds = seconds


class Status(enum.Enum):
    """The state of a match: not started, being played, or over."""

    WAITING = "waiting"
    PLAYING = "playing"
    ENDED = "ended"


def opponent_of(seat: Seat) -> Seat:
    """The seat of the other player."""
    return 2 if seat == 1 else 1


@dataclass(frozen=True)
class Result:
    """How a match ended: winner 1 or 2, -1 for a tie, 0 for no result.

    `MatchEnded` and `Ended` have fields of the same names.
    """

    winner: int
    returns: tuple[float, float]
    reason: Reason
    text: str


@dataclass(frozen=True)
class Terms:
    """The terms of a match.

    `second_time_control`: the second player's; by default the same.
    `illegal_moves`: illegal moves that a player may send; one more loses the match.
    `credit_cap_s`: maximum transmission time of a move in seconds that is not counted.
    `void_unmoved`: whether the match is void if a player never makes a first move.
    `void_late_start`: whether it is void if the time of a player is up before its first move.
    `max_plies`: after this many plies the match is a tie; 0 for no limit.
    """

    time_control: TimeControl | None = None
    rated: bool = False
    illegal_moves: int = 3
    credit_cap_s: float = 0.0
    void_unmoved: bool = False
    void_late_start: bool = False
    max_plies: int = 0
    second_time_control: TimeControl | None = None

    @property
    def time_controls(self) -> tuple[TimeControl, TimeControl] | None:
        """The time controls of both players, None without clocks."""
        first = self.time_control
        return None if first is None else (first, self.second_time_control or first)


class Match:
    """A game between two players, which enforces the rules and the clocks.

    The game is called when a match is made and when a move is made, before anything has changed,
    and for `legal_actions`: all these raise GameFault.
    """

    def __init__(
        self,
        match_id: str,
        game: Game,
        players: tuple[str, str],
        terms: Terms | None = None,
        dice: Dice | None = None,
    ) -> None:
        """`dice` are those of the match in a game with chance."""
        self.id = match_id
        self.dice = dice
        self.game = game
        self.players = players
        self.terms = terms or Terms()
        self.status = Status.WAITING
        self._game = GuardedGame(game)
        #: The rules' view of the current position.
        self._checked = self._game.start()
        self.position = Position(game, start=self._checked.state)
        if self.terms.time_control and is_correspondence(self.terms.time_control):
            self.position = self.position.packed()  # accounts have a hundred such matches
        #: The player to move in each of the states, 0 if the game is over there.
        self._to_move: list[int] = [self._checked.to_move]
        self.result: Result | None = None
        #: The seats for which the match is void if they never make a first move; others lose it.
        self.excused: frozenset[int] = frozenset({1, 2} if self.terms.void_unmoved else ())
        #: The seat that never made a first move, if the match ended for that.
        self.missing: Seat | None = None
        #: The number of moves that were made for the players, by an opening.
        self.opening_plies = 0
        self._movers: list[Mover] = []
        self._held = False
        self._legal: tuple[int, tuple[int, ...]] | None = None
        controls = self.terms.time_controls
        #: The time controls in their usual notation.
        self.clock_name = spell_time_controls(controls)
        self._clock = Clock(*controls) if controls else None
        #: The clocks in each of the states, before the next player's clock runs.
        self._clocks = [self.clock_states(0.0)]
        self._illegal_left = dict.fromkeys((1, 2), self.terms.illegal_moves)

    @property
    def state(self) -> State:
        """The state after the last move."""
        return self.position.states[-1]

    @property
    def ply(self) -> int:
        """The number of moves so far, which is also the number of the next move."""
        return len(self._movers)

    @property
    def to_move(self) -> int:
        """The player to move, 1 or 2; 0 when the match is over."""
        return 0 if self.status is Status.ENDED else self._to_move[-1]

    def to_move_at(self, ply: int) -> int:
        """The player to move before move number `ply`; 0 if the game was over by then."""
        return self._to_move[ply]

    def shown_ply(self, delay: int) -> int:
        """The number of moves that spectators are shown: see `shown_plies`; all when it is over."""
        if self.status is Status.ENDED:
            return self.ply
        return shown_plies(self._movers, self.opening_plies, delay)

    def legal_actions(self, ply: int | None = None) -> tuple[int, ...]:
        """The legal actions now, or before move number `ply`. Raises GameFault."""
        ply = self.ply if ply is None else ply
        if ply == self.ply and self.status is Status.ENDED:
            return ()
        if self._legal is None or self._legal[0] != ply:
            self._legal = ply, self._game.legal_actions(self.position.states[ply])
        return self._legal[1]

    def clock_states(self, now: float) -> tuple[ClockState, ClockState] | None:
        """The remaining time of both players; None without clocks."""
        return self._clock.clock_states(now) if self._clock else None

    def clock_states_at(self, ply: int) -> tuple[ClockState, ClockState] | None:
        """The remaining time of both players after `ply` moves; None without clocks."""
        return self._clocks[ply]

    def deadline(self) -> float | None:
        """The time at which `flag` must be called, None without a running clock."""
        at = self._clock.flag_at() if self._clock and self.status is Status.PLAYING else None
        return None if at is None else at + self.terms.credit_cap_s

    def open(self, actions: Iterable[int]) -> None:
        """Make the moves of an opening and the rolls after it, before the match is started.

        Raises IllegalAction, GameFault.
        """
        for action in actions:
            self._append(action, self._game.next(self.state, action))
        self.opening_plies = self.ply
        for outcome, after in self._rolls(self._checked, self.ply):
            self._append(outcome, after)

    def start(self, now: float) -> None:
        """Start the match, and the clock of the player to move."""
        self.status = Status.PLAYING
        self._end_if_over()
        self._run_clock(now)

    def restore(
        self,
        moves: Iterable[tuple[int, tuple[ClockState, ClockState] | None]],
        opening_plies: int,
        result: Result | None,
    ) -> None:
        """Make the moves of an interrupted or ended match, instead of `start`.

        Each has the clocks after it. The match is held until `resume`. Raises IllegalAction if the
        rules have changed since, and GameFault.
        """
        for action, clocks in moves:
            after = self._game.next(self.state, action)
            if self._clock and clocks:
                self._clock.set(clocks)
            self._append(action, after)
        self.status = Status.PLAYING
        self._held = True
        self.opening_plies = opening_plies
        self._end_if_over()
        if result:
            self._end(result)

    def hold(self) -> None:
        """Stop the clock and accept no moves until `resume`."""
        self._held = True
        if self._clock:
            self._clock.halt()

    def resume(self, since: float, by: float = 0.0) -> None:
        """Accept moves again; the clock of the player to move runs since then.

        If its time would be up before `by`, it runs from so much later on.
        """
        self._held = False
        self._run_clock(since)
        if by and (deadline := self.deadline()) is not None and deadline < by:
            self._run_clock(since + by - deadline)

    def play(self, seat: Seat, ply: int, action: int, now: float, lag_s: float = 0.0) -> bool:
        """Make move number `ply` by `seat`, and the rolls that follow.

        Returns False if it repeats the move that was made then.

        `lag_s` is the network's round trip in seconds, 0 if it is not known. Raises Refused for a
        move that is not made, and GameFault. A move after the time was up, and one illegal move too
        many, also end the match.
        """
        if self._is_repeated(seat, ply, action):
            return False
        self._require_turn(seat, ply)
        try:
            after, legal = self._game.step(self.state, action)
        except IllegalAction as error:
            self._count_illegal(seat)
            raise Refused(Code.ILLEGAL_ACTION, str(error)) from error
        rolls = self._rolls(after, self.ply + 1) if self.dice else ()
        credit_s = min(max(lag_s, 0.0), self.terms.credit_cap_s)
        if self._clock and not self._clock.stop(now, credit_s):
            self._lose_on_time(seat)
            raise Refused(Code.MATCH_OVER, "the move came too late: your time was up")
        self._append(action, after)
        self._legal = self.ply, legal
        for outcome, later in rolls:
            self._append(outcome, later)
        self._end_if_over()
        self._run_clock(now)
        return True

    def mover(self, ply: int) -> Mover:
        """The player that made move number `ply`; 0 for a roll."""
        return self._movers[ply]

    def rolls_after(self, ply: int) -> tuple[int, ...]:
        """The rolls that follow move number `ply`."""
        if self.dice is None:
            return ()
        end = ply + 1
        while end < self.ply and self._movers[end] == 0:
            end += 1
        return self.position.moves[ply + 1 : end]

    def has_moved(self, seat: int) -> bool:
        """Whether a player has made a move, beyond those of an opening."""
        return seat in self._movers[self.opening_plies :]

    def take_back(self, ply: int, now: float) -> None:
        """Take back move number `ply` and those after it.

        The clocks are as they were in that position, and that of the player to move runs. Raises
        Refused when the match is over.
        """
        self._require_running()
        del self._to_move[ply + 1 :], self._clocks[ply + 1 :], self._movers[ply:]
        self.position = self.position.at(ply)
        self._checked = CheckedPosition(self.state, self._to_move[ply], 0, RETURNS[0])
        self._legal = None
        clocks = self._clocks[-1]
        if self._clock and clocks:
            self._clock.set(clocks)
        self._run_clock(now)

    def agree_on_draw(self) -> None:
        """End the match as a tie, as both players want. Raises Refused when it is over."""
        self._require_running()
        self._end(Result(TIE, RETURNS[TIE], Reason.AGREEMENT, "a draw by agreement"))

    def lead_without(self, dead: Collection[int]) -> float:
        """By how many points player 1 is ahead if the pieces on these cells are captured.

        Raises Refused for a cell without a piece, and GameFault.
        """
        try:
            return self._game.lead_without(self.state, dead)
        except ValueError as error:
            raise Refused(Code.INVALID, str(error)) from error

    def agree_on_score(self, lead: float) -> None:
        """End the match with a score, by the lead of player 1. Raises Refused when it is over."""
        self._require_running()
        winner = TIE if lead == 0 else 1 if lead > 0 else 2
        how = "a tie" if winner == TIE else f"{self._name(winner)} wins by {abs(lead):g}"
        self._end(Result(winner, RETURNS[winner], Reason.AGREEMENT, f"{how}, as both agreed"))

    def resign(self, seat: int) -> None:
        """Resign for `seat`. Raises Refused when the match is over."""
        self._require_running()
        self._lose(seat, Reason.RESIGNATION, "resigned")

    def crash(self, seat: int, error: str) -> None:
        """Lose for `seat`, whose program failed. Raises Refused when the match is over."""
        self._require_running()
        self._lose(seat, Reason.CRASH, f"crashed: {error}" if error else "crashed")

    def flag(self, now: float) -> bool:
        """End the match if the time of the player to move is up; True if it ended."""
        deadline = self.deadline()
        if deadline is None or now < deadline:
            return False
        self._lose_on_time(self.to_move)
        return True

    def abandon(self, seat: int) -> None:
        """End the match because `seat` has left and did not come back."""
        if self.status is not Status.ENDED:
            self._fail(seat, Reason.ABANDONMENT, "left and did not come back")

    def adjudicate(self, ply: int, winner: int, why: str = "from here") -> None:
        """End the match with the result that is proven for the position before move number `ply`.

        `winner`: 1, 2, or -1 for a tie; `why` ends the text. Raises Refused when the match is at
        another ply: a later mistake makes the proof worthless.
        """
        self.require_ply(ply, "the proof")
        how = "a tie" if winner == TIE else f"{self._name(winner)} wins"
        text = f"adjudicated: {how} {why}"
        self._end(Result(winner, RETURNS[winner], Reason.ADJUDICATION, text))

    def abort(self, text: str, reason: Reason = Reason.ABORTED) -> None:
        """End the match without result, if it has not ended."""
        if self.status is not Status.ENDED:
            self._end(Result(0, (0.0, 0.0), reason, text))

    def require_ply(self, ply: int, subject: str) -> None:
        """Raise Refused unless the match is being played, and `ply` moves have been made."""
        self._require_running()
        if ply != self.ply:
            text = f"match {self.id} is at ply {self.ply}, and {subject} was for ply {ply}"
            raise Refused(Code.WRONG_PLY, text)

    def _rolls(self, position: CheckedPosition, ply: int) -> list[tuple[int, CheckedPosition]]:
        """The rolls from a position before move number `ply` on, with the positions after them."""
        rolls: list[tuple[int, CheckedPosition]] = []
        if self.dice is None:
            return rolls
        while position.to_move == 0 and not position.winner:
            rolls.append(self._game.roll(position.state, self.dice.at(ply + len(rolls))))
            position = rolls[-1][1]
            if len(rolls) > _MOST_ROLLS:
                error = ValueError(f"nature has made {len(rolls)} moves in a row")
                raise GameFault(str(self.game), "current_player", error, position.state)
        return rolls

    def _append(self, action: int, after: CheckedPosition) -> None:
        self._movers.append(_MOVERS[self._to_move[-1]])
        self._checked = after
        self.position = self.position.after(action, after.state)
        self._to_move.append(after.to_move)
        self._clocks.append(self.clock_states(0.0))

    def _is_repeated(self, seat: int, ply: int, action: int) -> bool:
        return ply < self.ply and self.mover(ply) == seat and self.position.moves[ply] == action

    def _require_running(self) -> None:
        if self.status is Status.ENDED:
            raise Refused(Code.MATCH_OVER, f"match {self.id} is over")
        if self.status is Status.WAITING:
            raise Refused(Code.NOT_YOUR_TURN, f"match {self.id} has not started")

    def _require_turn(self, seat: int, ply: int) -> None:
        self.require_ply(ply, "the move")
        if self._held:
            raise Refused(Code.NOT_YOUR_TURN, "the last move has not been announced yet")
        if seat != self.to_move:
            raise Refused(Code.NOT_YOUR_TURN, f"it is the turn of {self._name(self.to_move)}")

    def _count_illegal(self, seat: int) -> None:
        self._illegal_left[seat] -= 1
        if self._illegal_left[seat] < 0:
            self._lose(seat, Reason.ILLEGAL_MOVES, "sent too many illegal moves")

    def _run_clock(self, now: float) -> None:
        if self._clock and self.status is Status.PLAYING:
            self._clock.start(self.to_move, now)

    def _end_if_over(self) -> None:
        if winner := self._checked.winner:
            text = "a tie" if winner < 0 else f"{self._name(winner)} won"
            self._end(Result(winner, self._checked.returns, Reason.RULES, text))
        elif 0 < self.terms.max_plies <= self.ply:
            text = f"a tie, for {self.ply} moves were made"
            self._end(Result(TIE, RETURNS[TIE], Reason.ADJUDICATION, text))

    def _lose_on_time(self, seat: int) -> None:
        what = "ran out of time"
        if self.terms.void_late_start and not self.has_moved(seat):
            self.missing = 1 if seat == 1 else 2
            self.abort(f"{self._name(seat)} {what} before its first move", Reason.VOID)
        else:
            self._fail(seat, Reason.TIME, what)

    def _fail(self, seat: int, reason: Reason, what: str) -> None:
        """End the match by a failure of `seat`: a loss; void if it never moved, and is excused."""
        if not self.has_moved(seat):
            self.missing = 1 if seat == 1 else 2
            what = f"never moved, and {what}"
        if self.missing and seat in self.excused:
            self.abort(f"{self._name(seat)} {what}", Reason.VOID)
        else:
            self._lose(seat, reason, what)

    def _lose(self, seat: int, reason: Reason, what: str) -> None:
        returns = (0.0, 1.0) if seat == 1 else (1.0, 0.0)
        self._end(Result(3 - seat, returns, reason, f"{self._name(seat)} {what}"))

    def _end(self, result: Result) -> None:
        self.result = result
        self.status = Status.ENDED
        if self._clock:
            self._clock.halt()

    def _name(self, seat: int) -> str:
        return self.players[seat - 1]


def shown_plies(movers: Sequence[Mover | None], opening: int, delay: int) -> int:
    """The number of the first moves of a running match that are at least `delay` moves old.

    `movers` has the player of each move, 0 for a roll. The first `opening` moves, which were made
    for the players, are always counted, and a move is counted with the rolls that follow it.
    """
    first, ply = opening, len(movers)
    if not delay:
        return ply
    while first < ply and movers[first] == 0:
        first += 1
    ply -= delay
    while ply > first and movers[ply] == 0:
        ply -= 1
    return max(first, ply)
