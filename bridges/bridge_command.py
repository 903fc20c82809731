"""The command `playout-bridge`, whose subcommands are imported when they are used."""

from __future__ import annotations

import importlib
from importlib.metadata import version

import click

from playout.commands.options import OptionGroup

#: The module of each subcommand, which defines it as `command`.
_MODULES = {
    "comply-game": "playout.bridges.comply.game_checks",
    "comply": "playout.bridges.comply.comply_command",
    "json": "playout.bridges.original.original_command",
    "mcp": "playout.bridges.mcp.mcp_command",
}

EPILOG = """
\b
Examples:
  playout-bridge comply connect_four "python bot.py {host} {port} {game} {name}"
                                     tests a bot in any language
  playout-bridge comply-game my_game:Chomp
                                     checks the rules and the drawing of a game of yours
  playout-bridge json connect_four --port 4243
                                     lets clients of the original system play
  playout-bridge mcp --name Ada      lets a language model play as Ada
"""


class _Bridges(OptionGroup):
    """Finds its subcommands in `_MODULES`."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(_MODULES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _MODULES:
            return None
        found = importlib.import_module(_MODULES[name]).command
        assert isinstance(found, click.Command)
        return found


@click.group(cls=_Bridges, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("playout"), prog_name="playout-bridge")
def main() -> None:
    """Connect Playout with other programs."""
