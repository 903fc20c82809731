"""The kernels of Go: `playout.games.go` is the game."""
