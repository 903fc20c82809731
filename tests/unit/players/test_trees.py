"""playout.players.client.trees: search trees as files, in each format."""

from __future__ import annotations

import functools
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from playout import games, players
from playout.games import Game, Position, State
from playout.games.nim import Nim
from playout.players import ActionStats, Info, Limit, Node, Player, PlayResult, Report
from playout.players.client.trees import FORMATS, TreeFile, as_json, graphviz, mermaid, text
from playout.players.core.player import MAX_DEPTH

GAME = games.load("connect_four")
STATE = GAME.next_state(GAME.initial_state(), 3)
TREE = Node(
    action=None,
    visits=12_000,
    win_rate=0.55,
    children=(
        Node(
            action=3,
            visits=9_000,
            win_rate=0.5,
            amaf=0.525,
            amaf_visits=20_000,
            children=(Node(2, 4_000, 0.25, proven=0), Node(6, 3_000, 1.0, proven=1)),
        ),
        Node(action=0, visits=2_999, win_rate=0.0, proven=-1),
    ),
)


class Odd(Nim):
    """Its moves have names that a careless writer stumbles over."""

    def action_name(self, state: State, action: int) -> str:
        return NAMES[action]


NAMES = ['say "1\\n" \\', "[2] <b>& #35; `x`", "{3} -->\n'|end|'"]
ODD = Odd()
ODD_TREE = Node(None, 3, 0.5, children=tuple(Node(action, 1, 0.5) for action in range(3)))
ODD_LINES = [" ".join(name.split()) for name in NAMES]


def test_as_text() -> None:
    assert text(GAME, STATE, TREE) == (
        "connect_four, player 2 to move; win rates are of the player who makes the move\n"
        "root, 12,000 visits, 55.0%\n"
        "  4, 9,000 visits, 50.0%, AMAF 52.5% of 20,000\n"
        "    3, 4,000 visits, 25.0%, proven tie\n"
        "    7, 3,000 visits, 100.0%, proven win\n"
        "  1, 2,999 visits, 0.0%, proven loss\n"
    )


def from_json(fields: dict[str, Any]) -> Node:
    given = {key: value for key, value in fields.items() if key not in ("name", "children")}
    return Node(**given, children=tuple(map(from_json, fields["children"])))


def test_json_is_read_back_the_same() -> None:
    whole = json.loads(as_json(GAME, STATE, TREE))
    assert from_json(whole["root"]) == TREE
    assert (whole["game"], tuple(whole["state"])) == ("connect_four", STATE)
    assert whole["root"]["children"][0]["children"][1]["name"] == "7"
    odd = json.loads(as_json(ODD, ODD.initial_state(), ODD_TREE))
    assert [child["name"] for child in odd["root"]["children"]] == NAMES


QUOTED = r'"((?:[^"\\]|\\.)*)"'


def read_dot(graph: str) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """The lines of each node's label, and the edges; whatever else stands there is a fault."""
    first, title, style, *body, last = graph.splitlines()
    assert (first, style, last) == ("digraph tree {", "  node [shape=box];", "}")
    assert re.fullmatch(rf"  graph \[label={QUOTED}\];", title)
    nodes, edges = {}, []
    for line in body:
        if node := re.fullmatch(rf"  (n\d+) \[label={QUOTED}\];", line):
            label = re.sub(r"\\([\\\"n])", lambda m: "\n" if m[1] == "n" else m[1], node[2])
            nodes[node[1]] = label.split("\n")
        else:
            edge = re.fullmatch(r"  (n\d+) -> (n\d+);", line)
            assert edge, line
            edges.append((edge[1], edge[2]))
    return nodes, edges


def read_mermaid(chart: str) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """The same for Mermaid."""
    comment, first, *body = chart.splitlines()
    assert comment.startswith("%% ")
    assert first == "flowchart TD"
    nodes, edges = {}, []
    for line in body:
        if node := re.fullmatch(r'  (n\d+)\["([^"`]*)"\]', line):
            lines = node[2].split("<br>")
            assert not any(set(each) & set("<>&'\\") for each in lines)
            nodes[node[1]] = [html.unescape(re.sub(r"#(\d+);", r"&#\1;", each)) for each in lines]
        else:
            edge = re.fullmatch(r"  (n\d+) --> (n\d+)", line)
            assert edge, line
            edges.append((edge[1], edge[2]))
    return nodes, edges


@pytest.mark.parametrize(("write", "read"), [(graphviz, read_dot), (mermaid, read_mermaid)])
def test_graphs_are_well_formed(write: Any, read: Any) -> None:
    nodes, edges = read(write(GAME, STATE, TREE))
    assert list(nodes.values()) == [
        ["root", "12,000 visits", "55.0%"],
        ["4", "9,000 visits", "50.0%", "AMAF 52.5% of 20,000"],
        ["3", "4,000 visits", "25.0%", "proven tie"],
        ["7", "3,000 visits", "100.0%", "proven win"],
        ["1", "2,999 visits", "0.0%", "proven loss"],
    ]
    assert edges == [("n0", "n1"), ("n1", "n2"), ("n1", "n3"), ("n0", "n4")]


@pytest.mark.parametrize(("write", "read"), [(graphviz, read_dot), (mermaid, read_mermaid)])
def test_odd_names_are_quoted(write: Any, read: Any) -> None:
    nodes, edges = read(write(ODD, ODD.initial_state(), ODD_TREE))
    assert [lines[0] for lines in nodes.values()] == ["root", *ODD_LINES]
    assert len(edges) == 3


# Files.


class ThinkingPlayer(Player):
    """Shows what tree it was asked for."""

    def __init__(self, game: Game, root: Node | None = TREE) -> None:
        super().__init__(game)
        self.root = root
        self.min_visits: list[int] = []

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        raise NotImplementedError

    def tree(self, min_visits: int = 1) -> Node | None:
        self.min_visits.append(min_visits)
        return self.root


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_is_replaced_by_each_tree(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"tree{suffix}"
    file = TreeFile(path)
    assert not list(tmp_path.iterdir()), "nothing is written before there is a tree"
    path.write_text("old" * 10_000)
    file.write(ThinkingPlayer(GAME), STATE, None)
    assert path.read_text(encoding="utf-8") == FORMATS[suffix](GAME, STATE, TREE)
    assert list(tmp_path.iterdir()) == [path]


def test_without_a_tree_nothing_is_written(tmp_path: Path) -> None:
    TreeFile(tmp_path / "tree.txt").write(ThinkingPlayer(GAME, None), STATE, None)
    assert not list(tmp_path.iterdir())


@functools.cache
def deep() -> tuple[Game, Node]:
    """The tree of a search that had but one way to go, for a thousand plies."""
    game = games.load("nim(chips=1000,max_take=1)")
    player = players.load("uct(seed=1,solver=false)", game)
    player.choose(Position(game), Limit(simulations=3000))
    root = player.tree()
    assert root is not None
    return game, root


def test_a_tree_is_shown_as_deep_as_can_be_read() -> None:
    _, node = deep()
    for _ in range(MAX_DEPTH):
        (node,) = node.children
    assert node.visits > 1, "it goes on from here"
    assert not node.children


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_deepest_tree_is_written(suffix: str) -> None:
    game, root = deep()
    written = FORMATS[suffix](game, game.initial_state(), root)
    assert written.count("visits") >= MAX_DEPTH
    if suffix == ".json":
        assert from_json(json.loads(written)["root"]) == root


def test_rarely_visited_nodes_are_left_out(tmp_path: Path) -> None:
    player = ThinkingPlayer(GAME)
    info = Info(actions=(ActionStats(3, 9_000, 0.0), ActionStats(0, 3_000, 0.0)))
    TreeFile(tmp_path / "tree.txt").write(player, STATE, info)
    TreeFile(tmp_path / "tree.txt").write(player, STATE, None)
    TreeFile(tmp_path / "tree.txt", 7).write(player, STATE, info)
    assert player.min_visits == [120, 1, 7]


@pytest.mark.parametrize("name", ["tree.png", "tree", ".json"])
def test_an_unknown_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"end in \.txt, \.json, \.dot, \.mmd, \.mermaid"):
        TreeFile(tmp_path / name)


@pytest.mark.parametrize("place", ["nowhere/tree.txt", "file/tree.txt", "folder.txt"])
def test_an_unwritable_file_is_an_error_at_once(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(OSError, match=place.split("/", maxsplit=1)[0]):
        TreeFile(tmp_path / place)
