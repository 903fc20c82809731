"""A GTP 2 engine: the commands of the protocol, for a game whose actions are single cells.

Black is seat 1 and moves first; the colours move in turn, but in Go either colour may move.
Programs for Go end a match by two passes, so that after its end `genmove` answers `pass` and `play`
accepts it. A pass that is the only legal move can be skipped; `genmove` and `play` of it then have
no effect. The comment `# interrupt` stops a search, and any line stops an analysis; the position
does not change.
"""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from importlib.metadata import version
from typing import NamedTuple, TypeVar

from playout.games import BoardView, Game, SpecError, State
from playout.games.core import spec
from playout.games.go import Go, handicap_points, most_handicap
from playout.players.core.player import (
    Cancelled,
    Info,
    Limit,
    PlayerError,
    PlayResult,
    Report,
    Resigned,
)
from playout.players.engines import gtp
from playout.players.engines.engine_server import (
    EngineServer,
    LineInput,
    LocalMatch,
    SkippingMatch,
    Stops,
)
from playout.players.engines.gtp import (
    COLOURS,
    PASS,
    AnalysisRequest,
    ClickedBoard,
    GtpClock,
    GtpCommand,
    GtpError,
    board_with_vertices,
    interrupts,
    parse_command,
    resized,
    response,
    response_head,
    rows_of_stones,
    seat_of,
    whole_number,
    with_komi,
)
from playout.players.engines.vertices import FROM_TOP, GtpVertices, VertexError
from playout.protocol.sgf import (
    SgfError,
    SgfProperty,
    column_and_row,
    decoded,
    items,
    komi_of,
)

#: The beginning of the commands by which GoGui plays other games than Go.
_GOGUI_RULES = "gogui-rules_"
#: The menu of analyses in GoGui.
_GOGUI_ANALYSES = (
    "plist/Legal Moves/gogui-rules_legal_moves",
    "string/Final Result/gogui-rules_final_result",
)

Handler = TypeVar("Handler", bound=Callable[..., str])
_HANDLERS: dict[str, tuple[str, str]] = {}


def _command(name: str, arguments: str = "") -> Callable[[Handler], Handler]:
    """Register a method as the handler of a command; `...` ends arguments of any number."""

    def register(method: Handler) -> Handler:
        _HANDLERS[name] = method.__name__, arguments
        return method

    return register


class GtpServer(EngineServer):
    """Answers the commands of GTP."""

    match: LocalMatch
    refusals = (GtpError, SpecError, PlayerError)

    def __init__(
        self, game: Game, wanted: spec.Spec, lines: LineInput, *, skips_passes: bool = False
    ) -> None:
        """Load the player; `skips_passes`: whether a forced pass is not named by the programs.

        Raises SpecError if the player or the game cannot be used with GTP.
        """
        super().__init__(wanted, lines)
        #: Whether the controller is GoGui, which writes the boards of all games as those of Go.
        self._is_gogui = False
        self._board = self._board_of(game)
        self._kind = SkippingMatch if skips_passes else LocalMatch
        self.match = self._kind(game, wanted)
        self._clock = GtpClock()
        #: The matches of other games that the current command has replaced.
        self._replaced: list[LocalMatch] = []
        self._passes = 0  # after the end of the match
        self._current = GtpCommand("", "", [])
        #: Whether the first line of the response has been written, before an analysis.
        self._has_begun = False

    def answer(self, line: str) -> bool:
        command = parse_command(line)
        if command is None:
            return False
        self._current, self._has_begun = command, False
        text, failed = self.attempt(lambda: self._handled(command))
        if not self._has_begun:
            self.write(response(command, text or "", failed=failed))
        elif failed:  # the protocol has no place for an error after the first line
            print(text, file=sys.stderr)
            self.write("")
        else:
            self.write(f"{text.lstrip()}\n" if text else "")
        return command.name == "quit"

    def _handled(self, command: GtpCommand) -> str:
        """Return the text of the response, without the part that is already written."""
        if command.name not in _HANDLERS:
            raise GtpError("unknown command")
        method, wanted = _HANDLERS[command.name]
        least = len(wanted.replace("...", "").split())
        given = len(command.arguments)
        if given < least or (given > least and "..." not in wanted):
            raise GtpError(f"syntax error: expected {command.name} {wanted}".rstrip())
        if command.name.startswith(_GOGUI_RULES) and not self._is_gogui:
            self._is_gogui = True
            self._board = self._board_of(self.match.game)
        before = self.match, self._board, self._passes, self._clock.copy()
        kept = self.match.kept()
        self._replaced = []
        try:
            text: str = getattr(self, method)(*command.arguments)
        except BaseException:  # a command that fails changes nothing
            if self.match is not before[0]:
                self.match.close()
            used = self._clock
            self.match, self._board, self._passes, self._clock = before
            self.match.restore(kept)
            if "genmove" in command.name:
                self._clock = used  # the time of a search has passed
            raise
        for match in self._replaced:
            match.close()
        return text

    # About the engine.

    @_command("protocol_version")
    def _protocol_version(self) -> str:
        return "2"

    @_command("name")
    def _name(self) -> str:
        return f"Playout {self.wanted.name}"

    @_command("version")
    def _version(self) -> str:
        return version("playout")

    @_command("known_command", "COMMAND")
    def _known_command(self, name: str) -> str:
        return "true" if name in _HANDLERS else "false"

    @_command("list_commands")
    def _list_commands(self) -> str:
        return "\n".join(_HANDLERS)

    @_command("quit")
    def _quit(self) -> str:
        return ""

    @_command("gogui-interrupt")
    def _gogui_interrupt(self) -> str:
        return ""

    @_command("gogui-analyze_commands")
    def _gogui_analyze_commands(self) -> str:
        return "\n".join(_GOGUI_ANALYSES)

    # The position.

    @_command("boardsize", "SIZE ...")
    def _boardsize(self, *sides: str) -> str:
        numbers = [whole_number(side, 1, 1000) for side in sides]
        game = resized(self.match.game, numbers)
        if game is not self.match.game:
            self._use(self._kind(game, self.wanted))
        return self._clear_board()

    @_command("clear_board")
    def _clear_board(self) -> str:
        self.match.clear()
        self._clock.restart()
        self._passes = 0
        return ""

    @_command("komi", "NUMBER")
    def _komi(self, komi: str) -> str:
        game = with_komi(self.match.game, komi)
        if game is not self.match.game:
            self._use(self.match.replayed(game))
        return ""

    def _use(self, match: LocalMatch) -> None:
        """Continue with a match of another game; the old one is closed when the command is done."""
        self._replaced.append(self.match)
        self.match, self._board = match, self._board_of(match.game)

    def _board_of(self, game: Game) -> ClickedBoard:
        """Return the board of a game, with its coordinates as the controller writes them."""
        if not self._is_gogui:
            return ClickedBoard(game)
        is_top = spec.parse(str(game)).name in FROM_TOP
        return ClickedBoard(game, "top" if is_top else "bottom", column_i=False, other=(PASS,))

    @_command("play", "COLOUR VERTEX")
    def _play(self, colour: str, vertex: str) -> str:
        seat = seat_of(colour)
        if self.match.winner and vertex.lower() == PASS:
            self._passes += 1
            return ""
        if self.match.was_skipped(seat) and vertex.lower() == PASS:
            return ""
        if self.match.winner:
            raise GtpError("illegal move: the game is over")
        state = self._turned(seat, "illegal move: ")
        try:
            action = self._board.action_at(state, self._board.cell(vertex))
        except VertexError as error:
            raise GtpError(f"illegal move: {error}") from error
        if action is None:
            raise GtpError(f"illegal move: {vertex} is not possible here")
        self.match.turn(state)
        self.match.play(action)
        return ""

    @_command("undo")
    def _undo(self) -> str:
        if self._passes:
            self._passes -= 1
            return ""
        try:
            self.match.take_back()
        except IndexError:
            raise GtpError("cannot undo") from None
        return ""

    # Handicap stones and files, as programs for Go use them.

    @_command("fixed_handicap", "STONES")
    def _fixed_handicap(self, stones: str) -> str:
        return self._put(fixed_handicap(self.match, stones))

    @_command("place_free_handicap", "STONES")
    def _place_free_handicap(self, stones: str) -> str:
        return self._put(free_handicap(self.match, stones))

    @_command("set_free_handicap", "VERTEX ...")
    def _set_free_handicap(self, *vertices: str) -> str:
        self._put(chosen_handicap(self.match, vertices))
        return ""

    def _put(self, vertices: Sequence[str]) -> str:
        for vertex in vertices:
            self._play(COLOURS[1], vertex)
        return " ".join(vertices)

    @_command("loadsgf", "FILE ...")
    def _loadsgf(self, file: str, *before: str) -> str:
        found = load_game(file, before, self.match.game)
        self._boardsize(*found.sides)
        if found.komi:
            self._komi(found.komi)
        try:
            for colour, cell in found.stones:
                other = self._board.other_move
                self._play(colour, other if cell is None else self._board.vertices.name(cell))
        except GtpError as error:
            raise GtpError(f"cannot load the file: {error}") from error
        return ""

    @_command("showboard")
    def _showboard(self) -> str:
        if self.match.winner:
            to_move = self._final_result()
        else:
            seat = self.match.mover
            to_move = f"{COLOURS[seat]} ({'XO'[seat - 1]}) to move"
        note = f"\n{self._view.note}" if self._view.note else ""
        board = board_with_vertices(self._view, self._board.vertices)
        return f"\n{board}\n{to_move}{note}"

    @_command("final_score")
    def _final_score(self) -> str:
        if not self.match.winner:
            raise GtpError("cannot score: the game is not over")
        margin = abs(self.match.game.lead(self.match.state) or 1)
        return {1: f"B+{margin:g}", 2: f"W+{margin:g}"}.get(self.match.winner, "0")

    # The rules, for GoGui.

    @_command("gogui-rules_game_id")
    def _game_id(self) -> str:
        return spec.parse(str(self.match.game)).name

    @_command("gogui-rules_board_size")
    def _board_size(self) -> str:
        view = self._view
        return str(view.rows) if view.rows == view.columns else f"{view.columns} {view.rows}"

    @_command("gogui-rules_board")
    def _rules_board(self) -> str:
        rows = rows_of_stones(self._view)  # here the highest row comes first
        return "\n".join(reversed(rows) if self._board.vertices.from_top else rows)

    @_command("gogui-rules_side_to_move")
    def _side_to_move(self) -> str:
        return COLOURS[self.match.mover]

    @_command("gogui-rules_legal_moves")
    def _legal_moves(self) -> str:
        state = self.match.state
        return " ".join(self._board.name(state, each) for each in self._view.clicks)

    @_command("gogui-rules_final_result")
    def _final_result(self) -> str:
        results = {0: "unknown", 1: "black wins", 2: "white wins"}
        return results.get(self.match.winner, "tie")

    # The time.

    @_command("time_settings", "MAIN_TIME BYO_YOMI_TIME BYO_YOMI_STONES")
    def _time_settings(self, main: str, overtime: str, stones: str) -> str:
        self._clock.set(main, overtime, stones)
        return ""

    @_command("kgs-time_settings", "KIND ...")
    def _kgs_time_settings(self, *arguments: str) -> str:
        self._clock.set_kgs(list(arguments))
        return ""

    @_command("time_left", "COLOUR TIME STONES")
    def _time_left(self, colour: str, left: str, stones: str) -> str:
        self._clock.set_left(seat_of(colour), left, stones)
        return ""

    # The player.

    @_command("genmove", "COLOUR")
    def _genmove(self, colour: str) -> str:
        return self._choose_and_play(seat_of(colour))

    @_command("kata-genmove_analyze", "COLOUR ...")
    @_command("lz-genmove_analyze", "COLOUR ...")
    def _genmove_analyze(self, *arguments: str) -> str:
        request = self._analysis_request(arguments)
        if request.seat is None:
            raise GtpError("expected a colour")
        return f"\nplay {self._choose_and_play(request.seat, request)}"

    @_command("kata-analyze", "...")
    @_command("lz-analyze", "...")
    def _analyze(self, *arguments: str) -> str:
        request = self._analysis_request(arguments)
        if request.seat:
            self.match.turn(self._turned(request.seat))
        if self.match.winner:
            raise GtpError("the game is over")
        self._begin()
        with suppress(Cancelled, Resigned):
            self._choose_and_show(Limit(math.inf), bool, request)
        self.lines.wait()  # the result is certain, or the player has a limit of its own
        return ""

    def _analysis_request(self, arguments: Sequence[str]) -> AnalysisRequest:
        is_kata = self._current.name.startswith("kata-")
        return gtp.parse_request(list(arguments), is_kata=is_kata)

    def _choose_and_play(self, seat: int, request: AnalysisRequest | None = None) -> str:
        """Return the move of the player as a vertex, pass or resign, after playing it.

        With a request, its analysis is shown before.
        """
        if self.match.winner:
            self._passes += 1
            return PASS
        if self.match.was_skipped(seat):
            return PASS
        self.match.turn(self._turned(seat))
        limit = self._clock.limit(seat, ply=self.match.plies, max_plies=self.match.game.max_plies)
        started = time.monotonic()
        try:
            if request:
                result = self._choose_and_show(limit, interrupts, request)
            else:
                result = self._choose(limit, interrupts)
        except Cancelled:
            raise GtpError("interrupted") from None
        except Resigned:
            return "resign"
        finally:
            self._clock.used(seat, time.monotonic() - started)
        vertex = self._board.name(self.match.state, result.action)
        self.match.play(result.action)
        return vertex

    def _choose(self, limit: Limit, stops: Stops, report: Report | None = None) -> PlayResult:
        """Let the player choose. Raises Cancelled if lines stopped it, and Resigned."""
        result = self.choose(self.match, limit, stops, report)
        if self.match.player.cancelled.is_set():
            raise Cancelled
        return result

    def _choose_and_show(self, limit: Limit, stops: Stops, request: AnalysisRequest) -> PlayResult:
        """Let the player choose, and write its newest analysis at each interval and at the end."""
        newest = deque[Info](maxlen=1)
        with ThreadPoolExecutor(1, "search") as pool:
            search = pool.submit(self._choose, limit, stops, newest.append)
            try:
                while not wait([search], request.interval_s).done:
                    if newest:
                        self._show(newest.pop(), request)
            except BaseException:  # Ctrl-C, or the controller is gone
                self.match.player.cancel()
                raise
        result = search.result()
        if result.info:
            self._show(result.info, request)
        return result

    def _show(self, info: Info, request: AnalysisRequest) -> None:
        line = gtp.info_line(self._board, self.match.position, info, request)
        if line:
            self._begin()
            self.write(line)

    def _begin(self) -> None:
        """Write the first line of a response that has lines of analysis."""
        if not self._has_begun:
            self._has_begun = True
            self.write(response_head(self._current))

    def _turned(self, seat: int, prefix: str = "") -> State:
        """Return the position with that seat to move. Raises GtpError if it cannot be."""
        state = turned(self.match.game, self.match.state, seat)
        if state is None:
            raise GtpError(f"{prefix}it is {COLOURS[self.match.mover]}'s turn")
        return state

    @property
    def _view(self) -> BoardView:
        return self.match.game.view(self.match.state)


# Go: handicap stones, moves of one colour in a row, and files of games (SGF).

#: Boards up to this size have `tt` for a pass in old files.
_OLD_SIDE = 19
#: Longer files are cut, so that they do not fill the memory.
_MOST_BYTES = 1 << 22
#: The colours of the properties of SGF for stones and moves.
_SETUP, _MOVES = {"AB": "black", "AW": "white"}, {"B": "black", "W": "white"}
#: The state of Go: the place of the last move, and of the point that ko forbids; -1 for none.
_LAST, _KO = 3, 4


def turned(game: Game, state: State, seat: int) -> State | None:
    """Return a position of Go with `seat` to move, None for other games.

    GTP lets a colour move twice. Ko and pass, which depend on the last move, are forgotten.
    """
    if game.current_player(state) == seat:
        return state
    if not isinstance(game, Go) or game.winner(state):
        return None
    changed = [seat, *state[1:]]
    changed[_LAST] = changed[_KO] = -1
    return tuple(changed)


def fixed_handicap(match: LocalMatch, stones: str) -> list[str]:
    """Return the vertices of a number of handicap stones. Raises GtpError."""
    size = _empty_board(match)
    if not (most := most_handicap(size)):
        raise GtpError(f"invalid number of stones: there is no handicap on a board of {size}")
    return _handicap(size, whole_number(stones, 2, most))


def free_handicap(match: LocalMatch, stones: str) -> list[str]:
    """Return the vertices of up to `stones` handicap stones, in their fixed places.

    The command allows the engine to put fewer. Raises GtpError.
    """
    size = _empty_board(match)
    number = whole_number(stones, 2, size * size - 1)
    return fixed_handicap(match, str(min(number, max(2, most_handicap(size)))))


def chosen_handicap(match: LocalMatch, vertices: Sequence[str]) -> Sequence[str]:
    """Return the vertices if handicap stones can be put there. Raises GtpError."""
    size = _empty_board(match)
    try:
        cells = {GtpVertices(size, size).cell(each) for each in vertices}
    except VertexError as error:
        raise GtpError(f"bad vertex list: {error}") from error
    if not 2 <= len(vertices) == len(cells) < size * size:
        raise GtpError("bad vertex list: expected two or more different vertices")
    return vertices


def _empty_board(match: LocalMatch) -> int:
    """Return the size of a board of Go without stones. Raises GtpError."""
    if not isinstance(match.game, Go):
        raise GtpError(f"{match.game} has no handicap stones")
    if any(match.game.cells(match.state)):
        raise GtpError("board not empty")
    return match.game.size


def _handicap(size: int, stones: int) -> list[str]:
    """Return the vertices of 2 stones to `most_handicap`, as GTP specifies them."""
    vertices, points = GtpVertices(size, size), handicap_points(size, stones)
    return [vertices.name((size - 1 - row) * size + column) for column, row in points]


class SgfGame(NamedTuple):
    """A game of a file: columns and rows, komi as text, "" if none is given, and the stones.

    The sides are those of `boardsize`. A stone is a colour and a cell of the view, None for a pass.
    """

    sides: tuple[str, ...]
    komi: str
    stones: list[tuple[str, int | None]]


def load_game(file: str, before: Sequence[str], game: Game) -> SgfGame:
    """Return the first variation of a file, up to a move if `before` has its number, from 1.

    Raises GtpError if the file cannot be read, if it removes stones or has none, and if it is of
    another game than `game`.
    """
    if len(before) > 1:
        raise GtpError("syntax error: expected loadsgf FILE or loadsgf FILE MOVE_NUMBER")
    end = whole_number(before[0], 1, _MOST_BYTES) if before else _MOST_BYTES
    try:
        with open(file, "rb") as opened:
            text = decoded(opened.read(_MOST_BYTES))
        return _game_of(_first_variation(text), end, game)
    except OSError as error:
        raise GtpError(f"cannot load the file: {error.strerror}") from error
    except ValueError as error:  # of what is in the file
        raise GtpError(f"cannot load the file: {error}") from error


def _game_of(found: Sequence[SgfProperty], before: int, game: Game) -> SgfGame:
    if not found:
        raise GtpError("it has no game")
    given = {each.name: each.values[0].strip() for each in reversed(found)}
    number = given.get("GM", "")
    own = game.sgf_number
    if own is not None and number.isdecimal() and number.lstrip("0") != str(own):
        raise GtpError(f"its game is number {number[:20]} (GM), and {game} is {own}")
    columns, rows = _sides(given.get("SZ") or str(_OLD_SIDE))
    stones: list[tuple[str, int | None]] = []
    moves = 0
    for item in found:
        moves += item.name in _MOVES
        if moves >= before:
            break
        if item.name == "AE":
            raise GtpError(f"line {item.line}: AE removes stones")
        colour = _SETUP.get(item.name) or _MOVES.get(item.name, "")
        for value in item.values if colour else ():
            stones += [(colour, cell) for cell in _cells(value.strip(), item, columns, rows)]
    if not (moves or stones or "SZ" in given):
        raise GtpError(f"it has neither moves nor a size, only {', '.join(given)[:60]}")
    sides = (str(columns),) if columns == rows else (str(columns), str(rows))
    komi = komi_of(given.get("KM", ""))
    return SgfGame(sides, "" if komi is None else f"{komi:g}", stones)


def _sides(text: str) -> tuple[int, int]:
    """Return columns and rows of `19`, `19:13` or `19x13`."""
    numbers = [
        whole_number(each.strip(), 1, 52) for each in text.lower().replace("x", ":").split(":")
    ]
    if len(numbers) > 2:
        raise GtpError(f"{text[:20]!r} is no size of a board")
    return numbers[0], numbers[-1]


def _cells(text: str, item: SgfProperty, columns: int, rows: int) -> Iterator[int | None]:
    """Yield the cells of a value: of a point, or of a rectangle as `aa:cc`; None for a pass."""
    is_old = max(columns, rows) <= _OLD_SIDE
    word = text.lower()
    if item.name in _MOVES and (word in ("", "pass") or (word == "tt" and is_old)):
        yield None
        return
    if item.name in _MOVES and word == "resign":
        return
    corners = [column_and_row(each) for each in text.split(":")]
    first, last = corners[0], corners[-1]
    if first is None or last is None or last[0] >= columns or last[1] >= rows:
        raise GtpError(f"line {item.line}: {text[:20]!r} is no point")
    for row in range(first[1], last[1] + 1):
        for column in range(first[0], last[0] + 1):
            yield row * columns + column


def _first_variation(text: str) -> list[SgfProperty]:
    """Return the properties of the first variation. Raises GtpError."""
    found: list[SgfProperty] = []
    try:
        for item in items(text):
            if item == ")":
                break
            if isinstance(item, SgfProperty):
                found.append(item)
    except SgfError as error:
        raise GtpError(f"line {error.line}: {error}") from error
    return found
