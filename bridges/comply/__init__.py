"""A referee for bots: puts a bot in any language through a table of situations.

`situations.py` has the table. Each situation starts the bot on a private server, behind a proxy
(`proxy.py`) that records all messages, and in which the referee may change them: it cuts the
connection, repeats a move, restarts the server. The referee plays the other seat. `trial.py` runs
one situation and decides whether the bot has passed. `player_checks.py` plays with a player in the
same process, without a server.
"""
