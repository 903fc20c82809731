"""The subcommands of `playout-train`, one file each."""

from playout.players.training.commands.evaluate import evaluate
from playout.players.training.commands.new import import_, new
from playout.players.training.commands.read import export, report, status
from playout.players.training.commands.run import resume, run

__all__ = ["evaluate", "export", "import_", "new", "report", "resume", "run", "status"]
