"""The analyst: a process in which bots of a server analyse positions, for people who study them.

The server starts it, with the lowest priority. Both write a line of JSON for each message of
`playout.protocol.analyst`, over a socket that is the standard input of the process.
"""
