"""Matches of backgammon as files of other programs: `.mat` of Jellyfish, and SGF with GM[6].

Both write a turn as a roll and the moves of single checkers; the player in the first seat is the
left one of a `.mat`, and Black in SGF. A match of several points has a game for each of its games.
If a file has no whole match by the rules, such as a session for money or one with a game that was
resigned, each of its games is read as a match of one point, without the cube.
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
from playout.protocol.sgf import COLOURS, SgfError, SgfProperty, escaped, items
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
_CUBE = ("double", "take", "drop")
_NO_DICE = (0, 0)
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
    """A roll of a player, and the moves of checkers in the notation of `Backgammon.parse_turn`.

    Without dice, it is a decision about the cube: `moves` is `double`, `take` or `drop`.
    """

    line: int
    player: int
    dice: tuple[int, int]
    moves: str


@dataclass
class WrittenGame:
    """A game as a file has it. `winner` is 0 if the file does not name it; `at` is its day.

    `length` are the points of the match, 0 without one, and `scores` those before the game.
    """

    line: int
    players: tuple[str, str] = ("?", "?")
    turns: list[Turn] = field(default_factory=list)
    winner: int = 0
    points: int = 1
    at: float | None = None
    length: int = 0
    scores: tuple[int, int] = (0, 0)


# Writing.


def suits(game: Game) -> bool:
    """Return whether matches of a game can be written."""
    return _rules(game) is not None


def _rules(game: Game) -> Backgammon | None:
    """Return a game of backgammon with its own methods, and None for another game.

    The module is imported for such a game only: it compiles its rules, and commands print their
    help without them.
    """
    if game.family != GAME:
        return None
    from playout.games.backgammon import Backgammon

    return game if isinstance(game, Backgammon) else None


def written(stored: StoredMatch) -> list[WrittenGame]:
    """Return the games of a match; `Turn.line` is the ply of the roll. Raises ValueError."""
    position, found = replay(stored).position, list[WrittenGame]()
    game, ended = _rules(position.game), stored.ended
    if game is None:
        raise ValueError(f"these files are for {GAME}, not for {position.game}")
    for ply, (state, action) in enumerate(zip(position.states, position.moves, strict=False)):
        after = position.states[ply + 1]
        if game.begins(state):
            found.append(WrittenGame(ply, scores=game.scores(state), length=game.points))
        turns = found[-1].turns
        if state[0] == 0:
            turns.append(Turn(ply, after[2], (after[3], after[4]), ""))
        elif not game.decides(state):
            steps = game.steps(state, action)
            moves = " ".join(f"{begin}/{goal}{'*' * hits}" for begin, goal, hits in steps)
            turns[-1] = replace(turns[-1], moves=f"{turns[-1].moves} {moves}".strip())
        elif (name := game.action_name(state, action)) in _CUBE:
            turns.append(Turn(ply, state[0], _NO_DICE, name))
        before, scores = found[-1].scores, game.scores(after)
        if before != scores:
            winner = 1 if scores[0] > before[0] else 2
            found[-1].winner, found[-1].points = winner, scores[winner - 1] - before[winner - 1]
    if found and not found[-1].winner and ended and ended.winner in (1, 2):
        found[-1].winner = ended.winner
        found[-1].points = game.points - found[-1].scores[ended.winner - 1]
    return found


def write_mat(stored: StoredMatch) -> str:
    """Return a match as a `.mat`, with an empty line at the end. Raises ValueError."""
    started, ended, played = stored.started, stored.ended, written(stored)
    names = [plain(name).replace(":", " ") for name in started.players]
    points = played[0].length if played else 1
    lines = [
        f'; [EventDate "{utc(started.at):%Y.%m.%d}"]',
        f'; [EventID "{plain(started.match)}"]',
        "",
        f" {points} point match",
    ]
    for number, game in enumerate(played, 1):
        first, second = game.scores
        left, right = f"{names[0]} : {first}", f"{names[1]} : {second}"
        is_last = ended is not None and ended.winner in (1, 2) and game is played[-1]
        heads = "", f" Game {number}", f" {left:<{_LEFT + 2}} {right}"
        lines += [*heads, *_rows(game, is_last)]
    return "\n".join(lines) + "\n\n"


def _rows(game: WrittenGame, is_last: bool) -> Iterator[str]:
    """Yield the numbered lines of a game in a `.mat`, each with a turn of both players."""
    unit = "point" if game.points == 1 else "points"
    wins = f"Wins {game.points} {unit}" + " and the match" * is_last
    cells, cube = [""] if game.turns and game.turns[0].player == 2 else [], 1
    for turn in game.turns:
        cube *= 2 if turn.moves == "double" else 1
        texts = {"double": f" Doubles => {cube}", "take": " Takes", "drop": " Drops"}
        dice = f"{turn.dice[0]}{turn.dice[1]}: {turn.moves}".strip()
        cells.append(dice if turn.dice != _NO_DICE else texts[turn.moves])
    drops_first = len(cells) % 2 == 1 and game.turns[-1].moves == "drop"
    if drops_first:  # gnubg reads the result beside the drop only
        cells.append(wins)
    for number, (left, right) in enumerate(zip_longest(cells[::2], cells[1::2], fillvalue=""), 1):
        yield f"{number:>3}) {left:<{_LEFT}} {right}".rstrip()
    if game.winner and not drops_first:
        yield " " * (6 if game.winner == 1 else _LEFT + 6) + wins


def write_sgf(stored: StoredMatch) -> str:
    """Return a match as SGF with GM[6], a game tree for each game. Raises ValueError."""
    played, started = written(stored) or [WrittenGame(0)], stored.started
    texts = []
    for number, game in enumerate(played):
        black, white = game.scores
        root = {
            "FF": "4",
            "GM": "6",
            "CA": "UTF-8",
            "MI": f"length:{max(1, game.length)}][game:{number}][ws:{white}][bs:{black}",
            "GN": escaped(plain(started.match)),
            "DT": utc(started.at).date().isoformat(),
            "PB": escaped(plain(started.players[0])),
            "PW": escaped(plain(started.players[1])),
            "RU": _crawford(played, number),
            "RE": _result(game, stored.ended if game is played[-1] else None),
        }
        head = [f"{name}[{value}]" for name, value in root.items() if value]
        nodes = [f";{COLOURS[turn.player]}[{_value(turn)}]" for turn in game.turns]
        texts.append(f"(;{filled(head)}\n{filled([*nodes, ')'])}\n")
    return "".join(texts)


def _crawford(played: list[WrittenGame], number: int) -> str:
    """Return the rules of a game: whether it is the Crawford game, "" in a match of one point."""
    games = [each for each in played if each.length > 1 and each.length - 1 in each.scores]
    if played[number].length < 2:
        return ""
    return "Crawford:CrawfordGame" if games[:1] == [played[number]] else "Crawford"


def _value(turn: Turn) -> str:
    if turn.dice == _NO_DICE:
        return turn.moves
    places = map(int, re.findall(r"\d+", turn.moves))
    letters = (_LETTERS[_of_white(place, turn.player)] for place in places)
    return f"{turn.dice[0]}{turn.dice[1]}{''.join(letters)}"


def _of_white(place: int, player: int) -> int:
    """Return the place of White at a player's place, or the player's at one of White."""
    return 25 - place if player == 1 and 0 < place < 25 else place


def _result(game: WrittenGame, ended: MatchEnded | None) -> str:
    """Return the result of a game; `ended` is that of the match in its last game."""
    if game.winner:
        is_resigned = ended is not None and ended.reason is Reason.RESIGNATION
        return f"{COLOURS[game.winner]}+{game.points}" + "R" * is_resigned
    if ended is None:
        return "?"
    return "0" if ended.winner == TIE else "Void"


# Reading.

# Next to each other, no two repetitions match the same character: a long line would take minutes.
_TURN = re.compile(
    r"([1-6])([1-6]):([^:]*?)(?=[1-6]{2}:|Doubles|Takes|Drops|Beavers|Wins|$)|(Double|Take|Drop)",
    re.I,
)
_NUMBERED = re.compile(r"\s*(\d+)\)(.*)")
_NAMES = re.compile(r"([^:]+):\s*(\d{1,9})\s+([^\s:][^:]*):\s*(\d{1,9})")
_LENGTH = re.compile(r"\s*(\d{1,9}) point match")
_DATE = re.compile(r'\[(?:EventDate|Date)\s+"(\d{4})[.-](\d\d)[.-](\d\d)"\]')
_WINS = re.compile(r"Wins\s+(\d{1,9})\s+point", re.I)
_MAT = re.compile(r"^[^\S\n]*(\d+ point match|Game[^\S\n]+1[^\S\n]*$)", re.M)
_NO_MOVE = re.compile(r"cannot move|cannotmove|\?+|-+", re.I)


def read_mat(text: str) -> Iterator[WrittenGame]:
    """Yield the games of a `.mat`. Raises BadFile."""
    game, at, length = WrittenGame(0), None, 0
    for number, line in enumerate(text.split("\n"), 1):
        if found := _DATE.search(line):
            at = _midnight(*found.groups())
        elif re.match(r"\s*Game\s+\d+", line):
            if game.turns:
                yield game
            game = WrittenGame(number, at=at, length=length)
        elif found := _LENGTH.match(line):
            length = int(found[1])
        elif found := _NUMBERED.match(line):
            game.line = game.line or number
            game.turns += _two_turns(number, line, found.end(1) + 1, game)
        elif (found := _NAMES.fullmatch(line.strip())) and not game.turns:
            game.players = found[1].strip(), found[3].strip()
            game.scores = int(found[2]), int(found[4])
        if found := _WINS.search(line):
            game.winner, game.points = 1 if found.start() < _LEFT else 2, int(found[1])
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
        player = 1 if is_left else 2
        if each[4]:
            yield Turn(number, player, _NO_DICE, each[4].lower())
        else:
            yield _turn(number, player, f"{each[1]}{each[2]}", each[3].strip())


def _turn(line: int, player: int, dice: str, text: str) -> Turn:
    moves = "" if _NO_MOVE.fullmatch(text) else text
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
    elif item.name == "RE" and (found := re.match(r"([BW])\+(\d{0,9})", value)):
        game.winner, game.points = _SEATS[found[1]], int(found[2] or 1)
    elif item.name == "MI":
        numbers = dict(each.strip().partition(":")[::2] for each in item.values)
        length, black, white = (_whole(numbers.get(name)) for name in ("length", "bs", "ws"))
        game.length, game.scores = length, (black, white)
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
    elif item.name in _SEATS and value in _CUBE:
        game.turns.append(Turn(item.line, _SEATS[item.name], _NO_DICE, value))
    elif item.name in _SEATS and value not in ("beaver", "resign"):
        raise BadFile(item.line, f"expected a roll and moves, as W[31hefe], not {value[:20]!r}")


def _whole(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"[0-9]{1,9}", text) else 0


def actions_of(game: Game, state: State, turn: Turn) -> tuple[int, ...]:
    """Return the outcome of a turn's roll and the actions after it. Raises IllegalAction.

    A turn may lack its moves, if the game ended there. A decision about the cube has no action in a
    match of one point.
    """
    rules = _rules(game)
    if rules is None:
        raise IllegalAction(f"a turn of {GAME}, and the game is {game}")
    if turn.dice == _NO_DICE:
        return () if rules.points == 1 else (_decision(rules, state, turn.player, turn.moves),)
    decided: tuple[int, ...] = ()
    if rules.decides(state):
        decided = (_decision(rules, state, turn.player, "roll"),)
        state = rules.next_state(state, *decided)
    roll = rules.roll_of(state, turn.player, turn.dice)
    rolled = rules.next_state(state, roll)
    passes = [rules.action_name(rolled, each) for each in rules.legal_actions(rolled)] == ["pass"]
    if not turn.moves and not passes:
        return *decided, roll
    return *decided, roll, *rules.parse_turn(rolled, turn.moves[:_LONGEST])


def _decision(rules: Backgammon, state: State, player: int, name: str) -> int:
    """Return the action of a decision about the cube. Raises IllegalAction."""
    if state[0] == player and rules.decides(state):
        return rules.parse_action(state, name)
    text = f"player {player} cannot {name} here"
    raise IllegalAction(text)


def is_written(text: str) -> bool:
    """Return whether a text is a `.mat`, or an SGF file with GM[6]."""
    return bool(_MAT.search(text)) or bool(re.match(r"\s*\(\s*;[^()]*GM\s*\[\s*6\s*\]", text))


def read(text: str, now: float = 0.0) -> Iterator[StoredMatch | BadFile]:
    """Yield the matches of a file, or what is wrong with them.

    A game that is part of no whole match by the rules is a match of one point. `now` is the time of
    a match whose day the file does not have. Equal texts have equal ids.
    """
    number = 0
    for found in _matches(text):
        if isinstance(found, BadFile):
            yield found
            continue
        try:
            yield _stored(found, found[0].length, f"{number} {text}", now)
        except BadFile:
            for place, each in enumerate(found, number):
                try:
                    yield _stored([each], 1, f"{place} {text}", now)
                except BadFile as error:
                    yield error
        number += len(found)


def _matches(text: str) -> Iterator[list[WrittenGame] | BadFile]:
    """Yield the games of each match; a file may begin with a later game than the first one."""
    found: list[WrittenGame] = []
    fault = None
    try:
        for each in _games(text):
            if found and not (each.length == found[0].length > 1 and any(each.scores)):
                yield found
                found = []
            found.append(each)
    except BadFile as error:
        fault = error
    if found:
        yield found
    if fault:
        yield fault


def _games(text: str) -> Iterator[WrittenGame]:
    return read_sgf(text) if text.lstrip().startswith("(") else read_mat(text)


def _stored(written: list[WrittenGame], points: int, unique: str, now: float) -> StoredMatch:
    """Return games as a match to a number of points. Raises BadFile."""
    from playout.games.backgammon import MOST_POINTS

    first, last = written[0], written[-1]
    if points > MOST_POINTS:
        raise BadFile(first.line, f"a match of more than {MOST_POINTS} points")
    match = hashlib.sha256(unique.encode()).hexdigest()[:20]
    at = now if first.at is None else first.at
    position, moves = Position(games.load(f"{GAME}(points={max(1, points)})")), list[MovePlayed]()
    rules = _rules(position.game)
    assert rules is not None
    for each in written:
        if points > 1 and (
            not rules.begins(position.state) or rules.scores(position.state) != each.scores
        ):
            raise BadFile(each.line, "the game before has not ended with this score by the rules")
        for turn in each.turns:
            try:
                actions = actions_of(rules, position.state, turn)
            except IllegalAction as error:
                raise BadFile(turn.line, str(error)) from error
            for action in actions:
                seat = position.to_move
                moves.append(
                    MovePlayed(match=match, ply=position.ply, seat=seat, action=action, at=at)  # type: ignore[arg-type]
                )
                position = position.play(action)
    if points > 1 and not position.winner:
        won = last.winner and last.points + last.scores[last.winner - 1] >= points
        if not won or rules.begins(position.state):
            raise BadFile(last.line, f"nobody has won this match of {points} points")
    started = MatchStarted(
        match=match,
        game=str(position.game),
        first=_name(first.players[0]),
        second=_name(first.players[1]),
        first_session="",
        second_session="",
        clock="none",
        rated=False,
        illegal_moves=0,
        credit_cap_s=0.0,
        at=at,
    )
    ended = _ended(started, position, last.winner)
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
        for each in _games(text):
            yield each.line, each.turns
    except BadFile as error:
        yield error
