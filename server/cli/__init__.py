"""The options and the subcommands of `playout-server`."""

from playout.server.cli.account_commands import accounts
from playout.server.cli.database_commands import backup
from playout.server.cli.export_commands import export, import_, verify
from playout.server.cli.puzzle_commands import puzzles

__all__ = ["accounts", "backup", "export", "import_", "puzzles", "verify"]
