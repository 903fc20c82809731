"""Writes files that must be new, for commands that make the files of a user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click


def write_new(files: Mapping[Path, str], remedy: str) -> None:
    """Write new files, by path; if one exists, write none.

    Raises UsageError with the remedy if one exists, ClickException for any other fault.
    """
    for path in files:
        if os.path.lexists(path):
            raise click.UsageError(f"{path} exists: {remedy}")
    for path, text in files.items():
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:  # another process was quicker
            raise click.UsageError(f"{path} exists: {remedy}") from None
        except OSError as error:
            raise click.ClickException(f"{path}: {error.strerror}") from error
