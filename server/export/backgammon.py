"""Matches of backgammon as files of other programs: `.mat` of Jellyfish, and SGF with GM[6].

Both write a turn as a roll and the moves of single checkers; the player in the first seat is the
left one of a `.mat`, and Black in SGF. The readers also take longer matches and games with a cube:
each game is read as a match of one point, and what is said of the cube is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import zip_longest
from typing import TYPE_CHECKING

from playout import games
from playout.commands.text import filled, plain, utc
from playout.games import RETURNS, TIE, Game, IllegalAction, Position, State
from playout.protocol.messages import Reason
from playout.protocol.sgf import SgfError, SgfProperty, items
from playout.server.export.replay import replay
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    StoredMatch,
    flat,
)

if TYPE_CHECKING:
    from playout.games.backgammon import Backgammon

#: The game of both kinds of files.
GAME = "backgammon"
_COLOURS = {1: "B", 2: "W"}
_SEATS = {"B": 1, "W": 2}
#: The place of each letter of SGF for White: the points, the bar and off the board.
_LETTERS = {25: "y", 0: "z"} | {place: chr(ord("a") + place - 1) for place in range(1, 25)}
_PLACES = {letter: place for place, letter in _LETTERS.items()}
#: No moves of a turn have more characters.
_LONGEST = 200
#: The width of the left player's turn in a `.mat`.
_LEFT = 28


class BadFile(ValueError):
    """A file of backgammon that cannot be read; `line` is the number of the line, from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line

    def __str__(self) -> str:
        return f"line {self.line}: {self.args[0]}"


@dataclass(frozen=True)
class Turn:
    """A roll of a player, and the moves of checkers in the notation of `Backgammon.parse_turn`."""

    line: int
    player: int
    dice: tuple[int, int]
    moves: str


@dataclass
class WrittenGame:
    """A game as a file has it. `winner` is 0 if the file does not name it; `at` is its day."""

    line: int
    players: tuple[str, str] = ("?", "?")
    turns: list[Turn] = field(default_factory=list)
    winner: int = 0
    at: float | None = None


# Writing.


def suits(game: Game) -> bool:
    """Return whether matches of a game can be written."""
    return _rules(game) is not None


def _rules(game: Game) -> Backgammon | None:
    """Return a match of one point with its own methods, and None for another game.

    The module is imported for such a game only: it compiles its rules, and commands print their
    help without them.
    """
    if game.family != GAME:
        return None
    from playout.games.backgammon import Backgammon

    return game if isinstance(game, Backgammon) and game.points == 1 else None


def turns(stored: StoredMatch) -> list[Turn]:
    """Return the turns of a match; `Turn.line` is the ply of the roll. Raises ValueError."""
    position, found = replay(stored).position, list[Turn]()
    game = _rules(position.game)
    if game is None:
        raise ValueError(f"these files are for {GAME}, not for {position.game}")
    for ply, (state, action) in enumerate(zip(position.states, position.moves, strict=False)):
        if state[0] == 0:
            after = position.states[ply + 1]
            found.append(Turn(ply, after[0], (after[3], after[4]), ""))
            continue
        steps = game.steps(state, action)
        moves = " ".join(f"{begin}/{goal}{'*' * hits}" for begin, goal, hits in steps)
        found[-1] = replace(found[-1], moves=f"{found[-1].moves} {moves}".strip())
    return found


def write_mat(stored: StoredMatch) -> str:
    """Return a match as a `.mat`, with an empty line at the end. Raises ValueError."""
    played = turns(stored)
    started, ended = stored.started, stored.ended
    names = [plain(name).replace(":", " ") for name in started.players]
    cells = [f"{turn.dice[0]}{turn.dice[1]}: {turn.moves}".strip() for turn in played]
    if played and played[0].player == 2:
        cells.insert(0, "")
    lines = [
        f'; [EventDate "{utc(started.at):%Y.%m.%d}"]',
        f'; [EventID "{plain(started.match)}"]',
        "",
        " 1 point match",
        "",
        " Game 1",
        f" {names[0] + ' : 0':<{_LEFT + 2}} {names[1]} : 0",
    ]
    for number, (left, right) in enumerate(zip_longest(cells[::2], cells[1::2], fillvalue=""), 1):
        lines.append(f"{number:>3}) {left:<{_LEFT}} {right}".rstrip())
    if ended and ended.winner in (1, 2):
        indent = 6 if ended.winner == 1 else _LEFT + 6
        lines.append(" " * indent + "Wins 1 point and the match")
    return "\n".join(lines) + "\n\n"


def write_sgf(stored: StoredMatch) -> str:
    """Return a match as SGF with GM[6]. Raises ValueError."""
    played = turns(stored)
    started, ended = stored.started, stored.ended
    root = {
        "FF": "4",
        "GM": "6",
        "CA": "UTF-8",
        "MI": "length:1][game:0][ws:0][bs:0",
        "GN": _escaped(started.match),
        "DT": utc(started.at).date().isoformat(),
        "PB": _escaped(started.players[0]),
        "PW": _escaped(started.players[1]),
        "RE": _result(ended),
    }
    head = "".join(f"{name}[{value}]" for name, value in root.items())
    nodes = [f";{_COLOURS[turn.player]}[{_value(turn)}]" for turn in played]
    return f"(;{head}\n{filled([*nodes, ')'])}\n"


def _value(turn: Turn) -> str:
    places = map(int, re.findall(r"\d+", turn.moves))
    letters = (_LETTERS[_of_white(place, turn.player)] for place in places)
    return f"{turn.dice[0]}{turn.dice[1]}{''.join(letters)}"


def _of_white(place: int, player: int) -> int:
    """Return the place of White at a player's place, or the player's at one of White."""
    return 25 - place if player == 1 and 0 < place < 25 else place


def _result(ended: MatchEnded | None) -> str:
    if ended is None:
        return "?"
    if ended.winner not in _COLOURS:
        return "0" if ended.winner == TIE else "Void"
    is_resigned = ended.reason is Reason.RESIGNATION
    return f"{_COLOURS[ended.winner]}+1" + "R" * is_resigned


def _escaped(text: str) -> str:
    return "".join("\\" + letter if letter in "\\]:" else letter for letter in plain(text))


# Reading.

# Next to each other, no two repetitions match the same character: a long line would take minutes.
_TURN = re.compile(r"([1-6])([1-6]):([^:]*?)(?=[1-6]{2}:|Doubles|Takes|Drops|Beavers|$)", re.I)
_NUMBERED = re.compile(r"\s*(\d+)\)(.*)")
_NAMES = re.compile(r"([^:]+):\s*\d+\s+([^\s:][^:]*):\s*\d+")
_DATE = re.compile(r'\[(?:EventDate|Date)\s+"(\d{4})[.-](\d\d)[.-](\d\d)"\]')
_WINS = re.compile(r"(\s*)Wins\s+\d+\s+point", re.I)
_MAT = re.compile(r"^[^\S\n]*(\d+ point match|Game[^\S\n]+1[^\S\n]*$)", re.M)
_NO_MOVE = re.compile(r"cannot move|cannotmove|\?+|-+", re.I)


def read_mat(text: str) -> Iterator[WrittenGame]:
    """Yield the games of a `.mat`. Raises BadFile."""
    game, at = WrittenGame(0), None
    for number, line in enumerate(text.split("\n"), 1):
        if found := _DATE.search(line):
            at = _midnight(*found.groups())
        elif re.match(r"\s*Game\s+\d+", line):
            if game.turns:
                yield game
            game = WrittenGame(number, at=at)
        elif found := _NUMBERED.match(line):
            game.line = game.line or number
            game.turns += _two_turns(number, line, found.end(1) + 1, game)
        elif found := _WINS.match(line):
            game.winner = 1 if len(found[1]) < _LEFT else 2
        elif (found := _NAMES.fullmatch(line.strip())) and not game.turns:
            game.players = found[1].strip(), found[2].strip()
    if game.turns:
        yield game


def _two_turns(number: int, line: str, begin: int, game: WrittenGame) -> Iterator[Turn]:
    """Yield the turns of a line, that of the left player first."""
    found = [*_TURN.finditer(line, begin)]
    if not found and not re.search("double|take|drop|win|beaver|resign", line, re.I):
        raise BadFile(
            number, f"expected a roll and moves, as 31: 8/5 6/5, not {line.strip()[:40]!r}"
        )
    for each in found:
        is_left = each.start() - begin < _LEFT // 2 and not (len(found) == 2 and each is found[1])
        yield _turn(number, 1 if is_left else 2, f"{each[1]}{each[2]}", each[3].strip())


def _turn(line: int, player: int, dice: str, written: str) -> Turn:
    moves = "" if _NO_MOVE.fullmatch(written) else written
    return Turn(line, player, (int(dice[0]), int(dice[1])), moves)


def _midnight(*date: str) -> float | None:
    try:
        return datetime(*map(int, date), tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]
    except ValueError:
        return None


def read_sgf(text: str) -> Iterator[WrittenGame]:
    """Yield the games of an SGF file with GM[6], without variations. Raises BadFile."""
    game, names, depth = WrittenGame(0), ["?", "?"], 0
    try:
        for item in items(text):
            if item == "(":
                depth += 1
                if depth > 1 and game.turns:
                    raise BadFile(game.turns[-1].line, "a variation; files of matches have none")
            elif item == ")":
                depth -= 1
                if game.turns:
                    yield replace(game, players=(names[0], names[1]))
                game = WrittenGame(0)
            elif isinstance(item, SgfProperty):
                _add(game, names, item)
    except SgfError as error:
        raise BadFile(error.line, str(error)) from error


def _add(game: WrittenGame, names: list[str], item: SgfProperty) -> None:
    """Add a property to a game. Raises BadFile."""
    value = item.values[0].strip()
    game.line = game.line or item.line
    if item.name == "GM" and value != "6":
        raise BadFile(item.line, f"GM[{value[:10]}] is another game; {GAME} has GM[6]")
    if item.name in ("PB", "PW"):
        names[_SEATS[item.name[1]] - 1] = re.sub(r"\\(.)", r"\1", value)
    elif item.name == "RE" and value[:1] in _SEATS and "+" in value:
        game.winner = _SEATS[value[0]]
    elif item.name == "DT" and (found := re.match(r"(\d{4})-(\d\d)-(\d\d)", value)):
        game.at = _midnight(*found.groups())
    elif item.name in ("AB", "AW", "AE"):
        raise BadFile(item.line, f"{item.name} sets up a position; matches start at the first one")
    elif item.name in _SEATS and (found := re.fullmatch("([1-6]{2})((?:[a-z]{2})*)", value)):
        player = _SEATS[item.name]
        places = [_of_white(_PLACES[letter], player) for letter in found[2]]
        steps = zip(places[::2], places[1::2], strict=True)
        moves = " ".join(f"{begin}/{goal}" for begin, goal in steps)
        game.turns.append(_turn(item.line, player, found[1], moves))
    elif item.name in _SEATS and value not in ("double", "take", "drop", "beaver", "resign"):
        raise BadFile(item.line, f"expected a roll and moves, as W[31hefe], not {value[:20]!r}")


def actions_of(game: Game, state: State, turn: Turn) -> tuple[int, ...]:
    """Return the outcome of a turn's roll and the actions after it. Raises IllegalAction.

    A turn may lack its moves, if the game ended there.
    """
    rules = _rules(game)
    if rules is None:
        raise IllegalAction(f"a turn of {GAME}, and the game is {game}")
    roll = rules.roll_of(state, turn.player, turn.dice)
    rolled = rules.next_state(state, roll)
    passes = [rules.action_name(rolled, each) for each in rules.legal_actions(rolled)] == ["pass"]
    if not turn.moves and not passes:
        return (roll,)
    return roll, *rules.parse_turn(rolled, turn.moves[:_LONGEST])


def is_written(text: str) -> bool:
    """Return whether a text is a `.mat`, or an SGF file with GM[6]."""
    return bool(_MAT.search(text)) or bool(re.match(r"\s*\(\s*;[^()]*GM\s*\[\s*6\s*\]", text))


def read(text: str, now: float = 0.0) -> Iterator[StoredMatch | BadFile]:
    """Yield each game of a file as a match of one point, or what is wrong with it.

    `now` is the time of a match whose day the file does not have. Equal texts have equal ids.
    """
    try:
        for number, written in enumerate(_written(text)):
            try:
                yield _stored(written, f"{number} {text}", now)
            except BadFile as error:
                yield error
    except BadFile as error:
        yield error


def _written(text: str) -> Iterator[WrittenGame]:
    return read_sgf(text) if text.lstrip().startswith("(") else read_mat(text)


def _stored(written: WrittenGame, unique: str, now: float) -> StoredMatch:
    match = hashlib.sha256(unique.encode()).hexdigest()[:20]
    at = now if written.at is None else written.at
    position, moves = Position(games.load(GAME)), list[MovePlayed]()
    for turn in written.turns:
        try:
            actions = actions_of(position.game, position.state, turn)
        except IllegalAction as error:
            raise BadFile(turn.line, str(error)) from error
        for action in actions:
            seat = position.to_move
            moves.append(
                MovePlayed(match=match, ply=position.ply, seat=seat, action=action, at=at)  # type: ignore[arg-type]
            )
            position = position.play(action)
    started = MatchStarted(
        match=match,
        game=str(position.game),
        first=_name(written.players[0]),
        second=_name(written.players[1]),
        first_session="",
        second_session="",
        clock="none",
        rated=False,
        illegal_moves=0,
        credit_cap_s=0.0,
        at=at,
    )
    ended = _ended(started, position, written.winner)
    return StoredMatch(started=started, moves=tuple(moves), ended=ended)


def _ended(started: MatchStarted, position: Position, winner: int) -> MatchEnded | None:
    found, reason, how = position.winner, Reason.RULES, "won"
    if not found and winner:
        found, reason, how = winner, Reason.RESIGNATION, "won: the other player resigned"
    if not found:
        return None
    return MatchEnded(
        match=started.match,
        winner=found,
        reason=reason,
        text="a tie" if found == TIE else f"{started.players[found - 1]} {how}",
        at=started.at,
        **flat(returns=RETURNS[found]),
    )


def _name(written: str) -> str:
    """Return a name of a file as a player may have it."""
    name = "".join(each if each.isprintable() else " " for each in written).strip()
    return name[:32] or "?"


def openings(text: str) -> Iterator[tuple[int, Sequence[Turn]] | BadFile]:
    """Yield the line and the turns of each game of a file, or what is wrong with it."""
    try:
        for written in _written(text):
            yield written.line, written.turns
    except BadFile as error:
        yield error
