"""Opens the server's page in the browser of the user who started it."""

from __future__ import annotations

import threading
import webbrowser

import click


def show(address: str) -> None:
    """Open a URL in the browser; if that fails, print the URL to standard error."""
    # With some browsers the call returns only when they are closed.
    threading.Thread(target=_show, args=(address,), daemon=True).start()


def _show(address: str) -> None:
    try:
        shown = webbrowser.open(address)
    except (webbrowser.Error, OSError):
        shown = False
    if not shown:
        click.echo(f"playout-server: cannot open a browser; the page is at {address}", err=True)
