"""Connections to the hub over TCP, and the driver that carries out its effects."""
