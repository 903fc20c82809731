"""Groups of commands, the option `--game` for games of the user's own files, kinds of options."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import math
import os
import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from playout import games
from playout.commands.interrupts import exit_as
from playout.commands.progress import doing
from playout.games.core import plugins

F = TypeVar("F", bound=Callable[..., Any])


def combined(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that applies all of these, as if they stood above each other."""

    def decorated(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorated


class OptionGroup(click.Group):
    """A group in which an option before a subcommand is one of the subcommand, or an error.

    Options without a value for the group's function, such as `--game`, have had their effect; if
    the subcommand has an option of this name with a meaning of its own, it is an error. Defaults
    that a configuration file sets apply to the subcommand, too.
    """

    #: The key of the words of the options before the subcommand, in the metadata of a context.
    _BEFORE = f"{__name__}.before"

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the options of the group, and keep their words for the subcommand."""
        before = context.meta.setdefault(self._BEFORE, [])
        values, _, order = self.make_parser(context).parse_args(list(args))
        for option in dict.fromkeys(order):
            if isinstance(option, click.Option) and option.name in values:
                before.append((option, _words(option, values[option.name])))
        return super().parse_args(context, args)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; give it the options before it. Raises UsageError."""
        name, command, rest = super().resolve_command(context, args)
        if command is None or name is None:
            return name, command, rest
        effected = {each.name for each in self.params if not each.expose_value}
        file = context.default_map or {}
        defaults = {key: value for key, value in file.items() if key not in effected}
        context.default_map = {**defaults, name: defaults}
        if isinstance(command, click.Group):
            return name, command, rest
        its = command.get_params(context)
        known = {each for option in its for each in option.opts}
        valued = {each for option in its if option.expose_value for each in option.opts}
        words: list[str] = []
        for option, given in context.meta[self._BEFORE]:
            if not option.expose_value:
                if not valued.isdisjoint(option.opts):
                    raise click.UsageError(
                        f"{given[0]} before {name!r} makes a game of a file known, and has another "
                        f"meaning there: write it after {name!r}",
                        context,
                    )
                continue
            if known.isdisjoint(option.opts):
                whole = f"{context.command_path} {name}"
                raise click.UsageError(
                    f"{given[0]} has no effect on {whole!r}, whose options are shown by: "
                    f"{whole} --help",
                    context,
                )
            words += given
        return name, command, [*words, *rest]


def _words(option: click.Option, value: Any) -> list[str]:
    """Return the words of the command line that give an option the value that was parsed."""
    if option.is_flag:
        off = option.secondary_opts and value is False
        return [(option.secondary_opts if off else option.opts)[-1]]
    if option.count:
        return [option.opts[-1]] * value
    word = option.opts[-1]
    given = value if option.multiple else [value]
    rows = given if option.nargs > 1 else [(each,) for each in given]
    return [text for row in rows for text in (word, *row)]


class ImportedCommand(click.Command):
    """A subcommand, the `main` of a module, which is imported only if the command is called.

    `text` describes it in the list of commands.
    """

    def __init__(self, name: str, module: str, text: str) -> None:
        super().__init__(name, short_help=text)
        self._module = module

    def imported(self) -> click.Command:
        """Import the module, and return its command."""
        with doing(f"Loading {self.name}"):
            command: click.Command = importlib.import_module(self._module).main
        return command

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the imported command."""
        return self.imported().get_params(ctx)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        """Return the context of the imported command, which is invoked then."""
        return self.imported().make_context(info_name, args, parent, **more)


def in_writable_folder(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Check before long work that the file of an option can be written. Raises BadParameter."""
    if path and not os.access(path.parent, os.W_OK):
        raise click.BadParameter(f"cannot write in {path.parent}")
    return path


def refuse(context: click.Context, names: Collection[str], why: str) -> None:
    """Raise UsageError if one of these parameters was typed: it has no effect, for this reason."""
    if option := typed_option(context, names):
        raise click.UsageError(f"{why}: leave out {option}")


def typed_option(context: click.Context, names: Collection[str]) -> str | None:
    """Return the option, as `--tls-name`, of the first of these parameters that was typed."""
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and given is ParameterSource.COMMANDLINE:
            return max(parameter.opts, key=len)
    return None


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


#: A player as it is typed: its name, or `module:Class`, then options in parentheses.
PLAYER = re.compile(r"[\w.]+(:\w+)?(\(.*\))?")


def registered(text: str, folder: Path | None = None) -> str:
    """Return the specification of a game that was typed, after `games.register`.

    The module of a game is in `folder`, by default the current one. Raises UsageError.
    """
    folder = folder or Path.cwd()
    name = text.partition("(")[0].strip()
    try:
        if name not in games.names():
            with contextlib.suppress(OSError):  # a name that no file can have
                if hint := plugins.file_hint("game", "Game", name, folder):
                    raise hint
            require_own_module(text, folder)
        return register_game(text, folder)
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error


def register_game(text: str, folder: Path) -> str:
    """Return the specification of a game that a user has typed, after `games.register`.

    Raises SpecError, also for a module that ends the program.
    """
    target = text.partition("(")[0]
    with exit_as(lambda why: games.SpecError(f"the game {target!r} cannot be loaded: {why}")):
        return games.register(text, str(folder))


def add_current_folder(*players: str) -> None:
    """Add the current folder to the path of imports if one of the players is a module:Class.

    Raises UsageError for a module that another one hides.
    """
    if any(":" in each for each in players):
        sys.path.append(os.getcwd())
    for each in players:
        require_own_module(each, Path.cwd())


def require_own_module(target: str, folder: Path) -> None:
    """Raise UsageError if the file of a module:Class is in a folder, but Python imports another.

    The folder is at the end of the path of imports, so that a file `random.py` is hidden there.
    """
    module, colon, _ = target.partition("(")[0].partition(":")
    name = module.strip().partition(".")[0]
    file = folder / f"{name}.py"
    if not (colon and name.isidentifier() and file.is_file()):
        return
    try:
        found = importlib.util.find_spec(name)
    except ValueError:  # a module without a specification
        return
    other = found.origin if found else None
    if other and not (os.path.exists(other) and os.path.samefile(other, file)):
        raise click.UsageError(
            f"{file.name} cannot be imported: its name is that of another module, {other}; rename "
            "the file"
        )


def _register(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> None:
    for text in given:
        if not plugins.is_target(text):
            raise click.BadParameter(f"{text!r} is not module:Class, as in my_game:Chomp")
        require_own_module(text, Path.cwd())
        try:
            register_game(text, Path.cwd())
        except games.SpecError as error:
            raise click.BadParameter(str(error)) from error
