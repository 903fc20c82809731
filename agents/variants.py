"""Variants of games that nobody has memorised.

A variant has other values of the parameters that the game declares as whole numbers or heaps,
longer random openings, mirrored names of columns or rows, and other letters of the players. A seed
always gives the same one. Each second opening is a ply longer, so that the player to move, who is
often ahead, is not always the same. The variant is fair: a search expects 35 to 65 % of the points
for the first player, as the mean of its openings.
"""

from __future__ import annotations

import contextlib
import functools
import random
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from playout import games, players
from playout.games import BoardView, Game, IllegalAction, Position, SpecError
from playout.games.core import spec
from playout.games.core.view import legend, pieces
from playout.players import Limit
from playout.protocol.tournament_spec import Openings
from playout.ratings.book import Book
from playout.ratings.pairs import Opening, OpeningError

#: The bounds of the first player's expected share of the points in a fair variant.
FAIR = (0.35, 0.65)
#: The search that expects the points, and the number of openings from which it does.
JUDGE, JUDGED = "uct(simulations=200,seed=1)", 32
#: Variants that are drawn until one is fair, and the changes of a number.
_TRIES, _CHANGES = 20, (-2, -1, 0, 1, 2)
#: Additional random plies of an opening, at most, and letters instead of X and O.
_MOST_PLIES, _LETTERS = 3, ("OX", "AB", "PQ", "WB")
_TOKEN, _NUMBER, _HEAPS = re.compile(r"[a-zA-Z]|\d+"), re.compile(r"\d+"), re.compile(r"\d+(;\d+)+")


@dataclass(frozen=True)
class Notation:
    """Other names of columns and rows, by the usual ones, and the letters of both players."""

    names: Mapping[str, str]
    letters: str = "XO"

    def name(self, text: str) -> str:
        """Return the name of a move or a cell; words such as "pass" stay."""
        if text.isalpha() and len(text) > 1:
            return text
        return _TOKEN.sub(lambda found: self.names.get(found[0], found[0]), text)

    def labelled(self, view: BoardView) -> BoardView:
        """Return a view with the other names."""
        if not self.names:
            return view
        return replace(
            view,
            column_names=tuple(map(self.name, view.column_labels)),
            row_names=tuple(map(self.name, view.row_labels)),
            cell_labels=tuple(map(self.name, view.cell_labels)),
        )

    def lettered(self, text: str) -> str:
        """Return the drawing of a cell with the other letters."""
        both = self.letters + self.letters.lower()
        return text.translate(str.maketrans("XOxo", both))

    def draw(self, view: BoardView) -> str:
        """Return a view with the other names as text."""
        parts = [text if cell is None else self.lettered(text) for text, cell in pieces(view)]
        return ("".join(parts) + view.note).rstrip()

    def legend(self, view: BoardView) -> str:
        """Return the meaning of the letters."""
        text = legend(view, view)
        for usual, other in zip("XOxo", self.letters + self.letters.lower(), strict=True):
            text = re.sub(rf"\b{usual}\b(?= (is|stands))", f"\0{other}", text)
        return text.replace("\0", "")


#: The names and letters that the rules use.
USUAL = Notation({})


@dataclass(frozen=True)
class GameVariant:
    """A game as a benchmark plays it; with `seed` 0, as it is known.

    `known` is the specification of the known game, `plies` are additional random moves at the start
    of each pair, and `score` is the first player's expected share of the points, if it was judged.
    """

    game: Game
    known: str
    seed: int = 0
    plies: int = 0
    notation: Notation = USUAL
    score: float | None = None

    def __str__(self) -> str:
        return f"{self.game} variant {self.seed}" if self.seed else self.known

    @property
    def definition(self) -> tuple[object, ...] | str:
        """All on which its matches depend: another version may draw other variants for a seed."""
        return (str(self), self.plies, self.notation) if self.seed else self.known

    def name(self, position: Position, action: int) -> str:
        """Return an action of a position by its name in this variant."""
        return self.notation.name(position.name(action))

    def move_names(self, position: Position) -> list[str]:
        """Return the names of all moves that led to a position."""
        return [self.notation.name(position.move_name(ply)) for ply in range(position.ply)]

    def parse(self, position: Position, text: str) -> int:
        """Return the legal action of a name. Raises IllegalAction."""
        if self.notation is USUAL:
            return self.game.parse_action(position.state, text)
        wanted = text.strip()
        named = {self.name(position, action): action for action in position.legal_actions}
        alike = [name for name in named if name.lower() == wanted.lower()]
        if alike:
            return named.get(wanted, named[alike[0]])
        raise IllegalAction(f"{wanted!r} is not a legal move")

    def books(self, plies: int, seed: int) -> tuple[Book, ...]:
        """Return the books that give the openings of pairs in turns."""
        lengths = (plies + self.plies, plies + self.plies + 1) if self.seed else (plies,)
        return tuple(Book(str(self.game), Openings(plies=each), seed) for each in lengths)

    def rules(self) -> str:
        """Return the rules as text, with the values of all parameters that differ."""
        wanted = spec.parse(str(self.game))
        told = games.describe(wanted.name)
        given = [
            f"{each.name} = {wanted.options[each.name]} ({each.about})"
            for each in told.parameters
            if each.name in wanted.options
        ]
        return f"{told.about} In this match, {', and '.join(given)}." if given else told.about


def known(game: Game) -> GameVariant:
    """Return a game as it is known."""
    return GameVariant(game, str(game))


@functools.lru_cache(maxsize=256)
def variant(game: Game, seed: int, plies: int) -> GameVariant:
    """Return a variant, always the same for a seed, of matches that begin with random `plies`.

    Raises SpecError if no fair one is found.
    """
    draw = random.Random(f"{game} {seed}")
    for _ in range(_TRIES):
        with contextlib.suppress(SpecError, OpeningError):
            other, more = _other_parameters(game, draw), draw.randint(1, _MOST_PLIES)
            found = GameVariant(other, str(game), seed, more, _notation(other, draw))
            if FAIR[0] <= (score := first_score(found, plies)) <= FAIR[1]:
                return replace(found, score=score)
    raise SpecError(f"{game}: none of {_TRIES} variants is fair; play it without variants")


def opening(books: Sequence[Book], number: int) -> Opening:
    """Return the opening of a pair. Raises OpeningError."""
    return books[number % len(books)][number // len(books)]


def first_score(found: GameVariant, plies: int) -> float:
    """Return the first player's share of the points after openings, as a search expects it.

    Raises OpeningError if a match cannot begin with that many random moves.
    """
    judge, books = players.load(JUDGE, found.game), found.books(plies, found.seed)
    try:
        return statistics.fmean(
            _expected(judge, Position(found.game, opening(books, number)))
            for number in range(JUDGED)
        )
    finally:
        judge.close()


def _expected(judge: players.Player, position: Position) -> float:
    position = position.rolled(random.Random(1).randrange)
    if position.winner:
        return position.game.returns(position.state)[0]
    info = judge.choose(position, Limit()).info
    rate = info.win_rate if info else 0.5
    return rate if position.to_move == 1 else 1 - rate


def _other_parameters(game: Game, draw: random.Random) -> Game:
    """Return a game with other values of its heaps, or else of its whole numbers.

    Raises SpecError if it refuses the drawn ones.
    """
    wanted, declared = spec.parse(str(game)), spec.parameters_of(type(game))
    heaps = {key: text for key, text in wanted.options.items() if _HEAPS.fullmatch(text)}
    numbers = {
        key: wanted.options.get(key, str(each.default))
        for key, each in declared.items()
        if each.type is int and each.default is not None
    }
    changed = {
        key: _NUMBER.sub(lambda found: str(int(found[0]) + draw.choice(_CHANGES)), text)
        for key, text in (heaps or numbers).items()
    }
    other = games.load(str(spec.Spec(wanted.name, {**wanted.options, **changed})))
    if changed and str(other) == str(game):
        raise SpecError("nothing has changed")
    return other


def _notation(game: Game, draw: random.Random) -> Notation:
    view = game.view(game.initial_state())
    letters = draw.choice(_LETTERS)
    if view.geometry not in ("grid", "hex", "columns"):
        return USUAL
    labels = (view.column_labels, view.row_labels)
    given = labels if any(view.column_labels) else (view.cell_labels,)
    groups = [[label for label in each if label] for each in given]
    chosen = [each for each in groups if each and draw.random() < 0.5] or [max(groups, key=len)]
    names = {old: new for each in chosen for old, new in zip(each, reversed(each), strict=True)}
    return Notation(names, letters if view.piece != "figure" else "XO")
