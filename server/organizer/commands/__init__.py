"""The commands of `playout-tournament`: running, concluding and reading tournaments."""

from server.organizer.commands.conclude import conclude
from server.organizer.commands.match import match
from server.organizer.commands.read import export, list_, report, status, validate
from server.organizer.commands.resume import resume
from server.organizer.commands.run import run

__all__ = ["conclude", "export", "list_", "match", "report", "resume", "run", "status", "validate"]
