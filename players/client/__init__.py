"""The command `playout-player`: connects one player to a server and plays its matches."""
