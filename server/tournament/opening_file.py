"""Files of openings: lists, PGN, SGF, GGF, `.mat`, Gomocup's records, and positions in FEN or EPD.

Each kind has a reader that finds the written moves; `read` plays them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from playout import games
from playout.games import BoardView, Game, IllegalAction, State, square_name
from playout.games.core import spec
from playout.games.core.spec import SpecError
from playout.protocol import sgf as sgf_text
from playout.protocol.sgf import LETTERS, SgfError, SgfProperty, column_and_row
from playout.server.export import backgammon, pgn, sgf
from playout.server.export.backgammon import BadFile, Turn

#: No move has more characters.
_LONGEST = 200


class BadOpening(ValueError):
    """An opening that cannot be used; `line` is the number of the line with the mistake, from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class WrittenMove(NamedTuple):
    """A move in the notation of the file, and its line."""

    line: int
    text: str


class WrittenOpening(NamedTuple):
    """The moves of an opening that begins at `line`.

    `actions` gives the actions of a move's text in a state, or raises IllegalAction or BadOpening;
    `hint` is added to the text of an illegal one. The moves begin at the position `fen`, "" for the
    usual one.
    """

    line: int
    moves: tuple[WrittenMove, ...]
    actions: Callable[[Game, State, str], Sequence[int]]
    hint: str = ""
    fen: str = ""


class PlayableOpening(NamedTuple):
    """The actions of an opening, and its first position, "" for the usual one of the game."""

    actions: tuple[int, ...]
    fen: str = ""


#: Reads the openings of a file's text; errors take the place of their openings.
OpeningReader = Callable[[str, Game], Iterator[WrittenOpening | BadOpening]]


# Lists of openings: one opening on each line.
#
#     # notation, with blanks or commas between the moves,
#     d3 c5 f6
#     # or the numbers of the actions, in brackets
#     [19, 34, 45]
#
# Brackets distinguish the two, because some games have numbers as the notation of moves.


_BETWEEN = re.compile(r"[\s,;]+")
_CELLS = re.compile("[A-Za-z][1-9][0-9]?")
_TRANSCRIPT = re.compile(rf"(?:{_CELLS.pattern}){{2,}}")
_FIVE, _OFFSET = ("gomoku", "mnk"), re.compile("[+-]?[0-9]{1,3}")
#: Games in which a word of several cells is a transcript, and those in which one of digits is.
_OF_CELLS, _OF_COLUMNS = ("othello", *_FIVE, "hex", "y", "havannah"), ("connect_four",)
#: A number of a move, as `1.`, or a quotation mark, neither of which is part of a move.
_NO_MOVE = re.compile(r"(?<!\S)[0-9]{1,3}\.+(?![0-9])|\"")
#: What a line of UCI has before its moves.
_OF_UCI = re.compile(r"(?:position\s+)?startpos\s+moves\s+")
_NUMBER = re.compile("[0-9]{1,9}")
_HINT = " (numbers of actions are written in brackets)"


def read_list(text: str, game: Game) -> Iterator[WrittenOpening | BadOpening]:
    """Yield the opening of each line that is neither empty nor a comment."""
    for number, line in enumerate(text.split("\n"), start=1):
        written = _NO_MOVE.sub(" ", line.partition("#")[0]).strip()
        if not written:
            continue
        in_brackets = re.fullmatch(r"\[(.*)\]", written)
        written = _OF_UCI.sub("", written, count=1)
        words = _BETWEEN.split(in_brackets[1] if in_brackets else written)
        if not in_brackets:
            words = _of_others(words, game)
        moves = tuple(WrittenMove(number, word) for word in words if word)
        if in_brackets:
            yield WrittenOpening(number, moves, _number)
        else:
            yield WrittenOpening(number, moves, _named, _HINT)


def _of_others(words: list[str], game: Game) -> list[str]:
    """Return the moves of a line as this game names them.

    Transcripts have no blanks, as `F5D6C3` and `4453`; Gomocup gives `x,y` from the centre.
    """
    name = spec.parse(str(game)).name
    if name in _OF_CELLS:
        split = (_CELLS.findall(word) if _TRANSCRIPT.fullmatch(word) else [word] for word in words)
        words = ["swap" if cell in _SWAPS else cell for cells in split for cell in cells]
    elif name in _OF_COLUMNS and all(word.isdecimal() or not word for word in words):
        words = list("".join(words))
    numbers = [word for word in words if word]
    if name not in _FIVE or len(numbers) % 2 or not all(map(_OFFSET.fullmatch, numbers)):
        return words
    view = game.view(game.initial_state())
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return [_from_centre(view, x, y) for x, y in pairs]


def _from_centre(view: BoardView, x: str, y: str) -> str:
    column, row = view.columns // 2 + int(x), view.rows // 2 + int(y)
    if 0 <= row < view.rows and 0 <= column < view.columns:
        return square_name(row, column)
    return f"{x},{y}"


def _named(game: Game, state: State, word: str) -> tuple[int, ...]:
    """Return the action of a move, after a pass that the file leaves out."""
    legal = game.legal_actions(state)
    if len(legal) == 1 and game.view(state).clicks.get(legal[0]) == ():
        with contextlib.suppress(IllegalAction):
            return (game.parse_action(state, word),)
        after = game.next_state(state, legal[0])
        return (legal[0], game.parse_action(after, word))
    return (game.parse_action(state, word),)


def _number(game: Game, state: State, word: str) -> tuple[int, ...]:
    if not _NUMBER.fullmatch(word):
        raise IllegalAction(f"expected the number of an action in brackets, not {word[:50]!r}")
    return (int(word),)


# Openings from PGN: the moves of each game, without its variations and comments.
#
# The grammar is that of PGN (S. J. Edwards, Standard: Portable Game Notation, 1994) and of PDN, its
# form for draughts, as other programs write them: the import format of the standard is lax. A game
# that cannot be read ends at the next tag `Event`.


#: The sign between the points of a result.
_DASH = r"\s?[-:\u2013\u2212]\s?"
_TOKEN = re.compile(
    r"""
      (?P<blank>  \s+ | ;[^\n]* | ^%[^\n]* | \{[^}]*\} | \} | \$[0-9]+ | <[^>\n]*> )
    | (?P<tag>    \[ \s* \w+ \s+ "(?:[^"\\\n]|\\.)*" \s* \]
                  | ^\[ \s* \w+ \s+ ["\u201c] [^\n]* \] [ \t]*$ )
    | (?P<result> (?: (?: 1_-_0 | 0_-_1 | 1/2_-_1/2 | \u00bd_-_\u00bd | 0[.,]5_-_0[.,]5 )
                      | 1/2 | \u00bd | \* | 2_-_0 | 0_-_2 | 1_-_1 )
                  (?=[\s;{(\[]|\Z) )
    | (?P<number> [0-9]+\s?(?:\.+|\u2026) | \u2026 | \.+(?=\s) )
    | (?P<string> "(?:[^"\\\n]|\\.)*" )
    | (?P<nested> [()] )
    | (?P<symbol> [^\s{}();"\[\]]+ (?: \( [QRBN] \) )? )
    """.replace("_-_", _DASH),
    re.VERBOSE | re.MULTILINE,
)
_TAG = re.compile(r'\[\s*(\w+)\s+["\u201c](.*)["\u201d]\s*\]\s*', re.DOTALL)
_FAULTS = {"{": "a comment that is not closed", '"': "a string that is not closed"}
_NEXT_GAME = re.compile(r"^\[\s*Event\s", re.MULTILINE)
#: Words between moves that are none: comments of the Informant, and marks apart from their moves.
#: `--` is a move: the player passes, which no match can repeat.
_COMMENT = re.compile(
    r"(?!--$)[!?+\-=/~:\u00b1\u2013\u2014\u2213\u221e\u25a1\u2a71\u2a72]+"
    r"|N|TN|D|RR|ep|e\.?p?\.?|p\.|(?:check)?mate|ch\.?|dis\.?|dbl\.?|resigns|ff"
)
#: Marks behind a move: of a capture in passing, of mate, and of punctuation.
_AFTER_MOVE = re.compile(r"(?:[/ ]?e\.?p\.?|mate)?[!?,]*$")
_FORFEIT = "0-0"
#: Letters of pieces of chess as figures.
_FIGURES = str.maketrans(
    "\u2654\u2655\u2656\u2657\u2658\u265a\u265b\u265c\u265d\u265e", 2 * "KQRBN"
)
#: Moves of chess in the old English notation, and with letters of pieces of other languages.
_DESCRIPTIVE = re.compile(r"[KQRNBP]{1,3}(?:-[KQ]?[KQRNB]+[1-8]|x[KQRNBP]{1,3})(?![a-h]).*")
_FOREIGN = re.compile(r"(?![KQRBNPO])[^\W\d_a-z][a-h]?[1-8]?[x:-]?[a-h][1-8].*", re.DOTALL)
#: Games in whose notation a number alone is no move.
_NUMBERED = ("chess", "draughts", "checkers")
_ORTHODOX = ("", "?", "-", "chess", "standard", "normal", "classical", "orthodox", "from position")

#: Values of the tag FEN for the first position of a game.
_NO_FEN = ("", "0", "?", "-", "startpos")


class _Token(NamedTuple):
    line: int
    kind: str
    text: str


def read_pgn(text: str, game: Game) -> Iterator[WrittenOpening | BadOpening]:
    """Yield the moves of each game in the file; games without moves are skipped."""
    starts = [0, *(found.start() for found in _NEXT_GAME.finditer(text) if found.start())]
    line = 1
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        yield from _games(part, line, game)
        line += part.count("\n")


def _games(text: str, line: int, game: Game) -> Iterator[WrittenOpening | BadOpening]:
    """Yield the games of a text that begins at a line, up to one that cannot be read."""
    found = _Game(game)
    try:
        for token in _tokens(text, line):
            if found.is_complete(token):
                yield from found.openings()
                found = _Game(game)
            found.add(token)
        if found.depth:
            raise BadOpening(found.line, "a variation that is not closed")
    except BadOpening as error:
        yield error
        return
    yield from found.openings()


class _Game:
    """The game that is being read: its tags, and the moves outside of variations."""

    def __init__(self, game: Game) -> None:
        self.line = 0
        self.depth = 0
        self._game = game
        self._kind = spec.parse(str(game)).name
        self._tags: dict[str, _Token] = {}
        self._moves: list[WrittenMove] = []
        #: The last number between moves, which is none.
        self._number: _Token | None = None
        self._has_ended = False

    def is_complete(self, token: _Token) -> bool:
        """Return whether a token belongs to the next game."""
        return self.depth == 0 and (self._has_ended or (token.kind == "tag" and bool(self._moves)))

    def add(self, token: _Token) -> None:
        """Add the next token. Raises BadOpening for brackets that do not match."""
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
        elif token.kind == "symbol" and self._is_comment(token.text):
            self._number = token if token.text.isdecimal() else self._number
        elif token.kind == "symbol":
            self._moves.append(WrittenMove(token.line, token.text))

    def _is_comment(self, word: str) -> bool:
        """Return whether a word between moves is none, as `!` and, in chess, `12` and `e.p.`."""
        if self._kind not in _NUMBERED:
            return False
        return _COMMENT.fullmatch(word) is not None or word.isdecimal()

    def openings(self) -> Iterator[WrittenOpening | BadOpening]:
        """Yield the game as an opening, or its fault; nothing if it has no moves."""
        result = self._tags.get("Result")
        has_lost_twice = self._kind != "chess" or (result and result.text == _FORFEIT)
        if self._moves and self._moves[-1].text == _FORFEIT and has_lost_twice:  # else it castles
            self._moves.pop()
        tag, fault = self._tags.get("FEN"), self._fault()
        fen = " ".join(tag.text.split()) if tag else ""
        fen = "" if fen.lower() in _NO_FEN else fen
        if fault:
            yield fault
        elif self._moves:
            yield WrittenOpening(self._moves[0].line, tuple(self._moves), _pgn_actions, fen=fen)
        elif fen:
            yield WrittenOpening(self._tags["FEN"].line, (), _pgn_actions, fen=fen)
        elif self._number:
            text = f"{self._game}: {self._number.text[:20]!r} is no move, and no other is given"
            yield BadOpening(self._number.line, text)

    def _fault(self) -> BadOpening | None:
        variant = self._tags.get("Variant")
        is_other = variant and self._kind == "chess" and variant.text.lower() not in _ORTHODOX
        if variant and (is_other or _names_another(variant.text, self._game)):
            text = f"a match of {variant.text[:50]}, and the openings are for {self._game}"
            return BadOpening(variant.line, text)
        type_, own = self._tags.get("GameType"), pgn.GAME_TYPES.get(self._kind)
        if type_ and own and (given := re.match("[0-9]+", type_.text.strip())):
            number = own.partition(",")[0]
            if int(given[0][:9]) != int(number):
                text = f"a match of GameType {given[0][:9]}; {self._game} has {number}"
                return BadOpening(type_.line, text)
        return None


def _names_another(variant: str, game: Game) -> bool:
    """Return whether a text names another game of Playout."""
    try:
        return spec.parse(variant).name in games.names() and games.load(variant) != game
    except SpecError:
        return False


def _tokens(text: str, line: int) -> Iterator[_Token]:
    """Yield the tokens with their lines. Raises BadOpening for invalid text."""
    place = 0
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


def _pgn_actions(game: Game, state: State, word: str) -> tuple[int, ...]:
    """Return the actions of a move; marks for check and comment may be missing in the game."""
    plain = _AFTER_MOVE.sub("", word)
    castled = plain.upper().replace("\u2013", "-").replace("0-0", "O-O")  # pages have dashes
    castling = (castled.rstrip("+#"),) if castled.startswith("O-O") else ()
    first: IllegalAction | None = None
    figured = plain.translate(_FIGURES)
    for spelling in dict.fromkeys((word, plain, plain.rstrip("+#"), figured, *castling)):
        try:
            return game.parse_turn(state, spelling)
        except IllegalAction as error:
            first = first or error
    assert first
    if spec.parse(str(game)).name == "chess" and (reason := _foreign(word)):
        raise IllegalAction(f"{word[:20]!r} {reason}")
    raise first


def _foreign(word: str) -> str:
    """Return why a move of chess cannot be read, if it is in another notation; otherwise ""."""
    if _DESCRIPTIVE.fullmatch(word):
        return "is in the old descriptive notation: save the games in algebraic notation, as Nf3"
    if _FOREIGN.fullmatch(word):
        return "has no English letter of a piece: save the games with K, Q, R, B and N"
    return ""


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


# Openings from SGF (https://www.red-bean.com/sgf/): each variation of each game is an opening.
#
# SGF describes games of placing stones on one grid; Black is the player that moves first.


_COLOURS = {"B": 1, "W": 2}
_SETUP = {"AB": 1, "AW": 2}
#: Red and blue, which some programs for Hex and TwixT write.
_NO_COLOURS = ("R", "BLUE", "RED")
#: Boards up to this size have `tt` for a pass in old files.
_OLD_SIZE = 19
#: The numbers of Go, which many programs write for every game, of Othello and of Hex.
_GO, _OTHELLO, _HEX = "1", 2, 11
#: Names of a swap, and of moves that only end a match.
_SWAPS, _ENDS = ("swap", "swap-pieces", "swap-sides"), ("resign", "forfeit")
#: A point of Othello as programs write it in SGF, and with more in GGF: `f5` and `F5/1.20/0.5`.
_OF_OTHELLO = re.compile(r"([A-Ha-h])([1-8])(?:/.*)?|(PA|PASS)(?:/.*)?", re.IGNORECASE | re.DOTALL)


def read_sgf(text: str, game: Game) -> Iterator[WrittenOpening | BadOpening]:
    """Yield the moves from the root to each end of the game trees in the file."""
    if backgammon.suits(game):
        yield from read_mat(text, game)
        return
    view = game.view(game.initial_state())
    is_hex = view.geometry == "hex"
    if not (sgf.suits(game) or is_hex):
        yield BadOpening(1, f"SGF is for games of placing stones on one grid, not for {game}")
        return
    to_actions = _hex_actions if is_hex else _sgf_actions
    number = _HEX if is_hex else game.sgf_number
    moves: list[WrittenMove] = []
    #: For each open tree the moves before it, and whether a tree in it has ended.
    trees: list[tuple[int, bool]] = []
    try:
        for item in sgf_text.items(text):
            if item == "(":
                trees.append((len(moves), False))
            elif item == ")":
                before, is_divided = trees.pop()
                if not is_divided and moves:
                    yield WrittenOpening(moves[0].line, tuple(moves), to_actions)
                del moves[before:]
                if trees:
                    trees[-1] = (trees[-1][0], True)
            elif isinstance(item, SgfProperty):
                _check(item, view, has_moves=bool(moves), number=number)
                if item.name in _COLOURS and item.values[0].strip().lower() not in _ENDS:
                    moves.append(WrittenMove(item.line, f"{item.name}[{item.values[0]}]"))
    except SgfError as error:
        yield BadOpening(error.line, str(error))
    except BadOpening as error:
        yield error


def _check(item: SgfProperty, view: BoardView, *, has_moves: bool, number: int | None) -> None:
    """Raise BadOpening for another board, first position or `number` than those of the game."""
    value = item.values[0].strip()
    if item.name == "GM" and number and value.isdecimal() and value not in (_GO, str(number)):
        raise BadOpening(item.line, f"game number {value[:20]} (GM), and the game here is {number}")
    if item.name == "BO" and re.sub("[^*O-]", "", value) != _begun_in_ggf(view):
        raise BadOpening(item.line, "BO sets up a position; openings start at the first one")
    if item.name == "SZ":
        size = item.values[0].strip()
        allowed = {f"{view.columns}:{view.rows}"}
        allowed |= {str(view.rows)} if view.rows == view.columns else set()
        if size not in allowed:
            text = f"a board of size {size[:20]}, and this game has {' or '.join(sorted(allowed))}"
            raise BadOpening(item.line, text)
    elif item.name in _SETUP:
        own = {cell for cell, owner in enumerate(view.cells) if owner == _SETUP[item.name]}
        points = (_in_letters(each, number) for each in item.values)
        if has_moves or {_cell(each, view) for each in points} != own:
            text = f"{item.name} sets up a position; openings start at the first one"
            raise BadOpening(item.line, text)
    elif item.name in _NO_COLOURS:
        raise BadOpening(item.line, f"{item.name}[{value[:20]}] is no move: write B and W")
    elif item.name == "AE":
        raise BadOpening(item.line, "AE removes stones; openings have moves only")


def _in_letters(point: str, number: int | None) -> str:
    """Return a point of game `number` as SGF writes it: `f5` of Othello is `fe`, a pass ""."""
    found = _OF_OTHELLO.fullmatch(point) if number == _OTHELLO else None
    if found is None:
        return point
    return "" if found[3] else f"{found[1].lower()}{LETTERS[int(found[2]) - 1]}"


def _begun_in_ggf(view: BoardView) -> str:
    """Return a board in GGF, row by row from the top, and the player to move, who is Black."""
    return "".join("-*O"[owner] for owner in view.cells) + "*"


def _cell(point: str, view: BoardView) -> int | None:
    """Return the number of the cell at a point; None without a cell."""
    column, row = column_and_row(point) or (view.columns, view.rows)
    return row * view.columns + column if column < view.columns and row < view.rows else None


def _hex_actions(game: Game, state: State, written: str) -> tuple[int, ...]:
    """Return the action of `B[a10]` or `W[ja]`, as HexGui and Little Golem write it.

    The colours alternate, but White begins on some servers.
    """
    point = written[2:-1].strip().lower()
    if point.startswith("swap"):
        if "swap" not in spec.parse(str(game)).options:
            raise IllegalAction(f"{written[:20]}: {game} has no swap; Hex has one with swap=true")
        point = "swap"
    elif found := column_and_row(point):
        point = f"{LETTERS[found[0]]}{found[1] + 1}"
    return (game.parse_action(state, point),)


def _sgf_actions(game: Game, state: State, written: str) -> tuple[int, ...]:
    """Return the action of `B[dd]` in a state. Raises IllegalAction."""
    colour, point = written[0], written[2:-1].strip()
    if game.winner(state):
        raise IllegalAction(f"{written[:20]} is not legal: the game is over")
    if _COLOURS[colour] != game.current_player(state):
        raise IllegalAction(f"{written[:20]}: it is the turn of the other player")
    view = game.view(state)
    point = _in_letters(point, game.sgf_number)
    is_old_pass = point == "tt" and max(view.rows, view.columns) <= _OLD_SIZE
    cell = None if is_old_pass or not point else _cell(point, view)
    wanted = () if is_old_pass or not point else (cell,)
    for action, clicks in view.clicks.items():
        if clicks == wanted:
            return (action,)
    raise IllegalAction(f"{written[:20]} is not legal here")


# Games of backgammon: `.mat` and SGF with GM[6]. A move is a turn: its player, roll and checkers.


def read_mat(text: str, game: Game) -> Iterator[WrittenOpening | BadOpening]:
    """Yield the turns of each game in a file of backgammon."""
    if not backgammon.suits(game):
        yield BadOpening(1, f"such files are for {backgammon.GAME}, not for {game}")
        return
    for found in backgammon.openings(text):
        if isinstance(found, BadFile):
            yield BadOpening(found.line, found.args[0])
            continue
        line, turns = found
        moves = (WrittenMove(each.line, _written_turn(each)) for each in turns)
        yield WrittenOpening(line, tuple(moves), _turn_actions)


def _written_turn(turn: Turn) -> str:
    return f"{turn.player} {turn.dice[0]}{turn.dice[1]}: {turn.moves}"


def _turn_actions(game: Game, state: State, written: str) -> tuple[int, ...]:
    """Return the roll and the actions of a turn, such as `1 31: 8/5 6/5`."""
    turn = Turn(0, int(written[0]), (int(written[2]), int(written[3])), written[6:])
    return backgammon.actions_of(game, state, turn)


# Records of Gomocup (`.psq`): `Piskvorky 15x15, 11:11, 0`, and the lines `x,y,milliseconds` from 1.


_PSQ, _PSQ_MOVE = (
    re.compile(r"Piskvorky\s+([0-9]{1,3})x([0-9]{1,3})\s*,.*", re.IGNORECASE),
    re.compile(r"([1-9][0-9]?),([1-9][0-9]?),[0-9]+"),
)


def read_psq(text: str, game: Game) -> Iterator[WrittenOpening | BadOpening]:
    """Yield the moves of the record."""
    lines = [line.strip() for line in text.split("\n")]
    first = next((number for number, line in enumerate(lines) if line), 0)
    size, view = _PSQ.fullmatch(lines[first]), game.view(game.initial_state())
    if spec.parse(str(game)).name not in _FIVE:
        yield BadOpening(first + 1, f"a record of five in a row, and the openings are for {game}")
    elif size is None or (int(size[1]), int(size[2])) != (view.columns, view.rows):
        board = f"{view.columns}x{view.rows}"
        yield BadOpening(first + 1, f"expected 'Piskvorky {board}, ', not {lines[first][:50]!r}")
    else:
        moves: list[WrittenMove] = []
        for number, line in enumerate(lines[first + 1 :], start=first + 2):
            if not (found := _PSQ_MOVE.fullmatch(line)):
                break
            column, row = int(found[1]) - 1, int(found[2]) - 1
            word = square_name(row, column) if column < view.columns else line
            moves.append(WrittenMove(number, word))
        if moves:
            yield WrittenOpening(first + 1, tuple(moves), _named)


# Positions in FEN and EPD: one on each line, an opening without moves.
#
# EPD has operations behind the first four fields of FEN; those for the two numbers of FEN are read.


_POSITION = re.compile(
    r"[1-9A-Za-z*]+(?:/[1-9A-Za-z*]+){3,}\s+[wb]\b.*|[WB]:[WB].*:[WB].*", re.IGNORECASE
)
#: What a line of UCI has before a position.
_UCI_FEN = re.compile(r"(?:position\s+)?fen\s+(?=\S+/)", re.IGNORECASE)
_FIELDS = re.compile(r"(\S+\s+[wb]\s+\S+\s+\S+)(?:\s+([0-9]+))?(?:\s+([0-9]+))?(.*)", re.IGNORECASE)
#: A position of FEN and moves from there, as UCI writes them; an operation of EPD is a text.
_WITH_MOVES = re.compile(r'([^";]*) moves ([^";]*)')
_QUIET, _MOVE_NUMBER = (
    re.compile(rf"(?:^|[\s;]){name}\s+\"?([0-9]+)\"?\s*(?:;|$)") for name in ("hmvc", "fmvn")
)


def read_positions(text: str, game: Game) -> Iterator[WrittenOpening | BadOpening]:
    """Yield the position of each line that is neither empty nor a comment."""
    for number, line in enumerate(text.split("\n"), start=1):
        written = _UCI_FEN.sub("", line.strip().strip('"'), count=1)
        if not written or written[0] in "#;%":
            continue
        if not _POSITION.match(written):
            yield BadOpening(number, f"expected a position in FEN or EPD, not {written[:50]!r}")
            continue
        found = _WITH_MOVES.fullmatch(written)
        position, names = found.groups() if found else (written, "")
        moves = tuple(WrittenMove(number, name) for name in names.split())
        yield WrittenOpening(number, moves, _named, fen=_fen(position))


def _fen(written: str) -> str:
    """Return the six fields of FEN of a line of EPD or FEN; other texts as they are."""
    found = _FIELDS.fullmatch(written)
    if found is None:
        return written
    fields, quiet, number, operations = found.groups()
    numbers = []
    for given, operation, default in ((quiet, _QUIET, "0"), (number, _MOVE_NUMBER, "1")):
        named = operation.search(operations)
        numbers.append(given or (named[1] if named else default))
    board, colour, *others = fields.split()
    return " ".join([board, colour.lower(), *others, *numbers])


#: Readers by what `kind_of` returns; a list has `read_list`.
_READERS: Mapping[str, OpeningReader] = {
    "pgn": read_pgn,
    "pdn": read_pgn,
    "sgf": read_sgf,
    "mat": read_mat,
    "psq": read_psq,
    "epd": read_positions,
}
#: The kinds of files of games, and of positions; those that can be read are used.
OF_GAMES = ("pgn", "pdn", "sgf", "mat", "psq")
LENIENT = (*OF_GAMES, "epd")


def kind_of(path: str, text: str) -> str:
    """Return the format of a file, by the end of its name or its first line; "list" for others."""
    kind = path.rpartition(".")[2].lower()
    lines = (line.strip() for line in text.split("\n"))
    first = next((line for line in lines if line and line[0] not in "#%"), "")
    if kind in ("epd", "fen") or _POSITION.match(_UCI_FEN.sub("", first.strip('"'), count=1)):
        return "epd"
    if kind in OF_GAMES:
        return kind
    if _TAG.fullmatch(first):
        return "pgn"
    if re.match(r"(?:[0-9]+\s*)?\(\s*;", first):
        return "sgf"
    if _PSQ.fullmatch(first):
        return "psq"
    return "mat" if backgammon.is_written(text) else "list"


def read(
    path: str, text: str, game: Game, most: int = 0
) -> Iterator[tuple[int, PlayableOpening | BadOpening]]:
    """Yield the line of each opening, from 1, with the opening; or the line and the error.

    `kind_of` gives the format of the file. Openings are cut to `most` moves, unless that is 0. Of
    openings that lead to the same position, the first is used; without `most`, the others are
    errors.
    """
    reader = _READERS.get(kind_of(path, text), read_list)
    seen: dict[State, int] = {}
    for written in reader(text, game):
        try:
            if isinstance(written, BadOpening):
                raise written
            opening, state = _played(written, game, most)
            if game.winner(state):
                hint = "" if most else "; plies = 8 would keep the first eight moves of each"
                text = f"{game}: the game is over after these moves{hint}"
                raise BadOpening(written.line, text)
            if state not in seen:
                seen[state] = written.line
                yield written.line, opening
            elif not most:
                same = f"it leads to the same position as line {seen[state]}"
                raise BadOpening(written.line, same)
        except BadOpening as error:
            yield error.line, error


def pasted(text: str, game: Game, most: int) -> tuple[Game, tuple[int, ...]]:
    """Return the game and the first `most` actions of a text that a person pastes.

    It is in one of the formats of a file, of which the first opening is used; its match may be
    over. Moves may be on several lines, and have numbers as in PGN. Raises BadOpening.
    """
    readers = [_READERS.get(kind := kind_of("", text), read_list)]
    if kind == "list":
        text = " ".join(line.partition("#")[0].strip() for line in text.split("\n"))
        readers.append(read_pgn)
    fault = BadOpening(1, "there are no moves")
    for reader in readers:
        try:
            written = next(reader(text, game), fault)
            if isinstance(written, BadOpening):
                raise written
            opening, _ = _played(written, game, most)
            return _begun(written, game)[0], opening.actions
        except BadOpening as error:
            fault = error if reader is readers[0] else fault
    raise fault


def _played(written: WrittenOpening, game: Game, most: int) -> tuple[PlayableOpening, State]:
    """Return an opening and the position after its moves. Raises BadOpening."""
    game, fen = _begun(written, game)
    state = game.initial_state()
    actions: list[int] = []
    for line, word in written.moves:
        if most and len(actions) >= most:
            break
        try:
            found = written.actions(game, state, word[:_LONGEST])
            for action in found[: most - len(actions)] if most else found:
                state = game.next_state(state, action)
                actions.append(action)
        except IllegalAction as error:
            text = f"{game}, move {len(actions) + 1}: {error}{written.hint}"
            raise BadOpening(line, text) from error
    return PlayableOpening(tuple(actions), fen), state


def _begun(written: WrittenOpening, game: Game) -> tuple[Game, str]:
    """Return the game from an opening's first position, and its FEN, "" for the usual position."""
    if not written.fen:
        return game, ""
    try:
        begun = games.beginning_at(game, written.fen)
    except SpecError as error:
        raise BadOpening(written.line, str(error)) from error
    if begun.initial_state() == game.initial_state():
        return game, ""
    return begun, spec.parse(str(begun)).options["fen"]
