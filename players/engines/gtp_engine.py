"""A GTP 2 engine: the commands of the protocol, for a game whose actions are single cells.

Black is seat 1 and moves first; the colours move in turn, but in Go either colour may move.
Programs for Go end a match by two passes, so that after its end `genmove` answers `pass` and `play`
accepts it. A pass that is the only legal move can be skipped; `genmove` and `play` of it then have
no effect. The comment `# interrupt` stops a search, and any line stops an analysis; the position
does not change.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TypeVar

from playout.games import BoardView, Game, SpecError, State
from playout.games.core import spec
from playout.players.core.player import Cancelled, Limit, PlayerError, PlayResult, Resigned
from playout.players.engines import gtp_analysis, gtp_go
from playout.players.engines.gtp_analysis import AnalysisRequest
from playout.players.engines.gtp_clock import GtpClock
from playout.players.engines.gtp_games import PASS, ClickedBoard, resized, with_komi
from playout.players.engines.gtp_text import (
    COLOURS,
    GtpCommand,
    GtpError,
    board_with_vertices,
    interrupts,
    parse_command,
    response,
    response_head,
    rows_of_stones,
    seat_of,
    whole_number,
)
from playout.players.engines.line_input import LineInput, Stops
from playout.players.engines.local_match import LocalMatch, SkippingMatch
from playout.players.engines.vertices import VertexError

#: The menu of analyses in GoGui.
_GOGUI_ANALYSES = (
    "plist/Legal Moves/gogui-rules_legal_moves",
    "string/Final Result/gogui-rules_final_result",
)

Handler = TypeVar("Handler", bound=Callable[..., str | None])
_HANDLERS: dict[str, tuple[str, str]] = {}


def _command(name: str, arguments: str = "") -> Callable[[Handler], Handler]:
    """Register a method as the handler of a command; `...` ends arguments of any number."""

    def register(method: Handler) -> Handler:
        _HANDLERS[name] = method.__name__, arguments
        return method

    return register


class GtpServer:
    """Answers the commands of one program, until it quits or its input ends."""

    def __init__(
        self, game: Game, wanted: spec.Spec, lines: LineInput, *, skips_passes: bool = False
    ) -> None:
        """Load the player; `skips_passes`: whether a forced pass is not named by the programs.

        Raises SpecError if the player or the game cannot be used with GTP.
        """
        self._board = ClickedBoard(game)
        self._wanted = wanted
        self._lines = lines
        self._kind = SkippingMatch if skips_passes else LocalMatch
        self._match = self._kind(game, wanted)
        self._clock = GtpClock()
        self._passes = 0  # after the end of the match
        self._current = GtpCommand("", "", [])

    def run(self) -> None:
        """Answer commands until `quit` or the end of the input."""
        try:
            while self._current.name != "quit" and (line := self._lines.next()) is not None:
                if command := parse_command(line):
                    self._current = command
                    self._answer(command)
        finally:
            self._match.close()

    def _answer(self, command: GtpCommand) -> None:
        text: str | None
        try:
            text, failed = self._handled(command), False
        except (GtpError, SpecError, PlayerError) as error:
            text, failed = str(error), True
        except BrokenPipeError:
            raise
        except Exception as error:  # the player may be any program
            traceback.print_exc()
            text, failed = f"the player failed: {error!r}", True
        _write("\n" if text is None else response(command, text, failed=failed))

    def _handled(self, command: GtpCommand) -> str | None:
        """Return the text of the response; None if only its empty line is left to write."""
        if command.name not in _HANDLERS:
            raise GtpError("unknown command")
        method, wanted = _HANDLERS[command.name]
        least = len(wanted.replace("...", "").split())
        given = len(command.arguments)
        if given < least or (given > least and "..." not in wanted):
            raise GtpError(f"syntax error: expected {command.name} {wanted}".rstrip())
        text: str | None = getattr(self, method)(*command.arguments)
        return text

    # About the engine.

    @_command("protocol_version")
    def _protocol_version(self) -> str:
        return "2"

    @_command("name")
    def _name(self) -> str:
        return f"Playout {self._wanted.name}"

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
        game = resized(self._match.game, numbers)
        if game is not self._match.game:
            self._use(self._kind(game, self._wanted))
        return self._clear_board()

    @_command("clear_board")
    def _clear_board(self) -> str:
        self._match.clear()
        self._clock.restart()
        self._passes = 0
        return ""

    @_command("komi", "NUMBER")
    def _komi(self, komi: str) -> str:
        game = with_komi(self._match.game, komi)
        if game is not self._match.game:
            self._use(self._match.replayed(game))
        return ""

    def _use(self, match: LocalMatch) -> None:
        """Continue with a match of another game."""
        self._match.close()
        self._match, self._board = match, ClickedBoard(match.game)

    @_command("play", "COLOUR VERTEX")
    def _play(self, colour: str, vertex: str) -> str:
        seat = seat_of(colour)
        if self._match.winner and vertex.lower() == PASS:
            self._passes += 1
            return ""
        if self._match.was_skipped(seat) and vertex.lower() == PASS:
            return ""
        if self._match.winner:
            raise GtpError("illegal move: the game is over")
        state = self._turned(seat, "illegal move: ")
        try:
            action = self._board.action_at(state, self._board.cell(vertex))
        except VertexError as error:
            raise GtpError(f"illegal move: {error}") from error
        if action is None:
            raise GtpError(f"illegal move: {vertex} is not possible here")
        self._match.turn(state)
        self._match.play(action)
        return ""

    @_command("undo")
    def _undo(self) -> str:
        if self._passes:
            self._passes -= 1
            return ""
        try:
            self._match.take_back()
        except IndexError:
            raise GtpError("cannot undo") from None
        return ""

    # Handicap stones and files, as programs for Go use them.

    @_command("fixed_handicap", "STONES")
    def _fixed_handicap(self, stones: str) -> str:
        return self._put(gtp_go.fixed_handicap(self._match, stones))

    @_command("place_free_handicap", "STONES")
    def _place_free_handicap(self, stones: str) -> str:
        return self._put(gtp_go.free_handicap(self._match, stones))

    @_command("set_free_handicap", "VERTEX ...")
    def _set_free_handicap(self, *vertices: str) -> str:
        self._put(gtp_go.chosen_handicap(self._match, vertices))
        return ""

    def _put(self, vertices: Sequence[str]) -> str:
        for vertex in vertices:
            self._play(COLOURS[1], vertex)
        return " ".join(vertices)

    @_command("loadsgf", "FILE ...")
    def _loadsgf(self, file: str, *before: str) -> str:
        found = gtp_go.load_game(file, before)
        self._boardsize(*found.sides)
        if found.komi:
            self._komi(found.komi)
        try:
            for colour, cell in found.stones:
                self._play(colour, PASS if cell is None else self._board.vertices.name(cell))
        except GtpError as error:
            self._clear_board()
            raise GtpError(f"cannot load the file: {error}; the board is empty now") from error
        return ""

    @_command("showboard")
    def _showboard(self) -> str:
        if self._match.winner:
            to_move = self._final_result()
        else:
            seat = self._match.mover
            to_move = f"{COLOURS[seat]} ({'XO'[seat - 1]}) to move"
        note = f"\n{self._view.note}" if self._view.note else ""
        board = board_with_vertices(self._view, self._board.vertices)
        return f"\n{board}\n{to_move}{note}"

    @_command("final_score")
    def _final_score(self) -> str:
        if not self._match.winner:
            raise GtpError("cannot score: the game is not over")
        margin = abs(self._match.game.lead(self._match.state) or 1)
        return {1: f"B+{margin:g}", 2: f"W+{margin:g}"}.get(self._match.winner, "0")

    # The rules, for GoGui.

    @_command("gogui-rules_game_id")
    def _game_id(self) -> str:
        return spec.parse(str(self._match.game)).name

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
        return COLOURS[self._match.mover]

    @_command("gogui-rules_legal_moves")
    def _legal_moves(self) -> str:
        state = self._match.state
        return " ".join(self._board.name(state, each) for each in self._view.clicks)

    @_command("gogui-rules_final_result")
    def _final_result(self) -> str:
        results = {0: "unknown", 1: "black wins", 2: "white wins"}
        return results.get(self._match.winner, "tie")

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
        return self._choose_and_play(seat_of(colour))[0]

    @_command("kata-genmove_analyze", "COLOUR ...")
    @_command("lz-genmove_analyze", "COLOUR ...")
    def _genmove_analyze(self, *arguments: str) -> str:
        request = self._analysis_request(arguments)
        if request.seat is None:
            raise GtpError("expected a colour")
        self._match.turn(self._turned(request.seat))
        state = self._match.state
        vertex, result = self._choose_and_play(request.seat)
        line = self._info_line(state, result, request) if result else ""
        # The response is an empty line, lines of analysis, and the move.
        return "\n" + "\n".join(filter(None, [line, f"play {vertex}"]))

    @_command("kata-analyze", "...")
    @_command("lz-analyze", "...")
    def _analyze(self, *arguments: str) -> None:
        request = self._analysis_request(arguments)
        if request.seat:
            self._match.turn(self._turned(request.seat))
        if self._match.winner:
            raise GtpError("the game is over")
        _write(response_head(self._current) + "\n")
        while not self._lines.wait(0):
            ends_at = time.monotonic() + request.interval_s
            try:
                result = self._choose(Limit(request.interval_s), stops=bool)
            except (Cancelled, Resigned):
                break
            if line := self._info_line(self._match.state, result, request):
                _write(line + "\n")
            self._lines.wait(max(0.0, ends_at - time.monotonic()))

    def _analysis_request(self, arguments: Sequence[str]) -> AnalysisRequest:
        is_kata = self._current.name.startswith("kata-")
        return gtp_analysis.parse_request(list(arguments), is_kata=is_kata)

    def _choose_and_play(self, seat: int) -> tuple[str, PlayResult | None]:
        """Return the move of the player as a vertex, pass or resign, after playing it."""
        if self._match.winner:
            self._passes += 1
            return PASS, None
        if self._match.was_skipped(seat):
            return PASS, None
        self._match.turn(self._turned(seat))
        limit = self._clock.limit(seat, self._match.plies, self._match.game.max_plies)
        started = time.monotonic()
        try:
            result = self._choose(limit, stops=interrupts)
        except Cancelled:
            raise GtpError("interrupted") from None
        except Resigned:
            return "resign", None
        finally:
            self._clock.used(seat, time.monotonic() - started)
        vertex = self._board.name(self._match.state, result.action)
        self._match.play(result.action)
        return vertex, result

    def _choose(self, limit: Limit, stops: Stops) -> PlayResult:
        player = self._match.player
        player.ready()
        with self._lines.watched(player.cancel, stops):
            result = self._match.choose(limit)
        if player.cancelled.is_set():
            raise Cancelled
        return result

    def _turned(self, seat: int, prefix: str = "") -> State:
        """Return the position with that seat to move. Raises GtpError if it cannot be."""
        state = gtp_go.turned(self._match.game, self._match.state, seat)
        if state is None:
            raise GtpError(f"{prefix}it is {COLOURS[self._match.mover]}'s turn")
        return state

    def _info_line(self, state: State, result: PlayResult, request: AnalysisRequest) -> str:
        if not result.info:
            return ""
        return gtp_analysis.info_line(self._match.game, self._board, state, result.info, request)

    @property
    def _view(self) -> BoardView:
        return self._match.game.view(self._match.state)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
