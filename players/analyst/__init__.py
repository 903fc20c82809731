"""Processes in which players work for a server: the analyst, and the finder of `puzzles`.

In an analyst, bots analyse positions, and `minimax` proves results of matches.

The server starts an analyst, with a low priority. Both write a line of JSON for each message of
`playout.protocol.analyst`, over a socket that is the standard input of the process.
"""
