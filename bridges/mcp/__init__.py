"""A server of the Model Context Protocol, through which a language model plays.

`agent_session.py` is its session on a Playout server with its matches, and `tools.py` has the
tools.
"""
