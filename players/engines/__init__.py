"""Engines, in both directions: programs that play here, and our players in other programs.

The player `engine(name=...)` of `players/engine.py` plays with a program that `engines.toml`
describes (`config`). `process` runs the program and, with `guard`, ends whatever it leaves behind.
`client` is the base of the clients, one for each protocol: `gtp_client`, `uci_client`,
`gomocup_client`, `xboard_client`, `original_client`, and the one for scripts in
`players/engine.py`.

The command `playout-engine` makes a player an engine: `gtp_engine`, `uci_engine` or
`gomocup_engine`, which are servers of `engine_server`. `uci_search` is a search of the UCI engine,
with its limits and its reports; `uci_options` has the options that the engine offers.

Both directions share `vertices`, the names of cells, `gtp`, the texts of GTP, `uci_games`, and
`original_json`, which `bridges/original` uses, too.
"""
