"""Plays the matches of a benchmark in threads, and stores each step in its journal.

Each model has as many threads as requests at a time; another one plays the matches between players
of Playout. A model is first asked for its moves in solved positions. Then a thread takes the next
pair of its model's contests: of that with the fewest pairs or, with `certain`, after two of each,
of that against the nearest opponent, which tells most, until the rating is certain enough.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from playout import players
from playout.agents.benchmark_file import (
    Benchmark,
    BenchmarkContestant,
    Contest,
    ModelConfig,
    Question,
)
from playout.agents.journal import (
    BenchmarkJournal,
    EndedMatch,
    MatchRecord,
    PlayedMove,
    SentRequest,
    StartedMatch,
    StoredAnswer,
)
from playout.agents.measures import ended, fitted, place
from playout.agents.models import (
    ModelAnswer,
    ModelBusy,
    ModelClient,
    ModelRequest,
    ModelUnusable,
)
from playout.agents.prompts import Messages, correction, move_of, prompt
from playout.agents.variants import GameVariant, opening
from playout.commands.restarts import BackOff
from playout.games import IllegalAction, Position
from playout.players import Cancelled, Limit, Player, Resigned

#: Pairs of each contest before others may be preferred.
_FIRST = 2
#: Pauses after a request to which a model was too busy to answer, and the most in a row.
_BACK_OFF, _MOST_BUSY = BackOff(first_s=1.0, longest_s=60.0), 8


class _Stopped(Exception):
    """The benchmark is being stopped."""


class _Asked(NamedTuple):
    """A model with its form of prompts, and the game that it plays."""

    who: BenchmarkContestant
    game: GameVariant
    is_held_out: bool = False


class _Gate:
    """Limits the requests to a model: at a time, and by minute."""

    def __init__(self, model: ModelConfig) -> None:
        self.places = threading.BoundedSemaphore(model.concurrency)
        self._pause_s = 60.0 / model.rate if model.rate else 0.0
        self._lock = threading.Lock()
        self._next_at = 0.0

    def delay_s(self) -> float:
        """Reserve the time of the next request, and return the seconds until then."""
        with self._lock:
            now = time.monotonic()
            at = max(now, self._next_at)
            self._next_at = at + self._pause_s
            return at - now


class Arena:
    """Plays a benchmark from where its journal ends."""

    def __init__(
        self, benchmark: Benchmark, journal: BenchmarkJournal, clients: Mapping[str, ModelClient]
    ) -> None:
        self._benchmark, self._journal, self._clients = benchmark, journal, clients
        self.contests = list(benchmark.contests())
        self._gates = {model.name: _Gate(model) for model in benchmark.models}
        # With openings of their own, the errors of contests are independent. The digest has the
        # seed of the benchmark in it.
        self._books = {
            each.digest: each.game.books(benchmark.plies, int(each.digest, 16))
            for each in self.contests
        }
        #: Guards the choice of pairs and the budget; notified after each answer.
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        #: Set when all threads have ended.
        self.ended = threading.Event()
        #: Why it was stopped; empty if it has played everything.
        self.reason = ""
        self.requests = 0
        #: The players of the running matches.
        self._bots: set[Player] = set()
        self._taken: dict[str, set[int]] = {
            each.digest: self._played(each) for each in self.contests
        }
        self._questions: dict[str, deque[Question]] = {}
        for question in benchmark.questions:
            assert question.who.model
            self._questions.setdefault(question.who.model.name, deque()).append(question)
        self._threads = 0

    def _played(self, contest: Contest) -> set[int]:
        """Return the pairs of a contest whose matches have both ended."""
        over = Counter(e.started.pair for e in self._journal.of(contest.digest) if e.result)
        return {pair for pair, matches in over.items() if matches == 2}

    def start(self) -> None:
        """Start the threads, which play until the end or until `stop`."""
        owners = ["", *(m.name for m in self._benchmark.models for _ in range(m.concurrency))]
        self._threads = len(owners)
        for owner in owners:
            threading.Thread(target=self._work, args=(owner,), daemon=True).start()

    def stop(self, reason: str) -> None:
        """Stop as soon as the answers of running requests are stored."""
        with self._changed:
            self.reason = self.reason or reason
            self._stopping.set()
            self._changed.notify_all()
            for each in self._bots:
                each.cancel()

    def progress(self) -> str:
        """Return a line about what is done."""
        done = sum(len(self._played(each)) for each in self.contests)
        answers = sum(len(each.answers) for each in list(self._journal.matches.values()))
        parts = [f"{done} of at most {sum(each.pairs for each in self.contests)} pairs"]
        parts.append(f"{answers} answers, {self.requests} requests running")
        if left := sum(map(len, self._questions.values())):
            parts.append(f"{left} solved positions left")
        if any(each.prompt_price or each.completion_price for each in self._benchmark.models):
            limit = "" if self._benchmark.cost is None else f" of {self._benchmark.cost:g}"
            parts.append(f"cost {self._journal.cost:.4g}{limit}")
        return ", ".join(parts) + ("; stopping after the running requests" if self.reason else "")

    # In the threads.

    def _work(self, owner: str) -> None:
        try:
            while question := self._next_question(owner):
                self._ask(question)
            while not self._stopping.is_set() and (found := self.next_pair(owner)):
                self._play_pair(*found)
        except (_Stopped, Cancelled):
            pass
        except (ModelUnusable, players.PlayerError) as error:
            self.stop(str(error))
        except Exception as error:  # the other threads would go on
            self.stop(f"{type(error).__name__}: {error}")
        finally:
            with self._changed:
                self._threads -= 1
                if not self._threads:
                    self.ended.set()

    def _next_question(self, owner: str) -> Question | None:
        """Take the next solved position of a model; None if there is no other."""
        with self._changed:
            left = self._questions.get(owner)
            return left.popleft() if left else None

    def _ask(self, question: Question) -> None:
        """Ask a model for its move in a solved position, unless its answer is stored."""
        who, game, position = question.who, question.game, question.solved.position
        if question.id not in self._journal.matches:
            players = (who.name, "")
            self._journal.add(StartedMatch(question.id, question.id, 0, str(game), players, ()))
        record = self._journal.matches[question.id]
        if not record.answers:
            self._require_running()
            asked = _Asked(who, game, question.is_held_out)
            self._asked(record, position, asked, [_prompt(position, asked)])

    def next_pair(self, owner: str) -> tuple[Contest, int] | None:
        """Take the next pair of a model, or of players with ""; None if there is no other."""
        with self._changed:
            found: list[tuple[float, Contest]] = []
            for game in map(str, self._benchmark.played):
                found += self._open(owner, game)
            if not found:
                return None
            contest = min(found, key=lambda each: each[0])[1]
            taken = self._taken[contest.digest]
            pair = next(n for n in range(contest.pairs) if n not in taken)
            taken.add(pair)
            return contest, pair

    def _open(self, owner: str, game: str) -> list[tuple[float, Contest]]:
        """Return the contests of a game that need another pair, the lowest number first."""
        mine = [
            (len(self._taken[each.digest]), each)
            for each in self.contests
            if str(each.game) == game and each.owner == owner
        ]
        open_ = [(float(begun), each) for begun, each in mine if begun < each.pairs]
        if not (owner and self._benchmark.certain) or any(begun < _FIRST for begun, _ in open_):
            return open_
        matches = list(ended(self._journal, self.contests, game))
        terms, ratings = self._benchmark, fitted(self._benchmark, matches)
        found = []
        for _, each in open_:
            one, other = (who.name for who in each.two)
            near = [place(terms, matches, ratings, who.name) for who in each.two if who.model]
            if not all(at and at[1].error <= terms.certain for at in near):
                found.append((_FIRST + abs(ratings[one].elo - ratings[other].elo), each))
        return found

    def _play_pair(self, contest: Contest, pair: int) -> None:
        """Play both matches of a pair from where they stand in the journal."""
        game = str(contest.game)
        with self._changed:
            begun = opening(self._books[contest.digest], pair)
        for letter, two in (("a", contest.two), ("b", contest.two[::-1])):
            match = f"{contest.digest}-{pair}{letter}"
            if match not in self._journal.matches:
                names = (two[0].name, two[1].name)
                started = StartedMatch(match, contest.digest, pair, game, names, begun)
                self._journal.add(started)
            record = self._journal.matches[match]
            if not record.result:
                self._journal.add(self._result(record, contest.game, two))

    def _result(
        self, record: MatchRecord, game: GameVariant, two: Sequence[BenchmarkContestant]
    ) -> EndedMatch:
        """Play a match to its end."""
        position = Position(game.game, (*record.started.opening, *record.moves))
        bots = {
            seat: players.load(each.player, game.game)
            for seat, each in enumerate(two, start=1)
            if not each.model
        }
        with self._changed:
            self._bots |= {*bots.values()}
        try:
            for seat, bot in bots.items():
                bot.started(seat, "opponent", position)
            while not position.winner:
                self._require_running()
                seat, legal = position.to_move, position.legal_actions
                if len(legal) == 1 or seat == 0 or seat in bots:
                    action = self._own_move(record, position, bots.get(seat))
                else:
                    action, fault = self._model_move(record, position, _Asked(two[seat - 1], game))
                    if fault:
                        return EndedMatch(record.started.match, 3 - seat, fault)
                position = position.play(action)
            return EndedMatch(record.started.match, position.winner)
        except Resigned:
            return EndedMatch(record.started.match, 3 - position.to_move)
        finally:
            with self._changed:
                self._bots -= {*bots.values()}
            for bot in bots.values():
                bot.close()

    def _own_move(self, record: MatchRecord, position: Position, bot: Player | None) -> int:
        """Return the move of a player, of nature, or the only legal one, and store it."""
        match, action = record.started.match, position.legal_actions[0]
        if position.to_move == 0:
            below = random.Random(f"{match} {position.ply}").randrange
            action = position.game.roll(position.state, below)
        elif bot and len(position.legal_actions) > 1:
            action = bot.choose(position, Limit()).action
            self._require_running()  # a cancelled search returns an early result
        self._journal.add(PlayedMove(match, action))
        return action

    def _model_move(
        self, record: MatchRecord, position: Position, asked: _Asked
    ) -> tuple[int, str]:
        """Return the move of a model, or with a fault why it forfeits the match."""
        while len(failed := record.failed(position.ply)) <= self._benchmark.retries:
            messages = [_prompt(position, asked)]
            for each in failed:
                messages += correction(each.answer.content, each.answer.fault)
            action = self._asked(record, position, asked, messages)
            if action >= 0:
                return action, ""
        return -1, failed[-1].answer.fault

    def _asked(
        self,
        record: MatchRecord,
        position: Position,
        asked: _Asked,
        messages: Messages,
    ) -> int:
        """Ask a model, store its answer, and return the action that it chooses, -1 for none."""
        model, terms = asked.who.model, self._benchmark
        assert model
        # A token has at least one byte.
        most = model.cost(len(str(messages).encode()), terms.tokens)
        place = (record.started.match, position.ply, len(record.failed(position.ply)))
        prompted = self._journal.prompt(messages, is_held_out=asked.is_held_out)
        request = SentRequest(*place, prompted, most)
        with self._turn(model, request):
            said, seconds = self._said(
                model, ModelRequest(request.id, messages, terms.tokens, terms.seconds), request
            )
            action = -1
            if not said.fault:
                try:
                    action = move_of(position, said.content, asked.game)
                except IllegalAction as error:
                    said = structs.replace(said, fault=str(error))
            cost = most
            if said.prompt_tokens is not None and said.completion_tokens is not None:
                cost = model.cost(said.prompt_tokens, said.completion_tokens)
            if asked.is_held_out:
                said = structs.replace(said, content="", fault=said.fault and "held out")
            seat = position.to_move
            self._journal.add(StoredAnswer(request, seat, said, action, seconds, cost))
        return action

    @contextlib.contextmanager
    def _turn(self, model: ModelConfig, request: SentRequest) -> Iterator[None]:
        """Wait for the limits of a model and for the budget; store the request."""
        gate = self._gates[model.name]
        with gate.places:
            self._wait(gate.delay_s())
            with self._changed:
                while self.requests and self._is_beyond_budget(request):
                    self._require_running()
                    self._changed.wait()
                self._pay(request)
                self.requests += 1
            try:
                yield
            finally:
                with self._changed:
                    self.requests -= 1
                    self._changed.notify_all()

    def _said(
        self, model: ModelConfig, request: ModelRequest, sent: SentRequest
    ) -> tuple[ModelAnswer, float]:
        """Return the answer and the seconds that it took; a busy model is asked again."""
        for failures in range(1, _MOST_BUSY + 1):
            began = time.monotonic()
            try:
                return self._clients[model.name].ask(request), time.monotonic() - began
            except ModelBusy as error:
                if failures == _MOST_BUSY:
                    raise ModelUnusable(f"{error} ({failures} times in a row)") from error
                self._wait(max(error.wait_s, _BACK_OFF.wait_s(failures)))
                if error.was_sent:
                    with self._changed:
                        self._pay(sent)
        raise AssertionError("the last failure is raised")

    def _is_beyond_budget(self, request: SentRequest) -> bool:
        limit = self._benchmark.cost
        return limit is not None and self._journal.committed + request.cost > limit

    def _pay(self, request: SentRequest) -> None:
        """Store a request, also one that is sent again as its answer is lost, within the budget."""
        if self._is_beyond_budget(request):
            self.stop(f"the budget of {self._benchmark.cost:g} allows no further request")
        self._require_running()
        self._journal.add(request)

    def _wait(self, seconds: float) -> None:
        self._stopping.wait(seconds)
        self._require_running()

    def _require_running(self) -> None:
        if self._stopping.is_set():
            raise _Stopped


def _prompt(position: Position, asked: _Asked) -> dict[str, str]:
    return {"role": "user", "content": prompt(position, asked.who.form, asked.game)}
