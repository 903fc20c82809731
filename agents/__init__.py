"""A benchmark of language models: the command `playout-agents`.

`benchmark_file` reads the file of a benchmark, `variants` draws variants of its games, `prompts`
writes positions as text and reads the moves of answers, `models` asks programs and HTTP endpoints,
and `mcp_model` agents. `journal` stores each prompt, request, answer, move and result, so that a
killed benchmark continues. `arena` plays the matches, and `report` measures the models and writes
the reports.
"""
