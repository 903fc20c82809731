"""The player alphazero: its options, its moves and its analyses, with a small random net."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from playout import games, players
from playout.games import Game, Position, SpecError
from playout.players import Limit
from playout.players.alphazero import AlphaZero
from playout.players.client import trees
from playout.players.nets import graph
from playout.players.nets.graph import Architecture
from support.plain import Plain

SMALL = Architecture(blocks=1, filters=4, head_planes=2, value_hidden=4)
NewNet = Callable[[Game], str]


@pytest.fixture(scope="module")
def new_net(tmp_path_factory: pytest.TempPathFactory) -> NewNet:
    """Writes a small net with random weights for a game, once."""
    folder = tmp_path_factory.mktemp("nets")

    def write(game: Game) -> str:
        path: Path = folder / f"{game}.onnx"
        if not path.exists():
            parameters = SMALL.initial(game, np.random.default_rng(1))
            about = {"author": "a test", "licence": "MIT", "trained": "not at all"}
            graph.write(path, game, parameters, about)
        return str(path)

    return write


def new_player(new_net: NewNet, spec: str, **options: object) -> AlphaZero:
    game = games.load(spec)
    options = {"backend": "onnxruntime", "seed": 1, **options}
    return AlphaZero(game, net=new_net(game), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spec",
    ["connect_four", "mnk(m=5,n=4,k=3)", "nim", "othello(size=4)", "tic_tac_toe"],
)
def test_it_plays_whole_matches(new_net: NewNet, spec: str) -> None:
    player = new_player(new_net, spec, simulations=40)
    position = Position(player.game)
    while not position.winner:
        result = player.choose(position, Limit())
        assert result.action in position.legal_actions
        assert result.info is not None
        assert 0 <= result.info.win_rate <= 1
        assert result.info.pv[0] == result.info.actions[0].action
        position = position.play(result.action)
    player.close()


def test_equal_seeds_and_batches_give_equal_searches(new_net: NewNet) -> None:
    found = []
    for seed in (1, 1):
        player = new_player(new_net, "connect_four", simulations=200, seed=seed, noise=0.25)
        info = player.choose(Position(player.game), Limit()).info
        assert info is not None
        found.append([(each.action, each.visits) for each in info.actions])
        assert sum(each.visits for each in info.actions) == 199  # the first is that of the root
        player.close()
    assert found[0] == found[1]


def test_a_win_is_played_and_a_loss_prevented(new_net: NewNet) -> None:
    game = games.load("connect_four")
    for moves, best in (("4 1 4 1 4 2", "4"), ("1 4 1 4 2 4", "4")):
        position = Position(game)
        for name in moves.split():
            position = position.play(game.parse_action(position.state, name))
        player = new_player(new_net, "connect_four", simulations=400)
        assert position.name(player.choose(position, Limit()).action) == best
        player.close()


def test_the_tree_of_the_played_moves_is_kept(new_net: NewNet) -> None:
    player = new_player(new_net, "connect_four", simulations=500)
    position = Position(player.game)
    player.choose(position, Limit())
    tree = player.tree()
    assert tree is not None
    reply = tree.children[0].children[0]
    for action in (tree.children[0].action, reply.action):
        assert action is not None
        position = position.play(action)
    info = player.choose(position, Limit(simulations=1)).info
    assert info is not None
    assert sum(each.visits for each in info.actions) >= reply.visits
    player.close()


def test_the_tree_shows_what_selects_an_action(new_net: NewNet) -> None:
    player = new_player(new_net, "connect_four", simulations=300, c_puct=2.0)
    position = Position(player.game)
    player.choose(position, Limit())
    tree = player.tree()
    assert tree is not None
    for child in tree.children:
        assert child.prior is not None
        assert child.exploration == pytest.approx(
            2.0 * child.prior * math.sqrt(tree.visits) / (1 + child.visits)
        )
    assert sum(child.prior or 0 for child in tree.children) == pytest.approx(1, abs=1e-5)
    line = trees.text(player.game, position.state, tree).splitlines()[2]
    assert re.fullmatch(r"  \d, \d+ visits, [\d.]+%, P [\d.]+%, Q [+-][\d.]+, U [\d.]+", line)
    player.close()


def test_with_a_temperature_moves_vary(new_net: NewNet) -> None:
    player = new_player(new_net, "connect_four", simulations=30, temperature=1.0, reuse=False)
    position = Position(player.game)
    assert len({player.choose(position, Limit()).action for _ in range(30)}) > 2
    player.close()


def test_cancelling_ends_a_search_and_pondering(new_net: NewNet) -> None:
    player = new_player(new_net, "connect_four", ponder=True)
    position = Position(player.game)
    for search in (
        lambda: player.choose(position, Limit(seconds=3600)),
        lambda: player.ponder(position),
    ):
        timer = threading.Timer(0.05, player.cancel)
        timer.start()
        result = search()
        assert result is None or result.action in position.legal_actions
        timer.join()
        player.ready()
    player.close()


def test_a_game_in_plain_python_is_searched_too(new_net: NewNet) -> None:
    game = games.load("tic_tac_toe")
    plain = Plain(game)
    plain.spec = game.spec
    player = AlphaZero(plain, net=new_net(game), simulations=60, seed=1, backend="onnxruntime")
    assert player.choose(Position(game), Limit()).action in range(9)
    player.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("net=/nowhere.onnx", "/nowhere.onnx"),
        ("c_puct=-1", "c_puct must be 0 or more, not -1"),
        ("batch=0", "batch must be from 1 to 1024, not 0"),
        ("temperature=-1", "temperature must be from 0 to 100"),
        ("noise=2", "noise must be from 0 to 1"),
        ("fpu=9", "fpu must be from -2 to 2"),
        ("net=,backend=torch", "backend"),
        ("threads=2", "threads"),
    ],
)
def test_options_that_cannot_be_are_refused(new_net: NewNet, options: str, message: str) -> None:
    game = games.load("connect_four")
    options = options.replace("net=,", f"net={new_net(game)},")
    with pytest.raises(SpecError, match=message):
        players.load(f"alphazero({options})", game)


def test_a_game_without_a_net_says_how_to_train_one() -> None:
    game = games.load("mnk(m=3,n=4,k=3)")
    with pytest.raises(SpecError, match=r'playout-train new "mnk\(m=3,n=4,k=3\)" FOLDER'):
        players.load("alphazero", game)
