"""Engines, in both directions: programs that play here, and our players in other programs.

The player `engine(name=...)` of `players/engine.py` plays with a program that `engines.toml`
describes (`config`). `process` runs the program and, with `guard`, ends whatever it leaves behind.
`client` is the base of the clients, one for each protocol: `gtp_client`, `uci_client`,
`gomocup_client`, `xboard_client`, `original_client`, and `lines_client` for scripts; `move_time`
decides how much of a move's time an engine is told.

The command `playout-engine` makes a player an engine: `gtp_engine`, `uci_engine` or
`gomocup_engine`, which are servers of `engine_server` with a match of `local_match`. `uci_search`
is a search of the UCI engine, whose limits are in `uci_go`, its options in `uci_options` and its
reports in `uci_info`; `gtp_go` has what Go needs in GTP.

Both directions share `vertices`, the names of cells; of GTP `gtp_text`, `gtp_games`, `gtp_clock`
and `gtp_analysis`; of UCI `uci_games`; and `original_json`, which `bridges/original` uses, too.
"""
