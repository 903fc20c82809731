"""Models as programs and behind an endpoint: their answers, and hostile ones of each kind."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from playout.agents.benchmark_file import ModelConfig
from playout.agents.models import (
    MOST_BYTES,
    EndpointClient,
    ModelAnswer,
    ModelBusy,
    ModelRequest,
    ModelUnusable,
    ProgramClient,
)
from support.chat_endpoint import ChatEndpoint, chat_endpoint, completion

PROMPT = [{"role": "user", "content": "Legal moves: a1, b2\nIt costs 5 \u20ac."}]
PATIENT = ModelRequest("m-0-0", PROMPT, 50, 60.0)
HASTY = ModelRequest("m-0-1", PROMPT, 50, 0.2)
#: Answers the first request, and reads another one.
ONCE = 'input(); print(\'{"content": "MOVE: a1"}\', flush=True); input()\n'

Program = Callable[[str], ProgramClient]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """Returns the client of a script in Python, which is ended with the test."""
    clients = []

    def client(script: str) -> ProgramClient:
        path = tmp_path / f"model{len(clients)}.py"
        path.write_text(script)
        command = f"'{sys.executable}' -I -S {path.name}"
        clients.append(ProgramClient(ModelConfig("model", command), tmp_path))
        return clients[-1]

    yield client
    for each in clients:
        each.close()


def test_a_program_gets_a_line_for_each_request(program: Program) -> None:
    echo = (
        "import json, sys\nfor line in sys.stdin:\n"
        "    print(json.dumps({'content': line, 'prompt_tokens': 7, 'other': [1]}), flush=True)"
    )
    client = program(echo)
    for _ in range(2):
        answer = client.ask(PATIENT)
        told = {"id": "m-0-0", "messages": PROMPT, "max_tokens": 50}
        assert json.loads(answer.content) == told
        assert (answer.prompt_tokens, answer.completion_tokens, answer.fault) == (7, None, "")


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("print('x' * 1_000_000)", f"more than {MOST_BYTES} bytes"),
        ("print('{\"content\": ')", "not the JSON that was expected"),
        ("print('[' * 100_000)", "not the JSON that was expected"),
        ("print('{\"content\": 7}')", "not the JSON that was expected"),
        ('print(\'{"content": "a", "prompt_tokens": -1}\')', "not the JSON that was expected"),
        ('print(\'{"content": null, "tool_calls": []}\')', "not the JSON that was expected"),
        ("print('\\0\\x1b[2J')", "not the JSON that was expected"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe\\n')", "not the JSON that was expected"),
        ('print(\'{"content": "\\\\ud800"}\')', "not the JSON that was expected"),
        ("sys.exit(3)", "has exited with code 3"),
    ],
)
def test_a_faulty_answer_of_a_program_has_a_reason(program: Program, said: str, fault: str) -> None:
    client = program(f"import sys\n{ONCE}{said}\nsys.stdout.flush()\ninput()")
    assert client.ask(PATIENT).content == "MOVE: a1"
    assert fault in client.ask(PATIENT).fault


def test_a_program_that_never_ends_its_answer_is_ended(program: Program) -> None:
    slow = "while True: print('{\"content\": \"', end='', flush=True); time.sleep(0.01)"
    client = program(f"import time\n{ONCE}{slow}")
    assert client.ask(PATIENT).content == "MOVE: a1"
    assert "the program has not answered in time" in client.ask(HASTY).fault
    assert client.ask(PATIENT).content == "MOVE: a1"


def test_a_program_that_cannot_start_is_unusable(program: Program) -> None:
    with pytest.raises(ModelUnusable, match=r"the model model has exited with code 1.*no_module"):
        program("import no_module").ask(PATIENT)


Ask = Callable[..., ModelAnswer]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Returns a function that asks an endpoint with some answer."""

    def asked(answer: Any, request: ModelRequest = PATIENT, **keys: Any) -> ModelAnswer:
        with chat_endpoint(lambda body: answer) as server:
            return endpoint(server, monkeypatch, **keys).ask(request)

    return asked


def endpoint(server: ChatEndpoint, patch: pytest.MonkeyPatch, **keys: Any) -> EndpointClient:
    patch.setenv("OPENAI_BASE_URL", server.address)
    patch.setenv("OPENAI_API_KEY", "secret")
    return EndpointClient(ModelConfig("remote", endpoint="some-model", **keys))


def test_an_endpoint_gets_the_request_of_chat_completions(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> bytes:
        bodies.append(body)
        return completion("MOVE: a1", id="x")

    with chat_endpoint(answer) as server:
        keys = {"parameters": {"temperature": 0}, "tokens_field": "max_completion_tokens"}
        client = endpoint(server, monkeypatch, **keys)
        assert client.ask(PATIENT) == ModelAnswer("MOVE: a1", 100, 10)
        assert server.headers["Authorization"] == "Bearer secret"
        assert server.headers["Idempotency-Key"] == "m-0-0"
    told = {"model": "some-model", "messages": PROMPT, "max_completion_tokens": 50}
    assert bodies == [told | {"temperature": 0}]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (completion("x" * 1_000_000), f"more than {MOST_BYTES} bytes"),
        (b'{"choices": [{"message": ', "not the JSON that was expected"),
        (b'{"choices": []}', "the answer has no text"),
        (completion(None, tool_calls=[{"name": "run"}]), "the answer has no text"),
        (b"<html>\0\x1b[2J", "not the JSON that was expected"),
        (b"\xff" * 300_000, "bytes"),
    ],
)
def test_a_faulty_answer_of_an_endpoint_has_a_reason(ask: Ask, body: bytes, fault: str) -> None:
    answer = ask(body)
    assert fault in answer.fault
    assert len(answer.content) <= 1000


def test_statuses_of_an_endpoint(ask: Ask) -> None:
    with pytest.raises(ModelBusy, match="has answered 429: slow down"):
        ask((429, b"slow down"))
    with pytest.raises(ModelUnusable, match=r"at 127.0.0.1:\d+ has answered 401: wrong.key"):
        ask((401, b"wrong\x1bkey"))
    with pytest.raises(ModelUnusable, match="has answered 302"):
        ask((302, b""))


def test_an_endpoint_that_is_not_there_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_endpoint() as server:
        client = endpoint(server, monkeypatch)
    with pytest.raises(ModelBusy, match="cannot be reached"):
        client.ask(PATIENT)
    wrong = ("http://[", "http://a:b", "http://a/?v=1", "http://ann:secret@a")
    for text in ("", "example.com", "file:///etc/passwd", *wrong):
        monkeypatch.setenv("OPENAI_BASE_URL", text)
        with pytest.raises(ModelUnusable, match="needs the base address") as caught:
            EndpointClient(ModelConfig("remote", endpoint="some-model"))
        assert "secret" not in str(caught.value)


def test_a_key_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_endpoint(lambda body: completion("MOVE: a1")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.address)
        model = ModelConfig("remote", endpoint="some-model")
        monkeypatch.setenv("OPENAI_API_KEY", "secret\r\n")
        assert EndpointClient(model).ask(PATIENT).content == "MOVE: a1"
        assert server.headers["Authorization"] == "Bearer secret"
        for key in ("secret\nHost: a", "secret\u20ac"):
            monkeypatch.setenv("OPENAI_API_KEY", key)
            with pytest.raises(ModelUnusable, match="printable ASCII") as caught:
                EndpointClient(model)
            assert "secret" not in str(caught.value)


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: "])
def test_an_endpoint_that_sends_without_end_is_cut(
    begin: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One byte after the other, so that no wait for a byte takes long."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle() -> None:
            peer, _ = listener.accept()
            with peer:
                try:
                    peer.sendall(begin)
                    while True:
                        peer.sendall(b"x")
                        peer.settimeout(0.01)
                        try:
                            peer.recv(65536)
                        except TimeoutError:
                            continue
                except OSError:
                    return

        thread = Thread(target=trickle, daemon=True)
        thread.start()
        host, port = listener.getsockname()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://{host}:{port}")
        answer = EndpointClient(ModelConfig("remote", endpoint="some-model")).ask(HASTY)
        thread.join()
    assert answer.fault == "no answer within 0.2 s"


#: Copies of a process that has decoded nothing decode their first answers in several threads.
FIRST_ANSWERS = """
import os, sys, threading
from playout.agents.models import ChatCompletion, ModelAnswer, decoded_answer
sys.setswitchinterval(1e-6)
begin = threading.Barrier(6)
data = b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1}}'
def decode():
    begin.wait()
    decoded_answer(data, ChatCompletion)
    decoded_answer(b'{"content": "x"}', ModelAnswer)
for _ in range(150):
    if not (child := os.fork()):
        threads = [threading.Thread(target=decode) for _ in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        os._exit(0)
    if status := os.waitpid(child, 0)[1]:
        sys.exit(f"wait status {status}")
"""


def test_the_first_answers_are_decoded_in_several_threads_at_a_time() -> None:
    command = [sys.executable, "-c", FIRST_ANSWERS]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
