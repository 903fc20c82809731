"""Scripts that read positions as lines of JSON: the one of the document, and some with a fault."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from playout import games, players
from playout.games import Position
from playout.players import Limit, Player, PlayerError
from playout.players.engines import process
from playout.players.engines.config import START_S
from support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
(BOT,) = re.findall(
    r"```python\n(\"\"\"Plays at random: reads.*?)```",
    (ROOT / "docs" / "writing-a-bot.md").read_text(),
    re.DOTALL,
)
#: Prints what it was told instead of playing at random.
SAYS = (
    'import json, sys\nfor line in sys.stdin: print(json.loads(line)["options"]["say"], flush=True)'
)
LIMIT = Limit(seconds=50.0)
#: The legal actions of nim, by which an answer is explained.
LEGAL = r"not legal; legal are, as number \(name\): 0 \(1\), 1 \(2\), 2 \(3\)"

Load = Callable[..., Player]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Returns the player of a script, which is ended with the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(process, "QUIT_S", 0.2)
    monkeypatch.setattr(process, "EXIT_S", PATIENCE_S)
    loaded: list[Player] = []

    def player(script: str, game: str, say: str = "") -> Player:
        path = tmp_path / "bot.py"
        path.write_text(script)
        command = f"command = \"'{sys.executable}' -I -S '{path}'\""
        table = f'[script]\n{command}\nprotocol = "lines"\noptions = {{say = "{say}"}}\n'
        file = tmp_path / "engines.toml"
        file.write_text(table)
        loaded.append(players.load(f"engine(name=script,file={file})", games.load(game)))
        return loaded[-1]

    yield player
    for each in loaded:
        each.close()


def test_a_script_may_start_in_its_first_move(load: Load) -> None:
    assert load(BOT, "nim").start_s == START_S


@pytest.mark.parametrize("name", ["connect_four", "othello(size=4)"])
def test_the_script_of_the_document_plays_whole_matches(load: Load, name: str) -> None:
    player, game = load(BOT, name), games.load(name)
    position = Position(game)
    while not position.winner:
        action = player.choose(position, LIMIT).action
        assert action in position.legal_actions
        position = position.play(action)


def test_a_check_moves_after_rolls(load: Load) -> None:
    assert [line.partition(":")[0] for line in load(BOT, "backgammon").check()][-2:] == [
        "move 1",
        "move 2",
    ]


def test_a_line_has_the_position_and_its_legal_actions_with_names(load: Load) -> None:
    echo = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True)"
    player, game = load(echo, "nim(chips=3)"), games.load("nim(chips=3)")
    with pytest.raises(PlayerError) as error:
        player.choose(Position(game, [0]), LIMIT)
    told = re.search(r"given '(.*)'$", str(error.value))
    assert told
    line = json.loads(told[1])
    assert 45 < line.pop("seconds") <= 47.5  # 50 less a margin of 5 %
    assert line == {
        "game": "nim(chips=3)",
        "player": 2,
        "state": [2, 0, 2],
        "moves": [0],
        "legal_actions": [0, 1],
        "names": ["1", "2"],
        "options": {"say": ""},
    }


@pytest.mark.parametrize("say", ["9", "-1", "one", "1.0", "²", "[1]"])
def test_an_answer_that_is_no_legal_action_is_named(load: Load, say: str) -> None:
    player = load(SAYS, "nim", say)
    with pytest.raises(PlayerError, match=LEGAL) as error:
        player.choose(Position(games.load("nim")), LIMIT)
    assert f"has answered '{say}'" in str(error.value)


def test_a_script_that_ends_is_started_again(load: Load) -> None:
    player = load("print(input() and 0)", "nim")
    position = Position(games.load("nim"))
    assert player.choose(position, LIMIT).action == 0
    with pytest.raises(PlayerError, match="has exited with code 0"):
        player.choose(position, LIMIT)
    assert player.choose(position, LIMIT).action == 0
