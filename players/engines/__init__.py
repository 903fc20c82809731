"""Engines: programs of others that play through a protocol of theirs.

The player `engine(name=...)` is in `players/engine.py`. `config` reads `engines.toml`; `process`
runs an engine and, through `guard`, ends whatever it leaves behind; `client` is what all protocols
have in common. `gtp`, `uci`, `gomocup` and `original` are protocols, `lines` is ours for scripts.
`vertices` names cells as engines do. `original_rules` and `original_messages` are what the original
system says, also for `bridges/original`.
"""
