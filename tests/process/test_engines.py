"""Engines of others in matches and tournaments, as processes: GRhino, and tiny ones with faults."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shlex
import shutil
import signal
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from playout import games, players
from playout.games import Position
from playout.players import Player
from playout.players.engines.config import search_path
from playout.protocol.messages import Reason
from playout.protocol.tournament_spec import loads
from playout.server.storage import Database
from support.commands import RunningServer, finish, finish_all, run, running_server, start
from support.engines import TinyEngine, require_gone
from support.raw_client import Message, RawClient
from support.requirements import skip_without
from support.waiting import wait_until

TOURNAMENT = """
name = "GRhino"
games = ["othello"]
format = "match"
rounds = 2
clock = "30/move"
concurrency = 1
openings = { plies = 4 }
[[entrants]]
name = "GRhino"
player = "engine(name=rhino)"
[[entrants]]
name = "uct"
player = "uct(simulations=200)"
"""


#: Passes the commands of GTP on; a check has two moves.
KILLS = """moves=0
while read -r line; do
    case $line in *genmove*) moves=$((moves + 1)) ;; esac
    if [ $moves = 4 ] && [ -e kill ]; then
        rm kill
        kill -9 "$(tail -n 1 pids)"
    fi
    echo "$line"
done"""


@pytest.fixture
def rhino(tmp_path: Path) -> Path:
    """A folder with an `engines.toml` for GRhino.

    The file `pids` has its processes. If there is a file `kill`, one is killed at its fourth move.
    """
    program = shutil.which("gtp-rhino", path=search_path())
    if program is None:
        skip_without("GRhino, an engine for Othello (apt install grhino)")
    inner = f"echo $$ >>pids; exec {program} -l 1"
    # The pipeline ends with GRhino: the loop would wait for the next command.
    (tmp_path / "rhino.sh").write_text(f"{KILLS} | (sh -c {shlex.quote(inner)}; kill 0)")
    (tmp_path / "engines.toml").write_text(
        '[rhino]\ncommand = "sh rhino.sh"\nprotocol = "gtp"\ngames = ["othello"]\n'
    )
    return tmp_path


def pids(folder: Path) -> list[int]:
    """The processes of GRhino that were started."""
    file = folder / "pids"
    return list(map(int, file.read_text().split())) if file.exists() else []


def test_grhino_plays_whole_matches_against_uct(rhino: Path, server: RunningServer) -> None:
    engines = ("--engines", str(rhino / "engines.toml"))
    several = ("--matches", "2", "--clock", "30/move", *server.address)
    theirs = start("playout-player", "othello", "engine(name=rhino)", *engines, *several)
    ours = start("playout-player", "othello", "uct(simulations=200)", *several)
    for code, output in finish_all(theirs, ours):
        assert code == 0, output
        assert output.count("(rules)") == 2
    require_gone(pids(rhino))


def test_a_tournament_goes_on_when_its_engine_is_killed_in_a_match(
    rhino: Path, tmp_path: Path
) -> None:
    (rhino / "SPEC.toml").write_text(TOURNAMENT)
    url = f"sqlite:///{tmp_path}/t.db"
    options = ("--database", url, "--http", "none")
    (rhino / "kill").touch()
    code, output = run("playout-tournament", "run", str(rhino / "SPEC.toml"), *options)
    assert code == 0, output
    database = Database(url, only_read=True)
    ended = [each.ended for each in database.finished_since(0.0)]
    (created,) = (each.created for each in database.tournaments())
    database.close()
    assert sorted(each.reason for each in ended if each) == sorted(
        [Reason.CRASH, *3 * [Reason.RULES]]
    )
    assert loads(created.spec).entrants[0].version.startswith("GTP GRhino 0.")
    assert "rhino.sh" not in created.spec
    require_gone(pids(rhino))


CLIENTS = """
name = "A client of the original system"
games = ["connect_four"]
format = "match"
rounds = 1
clock = "30/move"
concurrency = 1
openings = { plies = 2 }
[[entrants]]
name = "client"
player = "engine(name=tiny)"
[[entrants]]
name = "random"
player = "random"
"""


def test_a_client_of_the_original_system_plays_a_tournament(tmp_path: Path) -> None:
    client = TinyEngine(tmp_path, "json", "chatter")
    (tmp_path / "SPEC.toml").write_text(CLIENTS)
    options = ("--database", f"sqlite:///{tmp_path}/t.db", "--http", "none")
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    spec = str(tmp_path / "SPEC.toml")
    code, output = run("playout-tournament", "run", spec, *options, env=environment)
    assert code == 0, output
    assert re.search(r"^2 of 2  connect_four: .*\(rules\)", output, re.MULTILINE)
    client.require_gone()
    assert sum("winners" in line for line in client.said) == 2
    assert "spins" not in client.said
    # All have left by themselves, except one that was still starting for a third match.
    assert client.said.count("left") >= len(client.pids) - 1


ENGINES = """
[gnugo]
command = '''
gnugo --mode gtp --chinese-rules --positional-superko --capture-all-dead --level 1 --seed 1
'''
protocol = "gtp"
games = ["go", "open_spiel(game=go)"]
[fairy]
command = "fairy-stockfish"
protocol = "uci"
options = { Hash = 1, Threads = 1 }
short_s = 100
short = { nodes = 500 }          # so that a busy machine makes no difference
[pondering]
command = "fairy-stockfish"
protocol = "uci"
options = { Hash = 1, Threads = 1, Ponder = true }
[glaurung]
command = "glaurung"
protocol = "uci"
short_s = 100
short = { depth = 2 }
"""


@pytest.fixture
def engines(tmp_path: Path) -> Path:
    """A file with engines of Debian."""
    for program in ("gnugo", "fairy-stockfish", "glaurung"):
        if shutil.which(program, path=search_path()) is None:
            skip_without(f"{program} (apt install {program})")
    (tmp_path / "engines.toml").write_text(ENGINES)
    return tmp_path / "engines.toml"


@pytest.mark.parametrize(
    ("name", "game"),
    [
        ("gnugo", "go(size=5,komi=0.5)"),
        ("gnugo", "go(size=7,komi=0.5,handicap=2,counting=true)"),
        ("gnugo", "open_spiel(game=go,board_size=5)"),
        ("fairy", "breakthrough"),
        ("fairy", "clobber"),
        ("fairy", "open_spiel(game=clobber)"),
        ("glaurung", "chess"),
        # Black, the second player, moves first.
        ("fairy", "chess(fen=8/8/8/8/4k3/8/8/R3K2R b KQ - 0 1)"),
    ],
)
def test_an_engine_of_others_wins(
    engines: Path, name: str, game: str, server: RunningServer
) -> None:
    match = ("--clock", "60/move", *server.address)
    engine = f"engine(name={name})"
    # With seeds, seats and limits that no clock decides, every run plays the same match.
    theirs = start("playout-player", game, engine, "--seat", "1", *match, "--engines", str(engines))
    ours = start("playout-player", game, "random(seed=1)", "--seat", "2", *match)
    (code, output), (other_code, other_output) = finish_all(theirs, ours)
    assert (code, other_code) == (0, 0), output + other_output
    assert re.search(rf": {name}-\w+ won \(rules\)", output)


@pytest.mark.parametrize("is_expected", [True, False])
def test_an_engine_ponders_on_the_reply_that_it_expects(engines: Path, is_expected: bool) -> None:
    game = games.load("breakthrough")
    player = players.load(f"engine(name=pondering,file={engines})", game)
    assert player.ponders
    first = Position(game)
    chosen = player.choose(first, players.Limit(seconds=0.1))
    assert chosen.info
    position = first.play(chosen.action)
    pondering = threading.Thread(target=ponder, args=(player, position))
    pondering.start()
    player.cancel()
    pondering.join()
    player.ready()
    legal = position.legal_actions
    replies = chosen.info.pv[1:2] if is_expected else legal[:1]
    position = position.play((*replies, legal[0])[0])
    again = player.choose(position, players.Limit(seconds=0.1))
    assert again.action in position.legal_actions
    player.close()


def ponder(player: Player, position: Position) -> None:
    with contextlib.suppress(players.Cancelled):
        player.ponder(position)


def test_an_engine_reports_while_it_searches_until_it_is_cancelled(tmp_path: Path) -> None:
    engine = TinyEngine(tmp_path, "uci", "late 1")
    player = players.load(f"engine(name=tiny,file={engine.file})", games.load("breakthrough"))
    found: list[players.Info] = []

    def report(info: players.Info) -> None:
        found.append(info)
        player.cancel()

    with pytest.raises(players.Cancelled):
        player.choose(Position(player.game), players.Limit(seconds=math.inf), report)
    (info,) = found
    assert (info.depth, info.simulations, len(info.pv)) == (2, 900, 1)
    player.ready()
    assert player.choose(Position(player.game), players.Limit(seconds=1)).info
    player.close()
    engine.require_gone()


def in_home(folder: Path) -> Mapping[str, str]:
    """The environment of a user whose configuration is in a folder."""
    return os.environ | {"XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder)}


def tiny(folder: Path, fault: str, protocol: str = "gtp", **keys: str) -> TinyEngine:
    """An engine in the configuration of a user."""
    (folder / "playout").mkdir()
    return TinyEngine(folder / "playout", protocol, fault, **keys)


GAME = "mnk(m=4,n=4,k=4)"


def test_a_fault_resigns_the_match_and_the_next_one_is_played(
    tmp_path: Path, server: RunningServer
) -> None:
    engine = tiny(tmp_path, "illegal 2 once")
    several = ("--matches", "2", *server.address)
    theirs = start("playout-player", GAME, "engine(name=tiny)", *several, env=in_home(tmp_path))
    ours = start("playout-player", GAME, "random", *several)
    (code, output), (other_code, other_output) = finish_all(theirs, ours)
    assert code == 1, output
    assert other_code == 0, other_output
    assert "The player crashed, and loses its match: the engine tiny has answered " in output
    assert "Traceback" not in output
    assert "(crash)" in output
    assert "(rules)" in output
    engine.require_gone()


def test_an_engine_that_starts_slowly_and_uses_its_time_loses_none_on_time(
    tmp_path: Path, server: RunningServer
) -> None:
    """Before each match it takes more time than the clock has."""
    engine = tiny(tmp_path, "slow", "gomocup", margin_s="0.9")
    words = ("engine(name=tiny)", "--clock", "1/move", "--matches", "2", *server.address)
    player = start("playout-player", "mnk(m=5,n=5,k=5)", *words, env=in_home(tmp_path))
    with RawClient(server.host, server.port) as bob:
        bob.hello()
        for _ in range(2):
            bob.say("seek", game="mnk(m=5,n=5,k=5)", seat=2)
            match = bob.hear_until("started")["match"]
            assert bob.hear_until("update")["player"] == 1
            bob.say("resign", match=match)
    code, output = finish(player)
    assert code == 0, output
    assert "2 won, 0 lost" in output
    engine.require_gone()


def test_a_fault_touches_no_other_match(tmp_path: Path, server: RunningServer) -> None:
    both = tmp_path / "steady", tmp_path / "faulty"
    for each in both:
        each.mkdir()
    steady, faulty = TinyEngine(both[0]), TinyEngine(both[1], "gtp", "die 2")
    with RawClient(server.host, server.port) as bob:
        bob.hello(legal_actions=True)
        bob.say("seek", game=GAME, seat=1)
        words = ("engine(name=tiny)", "--engines", str(steady.file), *server.address)
        beside = start("playout-player", GAME, *words, env=in_home(both[0]))
        started = bob.hear_until("started")
        move(bob, started["match"], started)
        words = ("engine(name=tiny)", "--engines", str(faulty.file), *server.address)
        theirs = start("playout-player", "mnk(m=5,n=5,k=5)", *words, env=in_home(both[1]))
        ours = start("playout-player", "mnk(m=5,n=5,k=5)", "random", *server.address)
        (code, output), _ = finish_all(theirs, ours)
        assert code == 1
        assert "ended by a signal (Segmentation fault)" in output
        while (event := bob.hear())["type"] != "ended":
            if event["type"] == "update" and event["to_move"] == 1:
                move(bob, started["match"], event)
        assert event["reason"] == "rules"
        assert finish(beside)[0] == 0
    for each in (steady, faulty):
        each.require_gone()


def move(bob: RawClient, match: str, event: Message) -> None:
    """Play the last legal action, unless the match is over."""
    if event["legal_actions"]:
        ply = event.get("ply", -1) + 1
        bob.say("move", match=match, ply=ply, action=event["legal_actions"][-1])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_is_left_when_the_player_is_ended(
    tmp_path: Path, server: RunningServer, how: signal.Signals
) -> None:
    engine = tiny(tmp_path, "children")
    words = (GAME, "engine(name=tiny)", *server.address)
    player = start("playout-player", *words, env=in_home(tmp_path))
    wait_until(lambda: len(engine.pids) == 3)
    assert player.stdout
    wait_until(lambda: "waiting for an opponent" in player.stdout.readline())
    player.send_signal(how)
    finish(player)
    engine.require_gone()


def test_the_server_offers_an_engine_as_a_bot(tmp_path: Path) -> None:
    engine = tiny(tmp_path, "none")
    bots = ("--bots", "1", "--bot", "engine(name=tiny)")
    with running_server(*bots, env=dict(in_home(tmp_path))) as server:
        challenge = ("--challenge-bot", "engine(name=tiny)")
        code, output = run("playout-player", GAME, "random", *challenge, *server.address)
        assert code == 0, output
        assert "(rules)" in output
        assert server.stop()[0] == 0
    engine.require_gone()
