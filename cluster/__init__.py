"""A Dask cluster, as tournaments, ladders and trainings use it.

    cluster  the client: connection, workers, tasks; all of them come back when they were lost
    workers  checks of workers, and functions that run there

This module has the option `--dask` of commands, and imports no Dask, which is optional: only
modules that run with a cluster import `cluster` and `workers`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def dask_option(purpose: str) -> Callable[[F], F]:
    """Return a decorator that adds `--dask` to a command; `purpose` begins its help text."""
    return click.option(
        "--dask",
        metavar="ADDRESS",
        callback=_not_empty,
        help=f"{purpose} on the workers of a Dask cluster: the address of its scheduler, "
        "as in tcp://10.0.0.1:8786, or local for a cluster on this machine, with a worker for each "
        'core. Needs: pip install ".[cluster]" in a checkout of Playout',
    )


def _not_empty(_: click.Context, __: click.Parameter, address: str | None) -> str | None:
    """Return the address. Raises BadParameter if it is empty, as that of an unset variable."""
    if address == "":
        raise click.BadParameter("needs the address of a scheduler, or local")
    return address


def require_dask() -> None:
    """Raises ClickException if Dask is not installed; imports nothing."""
    if importlib.util.find_spec("distributed") is None:
        raise click.ClickException(
            'Dask needs the package distributed: pip install ".[cluster]" in a checkout of Playout'
        )
