"""The analyst: a process in which bots analyse positions, and `minimax` proves results of matches.

The server starts it, with a low priority. Both write a line of JSON for each message of
`playout.protocol.analyst`, over a socket that is the standard input of the process.
"""
