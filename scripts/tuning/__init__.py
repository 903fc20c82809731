"""The command `scripts/tune`: matches between settings of players, in process."""
