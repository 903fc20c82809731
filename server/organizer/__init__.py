"""Runs a tournament from its file to its report, and reads stored tournaments.

It stores nothing itself: the server stores what is played, so that every process of a tournament
can be killed and started again.
"""
