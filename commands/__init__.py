"""What every command needs, whether it runs a server or a player.

entry_points   the installed commands, which handle Ctrl-C before they import anything slow
interrupts     Ctrl-C
progress       lines on standard error about work that takes seconds
options        types of options
subprocesses   start processes of this installation, and the cores that they may use
restarts       pauses before a process is started again
toml_lines     TOML files of which each value knows its line
toml_table     checks of values in TOML files, with errors that name the line
text           plain text, numbers with their noun, shares as percentages, dates
"""
