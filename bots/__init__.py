"""Bots as files: how they are unpacked, built, checked and started.

A bot is a Python file with a class of Playout's `Player`, or a folder with `bot.toml` (`bot_file`).
`archive` unpacks it, `builder` runs the stages up to the check of its moves, and `python_bot` plays
a class of a Python file. `packing` packs a folder, and `git_source` finds its files in git.
`uploads` receives it by HTTP, and `site_client` sends it.
Competitions and the laboratory use it.
"""
