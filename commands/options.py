"""The option `--game`, which registers games of the user's own files; other parts of commands."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from playout import games
from playout.games.core import plugins

F = TypeVar("F", bound=Callable[..., Any])


def combined(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that applies all of these, as if they stood above each other."""

    def decorated(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorated


class ImportedCommand(click.Command):
    """A subcommand, the `main` of a module, which is imported only if the command is called.

    `text` describes it in the list of commands.
    """

    def __init__(self, name: str, module: str, text: str) -> None:
        super().__init__(name, short_help=text)
        self._module = module

    def imported(self) -> click.Command:
        """Import the module, and return its command."""
        command: click.Command = importlib.import_module(self._module).main
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        """Return the context of the imported command, which is invoked then."""
        return self.imported().make_context(info_name, args, parent, **more)


class FiniteRange(click.FloatRange):
    """A range of finite numbers: nan passes every bound check."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number of an option or a configuration file. Raises BadParameter."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def game_option(text: str) -> Callable[[F], F]:
    """Return a decorator that adds `--game`, with this help text, before all other options."""
    return click.option(
        "--game",
        metavar="MODULE:CLASS",
        multiple=True,
        is_eager=True,  # options such as --ladder name games
        expose_value=False,
        callback=_register,
        help=f"{text} repeatable.",
    )


def registered(text: str) -> str:
    """Return the specification of a game that was typed, after `games.register`.

    Raises UsageError.
    """
    name = text.partition("(")[0].strip()
    try:
        if name not in games.names() and (
            hint := plugins.file_hint("game", "Game", name, Path.cwd())
        ):
            raise hint
        return games.register(text)
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error


def _register(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> None:
    for text in given:
        if not plugins.is_target(text):
            raise click.BadParameter(f"{text!r} is not module:Class, as in my_game:Chomp")
        try:
            games.register(text)
        except games.SpecError as error:
            raise click.BadParameter(str(error)) from error
