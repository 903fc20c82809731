"""Bridges between Playout and other programs, one in each folder.

Only the entry points of the commands import a bridge. Of the server, only `comply` imports modules,
for a private server, and its clock.
"""
