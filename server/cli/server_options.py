"""The options of `playout-server`, from the command line or a TOML file."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from platformdirs import user_data_path

from playout import games
from playout.cluster import require_dask
from playout.commands import toml_table
from playout.commands.options import FiniteRange, combined
from playout.commands.subprocesses import own, own_environment
from playout.commands.toml_table import Faults, TomlError
from playout.games.core import spec
from playout.protocol.endpoints import host_and_port, host_of, is_loopback, spelled
from playout.protocol.messages import OfferedBot
from playout.protocol.text_files import TextFileError, decoded
from playout.protocol.time_control import NOTATIONS, TimeControlError, canonical_time_control
from playout.server.core.policy import Policy
from playout.server.ladder.hours import LadderHours, LadderHoursError, parse_hours
from playout.server.model.offered_bots import BadBot, parse_offered_bots
from playout.server.tournament.competition_file import CompetitionFileError, read

#: The bots that the server offers without `--bot`, from weak to strong. Those of a level have a
#: fixed number of simulations, so that they are equally strong on every machine.
OFFERED = (
    "Playout Easy:easy=best(level=easy)",
    "Playout Medium:medium=best(level=medium)",
    "Playout Strong:strong=best(level=strong)",
    "Playout Master:master=best(level=master)",
    "Playout Max:max=best(time=2)",
)
_BOTS = 4


def default_database() -> str:
    """Return the URL of the database that is used without `--database`."""
    return f"sqlite:///{user_data_path('playout') / 'playout.db'}"


def _read(path: Path) -> tuple[dict[str, Any], Faults]:
    try:
        return toml_table.load(toml_table.text_of(path), str(path))
    except TomlError as fault:
        raise click.BadParameter(str(fault)) from fault


def _database_from_file(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> None:
    if path is not None and "database" in (settings := _read(path)[0]):
        context.default_map = {"database": settings["database"]}


def from_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    """Take the options of a TOML file as defaults, which the command line overrides."""
    if path is None:
        return
    settings, faults = _read(path)
    options = [each for each in context.command.params if each.name not in ("config", "version")]
    allowed = [str(each.name) for each in options]
    flags = [each.name for each in options if getattr(each, "is_flag", False)]
    for key, value in settings.items():
        if key not in allowed:
            faults.add((key,), str(spec.unknown("option", key, allowed)))
        elif isinstance(value, bool) and key not in flags:
            faults.add((key,), f"{key} cannot be {str(value).lower()}")
    if faults.found:
        raise click.BadParameter(faults.text())
    context.default_map = settings


def _host(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise click.BadParameter(
            "expected an address; use 0.0.0.0 for all addresses of this machine"
        )
    return text


def http_address(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[str, int] | None:
    """Parse the value of `--http`; return None for `none`. Raises BadParameter."""
    if text is None or text == "none":
        return None
    address = host_and_port(text)
    if address is None:
        raise click.BadParameter(f"{text[:100]!r} is not HOST:PORT, as in 127.0.0.1:8080, or none")
    return address


def _names(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(each.lower() for each in names)


def _sites(
    context: click.Context, parameter: click.Parameter, sites: tuple[str, ...]
) -> tuple[str, ...]:
    """Check addresses of sites, which become a part of a header. Raises BadParameter."""
    for site in sites:
        if not re.fullmatch(r"https?://(\*\.)?[a-z0-9.-]+(:\d+)?", site, re.IGNORECASE):
            raise click.BadParameter(f"{site!r} is no site; expected one like https://example.org")
    return sites


def _benchmarks(
    context: click.Context, parameter: click.Parameter, folders: tuple[Path, ...]
) -> dict[str, Path]:
    """Return folders by name. Raises BadParameter for two of one name."""
    found = {each.resolve().name: each for each in folders}
    if len(found) < len(folders):
        raise click.BadParameter("two folders have the same name")
    return found


def _contact(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Check the address for push services. Raises BadParameter."""
    if text is not None and not re.fullmatch(r"(mailto:[^@\s]+@[^@\s]+|https://\S+)", text):
        raise click.BadParameter(f"{text[:100]!r} is not like mailto:you@example.org")
    return text


def _web_addresses(
    context: click.Context, parameter: click.Parameter, urls: tuple[str, ...]
) -> tuple[str, ...]:
    """Check addresses of programs. Raises BadParameter."""
    for url in urls:
        if not re.fullmatch(
            r"https?://[\w.-]+(:\d{1,5})?(/[!-~]*)?|https?://\[[\d:a-f]+\]\S*", url
        ):
            raise click.BadParameter(f"{url!r} is not like https://example.org/told")
    return urls


def _password(context: click.Context, parameter: click.Parameter, path: Path | None) -> str | None:
    """Read the password in a file. Raises BadParameter."""
    if path is None:
        return None
    try:
        password = decoded(path.read_bytes()).strip()
    except (OSError, TextFileError) as error:
        raise click.BadParameter(f"{path} cannot be read: {error}") from error
    if not password:
        raise click.BadParameter(f"{path} is empty; it needs a password of one line")
    return password


def require_encryption(options: Mapping[str, Any]) -> None:
    """Check that what other machines send is encrypted, or may not be. Raises UsageError."""
    if options["insecure"]:
        return
    host, http = host_of(options["host"], encrypted=bool(options["tls_cert"])), options["http"]
    if not (options["tls_cert"] or options["proxy_protocol"] or is_loopback(host)):
        raise click.UsageError(
            f"with --host {host}, other machines connect without encryption, and their tokens can "
            "be read on the network: give --tls-cert and --tls-key, or --proxy-protocol behind a "
            "proxy with TLS, or allow it by --insecure"
        )
    if http and not (options["http_proxied"] or is_loopback(http[0])):
        raise click.UsageError(
            f"with --http {spelled(*http)}, browsers on other machines connect without encryption: "
            "give --http-proxied behind a proxy with TLS, or allow it by --insecure"
        )


def _clock(context: click.Context, parameter: click.Parameter, text: str) -> str:
    try:
        return canonical_time_control(text)
    except TimeControlError as fault:
        raise click.BadParameter(str(fault)) from fault


#: Counts are stored in columns of 32 bits.
_COUNT, _SECONDS = click.IntRange(0, 2**31 - 1), FiniteRange(0)
#: Type and help of each field of `Policy` that is an option.
_POLICY: dict[str, tuple[Any, str]] = {
    "default_clock": (str, f"Time control of a match if neither player asks for one: {NOTATIONS}."),
    "illegal_moves": (
        _COUNT,
        "Illegal moves that a player may send in a match; one more loses it.",
    ),
    "credit_cap_s": (
        FiniteRange(0, 10),
        "Longest network delay of a move, in seconds, that the clock does not count.",
    ),
    "reconnect_s": (
        _SECONDS,
        "Seconds that a player may be disconnected before it loses its matches.",
    ),
    "restart_grace_s": (
        _SECONDS,
        "Seconds after a restart of the server before clocks run again.",
    ),
    "take_over_after_s": (
        _SECONDS,
        "Seconds that a session must be disconnected before another session of its account may "
        "take over its matches.",
    ),
    "registration": (
        click.Choice(["open", "guests", "closed"]),
        "Who may connect: open (anyone, and new names register), guests (accounts and guests), or "
        "closed (accounts only).",
    ),
    "registrations_per_hour": (_COUNT, "Names that an IP address may register in an hour."),
    "logins_per_hour": (
        _COUNT,
        "Logins with a password or a code in an hour, wrong ones too, from an IP address; four "
        "times as many to a name.",
    ),
    "token_days": (
        _SECONDS,
        "Days for which the token of an account is valid; players renew it after half of them.",
    ),
    "connections": (_COUNT, "Connections in total."),
    "connections_per_address": (_COUNT, "Connections of an IP address."),
    "hello_s": (_SECONDS, "Seconds after which a connection without hello is closed."),
    "idle_s": (
        _SECONDS,
        "Seconds of silence after which a client that plays no match is pinged.",
    ),
    "messages_per_s": (_SECONDS, "Messages a second of a connection; accepted moves do not count."),
    "sessions_per_account": (_COUNT, "Sessions of an account at once."),
    "seeks_per_account": (_COUNT, "Open seeks of an account or a guest."),
    "seeks_per_address": (_COUNT, "Open seeks of all accounts and guests of an IP address."),
    "seek_days": (
        _SECONDS,
        "Days after which the seeks by correspondence of an account that stays away are closed.",
    ),
    "matches_per_session": (_COUNT, "Matches of a session at once."),
    "matches_per_account": (_COUNT, "Matches of an account at once."),
    "matches_per_address": (_COUNT, "Matches of all accounts and guests of an IP address at once."),
    "stored_mb_per_hour": (
        _SECONDS,
        "Megabytes that an IP address or an account may store in an hour; beyond it, analysis is "
        "not stored, and moves are read more slowly.",
    ),
    "analysis_mb_per_match": (_SECONDS, "Megabytes of analysis that are stored of a match."),
    "database_mb": (
        _SECONDS,
        "Megabytes of the database from which on no analysis is stored and no match begins.",
    ),
    "bots_per_account": (_COUNT, "Bots of the server that an account or a guest may have at once."),
    "bot_challenges_per_hour": (
        _COUNT,
        "Bots of the server that an IP address may challenge in an hour.",
    ),
    "bot_minutes": (_SECONDS, "Minutes that a bot of the server may play."),
    "analyses": (
        _COUNT,
        "Positions that the server's bots analyse at once for users, each in a process of lowest "
        "priority; 0 for none.",
    ),
    "analysis_s": (FiniteRange(0.1, 3600), "Seconds for which a bot may analyse a position."),
    "analyses_waiting": (_COUNT, "Analyses that may wait for those before them."),
    "analyses_per_hour": (_COUNT, "Positions that an IP address may have analysed in an hour."),
    "ladder_matches": (_COUNT, "Matches of all ladders at once."),
    "versions_per_hour": (
        _COUNT,
        "New versions that an account may enter on ladders in an hour; an IP address four times "
        "as many.",
    ),
    "ladder_clock": (str, f"Time control on ladders, unless --ladder has another: {NOTATIONS}."),
}


_DEFAULTS = {field.name: field.default for field in dataclasses.fields(Policy)}
#: Add an option for each field of `Policy` in `_POLICY`.
policy_options = combined(
    *(
        click.option(
            f"--{name.replace('_', '-')}",
            default=_DEFAULTS[name],
            show_default=True,
            type=kind,
            callback=_clock if name in ("default_clock", "ladder_clock") else None,
            help=text,
        )
        for name, (kind, text) in _POLICY.items()
    )
)


def _bots(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[OfferedBot, ...]:
    """Check the syntax only: whether a player exists is known when the server starts it."""
    try:
        return parse_offered_bots(texts)
    except BadBot as fault:
        raise click.BadParameter(str(fault)) from fault


#: Add `--bots` and `--bot`, for the bots that the server itself starts.
bot_options = combined(
    click.option(
        "--bots",
        type=_COUNT,
        help="Bots that the server runs at once, to be challenged by clients; 0 for none.  "
        "[default: 4 if only this machine can connect, otherwise 0; 0 with --http none]",
    ),
    click.option(
        "--bot",
        metavar="[NAME[:LEVEL]=]PLAYER[;GAME=PLAYER]...",
        multiple=True,
        default=OFFERED,
        callback=_bots,
        help="A bot that the server offers: a player as for playout-player, with the name "
        "of its account and its level (easy, medium or strong), and with other players "
        "for some games; repeatable.  "
        f"[default: {', '.join(OFFERED)}]",
    ),
)


def _ladders(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str | None] | None:
    """Parse the values of `--ladder`; return None without any. Raises BadParameter."""
    if not given:
        return None
    if given == ("none",):
        return {}
    found: dict[str, str | None] = {}
    for text in given:
        # The parameters of a game have equals signs, too: the clock follows the last one.
        name, equals, clock = text.rpartition("=")
        if not equals or clock.endswith(")"):
            name, clock = text, ""
        try:
            loaded = games.load(name)
        except spec.SpecError as fault:
            raise click.BadParameter(str(fault)) from fault
        found[str(loaded)] = _clock(context, parameter, clock) if clock else None
    return found


def _ladder_hours(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> LadderHours | None:
    """Parse the values of `--ladder-hours`; return None without any. Raises BadParameter."""
    try:
        return parse_hours(given)
    except LadderHoursError as fault:
        raise click.BadParameter(str(fault)) from fault


#: Add `--ladder` and `--ladder-hours`: the games that have a ladder, and when it is open.
ladder_options = combined(
    click.option(
        "--ladder",
        metavar="GAME[=CLOCK]",
        multiple=True,
        callback=_ladders,
        help="A game that has a ladder, with its time control; repeatable. none: no ladders.  "
        "[default: all games]",
    ),
    click.option(
        "--ladder-hours",
        metavar="HH:MM-HH:MM",
        multiple=True,
        callback=_ladder_hours,
        help="Hours of the day, in UTC, in which ladders pair matches, such as 20:00-08:00; "
        "repeatable.  [default: always]",
    ),
)


def bots_by_default(options: Mapping[str, Any]) -> int:
    """Return the number of bots without `--bots`: 0 without pages, or if others can connect."""
    http = options["http"]
    private = is_loopback(host_of(options["host"], encrypted=bool(options["tls_cert"])))
    proxied = options["proxy_protocol"] or options["http_proxied"]
    return _BOTS if private and not proxied and http and is_loopback(http[0]) else 0


def tournaments_database() -> str:
    """Return the default database of `playout-tournament`, beside that of the server."""
    return f"sqlite:///{user_data_path('playout') / 'tournaments.db'}"


def shown_tournaments(options: Mapping[str, Any], *, by_default: bool) -> str | None:
    """Return the URL of the second database, whose tournaments the pages show, or None.

    It is that of the same user. Only a server with the default database shows it, and only to this
    machine.
    """
    http = options["http"]
    private = http and is_loopback(http[0]) and not options["http_proxied"]
    return tournaments_database() if by_default and private else None


#: Add `--database` to the command of the server.
database_option = click.option(
    "--database",
    metavar="URL",
    envvar="PLAYOUT_DATABASE",
    default=default_database,
    help="Database of the server: sqlite:////path/file.db, postgresql+psycopg://user@host/db,"
    " or none.  [env var: PLAYOUT_DATABASE; default: playout.db in your data folder]",
)


def _age(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Parse the value of `--keep-analysis`; return seconds, None without any."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,5})([dh])", text)
    if found is None:
        raise click.BadParameter(
            f"{text[:99]!r} is not a number of days or hours, as in 30d or 12h"
        )
    return int(found[1]) * {"d": 86400.0, "h": 3600.0}[found[2]]


#: Add `--keep-analysis`: how long the analyses of ended matches are kept, in seconds.
keep_analysis_option = click.option(
    "--keep-analysis",
    metavar="DAYS",
    callback=_age,
    help="Remove the bots' analyses of matches that ended so long ago, as in 30d or 12h.  "
    "[default: never]",
)


#: Add `--database` to another command, and `--config`, the server's file that may set it.
its_database_option = combined(
    database_option,
    click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=_database_from_file,
        help="The server's TOML file, whose `database` is used.",
    ),
)


#: Add the options for the addresses and the encryption of the server.
listening_options = combined(
    click.option(
        "--host",
        callback=_host,
        help="Address to listen on.  [default: 127.0.0.1; with TLS, all addresses]",
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
        help="PEM file with the certificate and its chain; connections are encrypted.",
    ),
    click.option(
        "--tls-key",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        help="PEM file with the certificate's private key.",
    ),
    click.option(
        "--proxy-protocol",
        is_flag=True,
        help="Expect client addresses from a proxy, by the PROXY protocol v1 or v2.",
    ),
)


#: Add the options for the web page, the metrics, and what others may reach unencrypted.
page_options = combined(
    click.option(
        "--http",
        metavar="HOST:PORT",
        default="127.0.0.1:8080",
        show_default=True,
        callback=http_address,
        help="Address of the web page, with /healthz and /metrics; or none.",
    ),
    click.option(
        "--http-proxied",
        is_flag=True,
        help="Take the addresses of clients from X-Forwarded-For, which a proxy sets.",
    ),
    click.option(
        "--http-name",
        metavar="NAME",
        multiple=True,
        callback=_names,
        help="A name under which browsers reach the page without a proxy; repeatable.  "
        "[default: IP addresses, localhost, and the name of this machine]",
    ),
    click.option(
        "--embed-on",
        metavar="SITE",
        multiple=True,
        callback=_sites,
        help="A site, such as https://example.org, that may show matches in a frame; repeatable.",
    ),
    click.option(
        "--benchmark",
        metavar="FOLDER",
        multiple=True,
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        callback=_benchmarks,
        help="The results of a benchmark of playout-agents, shown at /benchmarks/NAME by the name "
        "of the folder, also while it runs; repeatable.",
    ),
    click.option(
        "--push",
        metavar="FOLDER",
        type=click.Path(path_type=Path, file_okay=False),
        help="Send notices through the push services of browsers, for matches by "
        "correspondence. The folder has the key and the subscriptions; it is made if there "
        "is none.",
    ),
    click.option(
        "--push-contact",
        metavar="ADDRESS",
        callback=_contact,
        help="Your address for the push services: mailto:you@example.org.",
    ),
    click.option(
        "--push-service",
        metavar="SITE",
        multiple=True,
        callback=_sites,
        help="A push service that browsers may use, besides those of Chrome, Firefox, "
        "Safari and Edge; repeatable.",
    ),
    click.option(
        "--webhooks",
        metavar="FOLDER",
        type=click.Path(path_type=Path, file_okay=False),
        help="Tell programs of the ends of matches, rounds and tournaments, by signed requests. "
        "The folder has the secret and what was told; it is made if there is none.",
    ),
    click.option(
        "--webhook",
        metavar="URL",
        multiple=True,
        callback=_web_addresses,
        help="The address of a program that is told; repeatable.",
    ),
    click.option(
        "--metrics-password-file",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        callback=_password,
        help="File with a password for /metrics, which others than programs on this "
        "machine need (HTTP Basic, any user name).",
    ),
    click.option(
        "--insecure",
        is_flag=True,
        help="Let other machines connect without encryption, so that tokens can be read on "
        "the network.",
    ),
    click.option("--open", is_flag=True, help="Open the page in your browser."),
)


#: Add `--competition` and `--competition-http`, for bots that are handed in.
competition_options = combined(
    click.option(
        "--competition",
        metavar="FILE",
        multiple=True,
        type=click.Path(path_type=Path, dir_okay=False),
        help="A competition, as playout-competition new writes it; repeatable. The ladders of "
        "its games are for its bots only, and other games have one only by --ladder.",
    ),
    click.option(
        "--competition-http",
        metavar="HOST:PORT",
        default="127.0.0.1:8081",
        show_default=True,
        callback=http_address,
        help="Address of the pages of competitions, where bots are handed in.",
    ),
)


#: Add `--lab` and `--lab-http`, for tests of bots that are handed in.
lab_options = combined(
    click.option(
        "--lab",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        help="A queue of tests: the lab.toml with its conditions. Authors hand tests in by "
        "playout-lab submit, and the cores of this machine play them.",
    ),
    click.option(
        "--lab-http",
        metavar="HOST:PORT",
        default="127.0.0.1:8082",
        show_default=True,
        callback=http_address,
        help="Address of the pages of the queue, where tests are handed in.",
    ),
)


def require_secret_tokens(
    option: str, http: tuple[str, int] | None, settings: Mapping[str, Any], *, insecure: bool
) -> None:
    """Check that accounts can send tokens to an address, and nobody reads them. Raises UsageError.

    `option` is the one whose pages are there.
    """
    if settings["database"] == "none":
        raise click.UsageError(f"{option} needs a database")
    if http is None or not (is_loopback(http[0]) or insecure or settings["http_proxied"]):
        shown = spelled(*http) if http else "none"
        raise click.UsageError(
            f"with {option}-http {shown}, tokens cannot be sent, or can be read on the network: "
            "give an address of this machine behind a proxy with TLS, or allow it by --insecure"
        )


def require_lab(file: Path) -> None:
    """Raise UsageError with the faults of the file of a queue, which another process reads."""
    words = own("playout.laboratory.queue_host:check", str(file.absolute()))
    done = subprocess.run(words, env=own_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.UsageError(f"--lab: {done.stdout.strip() or done.stderr.strip()}")


def with_competitions(
    ladders: Mapping[str, str | None] | None, settings: Mapping[str, Any], *, insecure: bool
) -> dict[str, Any]:
    """Return the fields of a policy about ladders, with those of the competitions, and their names.

    Raises UsageError for files with faults, for two competitions of one game, and for options that
    do not fit.
    """
    files, http = settings["competition"], settings["competition_http"]
    if not files:
        return {"ladders": ladders}
    require_secret_tokens("--competition", http, settings, insecure=insecure)
    clocks: dict[str, str | None] = {}
    reserved: frozenset[str] = frozenset()
    for file in files:
        try:
            competition = read(file)
        except CompetitionFileError as error:
            raise click.UsageError(str(error)) from error
        if taken := clocks.keys() & competition.games:
            text = f"{file}: another competition has the ladder of {', '.join(sorted(taken))}"
            raise click.UsageError(text)
        if competition.cluster:
            require_dask()
        clocks |= dict.fromkeys(competition.games, competition.clock)
        reserved |= competition.names
    merged = {**(ladders or {}), **clocks}
    return {"ladders": merged, "closed_ladders": frozenset(clocks), "reserved": reserved}
