"""The tools of an agent: it lists games, plays matches, offers draws, and resigns."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import msgspec
from pydantic import Field

from playout.bridges.mcp.agent_session import AgentMatch, AgentSession
from playout.bridges.mcp.site_tools import (
    Game,
    Sites,
    SiteTools,
    protocol_text,
    request_text,
    rules_of,
    write_a_bot,
)
from playout.commands.agent_parameters import Wait
from playout.commands.agent_tools import AgentError, Described, request_errors, tool_server
from playout.protocol.messages import (
    AnswerOffer,
    Cancel,
    ChallengeBot,
    Move,
    Offer,
    Resign,
    Seat,
    Seek,
    Seeking,
)

_INSTRUCTIONS = """\
Plays board games on a Playout server, against its bots and other users.
Call list_games, then new_match, and then play until the status says that the match is over.
Your clock runs while you think: new_match and play return the time that is left.
To write a bot instead, begin with the prompt write_a_bot and the tool rules.
"""

Match = Annotated[
    str | None, Field(description="The match; may be left out while you play only one")
]


def agent_server(session: AgentSession, sites: Sites) -> Any:
    """Return a server with the tools, the resources and the prompt of a session."""
    server = tool_server(_INSTRUCTIONS, AgentTools(session), SiteTools(session, sites))
    for uri, description, answer in (
        ("rules/{game}", "The rules of a game", rules_of),
        ("protocol", "The requests of the protocol", protocol_text),
        ("protocol/{message}", "A request of the protocol", request_text),
    ):
        server.resource(f"playout://{uri}", description=description)(request_errors(answer))
    server.prompt(description=write_a_bot.__doc__)(request_errors(write_a_bot))
    return server


class AgentTools:
    """The tools; their docstrings and the descriptions of their parameters are for the agent."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session

    async def list_games(self) -> Described:
        """List the games of the server, its bots, your name, and the matches that you play."""
        welcome = await self._session.ready()
        return {
            "games": list(welcome.games),
            "bots": [msgspec.to_builtins(bot) for bot in welcome.bots],
            "your_name": welcome.name,
            "rated_matches_possible": not welcome.guest,
            "matches": [match.started.match for match in self._running()],
        }

    async def new_match(
        self,
        game: Game,
        bot: Annotated[
            str | None, Field(description="Play against the bot of this name in list_games")
        ] = None,
        opponent: Annotated[
            str | None, Field(description="Play only against the user of this name")
        ] = None,
        clock: Annotated[
            str | None,
            Field(description="60/move, 600+30, 600+5x30, 120d12 (seconds) or none; default: any"),
        ] = None,
        seat: Annotated[
            int | None, Field(ge=1, le=2, description="1: move first, 2: second; default: any")
        ] = None,
        rated: Annotated[bool, Field(description="Whether the match counts for ratings")] = False,
        wait_s: Wait = 60,
    ) -> Described:
        """Start a match, and return it when it is your move."""
        place = cast(Seat | None, seat)
        if bot is not None:
            if opponent is not None:
                raise AgentError("A match against a bot has no other opponent.")
            request = ChallengeBot(player=bot, game=game, clock=clock, rated=rated, seat=place)
            return await self._begin(request, wait_s)
        seek = Seek(game=game, clock=clock, rated=rated, opponent=opponent, seat=place)
        return await self._begin(seek, wait_s)

    async def legal_moves(self, match: Match = None) -> list[str]:
        """List the names of the moves that you may play now."""
        return list(self._to_move(match).legal_moves)

    async def play(
        self,
        move: Annotated[str, Field(description="One of legal_moves")],
        match: Match = None,
        wait_s: Wait = 60,
    ) -> Described:
        """Play a move, wait for the opponent's answer, and return the match."""
        played = self._to_move(match)
        action = played.action(move)
        if action is None:
            legal = ", ".join(played.legal_moves)
            raise AgentError(f"{move!r} is not a legal move. Legal moves: {legal}")
        ply = played.ply
        await self._session.ask(Move(match=played.started.match, ply=ply, action=action))
        return await self._shown(played.started.match, wait_s)

    async def state(self, match: Match = None, wait_s: Wait = 0) -> Described:
        """Return a match, after waiting until it is your move or the match is over."""
        return await self._shown(self._named(match).started.match, wait_s)

    async def offer(
        self,
        kind: Annotated[
            Literal["draw", "takeback"],
            Field(description="draw: a tie; takeback: to take your last move back"),
        ],
        match: Match = None,
        wait_s: Wait = 60,
    ) -> Described:
        """Offer a draw or ask to take a move back, wait for the answer, and return the match.

        A move of the opponent declines it. Not every match allows it; the error says why.
        """
        offered = self._running_match(match)
        name = offered.started.match
        await self._session.ask(Offer(match=name, offer=kind, ply=offered.ply))
        matches = self._session.matches
        await self._session.until(
            lambda: matches[name].is_over or not matches[name].own_offer, wait_s
        )
        return await self._shown(name, 0)

    async def answer_offer(
        self,
        accept: Annotated[bool, Field(description="true: agree; false: decline")],
        match: Match = None,
        wait_s: Wait = 60,
    ) -> Described:
        """Answer the opponent's open offer, and return the match when it is your move or over."""
        answered = self._running_match(match)
        offer = answered.opponents_offer
        if offer is None:
            raise AgentError("The opponent has no open offer.")
        name = answered.started.match
        await self._session.ask(
            AnswerOffer(match=name, offer=offer.offer, ply=offer.ply, accept=accept)
        )
        return await self._shown(name, wait_s)

    async def resign(self, match: Match = None) -> Described:
        """Resign a match: the opponent wins it."""
        resigned = self._running_match(match)
        await self._session.ask(Resign(match=resigned.started.match))
        return resigned.described()

    async def _begin(self, request: Seek | ChallengeBot, wait_s: float) -> Described:
        """Wait for the match of a request; without one, close the seek."""
        session = self._session
        before = set(session.matches)
        session.failure = None
        seeking = await session.ask(request)
        begun = await session.until(
            lambda: bool(set(session.matches) - before or session.failure), wait_s
        )
        new = sorted(set(session.matches) - before)
        if new:
            return await self._shown(new[0], wait_s)
        if isinstance(seeking, Seeking) and not begun:
            await session.ask(Cancel(seek=seeking.seek))
        bots = ", ".join(bot.name for bot in (await session.ready()).bots)
        raise AgentError(
            session.failure
            or f"No opponent was found in {wait_s:g} s, and the seek is closed. "
            f"Try again, or play against a bot: {bots or 'there are none'}"
        )

    async def _shown(self, match: str, wait_s: float) -> Described:
        """Return a match when the agent is to move or to answer an offer, or after `wait_s`."""
        matches = self._session.matches
        await self._session.until(lambda: matches[match].needs_agent, wait_s)
        return matches[match].described()

    def _running(self) -> list[AgentMatch]:
        return [match for match in self._session.matches.values() if not match.is_over]

    def _named(self, match: str | None) -> AgentMatch:
        """Return the match of that identifier; without one, the only running match."""
        matches = self._session.matches
        if match is not None:
            if match not in matches:
                known = ", ".join(matches) or "none; call new_match"
                raise AgentError(f"You play no match {match!r}. Your matches: {known}")
            return matches[match]
        running = self._running() or list(matches.values())[-1:]
        if len(running) != 1:
            known = ", ".join(each.started.match for each in running) or "none; call new_match"
            raise AgentError(f"Name the match. Your matches: {known}")
        return running[0]

    def _running_match(self, match: str | None) -> AgentMatch:
        found = self._named(match)
        if found.ended:
            raise AgentError(f"Match {found.started.match} is over: {found.ended.text}.")
        return found

    def _to_move(self, match: str | None) -> AgentMatch:
        found = self._running_match(match)
        if not found.waits_for_agent:
            raise AgentError("It is not your move. Call state with wait_s to wait for it.")
        return found
