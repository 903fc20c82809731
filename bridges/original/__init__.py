"""Clients of the system that Playout descends from: boardgame-socketplayer, unmodified.

They speak JSON, one object a line. `client_line` is the connection to a client, `bridged_match` the
match that a client plays on a Playout server, `command` the listener. Games and messages are in
`playout.players.engines`, which runs such clients as engines.
"""
