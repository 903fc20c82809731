"""The subcommands of `playout-train`, one file each."""

from playout.players.training.commands.evaluate import evaluate
from playout.players.training.commands.folders import export, import_, new, report, status
from playout.players.training.commands.run import resume, run

__all__ = [
    "evaluate",
    "export",
    "import_",
    "new",
    "report",
    "resume",
    "run",
    "status",
]
