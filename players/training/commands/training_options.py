"""The arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def folder_argument(command: F) -> F:
    """Add the argument `DIR` to a command, as `path`: the folder of a run."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.argument("path", metavar="DIR", type=kind)(command)


def output_argument(command: F) -> F:
    """Add the argument `OUT.onnx` to a command, as `output`."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.argument("output", metavar="OUT.onnx", type=kind, callback=_loadable)(command)


def _loadable(_: click.Context, __: click.Parameter, path: Path) -> Path:
    """Return the path if a player's option can name it as a net. Raises BadParameter."""
    if path.suffix != ".onnx":
        raise click.BadParameter(f"{path} does not end in .onnx; choose a name that does")
    if "," in str(path):
        raise click.BadParameter(
            f"{path} has a comma, which separates the options of alphazero(net=...); "
            "choose another name"
        )
    return path
