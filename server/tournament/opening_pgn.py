"""Openings from PGN: the moves of each game, without its variations and comments.

The grammar is that of PGN (S. J. Edwards, Standard: Portable Game Notation, 1994) and of PDN, its
form for draughts; moves are in the notation of the game, as in matches that Playout exports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import games
from games import Game, IllegalAction, State
from games.core import spec
from games.core.spec import SpecError
from server.tournament.written_opening import BadOpening, WrittenMove, WrittenOpening

_TOKEN = re.compile(
    r"""
      (?P<blank>  \s+ | ;[^\n]* | ^%[^\n]* | \{[^}]*\} | \$[0-9]+ )
    | (?P<tag>    \[ \s* \w+ \s+ "(?:[^"\\\n]|\\.)*" \s* \] )
    | (?P<result> (?: 1-0 | 0-1 | 1/2-1/2 | \* | 2-0 | 0-2 | 1-1 ) (?=[\s;{(\[]|\Z) )
    | (?P<number> [0-9]+\.+ )
    | (?P<string> "(?:[^"\\\n]|\\.)*" )
    | (?P<nested> [()] )
    | (?P<symbol> [^\s{}();"\[\]]+ )
    """,
    re.VERBOSE | re.MULTILINE,
)
_TAG = re.compile(r'\[\s*(\w+)\s+"(.*)"\s*\]', re.DOTALL)
_FAULTS = {"{": "a comment that is not closed", '"': "a string that is not closed"}


class _Token(NamedTuple):
    line: int
    kind: str
    text: str


def read(text: str, game: Game) -> Iterator[WrittenOpening | BadOpening]:
    """Yields the moves of each game in the file; games without moves are passed over."""
    found = _Game()
    try:
        for token in _tokens(text):
            if found.is_complete(token):
                yield from found.openings(game)
                found = _Game()
            found.add(token)
        if found.depth:
            raise BadOpening(found.line, "a variation that is not closed")
    except BadOpening as error:
        yield error
        return
    yield from found.openings(game)


class _Game:
    """The game that is being read: its tags, and the moves outside of variations."""

    def __init__(self) -> None:
        self.line = 0
        self.depth = 0
        self._tags: dict[str, _Token] = {}
        self._moves: list[WrittenMove] = []
        self._has_ended = False

    def is_complete(self, token: _Token) -> bool:
        """Whether a token belongs to the next game."""
        return self.depth == 0 and (self._has_ended or (token.kind == "tag" and bool(self._moves)))

    def add(self, token: _Token) -> None:
        """Adds the next token. Raises BadOpening for brackets that do not match."""
        self.line = self.line or token.line
        if token.kind == "nested":
            self.depth += 1 if token.text == "(" else -1
            if self.depth < 0:
                raise BadOpening(token.line, "a ')' without a variation")
        elif self.depth:
            return
        elif token.kind == "tag":
            if tag := _TAG.fullmatch(token.text):
                self._tags[tag[1]] = token._replace(text=_unescaped(tag[2]))
        elif token.kind == "result":
            self._has_ended = True
        elif token.kind == "string":
            self._moves.append(WrittenMove(token.line, _unescaped(token.text[1:-1])))
        elif token.kind == "symbol":
            self._moves.append(WrittenMove(token.line, token.text))

    def openings(self, game: Game) -> Iterator[WrittenOpening | BadOpening]:
        """Yields the game as an opening, or why it is none; nothing if it has no moves."""
        fault = self._fault(game)
        if fault:
            yield fault
        elif self._moves:
            yield WrittenOpening(self._moves[0].line, tuple(self._moves), _action)

    def _fault(self, game: Game) -> BadOpening | None:
        first = spec.parse(str(game)).options.get("fen")  # of chess
        begun = self._tags.get("FEN")
        for name in ("FEN", "SetUp"):
            tag = self._tags.get(name)
            if tag and tag.text not in ("", "0") and not (begun and begun.text == first):
                text = f"the tag {name} sets up a position; openings start at the first one"
                return BadOpening(tag.line, text)
        variant = self._tags.get("Variant")
        if variant and _names_another(variant.text, game):
            text = f"a match of {variant.text}, and the openings are for {game}"
            return BadOpening(variant.line, text)
        return None


def _names_another(variant: str, game: Game) -> bool:
    """Whether a text names a game of Playout that is not this one."""
    try:
        return spec.parse(variant).name in games.names() and games.load(variant) != game
    except SpecError:
        return False


def _tokens(text: str) -> Iterator[_Token]:
    """Yields the tokens with their lines. Raises BadOpening for text that is none."""
    place, line = 0, 1
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            what = _FAULTS.get(text[place], f"{text[place]!r} is not expected here")
            raise BadOpening(line, what)
        kind = found.lastgroup or ""
        if kind != "blank":
            yield _Token(line, kind, found[0])
        line += found[0].count("\n")
        place = found.end()


def _action(game: Game, state: State, word: str) -> int:
    """The action of a move, whose marks for check and comment may be missing in the game."""
    plain = word.rstrip("!?")
    first: IllegalAction | None = None
    for spelling in dict.fromkeys((word, plain, plain.rstrip("+#"), plain.replace("0-0", "O-O"))):
        try:
            return game.parse_action(state, spelling)
        except IllegalAction as error:
            first = first or error
    assert first
    raise first


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
