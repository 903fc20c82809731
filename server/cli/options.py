"""The options of `playout-server`, and how they are read from a file."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from platformdirs import user_data_path

from games.core import spec
from server.core.policy import Policy
from server.model.time_control import NOTATIONS, TimeControlError, canonical_time_control
from server.runtime.endpoints import host_of, is_loopback

F = TypeVar("F", bound=Callable[..., Any])

#: The players that the server offers if the operator does not say, from weak to strong.
OFFERED = ("random", "flat(time=0.3)", "uct(time=0.3)", "uct(time=2)", "rave(time=1)")
_BOTS = 4

_FLAGS = ("http_proxied", "log_json", "open", "proxy_protocol")


def default_database() -> str:
    """Where things are kept if nobody says otherwise."""
    return f"sqlite:///{user_data_path('playout') / 'playout.db'}"


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise click.BadParameter(f"{path}: {fault}") from fault


def _database_from_file(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> None:
    if path is not None and "database" in (settings := _read(path)):
        context.default_map = {"database": settings["database"]}


def from_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    """Take the options of a TOML file as defaults, so that the command line wins."""
    if path is None:
        return
    settings = _read(path)
    allowed = [str(p.name) for p in context.command.params if p.name not in ("config", "version")]
    for key, value in settings.items():
        if isinstance(value, bool) and key not in _FLAGS:
            raise click.BadParameter(f"{path}: {key} cannot be {str(value).lower()}")
        if key not in allowed:
            raise click.BadParameter(f"{path}: {spec.unknown('option', key, allowed)}")
    context.default_map = settings


def _host(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise click.BadParameter("name an address; 0.0.0.0 stands for all that this machine has")
    return text


def host_and_port(text: str) -> tuple[str, int] | None:
    """What HOST:PORT says, an address of IPv6 in brackets; None if that is not what it is."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        return None
    return host.strip("[]"), int(port)


def http_address(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[str, int] | None:
    """The value of `--http`, None for none. Raises BadParameter."""
    if text is None or text == "none":
        return None
    address = host_and_port(text)
    if address is None:
        raise click.BadParameter(f"{text!r} is not HOST:PORT, as in 127.0.0.1:8080, or none")
    return address


def _clock(context: click.Context, parameter: click.Parameter, text: str) -> str:
    try:
        return canonical_time_control(text)
    except TimeControlError as fault:
        raise click.BadParameter(str(fault)) from fault


_COUNT, _SECONDS = click.IntRange(0), click.FloatRange(0)
#: Type and help of each field of `Policy` that is an option.
_POLICY: dict[str, tuple[Any, str]] = {
    "default_clock": (str, f"Clock of a match if neither player asks for one: {NOTATIONS}."),
    "illegal_moves": (_COUNT, "Illegal moves a player may send in a match; one more loses it."),
    "credit_cap_s": (
        click.FloatRange(0, 10),
        "Seconds of a move's time on the network that are not counted, at most.",
    ),
    "reconnect_s": (
        _SECONDS,
        "Seconds that a player may be away before its matches are lost.",
    ),
    "restart_grace_s": (
        _SECONDS,
        "Seconds after a restart of the server before clocks go on.",
    ),
    "claim_after_s": (
        _SECONDS,
        "Seconds before another session of an account may claim the matches of one that is away.",
    ),
    "registration": (
        click.Choice(["open", "guests", "closed"]),
        "Who may come: everybody, those with an account and guests, or those with an account.",
    ),
    "registrations_per_hour": (_COUNT, "Names that an address may register in an hour."),
    "connections": (_COUNT, "Connections in all."),
    "connections_per_address": (_COUNT, "Connections of an address."),
    "hello_s": (_SECONDS, "Seconds that a connection has to say hello."),
    "idle_s": (
        _SECONDS,
        "Seconds of silence, of one who plays no match, before it is asked for a sign of life.",
    ),
    "messages_per_s": (_SECONDS, "Messages a second of a connection, moves made not counted."),
    "sessions_per_account": (_COUNT, "Sessions of an account at once."),
    "seeks_per_account": (_COUNT, "Open seeks of an account or a guest."),
    "matches_per_session": (_COUNT, "Matches of a session at once."),
    "matches_per_account": (_COUNT, "Matches of an account at once."),
    "bots_per_account": (_COUNT, "Bots of the server for an account or a guest at once."),
    "summons_per_hour": (_COUNT, "Bots of the server that an address may summon in an hour."),
    "bot_minutes": (_SECONDS, "Minutes that a bot of the server may play."),
}


def policy_options(command: F) -> F:
    """An option for each field of `Policy` that the operator decides by one."""
    defaults = {field.name: field.default for field in dataclasses.fields(Policy)}
    for name, (kind, text) in reversed(_POLICY.items()):
        callback = _clock if name == "default_clock" else None
        command = click.option(
            f"--{name.replace('_', '-')}",
            default=defaults[name],
            show_default=True,
            type=kind,
            callback=callback,
            help=text,
        )(command)
    return command


def _players(
    context: click.Context, parameter: click.Parameter, players: tuple[str, ...]
) -> tuple[str, ...]:
    """Whether they are there shows when they are started: the server does not know players."""
    for player in players:
        try:
            spec.parse(player)
        except spec.SpecError as fault:
            raise click.BadParameter(str(fault)) from fault
    return tuple(dict.fromkeys(players))


def bot_options(command: F) -> F:
    """The bots that the server starts itself."""
    for option in reversed(
        (
            click.option(
                "--bots",
                type=_COUNT,
                help="Bots that the server starts at once for those who want to play one; 0 for "
                "none.  [default: 4 where only this machine can connect, otherwise 0]",
            ),
            click.option(
                "--bot",
                metavar="PLAYER",
                multiple=True,
                default=OFFERED,
                callback=_players,
                help="A player that it offers, as for playout-player; repeatable.  "
                f"[default: {', '.join(OFFERED)}]",
            ),
        )
    ):
        command = option(command)
    return command


def bots_by_default(options: Mapping[str, Any]) -> int:
    """How many there are if the operator does not say: some where no stranger can come."""
    http = options["http"]
    private = is_loopback(host_of(options["host"], encrypted=bool(options["tls_cert"])))
    proxied = options["proxy_protocol"] or options["http_proxied"]
    return _BOTS if private and not proxied and http and is_loopback(http[0]) else 0


def database_option(command: F) -> F:
    """Add the option `--database` of the server."""
    return click.option(
        "--database",
        metavar="URL",
        envvar="PLAYOUT_DATABASE",
        default=default_database,
        help="Where everything is kept: sqlite:////path/file.db, postgresql+psycopg://user@host/db,"
        " or none.  [env var: PLAYOUT_DATABASE; default: playout.db in your data folder]",
    )(command)


def its_database_option(command: F) -> F:
    """`--database`, of a command for one who has a server, whose `--config` it may take."""
    config = click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=_database_from_file,
        help="The server's TOML file, which may say where its database is.",
    )
    return database_option(config(command))


def listening_options(command: F) -> F:
    """Where to listen, and how."""
    for option in reversed(
        (
            click.option(
                "--host",
                callback=_host,
                help="Address to listen on.  [default: 127.0.0.1; with TLS, all there are]",
            ),
            click.option(
                "--port",
                default=4242,
                show_default=True,
                type=click.IntRange(0, 65535),
                help="Port to listen on; 0 takes a free one and prints it.",
            ),
            click.option(
                "--tls-cert",
                type=click.Path(path_type=Path, dir_okay=False, exists=True),
                help="PEM file with the certificate and those that it rests on: encrypt.",
            ),
            click.option(
                "--tls-key",
                type=click.Path(path_type=Path, dir_okay=False, exists=True),
                help="PEM file with the certificate's private key.",
            ),
            click.option(
                "--proxy-protocol",
                is_flag=True,
                help="Expect a proxy that says where each connection comes from (v1 or v2).",
            ),
            click.option(
                "--http",
                metavar="HOST:PORT",
                default="127.0.0.1:8080",
                show_default=True,
                callback=http_address,
                help="Where the page is, with /healthz and /metrics, or none.",
            ),
            click.option(
                "--http-proxied",
                is_flag=True,
                help="Believe what a proxy says of where requests come from: X-Forwarded-For.",
            ),
            click.option("--open", is_flag=True, help="Open the page in your browser."),
        )
    ):
        command = option(command)
    return command
