"""The kernels of Othello: `games.othello` is the game."""
