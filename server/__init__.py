"""The server: referee, storage, web pages and tournaments. See docs/architecture.md.

`model`, `core`, `tournament` and `export` are pure: they open no socket and read no clock. `net`,
`web`, `storage` and `runtime` are the edges. `cli` and `organizer` are the commands; `app` and
`main` put a server together.
"""
