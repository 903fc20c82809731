"""Clients of the original system play on a server through `playout-bridge json`."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from playout.bridges.original.bridged_match import MAX_LINE, MOST_ILLEGAL
from playout.players.engines.original_json import RULES
from support.boards_package import write_package
from support.commands import Command, RunningServer, finish, invoke, running_server, start
from support.original_boards import BOARDS, NATIVE
from support.original_client import OriginalClient
from support.raw_client import RawClient
from support.scale import slow
from support.waiting import wait_until
from testbed.machine import reserve_port


class RunningBridge:
    """A `playout-bridge json` that listens on a free port."""

    def __init__(self, server: RunningServer, game: str, *options: str, **changes: Any) -> None:
        where = ("--server", f"{server.host}:{server.port}")
        self.process: Command = start(
            "playout-bridge", "json", game, "--port", "0", *where, *options, **changes
        )
        assert self.process.stdout
        announcement = self.process.stdout.readline()
        assert "listening on" in announcement, announcement
        self.port = int(announcement.split()[3].rpartition(":")[2])

    def stop(self) -> str:
        """Send SIGTERM, and return what it said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code, output = finish(self.process)
        assert code == 143, output
        assert "Traceback" not in output
        return output


@contextlib.contextmanager
def running_bridge(
    server: RunningServer, game: str, *options: str, **changes: Any
) -> Iterator[RunningBridge]:
    bridge = RunningBridge(server, game, *options, **changes)
    try:
        yield bridge
        bridge.stop()
    finally:
        bridge.process.kill()
        bridge.process.communicate()


@pytest.fixture(scope="module")
def host() -> Iterator[RunningServer]:
    with running_server() as server:
        yield server
        code, log = server.stop()
        assert code == 0, log
        assert "Traceback" not in log


@pytest.fixture(scope="module")
def bridge(host: RunningServer) -> Iterator[RunningBridge]:
    """A bridge for connect_four, whose clients move first: they meet `NativeOpponent`s."""
    with running_bridge(host, "connect_four", "--seat", "1") as bridge:
        yield bridge


class NativeOpponent(RawClient):
    """Plays on the server directly, as player 2."""

    def __init__(self, server: RunningServer) -> None:
        super().__init__(server.host, server.port)
        self.hello(legal_actions=True)
        self.match = ""

    def meet(self) -> None:
        """Begin a match against the client that waits at the bridge."""
        self.say("seek", game="connect_four", clock="60/move", seat=2)
        self.match = self.hear_until("started")["match"]

    def move(self) -> None:
        """Answer the client's move."""
        update = self.hear_until("update", player=1)
        action = update["legal_actions"][0]
        self.ask("move", match=self.match, ply=update["ply"] + 1, action=action)

    def result(self) -> tuple[int, str]:
        ended = self.hear_until("ended", match=self.match)
        return ended["winner"], ended["reason"]


@pytest.fixture
def opponent(host: RunningServer) -> Iterator[NativeOpponent]:
    with NativeOpponent(host) as opponent:
        yield opponent


def play_all(*clients: OriginalClient) -> list[dict[str, Any]]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(OriginalClient.play, clients))


@pytest.mark.parametrize("game", NATIVE if slow else NATIVE[:3])
def test_two_clients_play_a_match_to_the_end(host: RunningServer, game: str) -> None:
    with running_bridge(host, game) as bridge:
        with (
            OriginalClient(game, bridge.port, 1) as one,
            OriginalClient(game, bridge.port, 2) as two,
        ):
            first, second = play_all(one, two)
        output = bridge.stop()
    assert {one.player, two.player} == {1, 2}
    assert first["winners"] == second["winners"]
    assert first["points"] == second["points"]
    assert first["state"] == second["state"]
    assert first["last_action"]["sequence"] == one.said + two.said + 1
    board = BOARDS[game]()
    history = [board.to_compact_state(first["state"])]
    told = {"winners": board.win_values(history), "points": board.points_values(history)}
    assert json.loads(json.dumps(told)).items() <= first.items()
    assert output.count("(rules)") == 2


def test_clients_play_a_game_by_its_own_board(tmp_path: Path) -> None:
    write_package(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with (
        running_server(env=env) as server,
        running_bridge(server, "original(board=chong)", env=env) as bridge,
        OriginalClient("chong", bridge.port, 1) as one,
        OriginalClient("chong", bridge.port, 2) as two,
    ):
        first, second = play_all(one, two)
    assert first["winners"] == second["winners"]
    assert first["state"] == second["state"]
    history = [BOARDS["chong"]().to_compact_state(first["state"])]
    assert BOARDS["chong"]().is_ended(history)


@pytest.mark.parametrize("game", NATIVE if slow else ["reversi"])
def test_a_client_plays_a_match_against_uct(host: RunningServer, game: str) -> None:
    spec = RULES[game].spec
    player = start("playout-player", spec, "uct(simulations=100)", "--name", f"uct {game}",
                   "--guest", *host.address)  # fmt: skip
    options = ("--opponent", f"uct {game}", "--seat", "1")
    with (
        running_bridge(host, game, *options) as bridge,
        OriginalClient(game, bridge.port) as client,
    ):
        last = client.play()
    code, output = finish(player)
    assert code == 0, output
    assert "(rules)" in output
    assert client.received[0] == {"type": "player", "message": 1}
    assert "last_action" not in client.received[1]
    assert last["winners"] in ({"1": 1, "2": 0}, {"1": 0, "2": 1}, {"1": 0.5, "2": 0.5})


def test_the_first_messages_are_those_of_the_original(
    host: RunningServer, bridge: RunningBridge, opponent: NativeOpponent
) -> None:
    with OriginalClient("connect_four", bridge.port) as client:
        opponent.meet()
        assert client.hear() == {"type": "player", "message": 1}
        first = {"pieces": [], "player": 1, "previous_player": 2}
        assert client.hear() == {"type": "update", "board": None, "state": first}
        client.send({"type": "action", "message": {"column": 3}})
        opponent.move()
        update = client.hear()
        assert update["state"]["pieces"][1] == {"type": "disc", "player": 1, "row": 0, "column": 3}
        last = {"player": 2, "action": {"column": 0}, "sequence": 3}
        assert update["last_action"] == last
        opponent.say("resign", match=opponent.match)
        final = client.hear()
        assert (final["winners"], final["points"]) == ({"1": 1, "2": 0}, {"1": 1, "2": 0})
        with pytest.raises(EOFError):
            client.hear()
    assert opponent.result() == (1, "resignation")


GARBAGE = {
    "no JSON": b"\x00\xff{{{\r\n",
    "no object": b"[]\r\n",
    "deep": b"[" * 30_000 + b"\r\n",
    "no action": b'{"type": "update"}\r\n',
    "no column": b'{"type": "action", "message": {"column": 99}}\r\n',
    "too long": b"x" * (2 * MAX_LINE),
    "a flood": b'{"type": "action", "message": {"column": 1}}\r\n' * 2000,
}


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE)
def test_a_client_that_breaks_the_protocol_loses(
    bridge: RunningBridge, opponent: NativeOpponent, sent: bytes
) -> None:
    with OriginalClient("connect_four", bridge.port) as client:
        opponent.meet()
        assert client.next_turn()
        with contextlib.suppress(ConnectionError):  # the bridge may have closed the line already
            client.socket.sendall(sent)
        assert opponent.result() == (2, "resignation")
        with contextlib.suppress(ConnectionError):
            assert client.hear()["type"] == "error"
            assert "protocol" in client.hear_until("decline")["message"]


def test_an_illegal_action_is_returned_and_the_fourth_one_loses(
    bridge: RunningBridge, opponent: NativeOpponent
) -> None:
    illegal = {"type": "action", "message": {"column": 0}}
    with OriginalClient("connect_four", bridge.port) as client:
        opponent.meet()
        for _ in range(3):
            assert client.next_turn()
            client.send(illegal)
            opponent.move()
        assert client.next_turn()
        asked = client.received[-1]
        for _ in range(MOST_ILLEGAL):
            client.send(illegal)
            assert client.hear() == {"type": "illegal", "message": {"column": 0}}
            assert client.hear() == asked
        client.send(illegal)
        assert client.hear() == {"type": "illegal", "message": {"column": 0}}
        assert "illegal" in client.hear_until("decline")["message"]
        assert opponent.result() == (2, "resignation")


def test_a_person_may_choose_a_cell_of_a_decided_board_and_then_another_one(
    host: RunningServer,
) -> None:
    """The original's client lets people do so, and waits for the server."""
    with (
        running_bridge(host, "t3", "--seat", "1", "--clock", "60/move") as bridge,
        NativeOpponent(host) as opponent,
        OriginalClient("t3", bridge.port, seed=4) as client,
    ):
        opponent.say("seek", game="ultimate_tic_tac_toe", seat=2)
        opponent.match = opponent.hear_until("started")["match"]
        assert client.next_turn()
        while not (cell := decided_cell(client.received[-1]["state"])):
            client.send(client.action())
            opponent.move()
            assert client.next_turn()
        asked = client.received[-1]
        client.send({"type": "action", "message": cell})
        assert client.hear() == {"type": "illegal", "message": cell}
        assert client.next_turn()
        assert client.received[-1] == asked
        client.send(client.action())
        opponent.move()


def decided_cell(state: dict[str, Any]) -> dict[str, int] | None:
    """Return an empty cell of a decided board, if the player may choose the board."""
    if state["constraint"]["outer-row"] is not None:
        return None
    keys = ("outer-row", "outer-column", "inner-row", "inner-column")
    taken = {tuple(piece[key] for key in keys) for piece in state["pieces"]}
    for board in state["boards"]:
        for row, column in itertools.product(range(3), range(3)):
            cell = (board["outer-row"], board["outer-column"], row, column)
            if board["type"] != "full" and cell not in taken:
                return dict(zip(keys, cell, strict=True))
    return None


def test_a_client_that_disconnects_loses_its_match_only(
    host: RunningServer, bridge: RunningBridge, opponent: NativeOpponent
) -> None:
    with NativeOpponent(host) as other, OriginalClient("connect_four", bridge.port) as steady:
        other.meet()
        assert steady.next_turn()
        with OriginalClient("connect_four", bridge.port) as client:
            opponent.meet()
            assert client.next_turn()
        assert opponent.result() == (2, "resignation")
        steady.send(steady.action())
        other.move()
        assert steady.next_turn()


def test_a_client_that_disconnects_before_a_match_leaves_no_seek(
    bridge: RunningBridge, opponent: NativeOpponent
) -> None:
    with OriginalClient("connect_four", bridge.port):
        seeks = wait_until(lambda: opponent.ask("list")["seeks"], "the seek of the client")
        assert seeks[0]["game"] == "connect_four"
    wait_until(lambda: not opponent.ask("list")["seeks"], "the end of the seek")


def test_a_silent_client_loses_on_time_and_is_told_the_result(host: RunningServer) -> None:
    options = ("--seat", "1", "--clock", "4+0.1")
    with (
        running_bridge(host, "t3", *options) as bridge,
        NativeOpponent(host) as opponent,
        OriginalClient("t3", bridge.port) as client,
    ):
        opponent.say("seek", game="ultimate_tic_tac_toe", seat=2)
        opponent.match = opponent.hear_until("started")["match"]
        assert client.next_turn()
        client.send(client.action())
        update = opponent.hear_until("update")
        action = update["legal_actions"][0]
        opponent.ask("move", match=opponent.match, ply=1, action=action)
        assert client.next_turn()
        assert opponent.result() == (2, "time")
        assert client.hear()["winners"] == {"1": 0, "2": 1}


def test_the_bridge_declines_all_when_it_is_stopped(
    host: RunningServer, opponent: NativeOpponent
) -> None:
    options = ("--seat", "1", "--clients", "2")
    with (
        running_bridge(host, "connect_four", *options) as bridge,
        OriginalClient("connect_four", bridge.port) as playing,
        OriginalClient("connect_four", bridge.port) as waiting,
    ):
        opponent.meet()
        both = (playing, waiting)
        with OriginalClient("connect_four", bridge.port) as third:
            assert "2 clients already" in third.hear_until("decline")["message"]
        bridge.stop()
        assert all("stopped" in each.hear_until("decline")["message"] for each in both)
        assert opponent.result()[0] == 2


def test_without_a_server_a_client_is_declined(host: RunningServer) -> None:
    changed = {"playout.bridges.original.original_command.PATIENCE_S": 0.5}
    nowhere = ("--server", f"127.0.0.1:{reserve_port()}")
    with (
        running_bridge(host, "t3", *nowhere, changed=changed) as bridge,
        OriginalClient("t3", bridge.port) as client,
    ):
        assert "cannot be reached" in client.hear_until("decline")["message"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("chess", "--port", "0"), "unknown game of the original system 'chess'"),
        (("t3",), "Missing option '--port'"),
        (("t3", "--port", "0", "--clock", "none"), "the match of a silent client would never end"),
        (("t3", "--port", "0", "--clock", "soon"), "soon"),
        (("t3", "--port", "0", "--server", "nowhere"), "'nowhere' is not HOST:PORT"),
        (("t3", "--port", "0", "--opponent", "A", "--challenge-bot", "uct"), "not both"),
    ],
)
def test_wrong_usage_is_explained(options: tuple[str, ...], told: str) -> None:
    code, output = invoke("playout-bridge", "json", *options)
    assert code == 2
    assert told in output
