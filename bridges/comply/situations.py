"""The table of situations through which a bot is put."""

from __future__ import annotations

from dataclasses import dataclass

from playout.bridges.comply.interference import (
    AbortedMatch,
    IllegalMove,
    Interference,
    LateMove,
    LostMove,
    LostUpdate,
    Pieces,
    RateLimit,
    RepeatedMove,
    ServerPingSent,
    ServerRestart,
    Undisturbed,
    UnknownMessages,
)

CLOCK = "10+1"


@dataclass(frozen=True)
class Situation:
    """A match in which something happens, and how it must end if the bot does what it should.

    `about` says what happens, and `duty` what the bot has to do. In a tournament, the first illegal
    move loses: `ends_in_tournament`.
    """

    name: str
    about: str
    duty: str
    interference: type[Interference] = Undisturbed
    clock: str = CLOCK
    seat: int = 1
    ends: str = "rules"
    ends_in_tournament: str | None = None

    def end(self, *, tournament: bool) -> str:
        """The reason with which the match has to end."""
        return self.ends_in_tournament or self.ends if tournament else self.ends


_PLAYS = "play to the end, in time"

SITUATIONS = (
    Situation("seat 1", "The bot moves first.", _PLAYS),
    Situation("seat 2", "The bot moves second.", _PLAYS, seat=2),
    Situation("clock per move", "Clock 5/move.", _PLAYS, clock="5/move"),
    Situation("clock with increment", "Clock 10+0.5.", _PLAYS, clock="10+0.5"),
    Situation("clock with periods", "Clock 2+3x5.", _PLAYS, clock="2+3x5"),
    Situation(
        "no clock",
        "Clock none: time_control and clocks are left out.",
        _PLAYS,
        clock="none",
    ),
    Situation(
        "ping",
        "While the bot waits for an opponent, the server sends ping.",
        "answer with ping",
        ServerPingSent,
    ),
    Situation(
        "unknown messages",
        "Every event has a field, and follows a message, that the protocol does not have yet.",
        "ignore them",
        UnknownMessages,
    ),
    Situation(
        "frames in parts",
        "Frames arrive in three parts, the first of two bytes.",
        "wait for the rest",
        Pieces,
    ),
    Situation(
        "rate_limited",
        "The first seek or join, and the first move, are refused with rate_limited.",
        "send them again after the seconds in the error",
        RateLimit,
    ),
    Situation(
        "illegal_action",
        "The first move arrives as an illegal action, and is refused.",
        "send another move for the same ply; in a tournament the match is lost",
        IllegalMove,
        ends_in_tournament="illegal_moves",
    ),
    Situation(
        "repeated move",
        "The first two moves arrive twice, so that their update comes twice.",
        "ignore an update for a ply that it knows",
        RepeatedMove,
    ),
    Situation(
        "late move",
        "The second move arrives when the time is up: match_over, then ended.",
        "go on after match_over, and take the loss",
        LateMove,
        clock="3/move",
        ends="time",
    ),
    Situation(
        "match aborted",
        "An administrator ends the match before the second move arrives: ended has no winner.",
        "take it as a match without result",
        AbortedMatch,
        ends="administrator",
    ),
    Situation(
        "cut, move lost",
        "The connection is cut before the first move arrives.",
        "connect, resume the session, and send the move again",
        LostMove,
    ),
    Situation(
        "cut, update lost",
        "The connection is cut after the first move arrives, before its update.",
        "connect, resume the session, and play on from its started",
        LostUpdate,
    ),
    Situation(
        "server restart",
        "The server is restarted when the first move is under way.",
        "connect again until the server is back, resume the session, send the move again",
        ServerRestart,
    ),
)
#: The last row: errors that the bot caused by itself, in any situation.
OWN_ERRORS = "no errors of its own"
