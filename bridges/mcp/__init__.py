"""A server of the Model Context Protocol, through which a language model plays like anybody.

`agent_session.py` is its connection to a Playout server, `agent_match.py` a match as the model is
shown it, and `tools.py` the tools. Only `tools.py` imports the package `mcp`, which is an extra.
"""
