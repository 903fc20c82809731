"""The options and the subcommands of `playout-server`."""

from server.cli.accounts import accounts
from server.cli.backup import backup
from server.cli.export import export, import_

__all__ = ["accounts", "backup", "export", "import_"]
