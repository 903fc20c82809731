"""Base of all games: kernels, the tuple interface, specifications, discovery of plugins."""
