"""The files of a new bot and of a new game: `playout-player new-bot` and `new-game`.

This is the home of these templates; `playout-lab new` adds its files to a bot of any origin.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from playout import games
from playout.commands.options import registered
from playout.commands.text import write_new
from playout.commands.toml_table import notation
from playout.games.core import plugins

_BOT = '''"""A bot, which you can make stronger: see README.md."""

import random

from playout import Player, PlayResult


class MyBot(Player):
    """Wins if it can with one move, and plays at random otherwise."""

    def choose(self, position, limit, report=None):
        for action in position.legal_actions:
            if position.play(action).winner == position.to_move:
                return PlayResult(action)
        return PlayResult(random.choice(position.legal_actions))
'''
_BOT_TEST = '''"""Tests of the bot: python -m unittest"""

import unittest

import playout
from my_bot import MyBot


class MyBotTest(unittest.TestCase):
    def test_it_plays_a_match_by_the_rules(self):
        game = playout.load("{game}")
        player, position = MyBot(game), playout.Position(game)
        while not position.winner:
            action = player.choose(position, playout.Limit(seconds=0.1)).action
            self.assertIn(action, position.legal_actions)
            position = position.play(action)


if __name__ == "__main__":
    unittest.main()
'''
_BOT_TOML = """# How competitions and playout-lab start the bot.
protocol = "python"
command = "my_bot.py"
"""
_LAB_TOML = """\
# The conditions of playout-lab: see docs/laboratory.md.
games = {games}
clock = "10+0.1"          # of each player: seconds for a match, and for each move
elo1 = 20                 # the gain to look for, in normalized Elo; a larger one is found sooner
pairs = 5000              # at most, in a test
# openings = {{ file = "openings.txt" }}    # default: near-even positions of the game's book
# alpha = 0.05            # the chance to promote something that is not stronger, of all tries
# isolate = "auto"        # "always" in the sandbox, "never", or where this machine has one
# build_hosts = ["pypi.org", "files.pythonhosted.org"]    # that builds in the sandbox may reach
"""
_BOT_README = """# A bot for {game}

{first}Change `choose` in `my_bot.py`. In this folder:

    python -m unittest                                  # does it keep to the rules?
    playout-tournament compare --game "{argument}" my_bot:MyBot random
    playout-tournament compare --game "{argument}" my_bot:MyBot old_bot:MyBot
    playout-player "{argument}" my_bot:MyBot --challenge-bot "Playout Easy"

The third command needs `cp my_bot.py old_bot.py` before a change: it says which version is
stronger. Under git, `playout-lab test` compares your files with the last commit, and stops by
itself when the answer is certain enough. The last command needs a running server:
`playout-server --open{server}`.
"""
_OWN_GAME = """\
First copy the module `{module}` of the game into this folder: the commands below and `playout-lab`
import it from here. `playout-lab test --file lab.toml` says once that you trust the module.

"""
_GAME = '''"""A game, which you can change into yours: see README.md."""

from playout import BoardView, Game, IllegalAction


class MyGame(Game):
    """Players take one, two or three chips of a pile in turn; the one who takes the last wins."""

    num_actions = 3
    max_plies = 15

    def initial_state(self):
        return (1, 0, 15)  # the player to move, the winner, the chips

    def legal_actions(self, state):
        return () if state[1] else tuple(range(min(3, state[2])))

    def next_state(self, state, action):
        if action not in self.legal_actions(state):
            raise IllegalAction(f"{action} is not legal; {self.legal_text(state, numbers=True)}")
        player, left = state[0], state[2] - action - 1
        return (3 - player, 0 if left else player, left)

    def action_name(self, state, action):
        return str(action + 1)

    def view(self, state):
        cells = tuple(int(cell < state[2]) for cell in range(15))
        clicks = {action: (state[2] - 1 - action,) for action in self.legal_actions(state)}
        return BoardView(1, 15, cells, clicks, piece="chip")
'''
_GAME_TEST = '''"""Tests of the game: python -m unittest"""

import unittest

from my_game import MyGame


class MyGameTest(unittest.TestCase):
    def test_who_takes_the_last_chip_wins(self):
        game = MyGame()
        state = (2, 0, 2)
        self.assertEqual(game.legal_actions(state), (0, 1))
        self.assertEqual(game.next_state(state, 1), (1, 2, 0))


if __name__ == "__main__":
    unittest.main()
'''
_GAME_README = """# A game

Change the rules in `my_game.py`. In this folder:

    python -m unittest                                  # your own tests
    playout-bridge comply-game my_game:MyGame           # does it keep to the interface?
    playout-tournament compare --game my_game:MyGame uct random
    playout-server --open --game my_game:MyGame         # play it on a page

Then: playout-player my_game:MyGame human --challenge-bot "Playout Easy"
"""


def bot_files(game: str, argument: str) -> Mapping[str, str]:
    """Return the files of a new bot for a game; `argument` names it in commands."""
    server = f" --game {argument.partition('(')[0]}" if ":" in argument else ""
    first = _OWN_GAME.format(module=argument.partition(":")[0]) if server else ""
    values = {"game": game, "argument": argument, "server": server, "first": first}
    test = _BOT_TEST
    if games.load(game).has_chance:
        for start in ("playout.Position(game)", "position.play(action)"):
            test = test.replace(start, f"{start}.rolled(random.randrange)")
        test = test.replace("import unittest\n", "import random\nimport unittest\n", 1)
    if server:
        test = test.replace('playout.load("{game}")', 'playout.load(games.register("{argument}"))')
        test = test.replace("import playout\n", "import playout\nfrom playout import games\n")
    return {
        "my_bot.py": _BOT,
        "test_my_bot.py": test.format(**values),
        "bot.toml": _BOT_TOML,
        "lab.toml": lab_toml([argument]),
        "README.md": _BOT_README.format(**values),
    }


def lab_toml(games: Sequence[str]) -> str:
    """Return the file of playout-lab with the conditions of tests; games are as in commands."""
    named = ", ".join(map(notation, games))
    return _LAB_TOML.format(games=f"[{named}]")


def game_files() -> Mapping[str, str]:
    """Return the files of a new game."""
    return {"my_game.py": _GAME, "test_my_game.py": _GAME_TEST, "README.md": _GAME_README}


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write new files into a folder. Raises UsageError if one exists, ClickException."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"{folder}: {error.strerror}") from error
    write_new({folder / name: text for name, text in files.items()}, "choose another folder")


_folder = click.argument("folder", type=click.Path(path_type=Path, file_okay=False))


@click.command(
    "new-bot",
    epilog="\b\nExamples:\n  playout-player new-bot my_bot\n"
    '  playout-player new-bot othello_bot --game "othello(size=6)"',
)
@_folder
@click.option(
    "--game",
    default="connect_four",
    show_default=True,
    help="A game with its parameters, or module:Class.",
)
def new_bot(folder: Path, game: str) -> None:
    """Write the files of a new bot into FOLDER: it plays at once, with a test and a README."""
    name = registered(game)
    try:
        loaded = str(games.load(name))
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    write(folder, bot_files(loaded, plugins.as_argument(loaded)))
    click.echo(f"Wrote {folder}: a bot for {loaded}. {_next(folder)}")


@click.command("new-game", epilog="\b\nExample:\n  playout-player new-game my_game")
@_folder
def new_game(folder: Path) -> None:
    """Write the files of a new game into FOLDER: it can be played at once."""
    write(folder, game_files())
    click.echo(f"Wrote {folder}: a game. {_next(folder)}")


def _next(folder: Path) -> str:
    return f"Next: cd {shlex.quote(str(folder))}, and see README.md"
