"""The command `playout-server`."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import signal
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
from twisted.internet import error
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.python.failure import Failure

import games
from games.core import spec
from server import clock, log
from server.hub import Hub, Policy
from server.service import Service
from server.tcp import Connections

EPILOG = """
\b
Examples:
  playout-server                        on 127.0.0.1, port 4242
  playout-server --port 0               on a free port, which it prints
  playout-server --config playout.toml  with options from a file, as in:
                                          port = 4242
                                          default_clock = "60+1"

Then connect players: playout-player connect_four uct
"""


def _from_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    """Take the options of a TOML file as defaults, so that the command line wins."""
    if path is None:
        return
    try:
        settings = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise click.BadParameter(f"{path}: {fault}") from fault
    allowed = [str(p.name) for p in context.command.params if p.name not in ("config", "version")]
    for key, value in settings.items():
        if isinstance(value, bool) and key != "log_json":
            raise click.BadParameter(f"{path}: {key} cannot be {str(value).lower()}")
        if key not in allowed:
            raise click.BadParameter(f"{path}: {spec.unknown('option', key, allowed)}")
    context.default_map = settings


def _host(context: click.Context, parameter: click.Parameter, text: str) -> str:
    if not text.strip():
        raise click.BadParameter("name an address; 0.0.0.0 stands for all that this machine has")
    return text


def _clock(context: click.Context, parameter: click.Parameter, text: str) -> str:
    try:
        return clock.spell(clock.parse(text))
    except clock.ClockError as fault:
        raise click.BadParameter(str(fault)) from fault


@click.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    callback=_host,
    help="Address to listen on.",
)
@click.option(
    "--port",
    default=4242,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes a free one and prints it.",
)
@click.option(
    "--default-clock",
    default=Policy.default_clock,
    show_default=True,
    callback=_clock,
    help=f"Clock of a match when neither player asks for one: {clock.ALLOWED}.",
)
@click.option(
    "--illegal-moves",
    default=Policy.illegal_moves,
    show_default=True,
    type=click.IntRange(0),
    help="Illegal moves a player may send in a match; one more loses it.",
)
@click.option(
    "--reconnect-s",
    default=Policy.reconnect_s,
    show_default=True,
    type=click.FloatRange(0),
    help="Seconds that a player may be away before its matches are lost.",
)
@click.option(
    "--credit-cap-s",
    default=Policy.credit_cap_s,
    show_default=True,
    type=click.FloatRange(0, 10),
    help="Seconds of a move's time on the network that are not counted, at most.",
)
@click.option(
    "--grace-s",
    default=5.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Seconds that running matches have to end when the server is asked to stop.",
)
@click.option("--log-json", is_flag=True, help="Log as JSON, an object a line.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    is_eager=True,
    expose_value=False,
    callback=_from_file,
    help="TOML file with options, spelled as here with _ for -; the command line wins.",
)
@click.version_option(version("playout"), prog_name="playout-server")
def main(host: str, port: int, grace_s: float, log_json: bool, **policy: Any) -> None:
    """Serve board games: know the rules, keep the clocks, bring players together.

    Stops on SIGTERM or Ctrl-C: no new matches, a while for those that run, exit code 0.
    A second signal stops it at once.
    """
    reactor = _reactor()
    hub = Hub(Policy(**policy), software=f"playout-server {version('playout')}")
    service = Service(hub, reactor, _stop_reactor)
    log.begin(as_json=log_json)
    _warm_up()
    outcome = _Outcome()

    def listening(listener: Any) -> None:
        where = listener.getHost()
        click.echo(f"playout-server: listening on {where.host}:{where.port}")
        sys.stdout.flush()
        outcome.listener = listener

    def not_listening(failure: Failure) -> None:
        click.echo(f"playout-server: cannot listen: {failure.getErrorMessage()}", err=True)
        outcome.code = 1
        _stop_reactor()

    def stop(number: int, frame: object) -> None:
        reactor.callFromThread(stop_gently)

    def stop_gently() -> None:
        if outcome.listener is None or outcome.stopping:
            _stop_reactor()
            return
        outcome.stopping = True
        outcome.listener.stopListening()
        service.stop(grace_s)

    # First: whoever reads where it listens may stop it at once.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    endpoint = TCP4ServerEndpoint(reactor, port, interface=host, backlog=1000)
    endpoint.listen(Connections(service)).addCallbacks(listening, not_listening)
    reactor.run(installSignalHandlers=False)
    sys.exit(outcome.code)


@dataclasses.dataclass
class _Outcome:
    listener: Any = None  # an IListeningPort
    stopping: bool = False
    code: int = 0


def _reactor() -> Any:
    # Any: its interfaces, being declared by zope, have methods without `self`.
    from twisted.internet import reactor

    return reactor


def _stop_reactor() -> None:
    # A moment for what was written to go out.
    _reactor().callLater(0.1, _stop_if_running)


def _stop_if_running() -> None:
    with contextlib.suppress(error.ReactorNotRunning):
        _reactor().stop()


def _warm_up() -> None:
    """Load every game now: the first time on a machine compiles it, which takes a while."""
    if not games.compiled_before():
        click.echo("Compiling the rules for this machine, once ...", err=True)
    for name in games.names():
        try:
            games.load(name)
        except games.SpecError as fault:
            click.echo(f"playout-server: {fault}", err=True)
    # What was imported stays; without this, a full collection stops the server for 60 ms.
    gc.collect()
    gc.freeze()
