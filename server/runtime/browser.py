"""Shows the page to whoever has started the server."""

from __future__ import annotations

import threading
import webbrowser

import click


def show(address: str) -> None:
    """Open it in the browser, or say that there is none."""
    # Some browsers do not return before they are closed.
    threading.Thread(target=_show, args=(address,), daemon=True).start()


def _show(address: str) -> None:
    try:
        shown = webbrowser.open(address)
    except (webbrowser.Error, OSError):
        shown = False
    if not shown:
        click.echo(
            f"playout-server: no browser could be opened; the page is at {address}", err=True
        )
