"""Adjudication of matches by proofs: the prover, the adjudicator that keeps it, and the server."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from playout import games, players
from playout.commands.subprocesses import LogFolder, own_environment
from playout.games import Position
from playout.players import Limit
from playout.players.prover.prover_process import Solver
from playout.protocol.messages import Adjudicate, Event, Fixture, Reason, Started, Update, Watch
from playout.protocol.proofs import ProofAnswer, ProofRequest
from playout.protocol.tournament_spec import Adjudication, Openings
from playout.server.model.records import StoredMatch
from playout.server.organizer import adjudicator
from playout.server.organizer.adjudicator import Adjudicator, OpenMatches
from support.commands import PATIENCE_S, run
from support.hub_harness import HubHarness, MemoryClient
from support.tournaments import (
    NAMES,
    Bots,
    last,
    member,
    new_tournament,
    spec_of,
    stored_tournament,
)

Message = dict[str, Any]

#: More than any of these positions takes.
SECONDS = 20.0
WON = (5, 5, 5, 3, 1, 4, 6, 4, 4, 5, 3, 2, 4, 4, 6, 6, 5, 2, 5, 0, 1, 1)
"""
1 2 3 4 5 6 7
. . . . . X .
. . . . O X .
. . . . X O .
. O . . X X O
. X O X O O X
O X O O O X X
"""
LOST = (4, 5, 6, 4, 5, 0, 0, 6, 1, 2, 2, 4, 5, 2, 4, 2, 5, 4, 0, 3, 2, 2, 6)
"""
1 2 3 4 5 6 7
. . O . . . .
. . X . O . .
. . O . X X .
X . O . O X X
X . X . O X O
O X O O X O X
"""
TIED = (0, 0, 2, 4, 3, 5, 0, 5, 4, 1, 0, 3, 6, 6, 3, 4, 4, 5, 5, 5, 5, 3)
"""
1 2 3 4 5 6 7
. . . . . X .
. . . . . O .
X . . O X X .
X . . X O O .
O . . O X O O
X O X X O O X
"""
#: Positions with their winner: the player to move, first or second, the other one, or none.
ENDINGS = [
    ("tic_tac_toe", (0, 3, 1, 4), 1),
    ("tic_tac_toe", (1, 8, 0), 2),
    ("tic_tac_toe", (0, 1, 4), 1),
    ("tic_tac_toe", (0, 4, 8), -1),
    ("connect_four", WON, 1),
    ("connect_four", LOST, 1),
    ("connect_four", TIED, -1),
]


class Prover:
    """The real one, as a process."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [*adjudicator.PROVER[:4], *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=own_environment(),
        )

    def ask(self, position: ProofRequest) -> ProofAnswer:
        self.write(msgspec.json.encode(position))
        return self.answer()

    def write(self, *lines: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def answer(self) -> ProofAnswer:
        assert self.process.stdout
        return msgspec.json.decode(self.process.stdout.readline(), type=ProofAnswer)

    def end(self) -> list[ProofAnswer]:
        """What it says when there is nothing more to come."""
        said, _ = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0
        return [msgspec.json.decode(line, type=ProofAnswer) for line in said.splitlines()]


@pytest.fixture(scope="module")
def prover() -> Iterator[Prover]:
    prover = Prover("--seconds", str(SECONDS))
    yield prover
    assert prover.end() == []


def played_out(game_name: str, actions: Sequence[int]) -> int:
    """Who wins if minimax plays both sides to the end by the rules."""
    game = games.load(game_name)
    position = Position(game, actions)
    player = players.load("minimax(seed=1,memory_mb=4)", game)
    while not position.winner:
        position = position.play(player.choose(position, Limit(seconds=SECONDS)).action)
    return position.winner


# The prover.


@pytest.mark.parametrize(("game", "actions", "winner"), ENDINGS)
def test_an_ending_is_proven(
    prover: Prover, game: str, actions: tuple[int, ...], winner: Any
) -> None:
    answer = prover.ask(ProofRequest("m", game, actions))
    assert answer == ProofAnswer("m", len(actions), winner)
    assert played_out(game, actions) == winner


def test_what_is_not_proven_in_time_is_not_said() -> None:
    quick = Solver(0.01)
    for game in ("connect_four", "othello"):
        assert quick.solve(ProofRequest("m", game, ())) == ProofAnswer("m", 0, None)


@pytest.mark.parametrize(
    ("line", "match", "told"),
    [
        (b"", None, "expected a position: "),
        (b"nonsense", None, "expected a position: "),
        (b"\xff\xfe", None, "expected a position: "),
        (b"[" * 5000, None, "expected a position: "),
        (b'{"match": "m", "game": "nim"}', None, "`actions`"),
        (b'{"match": "m", "game": "nim", "actions": [0.5]}', None, "`$.actions[0]`"),
        (b'{"match": "m", "game": "shogi", "actions": []}', "m", "unknown game 'shogi'"),
        (b'{"match": "m", "game": "nim", "actions": [9]}', "m", "action 9"),
    ],
    ids=lambda part: repr(part)[:30],
)
def test_to_nonsense_there_is_an_answer(
    prover: Prover, line: bytes, match: str | None, told: str
) -> None:
    prover.write(line)
    answer = prover.answer()
    assert answer.match == match
    assert answer.error
    assert told in answer.error
    assert prover.ask(ProofRequest("m", "tic_tac_toe", (0, 3, 1, 4))).winner == 1


def test_a_fault_of_a_game_is_no_fault_of_the_prover(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(_: str) -> games.Game:
        raise ZeroDivisionError

    monkeypatch.setattr(games, "load", faulty)
    failure = Solver(1.0).solve(ProofRequest("m", "nim", ()))
    assert failure == ProofAnswer("m", error="ZeroDivisionError()")


def test_of_what_waits_the_newest_position_of_each_match_counts() -> None:
    prover = Prover("--seconds", "0.01")
    positions = [ProofRequest(match, "nim", (0,) * ply) for ply in range(4) for match in ("a", "b")]
    prover.write(*map(msgspec.json.encode, positions))
    answers = prover.end()
    assert [(each.match, each.ply) for each in answers][-2:] == [("a", 3), ("b", 3)]
    assert len(answers) == 2


def test_ctrl_c_is_for_others(prover: Prover) -> None:
    prover.process.send_signal(signal.SIGINT)
    assert prover.ask(ProofRequest("m", "tic_tac_toe", (0, 3, 1, 4))).winner == 1


def test_those_who_play_come_first(prover: Prover) -> None:
    prover.ask(ProofRequest("m", "nim", ()))
    assert os.getpriority(os.PRIO_PROCESS, prover.process.pid) >= 10


# With a server.


class Organizer:
    """Passes between a server and the prover, at once."""

    def __init__(self, client: MemoryClient, prover: Prover) -> None:
        self.open_matches = OpenMatches()
        self._client = client
        self._prover = prover
        self._read = 0

    def go_on(self) -> None:
        """Until nothing happens any more."""
        while self._read < len(self._client.inbox):
            event = self._client.inbox[self._read]
            self._read += 1
            match self.open_matches.update(event):
                case Watch() as request:
                    self._client.say(request)
                case ProofRequest() as position:
                    if verdict := self.open_matches.adjudication(self._prover.ask(position)):
                        self._client.say(verdict)


def hosted(prover: Prover, **fields: Any) -> tuple[MemoryClient, Bots, Organizer]:
    """A tournament with proofs, its entrants and who organizes it."""
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of(adjudication=Adjudication(proofs=True), **fields))
    return (
        zoe,
        Bots(harness, *(member(harness, name) for name in NAMES[:2])),
        Organizer(zoe, prover),
    )


@pytest.mark.parametrize(("game", "actions", "winner"), ENDINGS)
def test_an_ending_is_adjudicated(
    prover: Prover, game: str, actions: tuple[int, ...], winner: Any
) -> None:
    openings = Openings(lines={game: (actions,)})
    zoe, bots, organizer = hosted(prover, games=(game,), openings=openings)
    bots.join()
    organizer.go_on()
    ends = [(each.winner, each.reason, each.plies) for each in last(zoe).values()]
    assert ends == [(winner, Reason.ADJUDICATION, len(actions))] * 2
    assert not organizer.open_matches.positions


@pytest.mark.parametrize(("game", "plies"), [("tic_tac_toe", 0), ("connect_four", 26)])
def test_a_match_ends_as_the_rules_and_best_play_would_have_it(
    prover: Prover, game: str, plies: int
) -> None:
    lines = tuple(opening(game, plies, seed) for seed in range(4))
    zoe, bots, organizer = hosted(
        prover, games=(game,), rounds=4, openings=Openings(lines={game: lines})
    )
    bots.join(matches=2)
    bots.play(3)  # those who prove come later than those who play
    while bots.harness.matches:
        organizer.go_on()
        bots.play(1)
    matches = stored_tournament(bots.harness.stored).matches
    assert len(matches) == 8
    for match in matches:
        assert match.ended
        assert match.ended.reason in (Reason.ADJUDICATION, Reason.RULES)
        assert match.ended.winner == played_out(game, actions_of(match))
    assert Reason.ADJUDICATION in {each.reason for each in last(zoe).values()}


def opening(game_name: str, plies: int, seed: int) -> tuple[int, ...]:
    """Random moves after which it goes on."""
    game, choose = games.load(game_name), random.Random(seed)
    while True:
        state = game.initial_state()
        actions: list[int] = []
        while len(actions) < plies and not game.winner(state):
            actions.append(choose.choice(game.legal_actions(state)))
            state = game.next_state(state, actions[-1])
        if not game.winner(state):
            return tuple(actions)


def actions_of(match: StoredMatch) -> list[int]:
    return [move.action for move in match.moves]


def test_a_proof_that_comes_late_is_worth_nothing(prover: Prover) -> None:
    _, bots, organizer = hosted(prover)
    open_matches = organizer.open_matches
    bots.join()
    match = bots.harness.only_match()
    open_matches.update(Started(match=match.id, game="nim", players=("Ann", "Bob"), clock="none",
                        moves=(1,), state=(2, 0, 13), to_move=2))  # fmt: skip
    assert open_matches.adjudication(ProofAnswer(match.id, 1, 2)) == Adjudicate(
        id="adjudicate", match=match.id, ply=1, winner=2
    )
    update = Update(match=match.id, ply=1, player=2, action=1, state=(1, 0, 11), to_move=1)
    assert open_matches.update(update) == ProofRequest(match.id, "nim", (1, 1))
    assert open_matches.update(update) is None, "it was known"
    for late in (
        ProofAnswer(match.id, 1, 2),
        ProofAnswer(match.id, 2),
        ProofAnswer("m", 2, 2),
        ProofAnswer(None),
    ):
        assert open_matches.adjudication(late) is None


# The adjudicator.


class ProverReactor:
    """Starts processes that do nothing, and says what time it is."""

    def __init__(self) -> None:
        self.now = 0.0
        self.protocols: list[Any] = []
        self.written: list[Message] = []

    def seconds(self) -> float:
        return self.now

    def spawnProcess(self, protocol: Any, *_: object, **__: object) -> ProverReactor:
        self.protocols.append(protocol)
        return self

    def write(self, data: bytes) -> None:
        self.written += map(json.loads, data.splitlines())


STARTED = Started(match="m", game="nim", players=("Ann", "Bob"), clock="none", moves=(1,),
                  state=(2, 0, 13), to_move=2)  # fmt: skip
FIXTURE = Fixture(tournament="t", round=1, board=1, number=1, leg=1, match="m", game="nim",
                  players=("Ann", "Bob"))  # fmt: skip


@pytest.fixture
def logs() -> Iterator[LogFolder]:
    logs = LogFolder()
    yield logs
    logs.wanted = False
    logs.close()


def kept_by(
    reactor: ProverReactor, logs: LogFolder
) -> tuple[Adjudicator, list[Event | Any], list[str]]:
    """An adjudicator, the requests that it sends, and the lines that it shows."""
    sent: list[Any] = []
    said: list[str] = []
    return Adjudicator(reactor, sent.append, said.append, logs), sent, said


def test_positions_go_to_the_prover_and_proofs_to_the_server(logs: LogFolder) -> None:
    reactor = ProverReactor()
    keeper, sent, said = kept_by(reactor, logs)
    keeper.received(FIXTURE)
    assert sent == [Watch(id="watch", match="m")]
    keeper.received(STARTED)
    keeper.poll(0.0)
    asked = {"match": "m", "game": "nim", "actions": [1]}
    assert reactor.written == [asked], "it is told what began before it"
    (protocol,) = reactor.protocols
    protocol.outReceived(b'{"match":"m","ply":1,')
    protocol.outReceived(b'"winner":2}\n{"match":"m","ply":1,"winner":null}\n')
    assert sent[1:] == [Adjudicate(id="adjudicate", match="m", ply=1, winner=2)]
    for _ in range(2):
        protocol.outReceived(b'{"match":"m","error":"no such game"}\nwhat?\n')
    assert [each.split(":")[1] for each in said] == [" no such game", " its answer cannot be read"]


def test_a_prover_that_ends_is_started_again_and_asked_again(logs: LogFolder) -> None:
    reactor = ProverReactor()
    keeper, _, said = kept_by(reactor, logs)
    keeper.poll(0.0)
    keeper.received(STARTED)
    for wait_s in (0.5, 1.0, 2.0):
        reactor.protocols[-1].outConnectionLost()
        assert f"started again in {wait_s:g} s" in said[-1]
        before = len(reactor.protocols)
        keeper.poll(reactor.now + wait_s - 0.1)
        assert len(reactor.protocols) == before
        reactor.now += wait_s
        keeper.poll(reactor.now)
        assert len(reactor.protocols) == before + 1
        assert len(reactor.written) == before + 1


# From the file to the report.


def test_a_tournament_with_proofs_from_its_file_to_its_report(tmp_path: Path) -> None:
    entrants = [
        f'[[entrants]]\nname = "{name}"\nplayer = "uct(time=2,solver=false)"' for name in NAMES[:2]
    ]
    # A match takes a minute at least, unless the prover answers, a process that has to start.
    head = (
        'name = "proofs"\ngames = ["nim(chips=99)"]\nformat = "match"\nclock = "9/move"\n'
        "concurrency = 1\nadjudication = { proofs = true }\n"
    )
    file = tmp_path / "SPEC.toml"
    file.write_text(head + "\n".join(entrants))
    code, output = run(
        "playout-tournament", "run", str(file), "--database", f"sqlite:///{tmp_path}/t.db"
    )
    assert code == 0, output
    assert output.count(" (adjudication), ") == 2
    assert "The prover" not in output
