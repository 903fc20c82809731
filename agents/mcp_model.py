"""A model behind a client of the Model Context Protocol (MCP), which fetches requests and answers.

The benchmark serves the two tools below over HTTP on loopback, to clients with a token.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Annotated, NamedTuple

import click
from pydantic import Field

from playout.agents.benchmark_file import ModelConfig
from playout.agents.models import (
    MOST_BYTES,
    ModelAnswer,
    ModelClient,
    ModelRequest,
    ModelUnusable,
    key_of,
)
from playout.commands.agent_http import HttpTransport, listening
from playout.commands.agent_parameters import Wait
from playout.commands.agent_tools import AgentError, Described, tool_server

_INSTRUCTIONS = """\
Asks for moves in board games. Call next_request, read the prompt, decide by yourself, and call
answer, which returns the next request. Go on until "over" is true. Use no other program.
"""
#: Seconds between two checks for a request, and at the end for telling clients that it is over.
_LOOK_S, _FAREWELL_S = 0.05, 2.0
#: Longest answer of a tool, in characters: prompts are never cut.
_LONGEST = 2**20

Tokens = Annotated[int | None, Field(ge=0, le=10**9, description="The tokens used, if known")]


class McpClient(ModelClient):
    """Hands requests to the clients that fetch them, and waits for their answers."""

    def __init__(self, model: ModelConfig) -> None:
        """Listen on the port of the model. Raises ModelUnusable."""
        token = key_of(model, os.environ)
        if not token:
            raise ModelUnusable(
                f"the model {model.name} needs a token in the variable {model.key}, which its "
                "client sends"
            )
        try:
            listener = listening(model.mcp, "mcp = PORT")
        except click.ClickException as error:
            raise ModelUnusable(f"the model {model.name}: {error.message}") from error
        self.tools = RequestTools()
        server = tool_server(_INSTRUCTIONS, self.tools, most=_LONGEST)
        transport = HttpTransport(listener, lambda: token)
        threading.Thread(target=asyncio.run, args=(transport.serve(server),), daemon=True).start()

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Return the answer of a client; its time begins when a client fetches the request."""
        offered = self.tools.offer(request)
        offered.is_fetched.wait()
        try:
            return offered.answer.result(request.seconds)
        except TimeoutError:
            return ModelAnswer("", fault=f"no answer within {request.seconds:g} s")
        finally:
            self.tools.withdraw(request)

    def close(self) -> None:
        """Tell a client that waits for a request that the benchmark is over."""
        self.tools.is_over = True
        if self.tools.is_used:
            self.tools.is_told.wait(_FAREWELL_S)


class OfferedRequest(NamedTuple):
    """A request, whether a client has fetched it, and its future answer."""

    request: ModelRequest
    is_fetched: threading.Event
    answer: Future[ModelAnswer]


class RequestTools:
    """The tools; their docstrings and the descriptions of their parameters are for the agent."""

    def __init__(self) -> None:
        self.is_over = False
        #: Whether a client has fetched a request.
        self.is_used = False
        #: Set when a client has been told that the benchmark is over.
        self.is_told = threading.Event()
        #: The requests that no client has fetched, and those that were fetched, by id.
        self._waiting: deque[OfferedRequest] = deque()
        self._fetched: dict[str, OfferedRequest] = {}

    def offer(self, request: ModelRequest) -> OfferedRequest:
        """Offer a request to the clients."""
        offered = OfferedRequest(request, threading.Event(), Future())
        self._waiting.append(offered)
        return offered

    def withdraw(self, request: ModelRequest) -> None:
        """Expect no answer to a request any more."""
        self._fetched.pop(request.id, None)

    async def next_request(self, wait_s: Wait = 60) -> Described:
        """Return the next request: its id, its messages and the maximum tokens of its answer.

        Without one after wait_s, the id is null: call it again, unless "over" is true.
        """
        give_up_at = time.monotonic() + wait_s
        while not self.is_over:
            if self._waiting:
                offered = self._waiting.popleft()
                request = offered.request
                self._fetched[request.id] = offered
                offered.is_fetched.set()
                self.is_used = True
                told = {"id": request.id, "messages": request.messages}
                return told | {"max_tokens": request.tokens, "over": False}
            if time.monotonic() >= give_up_at:
                break
            await asyncio.sleep(_LOOK_S)
        if self.is_over:
            self.is_told.set()
        return {"id": None, "over": self.is_over}

    async def answer(
        self,
        request: Annotated[str, Field(description="The id of the request")],
        content: Annotated[
            str, Field(max_length=MOST_BYTES, description="It ends with the line MOVE: the move")
        ],
        prompt_tokens: Tokens = None,
        completion_tokens: Tokens = None,
        wait_s: Wait = 60,
    ) -> Described:
        """Answer a request, and return the next one as next_request does."""
        offered = self._fetched.pop(request, None)
        if offered is None:
            raise AgentError(f"No answer to {request!r} is expected: it was given, or is too late.")
        text = content.encode(errors="replace").decode()  # it may have lone surrogates
        offered.answer.set_result(ModelAnswer(text, prompt_tokens, completion_tokens))
        return await self.next_request(wait_s)
