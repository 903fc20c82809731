"""A server of the Model Context Protocol, through which a language model plays.

`agent_session.py` is its session on a Playout server, `agent_match.py` describes a match to the
model, and `tools.py` has the tools. Only `tools.py` imports the package `mcp`, which is an extra.
"""
