"""Runs a tournament from its file to its report, and reads stored tournaments.

The server stores the matches; the organizer stores nothing. So every process of a tournament can be
killed and started again.
"""
