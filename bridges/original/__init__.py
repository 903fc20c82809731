"""Clients of the original system, boardgame-socketplayer, from which Playout descends.

They run unmodified, and speak JSON, one object a line. `bridged_match` plays the match of a client
on a Playout server, `original_command` listens for clients. Games and messages are in
`playout.players.engines.original_json`.
"""
