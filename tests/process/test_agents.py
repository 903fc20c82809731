"""`playout-agents`: benchmarks with programs and an endpoint, killed, interrupted and limited."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from playout.agents import benchmark_file
from support.agents import ToolCaller
from support.chat_endpoint import ChatEndpoint, chat_endpoint
from support.commands import finish, invoke, run, running_server, start
from support.waiting import PATIENCE_S, wait_until
from testbed.machine import reserve_port

#: Answers with the first legal move; with an argument, it does not answer the second request.
SCRIPT = """\
import json, sys, time
for number, line in enumerate(sys.stdin):
    prompt = json.loads(line)["messages"][0]["content"]
    legal = [each for each in prompt.splitlines() if each.startswith("Legal moves: ")]
    if sys.argv[1:] and number:
        time.sleep(1000)
    print(json.dumps({"content": "MOVE: " + legal[0][13:].split(", ")[0]}), flush=True)
"""


def benchmark(folder: Path, models: str, **keys: object) -> Path:
    """Write the file of a benchmark with a model, and return its path."""
    (folder / "model.py").write_text(SCRIPT)
    given = {"games": ["tic_tac_toe"], "opponents": ["random"], "pairs": 4, "calibration": 0}
    given["solved"] = 0
    lines = [f"{key} = {json.dumps(value)}" for key, value in (given | keys).items()]
    path = folder / "small.toml"
    path.write_text("\n".join([*lines, "[[models]]", models]) + "\n")
    return path


def records(path: Path) -> list[dict[str, Any]]:
    """Return the complete records of the journal."""
    file = path.with_name("small-results") / "journal.jsonl"
    lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    found = []
    for line in lines:
        if line.endswith(b"\n") and line.strip():
            try:
                found.append(json.loads(line))
            except ValueError:  # a line that was not completed before a kill
                continue
    return found


def kinds(path: Path) -> Counter[str]:
    return Counter(each["type"] for each in records(path))


#: A match in a journal whose opening is the first cell.
BEGUN = {"type": "match", "pair": 0, "game": "tic_tac_toe", "players": ["a", "b"], "opening": [0]}
PROGRAM = f'name = "first"\ncommand = "\'{sys.executable}\' -I -S model.py"'


def test_a_program_plays_and_is_not_asked_again(tmp_path: Path) -> None:
    path = benchmark(tmp_path, PROGRAM)
    code, output = run("playout-agents", "run", str(path))
    assert code == 0, output
    assert "Elo by game" in output
    stored = records(path)
    assert kinds(path)["result"] == 8
    folder = tmp_path / "small-results"
    rows = list(csv.DictReader((folder / "report.csv").open()))
    assert [(row["name"], row["matches"]) for row in rows] == [("first", "8"), ("random", "8")]
    measures = json.loads((folder / "report.json").read_text())["measures"]
    assert measures[0]["illegal_first"]["value"] == 0
    assert "| first |" in (folder / "report.md").read_text()
    assert run("playout-agents", "run", str(path))[0] == 0
    assert records(path) == stored
    code, output = run("playout-agents", "report", str(path))
    assert code == 0, output
    assert records(path) == stored


ENDPOINT = 'name = "remote"\nendpoint = "some-model"\nconcurrency = 3\nprompt_price = 1000.0'


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatEndpoint]:
    with chat_endpoint() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.address)
        monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
        yield server


def request_ids(path: Path, kind: str) -> Counter[str]:
    found = [each for each in records(path) if each["type"] == kind]
    asked = [each["request"] if kind == "answer" else each for each in found]
    return Counter(f"{each['match']}-{each['ply']}-{each['attempt']}" for each in asked)


def test_ten_kills_neither_lose_nor_repeat_an_answer(
    endpoint: ChatEndpoint, tmp_path: Path
) -> None:
    path = benchmark(tmp_path, ENDPOINT, pairs=20)
    for number in range(1, 11):
        endpoint.allow(6 * number)  # all matches together have about a hundred answers
        process = start("playout-agents", "run", str(path))
        wait_until(lambda: endpoint.is_holding or process.poll() is not None)  # noqa: B023
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        finish(process)
    endpoint.allow(10_000)
    code, output = run("playout-agents", "run", str(path))
    assert code == 0, output
    answers, requests = request_ids(path, "answer"), request_ids(path, "request")
    assert {*answers.values()} == {1}
    assert answers.keys() == requests.keys() == endpoint.paid.keys()
    # Only those are sent again that had no answer when the process was killed: up to three.
    assert requests.total() - len(requests) <= 30
    assert endpoint.asked.total() <= requests.total()
    results = Counter(each["match"] for each in records(path) if each["type"] == "result")
    assert len(results) == results.total() == 40
    assert "secret-key" not in (tmp_path / "small-results" / "journal.jsonl").read_text()
    assert endpoint.headers["Authorization"] == "Bearer secret-key"


def test_a_server_shows_a_benchmark_as_it_grows(endpoint: ChatEndpoint, tmp_path: Path) -> None:
    hostile = ENDPOINT.replace('"remote"', '"<script>alert(1)</script>"')
    path = benchmark(tmp_path, hostile, pairs=2)
    (folder := tmp_path / "small-results").mkdir()
    other = tmp_path / "other" / folder.name
    (other / "x").mkdir(parents=True)
    code, output = invoke("playout-server", "--benchmark", str(folder), "--benchmark", str(other))
    assert code == 2
    assert "two folders have the same name" in output
    with running_server("--http", "127.0.0.1:0", "--benchmark", str(folder)) as server:
        assert server.page
        port = server.page[1]

        def page(name: str = folder.name) -> tuple[int, str, str]:
            with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
                connection.request("GET", f"/benchmarks/{name}")
                answer = connection.getresponse()
                policy = answer.headers["Content-Security-Policy"]
                return answer.status, answer.read().decode(), policy

        assert page()[0] == 404
        assert "this benchmark has no report yet" in page()[1]
        for name in ("", "x", "..%2Fother", f"{folder.name}/journal.jsonl"):
            assert page(name)[0] == 404
        endpoint.allow(3)
        process = start("playout-agents", "run", str(path))
        wait_until(lambda: page()[0] == 200 or process.poll() is not None)
        _, text, policy = page()
        assert "Running: 0 of at most 2 pairs, 3 answers" in text
        assert 'http-equiv="refresh"' in text
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'unsafe-inline'")
        endpoint.allow(10_000)
        assert finish(process)[0] == 0
        wait_until(lambda: "Running" not in page()[1])  # the server keeps a page for a second
        text = page()[1]
        assert "refresh" not in text
        assert "<script" not in text
        assert "&lt;script&gt;alert(1)" in text


def test_an_agent_answers_over_mcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = reserve_port()
    monkeypatch.setenv("AGENT_TOKEN", "secret")
    model = f'name = "agent"\nmcp = {port}\nkey = "AGENT_TOKEN"'
    path = benchmark(tmp_path, model, pairs=2)
    process = start("playout-agents", "run", str(path))

    def status() -> int | None:
        with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
            try:
                connection.request("POST", "/mcp", "{}")
                return connection.getresponse().status
            except OSError:
                return None

    wait_until(lambda: status() == 401 or process.poll() is not None)
    asyncio.run(answers(f"http://127.0.0.1:{port}/mcp", "secret"))
    code, output = finish(process)
    assert code == 0, output
    assert f"agent is asked at http://127.0.0.1:{port}/mcp, with the token in AGENT_TOKEN" in output
    assert kinds(path)["result"] == 4
    stored = [each["answer"] for each in records(path) if each["type"] == "answer"]
    assert [each["fault"] for each in stored if each["fault"]] == ["the answer names no move"]
    assert {each["completion_tokens"] for each in stored} == {5}


async def answers(address: str, token: str) -> None:
    """Answer each request with the first legal move, but the first one with nonsense."""
    import mcp
    from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

    headers = {"Authorization": f"Bearer {token}"}
    used = {"prompt_tokens": 100, "completion_tokens": 5}
    async with (
        create_mcp_http_client(headers) as http,
        mcp.Client(streamable_http_client(address, http_client=http)) as client,
    ):
        call = ToolCaller(client)
        assert "is expected" in await call.error("answer", request="m-0-0", content="x")
        asked = await call("next_request")
        asked = await call("answer", request=asked["id"], content="x\ny", **used)
        while not asked["over"]:
            if asked["id"] is None:
                asked = await call("next_request")
                continue
            (move,) = re.findall(r"Legal moves: ([^,\n]*)", asked["messages"][0]["content"])
            given = {"request": asked["id"], "content": f"MOVE: {move}"}
            asked = await call("answer", **given, **used)


def test_the_budget_is_kept(endpoint: ChatEndpoint, tmp_path: Path) -> None:
    path = benchmark(tmp_path, ENDPOINT, pairs=30, cost=5.0, tokens=10)
    code, output = run("playout-agents", "run", str(path))
    assert code == 1, output
    assert "the budget of 5 allows no further request" in output
    # An answer costs 0.1, and is expected to cost 1 to 2 before it comes.
    assert 3.0 < 0.1 * len(endpoint.paid) <= 5.0
    assert kinds(path)["answer"] == len(endpoint.paid)


def test_ctrl_c_ends_the_programs(tmp_path: Path) -> None:
    slow = PROGRAM.replace("model.py", "model.py slow")
    path = benchmark(tmp_path, slow, retries=0)
    process = start("playout-agents", "run", str(path))
    wait_until(lambda: kinds(path)["request"] == 2 or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    assert process.stdout
    while "Ctrl-C again" not in (line := process.stdout.readline()):
        assert line
    process.send_signal(signal.SIGINT)
    code, _ = finish(process)
    assert code == 130
    assert kinds(path)["answer"] == 1
    wait_until(lambda: str(tmp_path) not in folders_of_processes())


def folders_of_processes() -> list[str]:
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            found.append(os.readlink(each / "cwd"))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("models", "keys", "said"),
    [
        (PROGRAM.replace("command", "comand"), {}, "small.toml:8: unknown key of a model 'comand'"),
        ('name = "a"', {}, "small.toml:6: a model needs one of command, endpoint and mcp"),
        ('name = "a"\ncommand = "no-such-program"', {}, "there is no program 'no-such-program'"),
        (PROGRAM, {"opponents": ["esy"]}, "unknown player 'esy'"),
        (PROGRAM, {"cost": 1.0}, "no model has a prompt_price"),
        (PROGRAM, {"games": ["nim", "nim"]}, "games: a game is listed twice"),
        (f"{ENDPOINT}\nparameters = {{ model = 'b' }}", {}, "model is a field that each"),
        (f"{ENDPOINT}\nparameters = {{ top_p = nan }}", {}, "must have values of JSON"),
        (ENDPOINT, {}, "needs the base address of its endpoint in the variable OPENAI_BASE_URL"),
        ('name = "a"\nmcp = 9\nkey = "NO_TOKEN"', {}, "needs a token in the variable NO_TOKEN"),
    ],
)
def test_faults_of_the_file_are_said(
    models: str, keys: dict[str, object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    code, output = invoke("playout-agents", "run", str(benchmark(tmp_path, models, **keys)))
    assert code == 2
    assert said in " ".join(output.split()), output


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ([{"type": "move", "action": 0}], "is before its match"),
        ([BEGUN, {"type": "result", "winner": 7}], "a match cannot end like this"),
        ([BEGUN, {"type": "result", "winner": 1, "forfeit": "late"}], "cannot end like this"),
        ([BEGUN, {"type": "move", "action": 0}, {"type": "result", "winner": 1}], "is not legal"),
        ([BEGUN | {"game": "hex"}, {"type": "result", "winner": 1}], ""),
    ],
)
def test_a_journal_of_a_stranger_is_checked(
    told: list[dict[str, object]], said: str, tmp_path: Path
) -> None:
    path = benchmark(tmp_path, PROGRAM)
    contest = next(iter(benchmark_file.read(path).contests())).digest
    (folder := tmp_path / "small-results").mkdir()
    lines = [json.dumps({"match": "m-0a", "contest": contest} | each) for each in told]
    (folder / "journal.jsonl").write_text("\n".join(lines) + "\n")
    code, output = invoke("playout-agents", "report", str(path))
    assert code == int(bool(said))
    assert said in output
