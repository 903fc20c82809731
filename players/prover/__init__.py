"""Proves how matches end, for those who adjudicate them.

    python -m players.prover --seconds 0.05

Each line of its standard input is a position, as JSON, and is answered by one of its standard
output; see `solver`. It ends at the end of its input.
"""
