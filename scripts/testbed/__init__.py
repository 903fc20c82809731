"""What tests and benchmarks share: server processes, clients, databases, measurements."""
