"""Fills caches that all commands use; imported once, by the process that is copied."""

from playout import games, players
from playout.server.storage.statements import writes

games.names()
players.names()
writes("sqlite")
