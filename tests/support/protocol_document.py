"""The pages of the protocol, taken apart: sections, tables, examples, and the messages of these."""

from __future__ import annotations

import json
import re
from dataclasses import is_dataclass
from typing import Any

import msgpack

from playout.protocol.codec import decode_event, decode_request
from playout.protocol.messages import (
    EVENTS,
    REQUESTS,
    AccountEntry,
    Analysis,
    Board,
    Candidate,
    ClockState,
    ClusterWorker,
    Event,
    LegalMove,
    LobbyTotals,
    LoginEntry,
    LogLine,
    MoveSequence,
    OfferedBot,
    OpenOffer,
    Outcome,
    Person,
    PositionView,
    Request,
    ServerPing,
    ServerValue,
    Summary,
    TimeControl,
    TournamentFault,
)
from playout.protocol.tournament_spec import (
    Adjudication,
    Betting,
    Entrant,
    Openings,
    SandboxSettings,
    Sprt,
    TournamentSpec,
)
from support.documents import protocol

DOCUMENT = protocol()

Message = dict[str, Any]


def tag_of(kind: Any) -> str:
    """The `type` of a message, or the name of a part of messages in snake case."""
    tag = None if is_dataclass(kind) else kind.__struct_config__.tag
    return str(tag or re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower())


def heading_of(kind: Any) -> str:
    """The heading of a message's section: a `ping` of each side has one."""
    return "ping from the server" if kind is ServerPing else tag_of(kind)


def parsed_sections() -> dict[str, str]:
    """The text below each heading, up to the next one."""
    pieces = re.split(r"^#{2,3} (.+)$", DOCUMENT, flags=re.MULTILINE)
    headings = pieces[1::2]
    assert len(set(headings)) == len(headings)
    return dict(zip(headings, pieces[2::2], strict=True))


def table(section: str, first_column: str) -> list[list[str]]:
    """The rows, without their head, of the table whose first column has that name."""
    found = re.search(rf"^\| {first_column} \|.*\n\| ---.*\n((?:\|.*\n)+)", section, re.MULTILINE)
    if found is None:
        return []
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in found[1].splitlines()]


def bare(cell: str) -> str:
    """The text of a cell without the quotes of code."""
    return cell.strip("`")


def blocks(text: str, language: str) -> list[str]:
    """The contents of the blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def subsections(heading: str) -> list[str]:
    """The headings of the third level below one of the second."""
    inside = re.split(r"^## (.+)$", DOCUMENT, flags=re.MULTILINE)
    text = dict(zip(inside[1::2], inside[2::2], strict=True))[heading]
    return re.findall(r"^### (.+)$", text, flags=re.MULTILINE)


SECTIONS = parsed_sections()
#: By heading.
REQUEST_KINDS = {tag_of(kind): kind for kind in REQUESTS}
EVENT_KINDS = {heading_of(kind): kind for kind in EVENTS}
PARTS = (
    TimeControl, ClockState, Analysis, Board, PositionView, Candidate, LegalMove, MoveSequence,
    OpenOffer, Summary, Person, OfferedBot, AccountEntry, LoginEntry, ServerValue, LogLine, Outcome,
    LobbyTotals, ClusterWorker, TournamentFault,
    TournamentSpec, Entrant, Openings, Adjudication, Sprt, Betting, SandboxSettings,
)  # fmt: skip
PART_KINDS = {tag_of(kind): kind for kind in PARTS}
KINDS = REQUEST_KINDS | EVENT_KINDS | PART_KINDS


def examples_of(kind: type[Request] | type[Event]) -> list[Any]:
    """The messages of a type in its section."""
    decode = decode_request if issubclass(kind, Request) else decode_event
    found = blocks(SECTIONS[heading_of(kind)], "json")
    return [decode(msgpack.packb(json.loads(each))) for each in found]
