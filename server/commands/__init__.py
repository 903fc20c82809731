"""What `playout-server` does beside serving."""

from server.commands.accounts import accounts
from server.commands.backup import backup
from server.commands.export import export, import_

__all__ = ["accounts", "backup", "export", "import_"]
