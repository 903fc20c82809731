"""GTP 2, as the clients of engines and our own engine share it.

Commands and responses, games with the names of their moves and their variants by size and komi,
clocks, and analyses of a search. A move is a vertex or `pass`; a `GtpBoard` translates moves. Other
programs may ask our engine for another size or komi.

http://www.lysator.liu.se/~gunnar/gtp/gtp2-spec-draft2/gtp2-spec.html
"""

from __future__ import annotations

import copy
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from playout import games
from playout.games import BoardView, Game, Position, SpecError, State
from playout.games.core import spec
from playout.players.core.budget import ReportedClock
from playout.players.core.player import LINES, ActionStats, Info, MatchClock, TimeLeft
from playout.players.engines.client import counted, legal_line
from playout.players.engines.vertices import (
    FROM_TOP,
    GtpVertices,
    VertexError,
    action_at,
    cell_of,
    has_single_clicks,
)
from playout.protocol.messages import ClockState, TimeControl

#: The colours of seats 1 and 2. Black moves first.
COLOURS = {1: "black", 2: "white"}
#: The stones of both seats, and an empty cell, as GoGui reads them.
STONES = {0: ".", 1: "X", 2: "O"}

_ID = re.compile(r"([0-9]{1,18})(?:\s+|$)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class GtpError(ValueError):
    """Raised for a command that fails; the message is the response after `?`."""


class GtpCommand(NamedTuple):
    """A command: its number as text, or "", its name and its arguments."""

    number: str
    name: str
    arguments: list[str]


def parse_command(line: str) -> GtpCommand | None:
    """Return the command of a line; None for an empty line and a comment."""
    text = _CONTROL.sub("", line).partition("#")[0].strip()
    number = ""
    if found := _ID.match(text):
        number, text = found[1], text[found.end() :]
    if not text:
        return None
    name, *arguments = text.split()
    return GtpCommand(number, name, arguments)


def interrupts(lines: Sequence[str | None]) -> bool:
    """Return whether one of these lines is the comment by which GoGui interrupts a command."""
    return any(line is not None and line.split() == ["#", "interrupt"] for line in lines)


def response(command: GtpCommand, text: str, *, failed: bool = False) -> str:
    """Return the response to a command, with the empty line that ends it, but not its end."""
    gap = "" if text.startswith("\n") else " "
    return f"{response_head(command, failed=failed)}{gap}{text}".rstrip() + "\n"


def response_head(command: GtpCommand, *, failed: bool = False) -> str:
    """Return the beginning of a response: `=` or `?`, and the number of the command."""
    return f"{'?' if failed else '='}{command.number}"


def seat_of(colour: str) -> int:
    """Return the seat of a colour, in upper or lower case. Raises GtpError."""
    for seat, name in COLOURS.items():
        if colour.lower() in (name, name[0]):
            return seat
    raise GtpError(f"{colour!r} is no colour: expected black, white, b or w")


def whole_number(text: str, low: int, high: int) -> int:
    """Return a whole number within bounds, both included. Raises GtpError."""
    if not (re.fullmatch("-?[0-9]{1,18}", text) and low <= int(text) <= high):
        raise GtpError(f"expected a whole number from {low} to {high}, not {text!r}")
    return int(text)


def seconds(text: str) -> float:
    """Return a time in seconds, 0 or more. Raises GtpError.

    The specification has whole seconds; programs with finer clocks send fractions.
    """
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise GtpError(f"expected a number of seconds, 0 or more, not {text!r}")
    return float(text)


def rows_of_stones(view: BoardView) -> list[str]:
    """Return the rows of a board from the top, with a character for each cell."""
    rows = (
        view.cells[first : first + view.columns]
        for first in range(0, len(view.cells), view.columns)
    )
    return [" ".join(STONES[owner] for owner in row) for row in rows]


def board_with_vertices(view: BoardView, vertices: GtpVertices) -> str:
    """Return the board from its top, with the columns and rows of GTP at its edges."""
    letters = f"   {' '.join(vertices.letters[: view.columns])}"
    lines = [letters]
    for row, stones in enumerate(rows_of_stones(view)):
        number = vertices.name(row * view.columns)[1:]
        lines.append(f"{number:>2} {stones} {number}")
    return "\n".join([*lines, letters])


# The games of GTP.

PASS = "pass"
#: The names of a swap in programs for Hex, and in those for games that only change its colour.
SWAP_PIECES, SWAP = "swap-pieces", "swap"


class GtpBoard(ABC):
    """The moves of one game in GTP."""

    vertices: GtpVertices
    #: The points that the second player has in addition; None if the game has none.
    komi: float | None = None
    #: The name of the move that is no cell, and all names of it that are understood.
    other_move = PASS
    other_names: tuple[str, ...] = (PASS,)

    def name(self, state: State, action: int) -> str:
        """Return the name of a legal action."""
        cell = self._cell_of(state, action)
        return self.other_move if cell is None else self.vertices.name(cell)

    def cell(self, name: str) -> int | None:
        """Return the cell of a name, None for a pass or a swap; case does not matter.

        Raises VertexError.
        """
        return None if name.lower() in self.other_names else self.vertices.cell(name)

    def action(self, state: State, name: str) -> int | None:
        """Return the legal action of a name, None if there is none; case does not matter."""
        try:
            return self.action_at(state, self.cell(name))
        except VertexError:
            return None

    @abstractmethod
    def action_at(self, state: State, cell: int | None) -> int | None:
        """Return the legal action on a cell, or the one without a cell; None if illegal."""

    @abstractmethod
    def _cell_of(self, state: State, action: int) -> int | None:
        """Return the cell of a legal action; None for a pass or a swap."""


class ClickedBoard(GtpBoard):
    """The board of a game in which a move is a click on one cell, or a pass."""

    def __init__(
        self,
        game: Game,
        first_row: str = "",
        column_i: bool | None = None,
        other: tuple[str, ...] = (),
    ) -> None:
        """`first_row` is where row 1 is: top or bottom. `column_i`: whether there is a column I.

        "" and None select the usual values of the game: on hexagons, the names of cells are those
        of Playout, with a column I, as in HexGui and MoHex. `other` are names of a move without a
        cell in addition to those of the game; the first one is written. Raises SpecError for a game
        that GTP cannot express.
        """
        view = game.view(game.initial_state())
        if not view.rows or not has_single_clicks(view):
            raise SpecError(f"{game} cannot be played with GTP: its moves are not single cells")
        is_hex = view.geometry == "hex"
        is_usual_top = spec.parse(str(game)).name in FROM_TOP
        if is_hex:  # as the cells are named here: turned over, the board would be another one
            is_usual_top = not getattr(game, "upward", False)
        has_i = is_hex if column_i is None else column_i
        is_top = first_row == "top" if first_row else is_usual_top
        if spec.parse(str(game)).options.get("swap") == "true":
            has_own_action = getattr(game, "pass_name", "") == "swap"
            self.other_move = SWAP_PIECES if has_own_action else SWAP
            self.other_names = (SWAP_PIECES, SWAP)
        self._takes_over = self.other_move == SWAP
        if other:
            self.other_move, self.other_names = other[0], (*other, *self.other_names)
        try:
            self.vertices = GtpVertices(view.rows, view.columns, is_top, has_i)
        except VertexError as error:
            raise SpecError(f"{game} cannot be played with GTP: {error}") from error
        self.komi = game.komi
        self._game = game

    def action_at(self, state: State, cell: int | None) -> int | None:
        view = self._game.view(state)
        if cell is None and self._takes_over:  # a click on the stone that is taken over
            return next((each for each in view.clicks if self._is_swap(view, each)), None)
        return action_at(view, cell)

    def _cell_of(self, state: State, action: int) -> int | None:
        view = self._game.view(state)
        return None if self._takes_over and self._is_swap(view, action) else cell_of(view, action)

    @staticmethod
    def _is_swap(view: BoardView, action: int) -> bool:
        return any(view.cells[cell] for cell in view.clicks[action])


class _OpenSpielGo(GtpBoard):
    """OpenSpiel's Go: row by row from the bottom left; the last action is a pass."""

    def __init__(self, game: Any) -> None:
        self._game = game
        parameters = game.peer.get_parameters()
        size, self.komi = parameters["board_size"], parameters["komi"]
        # A view has row 1 at the top: as if the board were turned over.
        self.vertices = GtpVertices(size, size, from_top=True)
        self._pass = size**2

    def action_at(self, state: State, cell: int | None) -> int | None:
        action = self._pass if cell is None else cell
        return action if action in self._game.legal_actions(state) else None

    def _cell_of(self, state: State, action: int) -> int | None:
        return None if action == self._pass else action


def board_of(game: Game, first_row: str = "", column_i: bool | None = None) -> GtpBoard:
    """Return the board of a game that engines play, with its coordinates as in `ClickedBoard`.

    Raises SpecError for a game that GTP cannot express, or that is not on a square board.
    """
    given = spec.parse(str(game))
    if given.name == "open_spiel" and given.options.get("game") == "go":
        return _OpenSpielGo(game)
    board = ClickedBoard(game, first_row, column_i)
    if board.vertices.rows != board.vertices.columns:
        raise SpecError(f"{game} cannot be played with GTP engines: its board is not square")
    return board


def resized(game: Game, sides: list[int]) -> Game:
    """Return a game on a board with these sides: one number, or columns and rows.

    Raises GtpError if the game has no such board.
    """
    view = game.view(game.initial_state())
    columns, rows = (sides * 2)[:2]
    if len(sides) > 2:
        raise GtpError("syntax error: expected boardsize SIZE or boardsize COLUMNS ROWS")
    if (columns, rows) == (view.columns, view.rows) or sides == [max(view.columns, view.rows)]:
        return game
    known = {each.name for each in games.describe(spec.parse(str(game)).name).parameters}
    changes: dict[str, object] = {}
    if "size" in known and columns == rows:
        changes = {"size": rows}
    elif {"m", "n"} <= known:
        changes = {"m": columns, "n": rows}
    try:
        other = _changed(game, **changes)
        ClickedBoard(other)
    except SpecError as error:
        raise GtpError(f"unacceptable size: {error}") from error
    if not changes:
        raise GtpError(f"unacceptable size: {game} has {view.columns} columns, {view.rows} rows")
    return other


def with_komi(game: Game, komi: str) -> Game:
    """Return the game with another komi; the same game if it has no komi, or already this one.

    Raises GtpError for a text that is no number, and for a komi that the game does not allow.
    """
    try:
        wanted = float(komi)
    except ValueError:
        raise GtpError(f"expected a number, not {komi!r}") from None
    if game.komi in (None, wanted):
        return game
    try:
        return _changed(game, komi=wanted)
    except SpecError as error:
        raise GtpError(f"unacceptable komi: {error}") from error


def _changed(game: Game, **changes: object) -> Game:
    """Return the game with other values of some parameters. Raises SpecError."""
    given = spec.parse(str(game))
    options = {key: str(value) for key, value in changes.items()}
    return games.load(str(spec.Spec(given.name, {**given.options, **options})))


# Clocks. GTP has whole seconds: main time, and then stones to play in a period. `kgs-time_settings`
# adds periods as Playout has them, `kata-time_settings` increments. To an engine without these
# commands, several periods are told as main time and one period, and an increment as a period for
# one stone, whose first is part of the main time.

_KGS, _KATA, _PLAIN = "kgs-time_settings", "kata-time_settings", "time_settings"
#: The highest number of stones, periods or moves, and the longest interval.
_MOST = 10**6


def time_settings(clock: MatchClock, commands: Container[str]) -> str:
    """Return the command for a time control; empty if the engine has none for it."""
    start, overhead_s = clock.start, clock.overhead_s
    main, period_s = _whole(start.main_s) if start.main_s else 0, start.period_s - overhead_s
    if start.periods > 1 and _KGS in commands:
        return f"{_KGS} byoyomi {main} {_whole(period_s)} {start.periods}"
    if clock.gain_s and _KATA in commands:
        return f"{_KATA} fischer {start.main_s:g} {clock.gain_s:g}"
    if _PLAIN not in commands:
        return ""
    if start.periods:
        later = math.floor((start.periods - 1) * start.period_s)
        return f"{_PLAIN} {main + later} {_whole(period_s)} 1"
    if clock.gain_s:
        increment = _whole(clock.gain_s)
        return f"{_PLAIN} {max(0, main - increment)} {increment} 1"
    return f"{_PLAIN} {main} 0 0"


def time_left(clock: MatchClock, left: TimeLeft, given: str) -> str:
    """Return a clock for `time_left`: seconds, and the periods or stones, 0 in main time.

    `given` is the command for the time control.
    """
    main_s = left.main_s - clock.overhead_s
    if clock.start.periods:
        stones = left.periods
        if not given.startswith(_KGS):
            main_s += max(0, left.periods - 1) * clock.start.period_s
            stones = 1
        period_s = left.period_s - clock.overhead_s
        return f"{_whole(main_s)} 0" if main_s >= 1 else f"{_whole(period_s)} {stones}"
    if clock.gain_s and not given.startswith(_KATA):
        early_s = main_s - clock.gain_s
        return f"{_whole(early_s)} 0" if early_s >= 1 else f"{_whole(main_s)} 1"
    return f"{_whole(main_s)} 0"


def _whole(seconds: float) -> int:
    """Whole seconds, rounded down, at least 1: engines take 0 as no limit."""
    return max(1, math.floor(seconds))


class GtpClock(ReportedClock):
    """The time settings that our engine was sent, and the time that each seat has left.

    `time_left` is taken over when it comes. Without it, the time of the own moves is subtracted:
    some programs, such as gogui-twogtp, send the settings only.
    """

    #: Whether an overtime is shared by several moves.
    _canadian = False

    def copy(self) -> GtpClock:
        """Return a clock with the same settings and the same times."""
        other = copy.copy(self)
        other.left = dict(self.left)
        return other

    def restart(self) -> None:
        """Give both seats the full time, for a new match."""
        self.left = {}

    def set(self, main: str, overtime: str, stones: str) -> None:
        """Handle `time_settings`: times in seconds, Canadian overtime. Raises GtpError.

        An overtime without stones means no limit, and so does no time at all.
        """
        main_s, overtime_s = seconds(main), seconds(overtime)
        number = whole_number(stones, 0, _MOST)
        if overtime_s and number:
            self._use(TimeControl(main_s, 0.0, 1, overtime_s / number), canadian=True)
        else:
            unlimited = overtime_s > 0 or not main_s
            self._use(None if unlimited else TimeControl(main_s, 0.0, 0, 0.0))

    def set_kgs(self, arguments: list[str]) -> None:
        """Handle `kgs-time_settings`: none, absolute, byoyomi or canadian. Raises GtpError."""
        match [arguments[0].lower(), *arguments[1:]]:
            case ["none"]:
                self._use(None)
            case ["absolute", main]:
                self.set(main, "0", "0")
            case ["byoyomi", main, period, periods]:
                number = whole_number(periods, 1, _MOST)
                if not seconds(period):
                    raise GtpError("the time of a period must be above 0 seconds")
                self._use(TimeControl(seconds(main), 0.0, number, seconds(period)))
            case ["canadian", main, overtime, stones]:
                self.set(main, overtime, stones)
            case _:
                raise GtpError(
                    "expected none, absolute MAIN, byoyomi MAIN PERIOD PERIODS or "
                    "canadian MAIN OVERTIME STONES"
                )

    def set_left(self, seat: int, time: str, stones: str) -> None:
        """Handle `time_left`: main time if there are no stones, otherwise overtime.

        Stones are those left to play in Canadian overtime, or the periods left. Raises GtpError.
        """
        left_s, number = seconds(time), whole_number(stones, 0, _MOST)
        control = self.control or TimeControl(left_s, 0.0, 0, 0.0)
        if number and not control.periods:
            control = TimeControl(control.main_s, 0.0, 1, left_s / number)
            self._canadian = True
        self.control = control
        if not number:
            self.left[seat] = ClockState(left_s, control.periods)
        elif self._canadian:
            self.left[seat] = ClockState(left_s / number, 0)
        else:
            self.left[seat] = ClockState(left_s, min(number, control.periods) - 1)

    def _use(self, control: TimeControl | None, *, canadian: bool = False) -> None:
        self.control, self._canadian = control, canadian
        self.restart()


# Analyses of a search. `lz-genmove_analyze` of Leela Zero and `kata-genmove_analyze` of KataGo
# report the moves of a search as they think. A report is one line, with `info move D4 visits 123
# winrate 5321 order 0 pv D4 Q16` for each move, the most visited first. Win rates are those of the
# player to move: from 0 to 1 in KataGo, in ten-thousandths in Leela Zero and here. Sabaki and
# Lizzie read them.

#: Maximum number of moves of a principal variation that are read.
_LONGEST = 60
#: Maximum number of moves in a line that is written.
MOST_MOVES = 50
#: The time between two lines, in hundredths of a second: the default, and the minimum, because a
#: report takes a millisecond or more.
DEFAULT_INTERVAL, LEAST_INTERVAL = 50, 10
#: The unit of win rates in ten-thousandths.
_WHOLE = 10_000
#: Longer whole numbers are cut.
_DIGITS = 15
_MOVE = re.compile(r"(?:^|\s)info (?=move )")
_PAIR = re.compile(r"\b(move|visits|winrate|order)\s+(\S+)")
#: Parts of a report of KataGo that follow its last move.
_AFTER_MOVES = re.compile(r"\s(?:rootInfo|ownership|ownershipStdev)\s.*", re.DOTALL)
_VARIATION = re.compile(r"\bpv((?:\s+(?:pass|[A-Za-z]\d+))+)", re.IGNORECASE)


def analysis(
    board: GtpBoard, position: Position, report: str, *, is_kata: bool = False
) -> Info | None:
    """Return the analysis of a report; None if nothing in it can be read.

    Its win rate and its line of moves are those of the move with order 0. `is_kata`: whether the
    report is one of KataGo's commands.
    """
    #: The order of a move, its statistics and its line.
    found: list[tuple[float, ActionStats, tuple[int, ...]]] = []
    for text in filter(None, _MOVE.split(_AFTER_MOVES.sub("", report))):
        values = dict(reversed(_PAIR.findall(text)))  # the first one of each counts
        action = board.action(position.state, values.get("move", ""))
        try:
            visits = counted(int(values["visits"][:_DIGITS]))
            win_rate = _fraction(values["winrate"], is_kata=is_kata)
            order = float(values.get("order", "inf"))
        except (KeyError, ValueError):
            continue
        if action is not None and visits and 0 <= win_rate <= 1:
            variation = _VARIATION.search(text)
            names = variation[1].split()[:_LONGEST] if variation else ()
            stats = ActionStats(action, visits, visits * win_rate)
            found.append((order, stats, legal_line(position, names, board.action)))
    if not found:
        return None
    found.sort(key=lambda each: (each[0], -each[1].visits))
    (_, best, pv), *others = found
    return Info(
        simulations=counted(sum(each.visits for _, each, _ in found)),
        depth=len(pv),
        win_rate=best.win_rate,
        pv=pv,
        actions=tuple(sorted((each for _, each, _ in found), key=lambda each: -each.visits)),
        lines=tuple(line for _, _, line in others[: LINES - 1]),
    )


def of_move(info: Info, action: int) -> Info:
    """Return the analysis of the move that was played, if the search preferred another one."""
    if info.pv[:1] == (action,):
        return info
    played = next((each for each in info.actions if each.action == action), None)
    if played is None or not played.visits:
        return info
    return replace(info, win_rate=played.win_rate, pv=(action,), depth=1)


def _fraction(text: str, *, is_kata: bool) -> float:
    """Return a win rate from 0 to 1. Raises ValueError."""
    is_fraction = is_kata or "." in text or text == "1"
    return float(text) if is_fraction else int(text[:_DIGITS]) / _WHOLE


class AnalysisRequest(NamedTuple):
    """The arguments of an analysis: the seat, if given, seconds between lines, number of moves.

    `is_kata`: whether the lines have the form of KataGo.
    """

    seat: int | None
    interval_s: float
    most: int
    is_kata: bool = False


#: Keys of KataGo, each with true or false, for reports that players do not make.
_KATA_REPORTS = (
    "ownership",
    "ownershipStdev",
    "movesOwnership",
    "movesOwnershipStdev",
    "pvVisits",
    "pvEdgeVisits",
    "rootInfo",
)


def parse_request(arguments: list[str], *, is_kata: bool = False) -> AnalysisRequest:
    """Return the request of `[COLOUR] [INTERVAL] [KEY VALUE ...]`. Raises GtpError.

    The keys are `interval` and `maxmoves`; `minmoves`, and for KataGo's commands the reports that
    only KataGo makes, are accepted without an effect.
    """
    words = list(arguments)
    seat, interval, most = None, DEFAULT_INTERVAL, MOST_MOVES
    ignored = ("minmoves", *_KATA_REPORTS) if is_kata else ("minmoves",)
    if words and words[0].lower() in ("b", "w", *COLOURS.values()):
        seat = seat_of(words.pop(0))
    if words and words[0].isdecimal():
        interval = whole_number(words.pop(0), 1, _MOST)
    while words:
        match words:
            case ["interval", value, *rest]:
                interval = whole_number(value, 1, _MOST)
            case ["maxmoves", value, *rest]:
                most = whole_number(value, 1, _MOST)
            case [key, _, *rest] if key in ignored:
                pass
            case _:
                raise GtpError(
                    f"cannot use {words[0]!r}: expected [COLOUR] [INTERVAL] [interval N] "
                    "[maxmoves N]"
                )
        words = rest
    seconds = max(interval, LEAST_INTERVAL) / 100
    return AnalysisRequest(seat, seconds, min(most, MOST_MOVES), is_kata)


def info_line(board: GtpBoard, position: Position, info: Info, request: AnalysisRequest) -> str:
    """Return the line for an analysis of a position; "" if it has no move."""
    known = info.actions or [
        ActionStats(action, info.simulations, info.win_rate * info.simulations)
        for action in info.pv[:1]
    ]
    parts = []
    for order, each in enumerate(known[: request.most]):
        moves = info.pv if info.pv[:1] == (each.action,) else (each.action,)
        rate = each.win_rate if each.visits else info.win_rate
        shown = f"{rate:.4f}" if request.is_kata else round(_WHOLE * rate)
        prior = "" if each.prior is None else _prior(each.prior, is_kata=request.is_kata)
        parts.append(
            f"info move {board.name(position.state, each.action)} visits {each.visits} "
            f"winrate {shown} {prior}order {order} "
            f"pv {' '.join(_names(board, position, moves))}"
        )
    return " ".join(parts)


def _prior(probability: float, *, is_kata: bool) -> str:
    """Return the probability of the policy for a move, as both programs write it."""
    return f"prior {probability:.4f} " if is_kata else f"prior {round(_WHOLE * probability)} "


def _names(board: GtpBoard, position: Position, line: tuple[int, ...]) -> Iterator[str]:
    """Return the names of the moves of a line, up to the first illegal one."""
    after, ply = position.extended(line), position.ply
    return map(board.name, after.states[ply:-1], after.moves[ply:])
