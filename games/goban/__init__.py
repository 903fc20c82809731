"""The kernels of Go: `games.go` is the game."""
