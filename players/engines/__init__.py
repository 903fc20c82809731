"""Engines: programs of others that play through GTP, UCI or the Gomocup protocol.

The player `engine(name=...)` is in `players/engine.py`. `config` reads `engines.toml`; `process`
runs an engine and, through `guard`, ends whatever it leaves behind; `client` is what all protocols
have in common, `gtp` and `gomocup` are protocols,
`lines` is ours for scripts; `vertices` names cells as they do.
"""
