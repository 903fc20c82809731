"""The figures of a tournament from its PGN, as other programs read it.

Debian has neither ordo nor bayeselo, so the Elo and its error are computed here by the formulas of
fastchess (app/src/matchmaking/elo/elo_pentanomial.cpp), from the output of python-chess.
"""

from __future__ import annotations

import io
import math
import statistics
from collections import defaultdict
from dataclasses import replace
from statistics import NormalDist

import chess.pgn
import pytest

from playout.protocol.tournament_spec import Entrant, Openings
from playout.server.export import pgn
from playout.server.storage import Database
from playout.server.tournament.ledger import Ledger
from playout.server.tournament.report.values import HeadToHead
from playout.server.tournament.results import Results
from support.played_tournaments import store_tournaments
from support.tournaments import spec_of

NAMES, PAIRS = ("uct", "worse"), 40
_POINTS = {"1-0": (1.0, 0.0), "0-1": (0.0, 1.0), "1/2-1/2": (0.5, 0.5)}


@pytest.fixture(scope="module")
def tournament(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, HeadToHead]:
    """The PGN of a tournament of two, and the figures of its report."""
    url = f"sqlite:///{tmp_path_factory.mktemp('pgn')}/playout.db"
    entrants = tuple(Entrant(name, "1") for name in NAMES)
    openings = Openings(plies=2)
    spec = spec_of(format="match", rounds=PAIRS, seed=3, openings=openings)
    store_tournaments(url, replace(spec, entrants=entrants))
    database = Database(url)
    text = "".join(pgn.write(each) for each in database.matches())
    (stored,) = database.tournaments()
    played = database.tournament(stored.created.tournament)
    database.close()
    assert played
    return text, Results(Ledger.restored(played)).report().head_to_head[0]


def pair_scores(text: str) -> list[float]:
    """The points of the first entrant per game in each pair, 0 to 1, from the tags alone."""
    games = io.StringIO(text)
    found: dict[str, list[float]] = defaultdict(list)
    while headers := chess.pgn.read_headers(games):
        pair = headers["Round"].rsplit(".", 2)[0]
        seat = (headers["White"], headers["Black"]).index(NAMES[0])
        found[pair].append(_POINTS[headers["Result"]][seat])
    return [sum(each) / 2 for each in found.values() if len(each) == 2]


def elo(score: float) -> float:
    return -400 * math.log10(1 / score - 1)


def test_elo_and_error_from_the_pgn_are_those_of_the_report(
    tournament: tuple[str, HeadToHead],
) -> None:
    text, report = tournament
    scores = pair_scores(text)
    assert len(scores) == report.pairs.count == PAIRS
    score, deviation = statistics.fmean(scores), statistics.pstdev(scores)
    half = NormalDist().inv_cdf(0.975) * deviation / math.sqrt(len(scores))
    assert report.elo.value == pytest.approx(elo(score), abs=0.01)
    error = (elo(score + half) - elo(score - half)) / 2
    assert report.elo.error == pytest.approx(error, abs=0.01)
