"""The journal of a benchmark, `journal.jsonl`: a line for each of the records below.

A request is in the journal before it is sent, and its answer before the move is played. So after
`kill -9` only requests without an answer are sent again, with the same id; the others are never
paid twice. Prompts are stored whole, once each, by their hash.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import click
import msgspec
from msgspec import Struct

from playout.agents.models import ModelAnswer
from playout.agents.prompts import Messages
from playout.commands import durable_files
from playout.games import TIE


class PromptText(Struct, frozen=True, tag="prompt"):
    """The messages of requests with this hash."""

    hash: str
    messages: Messages


class StartedMatch(Struct, frozen=True, tag="match"):
    """A match: `match` is its id, `players` are the contestants by seat, `opening` its first moves.

    Of pair number `pair`, from 0, of the contest with the digest `contest`.
    """

    match: str
    contest: str
    pair: int
    game: str
    players: tuple[str, str]
    opening: tuple[int, ...]

    @property
    def is_return(self) -> bool:
        """Whether it is the second match of the pair, with colours swapped."""
        return self.match.endswith("b")


class SentRequest(Struct, frozen=True, tag="request"):
    """A request for the move at `ply`, about to be sent; it costs at most `cost`."""

    match: str
    ply: int
    attempt: int
    prompt: str
    cost: float

    @property
    def id(self) -> str:
        """The id of the request, the same if it is sent again."""
        return f"{self.match}-{self.ply}-{self.attempt}"


class StoredAnswer(Struct, frozen=True, tag="answer"):
    """The answer to a request: the action that it chooses, or -1 with a fault, and its cost."""

    request: SentRequest
    seat: int
    answer: ModelAnswer
    action: int
    seconds: float
    cost: float


class PlayedMove(Struct, frozen=True, tag="move"):
    """A move of a player of Playout, or of nature."""

    match: str
    action: int


class EndedMatch(Struct, frozen=True, tag="result"):
    """The end of a match: the winner, -1 for a tie, and why the other one has forfeited it."""

    match: str
    winner: int
    forfeit: str = ""


Record = PromptText | StartedMatch | SentRequest | StoredAnswer | PlayedMove | EndedMatch


@dataclass
class MatchRecord:
    """A match as far as it is in the journal."""

    started: StartedMatch
    moves: list[int] = field(default_factory=list)
    answers: list[StoredAnswer] = field(default_factory=list)
    result: EndedMatch | None = None

    def failed(self, ply: int) -> list[StoredAnswer]:
        """Return the answers at a ply that chose no legal move."""
        return [each for each in self.answers if each.request.ply == ply and each.action < 0]


class BenchmarkJournal:
    """The records of a file, to which several threads add."""

    def __init__(self, file: IO[bytes]) -> None:
        """Read the records. Raises ClickException for those that contradict each other."""
        self._file = file
        self._lock = threading.Lock()
        self.matches: dict[str, MatchRecord] = {}
        #: The hashes of the stored prompts.
        self._prompts: set[str] = set()
        #: The requests without an answer, by id, and the number that was sent again.
        self.unanswered: dict[str, SentRequest] = {}
        self.repeated = 0
        #: The cost of all answers and of the requests that were sent again.
        self.cost = 0.0
        records: list[Record] = durable_files.stored(file, Record)
        for record in records:
            self._note(record)

    @property
    def committed(self) -> float:
        """The cost with that of all requests that have no answer."""
        return self.cost + sum(each.cost for each in list(self.unanswered.values()))

    def add(self, record: Record) -> None:
        """Add a record; an answer survives a power cut, too, with all records before it."""
        with self._lock:
            durable = isinstance(record, StoredAnswer)
            durable_files.append(self._file, record, durable=durable)
            self._note(record)

    def prompt(self, messages: Messages, *, is_held_out: bool = False) -> str:
        """Return the hash of messages, which are stored if they are new and not held out."""
        found = hashlib.sha256(msgspec.json.encode(messages)).hexdigest()[:16]
        if not (is_held_out or found in self._prompts):
            self.add(PromptText(found, messages))
        return found

    def of(self, contest: str) -> Iterator[MatchRecord]:
        """Yield the matches of a contest."""
        return (each for each in list(self.matches.values()) if each.started.contest == contest)

    def _note(self, record: Record) -> None:
        match record:
            case PromptText():
                self._prompts.add(record.hash)
            case StartedMatch():
                self.matches.setdefault(record.match, MatchRecord(record))
            case SentRequest():
                if record.id in self.unanswered:
                    self.repeated += 1
                    self.cost += record.cost
                self.unanswered[record.id] = record
            case StoredAnswer():
                found = self._begun(record.request.match)
                found.answers.append(record)
                if record.action >= 0:
                    found.moves.append(record.action)
                self.cost += record.cost
                self.unanswered.pop(record.request.id, None)
            case PlayedMove():
                self._begun(record.match).moves.append(record.action)
            case EndedMatch():
                found = self._begun(record.match)
                if record.winner not in (1, 2, TIE) or (record.forfeit and not found.answers):
                    raise click.ClickException(f"journal: a match cannot end like this: {record}")
                found.result = record

    def _begun(self, match: str) -> MatchRecord:
        if match not in self.matches:
            raise click.ClickException(f"journal: a record of {match!r} is before its match")
        return self.matches[match]
