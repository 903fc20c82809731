"""The command `playout-server`: its options and subcommands."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import msgspec

from playout.commands.options import FiniteRange, OptionGroup, game_option
from playout.server.app import Settings, serve
from playout.server.cli import accounts, backup, export, import_, puzzles, verify
from playout.server.cli.server_options import (
    bot_options,
    bots_by_default,
    competition_options,
    database_option,
    from_file,
    keep_analysis_option,
    lab_options,
    ladder_options,
    listening_options,
    page_options,
    policy_options,
    require_encryption,
    require_lab,
    require_secret_tokens,
    shown_tournaments,
    with_competitions,
)
from playout.server.core.accounts import GivenAccount
from playout.server.core.policy import PUSH_SERVICES, Policy
from playout.server.net.push_sender import PushUnavailable, public_key
from playout.server.net.webhooks import WebhooksUnavailable, secret

EPILOG = """
\b
Examples:
  playout-server                        on 127.0.0.1, port 4242
  playout-server --open                 also opens its page, to watch and to play
  playout-server --port 0               on a free port, which it prints
  playout-server --config playout.toml  with options from a file, as in:
                                          port = 4242
                                          default_clock = "60+1"
  playout-server --tls-cert cert.pem --tls-key key.pem
                                        for other machines, encrypted
  playout-server --game my_game:Chomp   also serves the game of the class Chomp in my_game.py
  playout-server accounts list          lists the accounts

Then connect players: playout-player connect_four uct
"""

_decode_accounts = msgspec.json.Decoder(tuple[GivenAccount, ...]).decode


@click.group(
    cls=OptionGroup,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@listening_options
@page_options
@database_option
@policy_options
@game_option("A game of a file in the current folder or on PYTHONPATH that the server offers, too;")
@click.option(
    "--warm",
    metavar="GAME",
    multiple=True,
    help="A game that is ready before the server listens; others are then compiled when they are "
    "asked for.  Repeatable.",
)
@bot_options
@ladder_options
@competition_options
@lab_options
@keep_analysis_option
@click.option(
    "--find-puzzles",
    is_flag=True,
    help="Find puzzles in the stored matches while nobody plays, as the command puzzles does.",
)
@click.option(
    "--unread-bytes",
    default=2**20,
    show_default=True,
    type=click.IntRange(0),
    help="Bytes of output that a client may leave unread before it is disconnected.",
)
@click.option(
    "--unread-mb",
    default=256.0,
    show_default=True,
    type=FiniteRange(0),
    help="Megabytes of output that all clients together may leave unread; beyond it, those that "
    "leave the most are disconnected.",
)
@click.option(
    "--grace-s",
    default=5.0,
    show_default=True,
    type=FiniteRange(0),
    help="Seconds that running matches have to end when the server is asked to stop.",
)
@click.option(
    "--accounts-on-input",
    "accounts",
    is_flag=True,
    hidden=True,  # for playout-tournament, which starts a server
    callback=lambda context, parameter, given: _given_accounts() if given else (),
)
@click.option("--log-json", is_flag=True, help="Log as JSON, one object a line.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    is_eager=True,
    expose_value=False,
    callback=from_file,
    help="TOML file with options, named as here with _ for -; the command line overrides it.",
)
@click.version_option(version("playout"), prog_name="playout-server")
@click.pass_context
def main(context: click.Context, /, **options: Any) -> None:
    """Serve board games: apply the rules, keep the clocks, pair players.

    SIGTERM or Ctrl-C stops it: it starts no new matches, gives running ones --grace-s seconds to
    end, and exits with code 0. Matches that are still running continue when it is started again. A
    second signal stops it at once.

    Limits keep one client from harming others; 0 means no limit.
    """
    if context.invoked_subcommand is not None:
        return
    if (options["tls_cert"] is None) != (options["tls_key"] is None):
        raise click.UsageError("--tls-cert and --tls-key belong together")
    require_encryption(options)
    if options["bots"] is None:
        options["bots"] = bots_by_default(options)
    if options["open"] and options["http"] is None:
        raise click.UsageError("--open needs the page: not --http none")
    given = context.get_parameter_source("http") is not click.core.ParameterSource.DEFAULT
    insecure = options.pop("insecure")
    options["metrics_password"] = options.pop("metrics_password_file")
    push = _push_policy(options)
    _require_webhooks(options)
    settings = {name: options.pop(name) for name in Settings.__annotations__ if name in options}
    default = context.get_parameter_source("database") is click.core.ParameterSource.DEFAULT
    shown = shown_tournaments(settings, by_default=default)
    stored, offered = settings["database"] != "none", options.pop("bot")
    if settings["lab"]:
        require_secret_tokens("--lab", settings["lab_http"], settings, insecure=insecure)
        require_lab(settings["lab"])
    ladders = with_competitions(options.pop("ladder"), settings, insecure=insecure)
    serve(
        Settings(**settings, http_given=given, tournaments=shown),
        Policy(**options, **ladders, **push, offered=offered, stored=stored),
    )


def _given_accounts() -> tuple[GivenAccount, ...]:
    """Return the accounts in the first line of standard input, which is a list of them as JSON."""
    try:
        return _decode_accounts(sys.stdin.buffer.readline())
    except ValueError as error:
        raise click.BadParameter(f"standard input has no list of accounts: {error}") from error


def _push_policy(options: dict[str, Any]) -> dict[str, Any]:
    """Take `push_service` from the options; return the fields of `Policy`. Raises UsageError."""
    services = options.pop("push_service")
    if options["push"] is None:
        return {}
    if options["push_contact"] is None:
        raise click.UsageError("--push needs --push-contact, which the push services ask for")
    try:
        key = public_key(options["push"])
    except PushUnavailable as fault:
        raise click.UsageError(f"--push: {fault}") from fault
    return {"push_key": key, "push_services": (*PUSH_SERVICES, *services)}


def _require_webhooks(options: dict[str, Any]) -> None:
    """Check the options of webhooks, and make their secret. Raises UsageError."""
    if bool(options["webhook"]) != bool(options["webhooks"]):
        raise click.UsageError("--webhook URL and --webhooks FOLDER belong together")
    if options["webhooks"] is None:
        return
    if options["database"] == "none":
        raise click.UsageError("--webhook needs a database, which has the events")
    try:
        secret(options["webhooks"])
    except WebhooksUnavailable as fault:
        raise click.UsageError(f"--webhooks: {fault}") from fault


for command in (accounts, backup, export, import_, puzzles, verify):
    main.add_command(command)
