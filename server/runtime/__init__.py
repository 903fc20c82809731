"""The process of a server: its event loop, logs, limits, metrics, and the compilation of games."""
