"""The pages of the protocol are true: its tables, its examples, its exchange, and its two bots."""

from __future__ import annotations

import json
import re
import shutil
import socket
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest

from playout import games
from playout.protocol.codec import ADMINISTRATORS_FRAME, MAX_FRAME, decode_event, decode_request
from playout.protocol.messages import PROTOCOL, REQUESTS, Code, Event, Reason, Request, Sender
from playout.server.core.handlers.feeds import LISTED
from playout.server.core.hub import Policy
from playout.server.server_command import main as server_command
from support.commands import RunningServer
from support.protocol_document import (
    DOCUMENT,
    EVENT_KINDS,
    KINDS,
    PART_KINDS,
    REQUEST_KINDS,
    SECTIONS,
    Message,
    bare,
    blocks,
    subsections,
    table,
    tag_of,
)
from support.requirements import skip_without

ROOT = Path(__file__).parents[2]
NODE_MODULES = ROOT / "tests" / "node" / "node_modules"
SCRIPTS = Path(sysconfig.get_path("scripts"))

#: Generous, for a first start compiles all games; nothing waits that long when all is well.
TIMEOUT_S = 60

Command = list[str]


def parsed_exchange() -> list[tuple[str, Message]]:
    """Who says what: C and S, and the messages."""
    (text,) = blocks(SECTIONS["A connection from beginning to end"], "text")
    said = re.findall(r"^([CS]): (.*(?:\n   .*)*)", text, flags=re.MULTILINE)
    return [(who, json.loads(message)) for who, message in said]


EXAMPLES = [
    pytest.param(heading, json.loads(block), id=f"{heading}-{number}".replace(" ", "_"))
    for heading, section in SECTIONS.items()
    for number, block in enumerate(blocks(section, "json"))
]
EXCHANGE = parsed_exchange()


# (a) The tables say what the code says.


@pytest.mark.parametrize(
    ("heading", "kinds"),
    [("Requests", REQUEST_KINDS), ("Events", EVENT_KINDS), ("Parts of messages", PART_KINDS)],
)
def test_each_message_has_its_section(heading: str, kinds: dict[str, Any]) -> None:
    assert sorted(subsections(heading)) == sorted(kinds)


@pytest.mark.parametrize(("heading", "base"), [("Requests", Request), ("Events", Event)])
def test_the_common_fields_are_described(heading: str, base: Any) -> None:
    described = [bare(row[0]) for row in table(SECTIONS[heading], "Field")]
    assert described == ["type", *base.__struct_fields__]


def defaults_of(kind: Any) -> dict[str, object]:
    """By field; NODEFAULT for one that is required."""
    if is_dataclass(kind):
        return {field.name: default_of(field) for field in fields(kind)}
    return {
        field.name: field.default
        if field.default_factory is msgspec.NODEFAULT
        else field.default_factory()
        for field in msgspec.structs.fields(kind)
    }


def default_of(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return msgspec.NODEFAULT if field.default is MISSING else field.default


@pytest.mark.parametrize("name", KINDS)
def test_the_fields_and_defaults_of_a_message(name: str) -> None:
    kind = KINDS[name]
    base = next((base for base in (Request, Event) if issubclass(kind, base)), None)
    common = base.__struct_fields__ if base else ()
    declared = {
        field: default for field, default in defaults_of(kind).items() if field not in common
    }
    described = {bare(row[0]): bare(row[2]) for row in table(SECTIONS[name], "Field")}
    assert list(described) == list(declared)
    for field, default in declared.items():
        if default is msgspec.NODEFAULT:
            assert described[field] == "required", field
        else:
            assert json.loads(described[field]) == as_json(default), field


def test_every_error_code_is_explained() -> None:
    rows = table(SECTIONS["Errors"], "Code")
    assert [bare(row[0]) for row in rows] == [code.value for code in Code]
    assert all(meaning and advice for _, meaning, advice in rows)


def test_every_reason_is_explained() -> None:
    rows = table(SECTIONS["Why a match ended"], "Reason")
    assert [bare(row[0]) for row in rows] == [reason.value for reason in Reason]


def test_table_of_allowed_messages() -> None:
    senders = (Sender.NEWCOMER, Sender.PLAYER, Sender.SPECTATOR)
    assert set(senders) == set(Sender)
    described = {
        (sender, bare(name))
        for name, *cells in table(SECTIONS["What is allowed when"], "Request")
        for sender, cell in zip(senders, cells, strict=True)
        if cell == "yes"
    }
    assert described == {(sender, tag_of(kind)) for kind in REQUESTS for sender in kind.sent_by}


def test_the_table_of_games() -> None:
    rows = table(SECTIONS["Games, states and actions"], "Game")
    described = {bare(row[0]): row[1:] for row in rows}
    built_in = {path.stem for path in (ROOT / "games").glob("*.py")} - {"__init__"}
    assert set(described) == built_in
    for name in ("open_spiel", "original"):  # their numbers depend on the game of the library
        del described[name]
    for name, (parameters, items, _, actions, _) in described.items():
        given = ",".join(re.findall(r"`(\w+=\w+)`", parameters))
        game = games.load(f"{name}({given})")
        assert str(game) == name, "those are the defaults"
        assert len(game.initial_state()) == int(items)
        assert game.num_actions == int(actions)


def test_the_limits() -> None:
    limits = SECTIONS["Limits"]
    assert f"{MAX_FRAME:,} bytes" in limits
    assert f"of administrators, {ADMINISTRATORS_FRAME:,} bytes" in limits
    assert f"| {Policy.matches_per_session} |" in limits
    assert f"{LISTED} entries" in limits


def test_table_of_operator_options() -> None:
    defaults = {option.opts[0]: option.default for option in server_command.params}
    rows = table(SECTIONS["Limits"], "Setting")
    assert rows
    for _, default, option, _ in rows:
        assert f"{defaults[bare(option)]}".removesuffix(".0") == default


def test_the_version() -> None:
    assert f"This page describes protocol version {PROTOCOL}." in DOCUMENT


def test_the_links_within_the_page() -> None:
    anchors = {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in SECTIONS}
    assert set(re.findall(r"\]\(#(.+?)\)", DOCUMENT)) <= anchors


# (c) The examples are messages.


def as_json(value: object) -> Any:
    return json.loads(json.dumps(msgspec.to_builtins(value)))


def decoded(message: Message, kinds: dict[str, Any]) -> object:
    decode = decode_request if kinds is REQUEST_KINDS else decode_event
    return decode(msgpack.packb(message))


@pytest.mark.parametrize("name", KINDS)
def test_each_message_has_an_example(name: str) -> None:
    assert blocks(SECTIONS[name], "json")


@pytest.mark.parametrize(("heading", "example"), EXAMPLES)
def test_an_example_is_what_is_sent(heading: str, example: Message) -> None:
    if heading in PART_KINDS:
        message: object = msgspec.convert(example, PART_KINDS[heading])
    else:
        assert heading not in KINDS or example["type"] == tag_of(KINDS[heading])
        is_request = example["type"] in REQUEST_KINDS and heading not in EVENT_KINDS
        message = decoded(example, REQUEST_KINDS if is_request else EVENT_KINDS)
    assert as_json(message) == example, "nothing is unknown, and defaults are left out"


@pytest.mark.parametrize(("who", "message"), EXCHANGE)
def test_the_exchange_consists_of_messages(who: str, message: Message) -> None:
    kinds = REQUEST_KINDS if who == "C" else EVENT_KINDS
    assert message["type"] in kinds
    assert as_json(decoded(message, kinds)) == message


# A server, and peers that speak in plain maps.


@contextmanager
def running(command: Command, cwd: Path) -> Iterator[Any]:
    """A process that has ended when the block is left, whatever happens in it."""
    with subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture
def live_server(server: RunningServer) -> int:
    """The port of a server on the loopback interface."""
    return server.port


def framed(message: Message) -> bytes:
    body: bytes = msgpack.packb(message)
    return struct.pack(">I", len(body)) + body


class Peer:
    """One end of a connection."""

    def __init__(self, line: socket.socket) -> None:
        line.settimeout(TIMEOUT_S)
        self.line = line
        self._stream = line.makefile("rb")

    def send(self, message: Message) -> None:
        self.line.sendall(framed(message))

    def receive(self) -> Message:
        (length,) = struct.unpack(">I", self._stream.read(4))
        message: Message = msgpack.unpackb(self._stream.read(length))
        return message


@contextmanager
def connected(port: int) -> Iterator[Peer]:
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as line:
        yield Peer(line)


#: What differs from one run of the exchange to the next.
VOLATILE = ("session", "match", "seek", "clocks", "software", "games")


def test_the_exchange_is_a_real_one(live_server: int) -> None:
    """Ada says what the document says, Bob plays his part, and the server answers as it says."""
    names = {"protocol_min": PROTOCOL, "protocol_max": PROTOCOL, "name": "Bob", "guest": True}
    match = None
    with connected(live_server) as ada, connected(live_server) as bob:
        bob.send({"type": "hello", **names})
        assert bob.receive()["type"] == "welcome"
        for who, message in EXCHANGE:
            if who == "C":
                ada.send(message | ({"match": match} if "match" in message else {}))
                continue
            if message["type"] == "started":
                game = next(said["game"] for _, said in EXCHANGE if said["type"] == "seek")
                bob.send({"type": "seek", "game": game})
            elif message["type"] == "update" and message["player"] == 2:
                ply, action = message["ply"], message["action"]
                bob.send({"type": "move", "match": match, "ply": ply, "action": action})
            heard = ada.receive()
            match = heard.get("match", match)
            assert set(heard) == set(message)
            for key, value in message.items():
                if key not in VOLATILE:
                    assert heard[key] == value
        assert message["type"] == "ended"


# (b) The bots play.


def code_of(heading: str, language: str) -> str:
    (code,) = blocks(SECTIONS[heading], language)
    return code


BOTS = {
    "python": ("bot.py", code_of("In Python", "python")),
    "js": ("bot.mjs", code_of("In JavaScript", "js")),
}
MAX_LINES = 50

BotCommand = Callable[[str], Command]


def require_node() -> None:
    """Skip the test if a bot in JavaScript cannot run here; where nothing is skipped, fail."""
    if shutil.which("node") is None:
        lacking = "it needs Node (apt install nodejs npm), then: cd tests/node && npm ci"
    elif not (NODE_MODULES / "@msgpack" / "msgpack").is_dir():
        lacking = "it needs a package: cd tests/node && npm ci"
    else:
        return
    skip_without(lacking)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the bots are, and what the one in JavaScript imports."""
    path = tmp_path_factory.mktemp("bots")
    for file, code in BOTS.values():
        (path / file).write_text(code, encoding="utf-8")
    (path / "node_modules").symlink_to(NODE_MODULES)
    return path


@pytest.fixture(scope="module")
def bot(folder: Path) -> BotCommand:
    """How to start the bot in a language; its arguments are to be added."""

    def command(language: str) -> Command:
        if language == "js":
            require_node()
        program = {"python": sys.executable, "js": "node"}[language]
        return [program, str(folder / BOTS[language][0])]

    return command


def finished(process: Any) -> tuple[int, str]:
    """The exit code of a process, and what it printed."""
    output, _ = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, output


@pytest.mark.parametrize("language", BOTS)
def test_a_bot_is_short(language: str) -> None:
    lines = BOTS[language][1].splitlines()
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("first", "second", "game"),
    [
        ("python", "python", "tic_tac_toe"),
        ("python", "python", "nim(chips=21)"),
        ("python", "python", "othello(size=6)"),
        ("python", "python", "gomoku"),
        ("js", "python", "connect_four"),
        ("js", "python", "othello(size=4)"),
        ("js", "python", "ultimate_tic_tac_toe"),
        ("js", "js", "mnk(m=5,n=4,k=3)"),
        ("js", "python", "pig(winscore=20)"),
    ],
)
def test_two_bots_play_a_match(
    live_server: int, bot: BotCommand, folder: Path, first: str, second: str, game: str
) -> None:
    where = ["127.0.0.1", str(live_server), game]
    with (
        running([*bot(first), *where, "Ada"], folder) as ada,
        running([*bot(second), *where, "Bob"], folder) as bob,
    ):
        (code_1, output_1), (code_2, output_2) = finished(ada), finished(bob)
    assert (code_1, code_2) == (0, 0), output_1 + output_2
    assert (output_1, output_2) in (
        ("won: Ada won (rules)\n", "lost: Ada won (rules)\n"),
        ("lost: Bob won (rules)\n", "won: Bob won (rules)\n"),
        ("tied: a tie (rules)\n", "tied: a tie (rules)\n"),
    )


@pytest.mark.parametrize("game", ["connect_four", "nim"])
def test_a_bot_plays_against_playout_player(
    live_server: int, bot: BotCommand, folder: Path, game: str
) -> None:
    port = str(live_server)
    player = [str(SCRIPTS / "playout-player"), game, "random", "--port", port, "--name", "Cy"]
    with (
        running([*bot("python"), "127.0.0.1", port, game, "Ada"], folder) as ada,
        running(player, folder) as cy,
    ):
        (code_1, output_1), (code_2, output_2) = finished(ada), finished(cy)
    assert (code_1, code_2) == (0, 0), output_1 + output_2
    result = re.fullmatch(r"(won|lost|tied): (.+) \(rules\)\n", output_1)
    assert result
    assert (result[1], result[2]) in {("won", "Ada won"), ("lost", "Cy won"), ("tied", "a tie")}
    assert f"{result[2]} (rules)" in output_2


@pytest.mark.parametrize("language", BOTS)
def test_a_bot_puts_frames_together(bot: BotCommand, folder: Path, language: str) -> None:
    """A server that trickles, then gushes, and says things that this protocol does not know."""
    welcome = {"type": "welcome", "protocol": 1, "session": "s", "name": "Ada", "mood": "good"}
    started = {
        "type": "started",
        "match": "m",
        "game": "nim(chips=1)",
        "players": ["Ada", "Bob"],
        "seat": 1,
        "clock": "none",
        "moves": [],
        "state": [1, 0, 1],
        "to_move": 1,
        "legal_actions": [0],
    }
    move = {"type": "move", "match": "m", "ply": 0, "action": 0}
    update = started | {"type": "update", "ply": 0, "to_move": 0, "legal_actions": []}
    ended = {"type": "ended", "match": "m", "winner": 1, "text": "Ada won", "reason": "rules"}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(TIMEOUT_S)
        port = str(listener.getsockname()[1])
        with running([*bot(language), "127.0.0.1", port, "nim(chips=1)", "Ada"], folder) as ada:
            line, _ = listener.accept()
            with line:
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                peer = Peer(line)
                assert peer.receive()["name"] == "Ada"
                for byte in framed(welcome):
                    line.sendall(bytes([byte]))
                assert peer.receive() == {"type": "seek", "game": "nim(chips=1)"}
                gush = [{"type": "from_a_later_server"}, {"type": "ping", "seconds": 60.0}, started]
                line.sendall(b"".join(map(framed, gush))[:-1])
                assert peer.receive() == {"type": "ping"}
                line.sendall(framed(started)[-1:])
                assert peer.receive() == move
                line.sendall(framed(update) + framed(ended))
                assert finished(ada) == (0, "won: Ada won (rules)\n")


@pytest.mark.parametrize("language", BOTS)
def test_a_bot_fails_when_it_is_refused(
    live_server: int, bot: BotCommand, folder: Path, language: str
) -> None:
    where = ["127.0.0.1", str(live_server), "no_such_game"]
    with running([*bot(language), *where], folder) as process:
        code, output = finished(process)
    assert code == 1
    assert "bad_game" in output


@pytest.mark.parametrize("language", BOTS)
def test_a_bot_fails_when_the_server_goes(bot: BotCommand, folder: Path, language: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(TIMEOUT_S)
        port = str(listener.getsockname()[1])
        with running([*bot(language), "127.0.0.1", port, "nim"], folder) as process:
            line, _ = listener.accept()
            with line:
                Peer(line).receive()
            code, output = finished(process)
    assert code == 1
    assert "clos" in output


@pytest.mark.parametrize("language", BOTS)
def test_a_bot_says_how_it_is_used(bot: BotCommand, folder: Path, language: str) -> None:
    with running(bot(language), folder) as process:
        code, output = finished(process)
    assert code == 1
    assert "HOST PORT GAME [NAME]" in output
