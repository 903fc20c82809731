"""The referee.

A pure core that opens no socket and reads no clock (`messages`, `wire`, `clock`, `match`, `table`,
`lobby`, `session`, `requests`, `hub`), and the edges that do (`tcp`, `log`), composed in `service`.
"""
