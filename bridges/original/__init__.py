"""Clients of the system that Playout descends from: boardgame-socketplayer, unmodified.

They speak JSON, one object a line. `rules` has its games, `client_line` the connection to a client,
`bridged_match` the match that a client plays on a Playout server, `command` the listener.
"""
