"""A page of tables and plots in one HTML file, light and dark, which loads no other file."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from playout.commands.text import plain

_STYLE = """
:root { color-scheme: light dark; --text: #1c2024; --muted: #5d6670; --line: #d8dde3;
  --bg: #fff; --soft: #f5f7f9; --accent: #0b62c4; --bad: #b3382c; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --muted: #98a2ad; --line: #3a424b;
  --bg: #14181c; --soft: #1c2228; --accent: #6cb0ff; --bad: #ff8b7d; } }
body { margin: 2rem auto; padding: 0 1rem; max-width: 60rem; color: var(--text);
  background: var(--bg); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h1, h2, li { overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; color: var(--muted); }
.headline { font-size: 1.15rem; font-weight: 600; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .55rem; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; } .facts td { white-space: normal; }
th { color: var(--muted); font-weight: 600; vertical-align: bottom; }
tbody tr:nth-child(odd) { background: var(--soft); }
.name { text-align: left; } .number { text-align: right; }
.who { position: sticky; left: 0; background: inherit; max-width: 40vw; overflow: hidden;
  text-overflow: ellipsis; }
thead, tbody tr { background: var(--bg); }
.muted { color: var(--muted); }
.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); }
.bracket, .bracket ol { margin: 0; padding: 0; list-style: none; }
.bracket h3 { margin: 0 0 .5rem; font-size: .85rem; color: var(--muted); }
.encounter > div { border: 1px solid var(--line); border-radius: .4rem; }
.side { display: flex; justify-content: space-between; gap: 1rem; margin: 0; padding: .2rem .6rem;
  overflow-wrap: anywhere; }
.side .who { position: static; max-width: none; }
.side + .side { border-top: 1px solid var(--line); }
.side.won { font-weight: 650; }
.side .points { font-variant-numeric: tabular-nums; }
.encounter { padding: .3rem 0; }
@media (min-width: 44rem) {
  .bracket { display: flex; }
  .round { display: flex; flex-direction: column; flex: 1 0 9rem; max-width: 16rem; }
  .round > ol { display: flex; flex-direction: column; flex: 1; }
  .encounter { position: relative; display: flex; flex-direction: column; flex: 1 1 0;
    justify-content: center; padding: .3rem .8rem; }
  .encounter::before, .encounter::after { position: absolute; width: .8rem;
    border: 0 solid var(--line); }
  .round:not(:first-child) .encounter::before { content: ""; left: 0; top: 50%;
    border-top-width: 1px; }
  .round:not(:last-child) .encounter::after { content: ""; right: 0; }
  .encounter:nth-child(odd)::after { top: 50%; bottom: 0; border-width: 1px 1px 0 0; }
  .encounter:nth-child(even)::after { top: 0; bottom: 50%; border-width: 0 1px 1px 0; }
}
.plot { display: block; max-width: 45rem; }
.plot text { font-size: 13px; fill: var(--text); paint-order: stroke; stroke: var(--bg);
  stroke-width: 4px; }
.grid { stroke: var(--line); }
.bar { stroke: var(--accent); stroke-width: 2; } .open { stroke-dasharray: 4 4; }
.dot { fill: var(--accent); } .bound { stroke: var(--bad); stroke-dasharray: 6 4; }
.curve { fill: none; stroke: var(--accent); stroke-width: 1.5; }
"""
# Whatever the names of entrants contain, no script runs on this page, and nothing is fetched.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(name: str, body: Iterable[str], *, reload_s: int = 0) -> str:
    """Return a page with a title and a body in HTML, which loads no other file.

    With `reload_s`, it loads itself again after that many seconds.
    """
    title = shown(name)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8"/>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        *([f'<meta http-equiv="refresh" content="{reload_s}"/>'] if reload_s else []),
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        "<main>",
        f"<h1>{title}</h1>",
        *body,
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def section(title: str, content: str) -> str:
    """Return a section of a page: its heading, which is escaped, and its content in HTML."""
    return f"<section>\n<h2>{shown(title)}</h2>\n{content}\n</section>"


def shown(text: str) -> str:
    """Return text as HTML: escaped, without control characters."""
    return escape(plain(text))
