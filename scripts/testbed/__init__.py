"""Shared by tests and benchmarks: server processes, clients, databases, measurements."""
