"""The commands of `playout-tournament`, which run, end and read tournaments."""

from playout.server.organizer.commands.conclude import conclude
from playout.server.organizer.commands.match import match
from playout.server.organizer.commands.read import export, list_, report, status, validate
from playout.server.organizer.commands.run import resume, run

__all__ = ["conclude", "export", "list_", "match", "report", "resume", "run", "status", "validate"]
