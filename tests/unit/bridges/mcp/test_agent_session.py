"""playout.bridges.mcp.agent_session: what an agent reads when there is no connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from playout.bridges.mcp.agent_session import AgentError, AgentSession
from playout.commands.identity import Identity
from playout.protocol.messages import (
    Analyse,
    Analysis,
    AnalysisQueued,
    AnalysisUpdate,
    Code,
    Error,
    List,
    Ok,
    Ping,
    Request,
    StopAnalysis,
    Welcome,
)

WELCOME = Welcome(protocol=1, session="s", name="Ada", software="", games=("nim",))


class SentRequests:
    """A connection that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[Request] = []
        self.is_closed = False

    def open(self) -> None:
        pass

    def send(self, request: Request) -> None:
        self.sent.append(request)

    def close(self) -> None:
        self.is_closed = True


def opened() -> tuple[AgentSession, SentRequests, list[str]]:
    """A session, its connection, and what its operator is shown."""
    shown: list[str] = []
    session, connection = AgentSession(Identity("Ada", "bot", ""), shown.append), SentRequests()
    session.open(connection)  # type: ignore[arg-type]
    return session, connection, shown


@pytest.mark.parametrize(
    ("happen", "told"),
    [
        (
            lambda session: session.unreachable("Connection refused"),
            "The server cannot be reached: Connection refused. Start one with: playout-server",
        ),
        (
            lambda session: session.received(
                Error(re="hello", code=Code.NAME_TAKEN, text="the name is taken")
            ),
            "the name is taken (name_taken). The name Ada is taken: use another --name.",
        ),
    ],
)
def test_without_a_connection_every_request_says_why(
    happen: Callable[[AgentSession], None], told: str
) -> None:
    async def ask() -> str:
        session, connection, shown = opened()
        session.connected()
        happen(session)
        assert connection.is_closed
        assert shown == [told]
        with pytest.raises(AgentError) as error:
            await session.ask(List())
        return str(error.value)

    assert asyncio.run(ask()) == told


def test_the_answer_to_a_request_is_returned_and_a_refusal_raised() -> None:
    async def ask() -> None:
        session, connection, _ = opened()
        session.received(WELCOME)
        asking = asyncio.create_task(session.ask(Ping()))
        refused = asyncio.create_task(session.ask(Ping()))
        await asyncio.sleep(0)
        session.received(Ok(re=connection.sent[0].id))
        session.received(Error(re=connection.sent[1].id, code=Code.TOO_MANY, text="too many"))
        assert await asking == Ok(re=1)
        with pytest.raises(AgentError, match=r"too many \(too_many\)"):
            await refused

    asyncio.run(ask())


def test_a_request_fails_when_the_connection_is_lost() -> None:
    async def ask() -> None:
        session, _, _ = opened()
        session.received(WELCOME)
        asking = asyncio.create_task(session.ask(Ping()))
        await asyncio.sleep(0)
        session.disconnected("lost")
        with pytest.raises(AgentError, match="The connection was lost"):
            await asking
        assert session.welcome is None

    asyncio.run(ask())


@pytest.mark.parametrize("lose", [AgentSession.disconnected, AgentSession.unusable])
def test_an_analysis_fails_when_the_connection_is_lost(
    lose: Callable[[AgentSession, str], None],
) -> None:
    async def use() -> None:
        session, _, _ = opened()
        session.received(WELCOME)
        asking = asyncio.ensure_future(session.ask(Analyse(game="nim", seconds=1.0)))
        await asyncio.sleep(0)
        session.received(AnalysisQueued(re=1, analysis="a", bot="uct", seconds=1.0))
        await asking
        waiting = asyncio.ensure_future(session.analysis("a", 300))
        await asyncio.sleep(0)
        lose(session, "lost")
        with pytest.raises(AgentError, match="The connection was lost; ask again"):
            await waiting

    asyncio.run(use())


def test_an_analysis_that_takes_too_long_is_stopped() -> None:
    async def ask() -> None:
        session, connection, _ = opened()
        session.received(WELCOME)
        info, found = Analysis(win_rate=0.5), list[AnalysisUpdate]()
        for number, is_over in enumerate((True, False), start=1):
            asking = asyncio.create_task(session.ask(Analyse(game="nim")))
            await asyncio.sleep(0)
            queued = AnalysisQueued(re=number, analysis=f"a{number}", bot="uct", seconds=1.0)
            session.received(queued)
            session.received(AnalysisUpdate(analysis=f"a{number}", info=info))
            if is_over:
                session.received(AnalysisUpdate(analysis=f"a{number}", over=True))
            assert await asking == queued
            if is_over:
                found.append(await session.analysis("a1", 0))
        with pytest.raises(AgentError, match="waits for others"):
            await session.analysis("a2", 0)
        assert found == [AnalysisUpdate(analysis="a1", info=info, over=True)]
        assert connection.sent[-1] == StopAnalysis(analysis="a2")
        session.received(AnalysisQueued(analysis="a2", bot="uct", seconds=1.0, place=0))
        session.received(AnalysisUpdate(analysis="a2", over=True))
        assert session._analyses == {}

    asyncio.run(ask())
