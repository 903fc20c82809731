"""What several commands need.

entry_points     the installed commands, which handle Ctrl-C before they import anything slow
interrupts       Ctrl-C
progress         lines on standard error about work that takes seconds
options          `--game`, and types of options
connect_options  the options of a connection to a server
identity         a client's name, token and session, and its login
child            child processes: start, messages, output, restarts, end
prepared         processes that do their imports before their arguments are known
subprocesses     words, environments and first steps of processes of this installation
cores            processor cores: their number, their assignment to matches; this machine in words
restarts         pauses before a process is started again
toml_lines       the line of each value of a TOML file
toml_table       checks of values in TOML files, with errors that name the line
durable_files    files that survive kill -9: replaced as a whole, or of JSON Lines
text             plain text, numbers with their noun, shares as percentages, dates, new files
html_page        a page of tables and plots in one HTML file
"""
