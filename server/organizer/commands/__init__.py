"""What `playout-tournament` can do."""

from server.organizer.commands.concluding import conclude
from server.organizer.commands.playing import resume, run
from server.organizer.commands.reading import export, list_, report, status, validate

__all__ = ["conclude", "export", "list_", "report", "resume", "run", "status", "validate"]
