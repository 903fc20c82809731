"""The subcommands of `playout-train`, one file each."""

from players.training.commands.evaluate import evaluate
from players.training.commands.export import export
from players.training.commands.import_ import import_
from players.training.commands.new import new
from players.training.commands.report import report
from players.training.commands.run import resume, run
from players.training.commands.status import status

__all__ = ["evaluate", "export", "import_", "new", "report", "resume", "run", "status"]
