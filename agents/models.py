"""Asks models for answers: programs over standard input and output, and HTTP endpoints.

A program gets a line of JSON for each request, and writes a line for each answer:

    {"id": "…", "messages": [{"role": "user", "content": "…"}], "max_tokens": 2000}
    {"content": "MOVE: 4", "prompt_tokens": 210, "completion_tokens": 5}

The two numbers may be missing. An endpoint gets the request of OpenAI's chat completions, which
most providers accept, with the `id` in the header `Idempotency-Key`.

An answer is data of a stranger: it is limited in bytes and time, and nothing in it is executed.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import SplitResult, urlsplit

from msgspec import Meta, Struct
from msgspec.json import Decoder

from playout.agents.benchmark_file import ModelConfig
from playout.agents.prompts import Messages
from playout.commands.agent_tools import imported
from playout.commands.text import beginning
from playout.players.engines.config import START_S
from playout.players.engines.process import EngineError, EngineProcess

#: Maximum number of bytes of an answer.
MOST_BYTES = 2**18
#: Characters of a wrong answer that are stored and shown.
_SHOWN = 1000
_CHUNK = 65536
#: Statuses after which the same request may succeed.
_BUSY = {408, 409, 425, 429, 500, 502, 503, 504, 529}
#: Statuses of a gateway that does not say whether the model has answered.
_PERHAPS_PAID = {408, 500, 502, 504}

Tokens = Annotated[int, Meta(ge=0, le=10**9)]
T = TypeVar("T", bound=Struct)


class ModelAnswer(Struct, frozen=True):
    """The text of an answer, and its tokens if the model counts them.

    With a `fault`, it cannot be used: the text is what has come of it.
    """

    content: str
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    fault: str = ""


class ModelRequest(NamedTuple):
    """The messages of a request; its `id` is the same if it is sent again."""

    id: str
    messages: Messages
    tokens: int
    seconds: float


class ModelBusy(Exception):
    """The model did not answer for a reason that may pass, after `wait_s` seconds if it says so.

    `was_sent`: the request has arrived, and may be paid.
    """

    def __init__(self, text: str, wait_s: float = 0.0, *, was_sent: bool = False) -> None:
        super().__init__(text)
        self.wait_s, self.was_sent = wait_s, was_sent


class ModelUnusable(Exception):
    """No request to the model can succeed; the message says what to change."""


class ModelClient(ABC):
    """Asks a model, in several threads at a time."""

    @abstractmethod
    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Return the answer to a request. Raises ModelBusy and ModelUnusable."""

    def close(self) -> None:
        """End what it has started, also requests that are running."""


def client(model: ModelConfig, folder: Path) -> ModelClient:
    """Return the client of a model; its program runs in `folder`.

    Raises ModelUnusable, and ClickException without the package mcp.
    """
    if model.mcp:
        found: ModelClient = imported("playout.agents.mcp_model").McpClient(model)
        return found
    return ProgramClient(model, folder) if model.command else EndpointClient(model)


def decoded_answer(data: bytes | str, kind: type[T]) -> T | ModelAnswer:
    """Return the message of an answer, of type `kind`, or a faulty answer with the reason."""
    text = data if isinstance(data, str) else data.decode(errors="replace")
    if len(text.encode()) > MOST_BYTES:
        return _faulty(text, f"the answer has more than {MOST_BYTES} bytes")
    try:
        found: T = _DECODERS[kind].decode(text)
    except (ValueError, RecursionError) as error:
        return _faulty(text, f"the answer is not the JSON that was expected: {error}")
    return found


def _faulty(text: str, fault: str) -> ModelAnswer:
    return ModelAnswer(text[:_SHOWN], fault=fault)


class ProgramClient(ModelClient):
    """Asks programs, each of which answers one request at a time."""

    def __init__(self, model: ModelConfig, folder: Path) -> None:
        self._program = model.program(folder)
        self._closed = threading.Event()
        self._idle: list[EngineProcess] = []
        self._has_answered = False

    def ask(self, request: ModelRequest) -> ModelAnswer:
        process, is_new = self._taken()
        told = {"id": request.id, "messages": request.messages, "max_tokens": request.tokens}
        try:
            process.send(json.dumps(told))
            # A new program may still be starting, which nothing tells.
            given_s = request.seconds + (START_S if is_new else 0.0)
            line = process.line(time.monotonic() + given_s)
            self._has_answered = True
            more = process.discard()
        except EngineError as error:
            process.close()
            if not self._has_answered and "exited" in error.what:
                raise ModelUnusable(f"the model {self._program.name} {error.what}") from error
            return ModelAnswer("", fault=f"the program {error.what}")
        except BaseException:
            process.close()
            raise
        if more:
            process.close()
            return _faulty(line, "the program has written more than one line")
        self._idle.append(process)
        return decoded_answer(line, ModelAnswer)

    def _taken(self) -> tuple[EngineProcess, bool]:
        """Return a program that waits for a request, and whether it is new."""
        with contextlib.suppress(IndexError):
            return self._idle.pop(), False
        try:
            return EngineProcess(self._program, self._closed), True
        except EngineError as error:
            raise ModelUnusable(str(error).replace("the engine", "the model")) from error

    def close(self) -> None:
        self._closed.set()
        while self._idle:
            self._idle.pop().close()


class ChatMessage(Struct):
    """The message of a choice; models that call tools may leave the content out."""

    content: str | None = None


class ChatChoice(Struct):
    """One of the alternative answers."""

    message: ChatMessage


class ChatUsage(Struct):
    """The tokens of a request and of its answer."""

    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None


class ChatCompletion(Struct):
    """The answer of an endpoint of chat completions, as far as it is used."""

    choices: list[ChatChoice]
    usage: ChatUsage | None = None


#: msgspec prepares a type when its decoder is made: in two threads at a time, that ends the process
#: by a segmentation fault (msgspec 0.22).
_DECODERS: Mapping[type, Decoder[Any]] = {
    kind: Decoder(kind) for kind in (ModelAnswer, ChatCompletion)
}


class EndpointClient(ModelClient):
    """Asks an endpoint of chat completions over HTTP."""

    def __init__(self, model: ModelConfig) -> None:
        self._model = model
        self._address = _address(model, os.environ)
        self._key = key_of(model, os.environ)
        self._open: set[socket.socket] = set()

    def ask(self, request: ModelRequest) -> ModelAnswer:
        body = {
            "model": self._model.endpoint,
            "messages": request.messages,
            self._model.tokens_field: request.tokens,
            **self._model.parameters,
        }
        headers = {"Content-Type": "application/json", "Idempotency-Key": request.id}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        late, was_sent = threading.Event(), False
        too_late = f"no answer within {request.seconds:g} s"
        try:
            with self._connection(request.seconds, late) as connection:
                path = f"{self._address.path.rstrip('/')}/chat/completions"
                connection.request("POST", path, json.dumps(body), headers)
                was_sent = True
                response = connection.getresponse()
                data = _read(response)
        except ssl.SSLCertVerificationError as error:
            raise ModelUnusable(f"{self._where} has no valid certificate: {error}") from error
        except (OSError, http.client.HTTPException) as error:
            if late.is_set() or isinstance(error, TimeoutError):
                return _faulty("", too_late)
            text = f"{self._where} cannot be reached: {error}"
            raise ModelBusy(text, was_sent=was_sent) from error
        if late.is_set():  # the end of the connection looks like the end of the answer
            return _faulty(data.decode(errors="replace"), too_late)
        if response.status != http.HTTPStatus.OK:
            said = beginning(data.decode(errors="replace"), _SHOWN)
            text = f"{self._where} has answered {response.status}: {said or response.reason}"
            if response.status in _BUSY:
                wait_s = _seconds(response.headers.get("Retry-After", ""))
                raise ModelBusy(text, wait_s, was_sent=response.status in _PERHAPS_PAID)
            raise ModelUnusable(text)
        return _chat_answer(data)

    @property
    def _where(self) -> str:
        return f"the endpoint of {self._model.name} at {self._address.netloc}"

    @contextlib.contextmanager
    def _connection(
        self, seconds: float, late: threading.Event
    ) -> Iterator[http.client.HTTPConnection]:
        """Yield a connection that is cut after some seconds, which sets `late`."""
        secure = self._address.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = make(self._address.netloc, timeout=seconds)
        connection.connect()
        # The connection forgets its socket once it knows that the server will close it.
        used = connection.sock

        def cut() -> None:
            late.set()
            _cut(used)

        timer = threading.Timer(seconds, cut)
        timer.daemon = True
        timer.start()
        self._open.add(used)
        try:
            yield connection
        finally:
            timer.cancel()
            self._open.discard(used)
            connection.close()

    def close(self) -> None:
        for each in list(self._open):
            _cut(each)


def _chat_answer(data: bytes) -> ModelAnswer:
    found = decoded_answer(data, ChatCompletion)
    if isinstance(found, ModelAnswer):
        return found
    usage = found.usage or ChatUsage()
    content = found.choices[0].message.content if found.choices else None
    fault = "" if content is not None else "the answer has no text, such as a call of a tool"
    return ModelAnswer(content or "", usage.prompt_tokens, usage.completion_tokens, fault)


def _address(model: ModelConfig, variables: Mapping[str, str]) -> SplitResult:
    """Return the base address in the environment. Raises ModelUnusable."""
    text = variables.get(model.address, "")
    with contextlib.suppress(ValueError):  # of brackets, and of a port that is no number
        found = urlsplit(text)
        others = "@" in found.netloc or found.query or found.fragment
        if found.scheme in ("http", "https") and found.hostname and found.port != 0 and not others:
            return found
    shown = "" if "@" in text else f", not {text[:100]!r}"  # it may have a password
    raise ModelUnusable(
        f"the model {model.name} needs the base address of its endpoint in the variable "
        f"{model.address}, such as https://api.example.com/v1{shown}"
    )


def key_of(model: ModelConfig, variables: Mapping[str, str]) -> str:
    """Return the key in the environment. Raises ModelUnusable, without the key in the message."""
    key = variables.get(model.key, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ModelUnusable(
            f"the model {model.name} needs a key of printable ASCII characters in the variable "
            f"{model.key}"
        )
    return key


def _cut(used: socket.socket) -> None:
    with contextlib.suppress(OSError):
        used.shutdown(socket.SHUT_RDWR)


def _read(response: http.client.HTTPResponse) -> bytes:
    """Return the body, up to one byte more than is allowed."""
    data = b""
    while len(data) <= MOST_BYTES and (more := response.read1(_CHUNK)):
        data += more
    return data


def _seconds(text: str) -> float:
    """Return the seconds of Retry-After; 0 if it is a date or nothing."""
    return min(float(text), 3600.0) if text.isdecimal() and len(text) < 9 else 0.0
