"""Hands a test in to the queue of a server, and follows it to its verdict."""

from __future__ import annotations

import io
import math
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click

from playout.bots.site_client import SiteClient, of_site
from playout.commands import interrupts, toml_table
from playout.commands.progress import doing
from playout.commands.text import counted, printable
from playout.commands.toml_table import TomlError
from playout.laboratory.sources import UnknownVersion, Version
from playout.laboratory.trial import NOT_STRONGER, STRONGER, UNDECIDED, bar

#: Seconds between two lines about a running test.
_LINE_S = 10.0
#: The keys of lab.toml that are sent.
_SENT = ("games", "clock", "elo1", "pairs")
#: Maximum number of characters of the folder of a version.
_LONGEST = 24
_CODES = {"stronger": STRONGER, "not stronger": NOT_STRONGER}


def asked(file: Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a submission: values of a lab.toml, and those given instead.

    Raises ClickException.
    """
    values: dict[str, Any] = {}
    if file:
        try:
            values, _ = toml_table.load(toml_table.text_of(file), str(file))
        except TomlError as error:
            raise click.ClickException(str(error)) from error
    wanted = {key: values[key] for key in _SENT if key in values}
    openings = values.get("openings")
    if isinstance(openings, dict) and list(openings) == ["plies"]:
        wanted["plies"] = openings["plies"]
    wanted |= {key: each for key, each in given.items() if each not in (None, ())}
    if isinstance(wanted.get("games"), list | tuple):
        wanted["games"] = ";".join(map(str, wanted["games"]))
    return wanted


def archive_of(versions: Sequence[Version]) -> tuple[str, bytes]:
    """Return the folder of the base and an archive of versions, the base first.

    Raises SourceError; UnknownVersion for players, which have no files.
    """
    buffer = io.BytesIO()
    names: list[str] = []
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for each in versions:
            name = label = _folder_name(each.label)
            number = 1
            while name in names:
                number += 1
                name = f"{label}-{number}"
            names.append(name)
            _add(archive, name, each)
    return names[0], buffer.getvalue()


def _folder_name(label: str) -> str:
    return label.replace("/", "-").strip(" .-~")[:_LONGEST].strip() or "version"


def _add(archive: tarfile.TarFile, folder: str, version: Version) -> None:
    """Add the files of a version to an archive, in a folder. Raises SourceError, UnknownVersion."""
    if version.pack is None:
        raise UnknownVersion(
            f"{version.label} is a player, which has no files: the queue tests folders and commits"
        )
    with tempfile.TemporaryDirectory(prefix="playout-lab-") as own:
        packed = Path(own, "files.tar")
        version.pack(packed)
        with tarfile.open(packed) as files:
            for member in files:
                member.name = f"{folder}/{member.name}"
                archive.addfile(member, files.extractfile(member) if member.isreg() else None)


class Ticket:
    """A test in the queue of a site."""

    def __init__(self, client: SiteClient, number: int) -> None:
        self.number = number
        self._client = client

    @classmethod
    @of_site
    def handed_in(cls, client: SiteClient, content: bytes, wanted: Mapping[str, Any]) -> Ticket:
        """Hand an archive in, with these parameters. Raises ClickException."""
        query = urlencode(wanted, quote_via=quote)
        with doing("Handing in"):
            told = client.json(f"api/tests/test.tar.gz?{query}", content)
        return cls(client, int(told["test"]))

    @property
    def address(self) -> str:
        """The address of the page of the test."""
        return f"{self._client.site}/tests/{self.number}"

    @of_site
    def followed(self, summary: Path | None) -> int:
        """Show the progress until the test has ended; return the exit code of its verdict.

        The verdict and the report are appended to the file `summary`. Raises ClickException.
        """
        text = f"The test goes on without you: {self.address}"
        with interrupts.with_text(text), doing("Waiting for the verdict"):
            shown, due_at = "", 0.0
            for told in self._client.states(f"api/tests/{self.number}"):
                now = time.monotonic()
                if told["ended_at"] is not None or told["state"] != shown or now >= due_at:
                    shown, due_at = told["state"], now + _LINE_S
                    for line in map(printable, _lines(told)):
                        click.echo(line)
        if summary:
            with summary.open("a", encoding="utf-8") as file:
                file.write(self._client.text(f"api/tests/{self.number}/summary") + "\n")
        return _CODES.get(told["state"], UNDECIDED)


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about the state of a test."""
    for each in told["candidates"]:
        evidence = f"evidence {each['evidence']:.3g}/{each['bound']:.3g}"
        pairs = counted(each["pairs"], "pair")
        if told["ended_at"] is not None:
            yield f"{each['name']}: {each['elo']} Elo in {pairs}, {evidence}"
        else:
            full = bar(math.log(max(each["evidence"], 1e-9)), math.log(each["bound"]))
            yield f"{each['name']}  {pairs}  Elo {each['elo']}  {full} {evidence}"
    if told["ended_at"] is None:
        yield f"Test {told['test']} is {told['state']}, with {counted(told['cores'], 'core')}"
    elif told["state"] == "stopped":
        yield f"Test {told['test']} was stopped: {told['reason']}"
    else:
        yield str(told["verdict"])
