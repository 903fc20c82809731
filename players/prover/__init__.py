"""A process that proves the results of positions, for the adjudication of matches.

    python -m playout.players.prover.prover_process --seconds 0.05

Each line of standard input is a position, as JSON, and is answered by one line of standard output.
The process ends at the end of its input.
"""
