"""The main job: players that are processes of their own play over TCP, to the end."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator

import pytest

from playout import games
from support.commands import RunningServer, finish_all, running_server, start
from support.scale import repetitions
from support.variants import COMPILED, seen

MATCHES = repetitions(20, short=4)


@pytest.fixture(scope="module")
def host() -> Iterator[RunningServer]:
    with running_server("--illegal-moves", "0") as server:
        yield server
        code, log = server.stop()
        assert code == 0, log
        assert "illegal" not in log


def tally(output: str) -> tuple[int, ...]:
    """Won, lost, tied, as the last line says."""
    found = re.fullmatch(r"(\d+) won, (\d+) lost, (\d+) tied", output.splitlines()[-1])
    assert found, output
    return tuple(int(number) for number in found.groups())


#: Games in which random play nearly always ties begin with an advantage of the second player.
BEGUN = {"chess": "chess(fen=1r4k1/7r/8/8/8/8/8/K7 w - - 0 1)"}


@pytest.mark.parametrize("game", seen(COMPILED))
def test_random_and_uct_play_matches_without_an_illegal_move(
    host: RunningServer, game: str
) -> None:
    game = BEGUN.get(game, game)
    # Matches with dice take the longest, and nothing is claimed of who wins them.
    count = MATCHES // 2 if games.load(game).has_chance else MATCHES
    many = ("--matches", str(count), *host.address)
    # With seeds and seats, every run plays the same matches, if nothing is rolled.
    random_ = start("playout-player", game, "random(seed=1)", "--seat", "1", *many)
    uct = start(
        *("playout-player", game, "uct(seed=1)", "--seat", "2"),
        *("--option", "simulations=200", *many),
    )
    for code, output in finish_all(random_, uct):
        assert code == 0, output
        assert "refused" not in output
        won, lost, tied = tally(output)
        assert won + lost + tied == count
    if not games.load(game).has_chance:
        assert won > lost  # the second was uct


def test_uct_says_what_it_thinks(host: RunningServer) -> None:
    opponent = start("playout-player", "nim", "random", *host.address)
    uct = start("playout-player", "nim", "uct(time=0.05)", *host.address, "--show")
    _, (_, output) = finish_all(opponent, uct)
    assert re.search(r"[\d,]+ simulations in 0\.0\d+ s, depth \d+, win rate", output)
    assert re.search(r"\d: \d+\.\d% \([\d.]+/\d+\)", output)
    assert "chips left" in output


def test_a_clock_is_kept_by_a_search_without_a_time_of_its_own(host: RunningServer) -> None:
    # Long enough for a machine on which other work keeps all cores busy.
    clock = ("--clock", "4+0.2", *host.address)
    players = [start("playout-player", "connect_four", "uct", *clock) for _ in range(2)]
    for code, output in finish_all(*players):
        assert code == 0
        assert "out of time" not in output


def test_a_challenge_finds_the_one_it_is_for(host: RunningServer) -> None:
    ada = start("playout-player", "nim", "random", "--name", "Ada", *host.address)
    challenge = ("--name", "Bob", "--opponent", "Ada", "--seat", "2", *host.address)
    bob = start("playout-player", "nim", "random", *challenge)
    for code, output in finish_all(ada, bob):
        assert code == 0
        assert "Ada against Bob" in output


class Cut:
    """Relays one connection after another to a server, and breaks the first after a few bytes."""

    def __init__(self, port: int, after: int) -> None:
        self._to = port
        self._left: int | None = after
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            far = socket.create_connection(("127.0.0.1", self._to))
            ends = [(near, far, False), (far, near, True)]
            for source, target, counts in ends:
                threading.Thread(
                    target=self._relay, args=(source, target, counts), daemon=True
                ).start()

    def _relay(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        try:
            while chunk := source.recv(4096):
                if counts and self._left is not None:
                    self._left -= len(chunk)
                    if self._left < 0:
                        self._left = None
                        break
                target.sendall(chunk)
        except OSError:
            pass
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()


@pytest.mark.parametrize("after", [100, 1500, 2500, 4000])
def test_a_player_whose_line_breaks_comes_back_and_plays_on(
    host: RunningServer, after: int
) -> None:
    line = Cut(host.port, after)
    clumsy = start(
        *("playout-player", "connect_four", "uct(simulations=500,seed=1)", "--seat", "1"),
        *("--port", str(line.port)),
    )
    # With seeds and seats, every run plays the same match, which is long enough to be cut.
    steady = start(
        *("playout-player", "connect_four", "uct(simulations=500,seed=2)", "--seat", "2"),
        *host.address,
    )
    for code, output in finish_all(clumsy, steady):
        assert code == 0, output
        assert "(rules)" in output, output
    assert line.connections == 2
    line.close()
