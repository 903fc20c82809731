"""What may be wrong with a worker, whatever it is to do, and the table of faults."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

from rich.console import Console
from rich.table import Table
from rich.text import Text

from playout.cluster import on_worker
from playout.cluster.connection import DaskConnection
from playout.protocol import versions

_PACKAGES = ("server", "games", "players")
_NAME = "playout"


def other_software(
    connection: DaskConnection, workers: Iterable[str] | None = None, extras: str = "cluster"
) -> Mapping[str, str]:
    """What is wrong with the Python and the Playout of workers, by address; "" if nothing is.

    It calls functions of Python only, which exist everywhere: those of Playout may not exist on a
    worker, or be others. `extras` of Playout are needed there. Raises OSError.
    """
    pythons = connection.run(platform.python_version, workers=workers)
    found = {address: _other_python(answer, extras) for address, answer in pythons.items()}
    same = [address for address, fault in found.items() if not fault]
    playouts = connection.run(version, _NAME, workers=same)
    return found | {address: _other_playout(answer, extras) for address, answer in playouts.items()}


def _other_python(answer: object, extras: str) -> str:
    mine = platform.python_version()
    if not isinstance(answer, str):
        return no_answer(answer, extras)
    if _minor(answer) == _minor(mine):
        return ""
    return f"it runs Python {answer}, and the runner {mine}: use the same minor version"


def _other_playout(answer: object, extras: str) -> str:
    mine = version(_NAME)
    if not isinstance(answer, str):
        return no_answer(answer, extras)
    if answer == mine:
        return ""
    return f"it has Playout {answer}, and the runner {mine}: install the same"


def other_sources(code: str) -> str:
    """What is wrong with a worker whose games and players have this digest; "" if nothing is."""
    if code == versions.installed():
        return ""
    return (
        f"its Playout {version(_NAME)} has other games or players than the runner's: install the "
        "same sources and plugins"
    )


def not_offered(
    connection: DaskConnection, resource: str, workers: Iterable[str], extras: str = "cluster"
) -> Mapping[str, str]:
    """Have workers offer their cores as a resource; why some did not, by address. Raises OSError.

    `extras` of Playout are needed there.
    """
    answers = connection.run(on_worker.offer, resource, workers=workers)
    return {
        address: no_answer(answer, extras)
        for address, answer in answers.items()
        if answer is not None
    }


def no_answer(answer: object, extras: str = "cluster") -> str:
    """What it means that a worker gave no answer, but perhaps an error.

    `extras` of Playout are needed there.
    """
    is_missing = isinstance(answer, ModuleNotFoundError) and answer.name in _PACKAGES
    if is_missing or isinstance(answer, PackageNotFoundError):
        return f'Playout is not installed there: pip install ".[{extras}]" in a checkout of Playout'
    if isinstance(answer, ImportError | AttributeError):
        return f"it has another version of Playout ({answer}): install the one of the runner"
    if isinstance(answer, TimeoutError):
        return f"it cannot be checked: {answer}"
    if isinstance(answer, Exception):
        return f"it cannot be checked: {type(answer).__name__}: {answer}"
    return "it cannot be checked: it is gone"


def table(rows: Iterable[tuple[str, str, str]]) -> str:
    """Faults as text, one a line; a row is a worker's address, its host, and the fault."""
    shown = Table("worker", "host", box=None, pad_edge=False)
    shown.add_column("fault", overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))  # not markup: the names of extras are in brackets
    console = Console(width=200, color_system=None)
    with console.capture() as captured:
        console.print(shown)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _minor(python: str) -> list[str]:
    return python.split(".")[:2]
