"""The options and the subcommands of `playout-server`."""

from playout.server.cli.accounts import accounts
from playout.server.cli.database import backup
from playout.server.cli.export import export, import_

__all__ = ["accounts", "backup", "export", "import_"]
