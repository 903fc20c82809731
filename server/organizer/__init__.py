"""Runs a tournament from its file to its report, and reads stored tournaments.

It keeps nothing: what has been played is with the server, which stores it. So whatever is killed
may be started again.
"""
