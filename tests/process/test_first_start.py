"""The first start of a server on a machine: it listens before it has compiled the games."""

from __future__ import annotations

import signal
from pathlib import Path
from urllib.request import urlopen

import pytest

from support.commands import finish
from support.first_start import first_start
from support.forked import preloaded
from support.processes import children_of, is_gone
from support.raw_client import RawClient
from support.variants import compiled_by_matches
from support.waiting import wait_until


@pytest.mark.long
def test_a_server_listens_before_the_games_are_compiled(tmp_path: Path) -> None:
    with first_start(tmp_path, ["nim"]) as (server, port, _):
        assert not [*tmp_path.glob("playout/compiled/all-*/*")]
        with RawClient("127.0.0.1", port) as ada, RawClient("127.0.0.1", port) as bob:
            for client in (ada, bob):
                client.hello()
                client.say("seek", game="nim", clock="60+1", id=1)
                notice = client.hear()
                assert (notice["type"], notice["code"]) == ("notice", "game_compiling")
                assert "nim is being compiled for this machine" in notice["text"]
            for client in (ada, bob):
                assert client.hear_until("started")["game"] == "nim"
        server.send_signal(signal.SIGINT)
        code, output = finish(server)
    assert code == 0
    assert "nim is ready after" in output
    assert "Traceback" not in output


def test_the_lobby_shows_games_to_come_and_processes_end_with_the_server(
    tmp_path: Path,
) -> None:
    with first_start(tmp_path, ["nim"]) as (server, _, page):
        compiling = wait_until(lambda: children_of(server.pid), "the process that compiles")
        with urlopen(page) as answer:
            lobby = answer.read().decode()
        assert 'class="picture-of-game skeleton" data-game="nim"' in lobby
        assert '<progress id="to-come-progress" value="0" max="1"' in lobby
        server.send_signal(signal.SIGINT)
        code, _ = finish(server)
        assert code == 0
    wait_until(lambda: all(map(is_gone, compiling)), "the end of the process")


def test_a_match_of_any_game_is_shown_without_compiling() -> None:
    ours, its = preloaded().Pipe(duplex=False)
    process = preloaded().Process(target=compiled_by_matches, args=(its,))
    process.start()
    its.close()
    assert ours.recv() == {}
    process.join()
