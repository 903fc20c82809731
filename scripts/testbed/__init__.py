"""Servers, clients, databases and measurements that tests and benchmarks share."""
