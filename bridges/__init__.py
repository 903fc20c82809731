"""Programs that make Playout usable from elsewhere, and programs of others usable here.

Each folder is one bridge. A bridge may use players, games, and of the server its messages, its
client and its runtime; nothing imports a bridge except the entry points of the commands.
"""
