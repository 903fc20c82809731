"""Shows the matches of a connected player to the user, and writes its search trees."""

from __future__ import annotations

from rich.console import Console

from playout.games import Position
from playout.players.client.active_match import ActiveMatch
from playout.players.client.trees import TreeFile
from playout.players.core import rendering
from playout.players.core.player import Info, Player, Report, paced
from playout.protocol.messages import (
    ClockState,
    Closing,
    Ended,
    Error,
    Seeking,
    Started,
    TimeControl,
)

#: Seconds between two lines about a search that is running.
PROGRESS_S = 2.0


class PlayerConsole:
    """Prints all messages for the user."""

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        show: bool = False,
        tree_file: TreeFile | None = None,
    ) -> None:
        """`quiet`: do not print the player's analyses; `show`: print the board after each move.

        The search tree of each of its moves is written to `tree_file`.
        """
        self._console = console
        self._quiet = quiet
        self._show_boards = show
        self._tree_file = tree_file

    def show(self, text: str) -> None:
        """Print a line of text."""
        self._console.out(text, highlight=False)

    def error(self, error: Error, more: str = "") -> None:
        """Print an error of the server, and the reaction to it."""
        self.show(f"The server says: {error.text} ({error.code}){more}")

    def closing(self, event: Closing) -> None:
        """Announce that the server stops."""
        self.show(f"The server is going to stop, in {event.seconds:g} s at the latest.")
        if event.kept:
            self.show("Matches that are not over by then continue when it is back.")

    def seeking(self, event: Seeking, ours: bool) -> None:
        """Announce an open seek: ours, or a challenge by another player."""
        if not ours:
            self.show(f"{event.name} challenges you to {event.game}.")
            return
        clock = f", clock {event.clock}" if event.clock else ""
        opponent = f"for {event.opponent}" if event.opponent else "for an opponent"
        self.show(f"{event.name}: waiting {opponent} at {event.game}{clock} ...")

    def joined(self, name: str) -> None:
        """Announce that the player takes part in a tournament, or is on a ladder."""
        self.show(f"{name}: entered, waiting for matches ...")

    def started(self, event: Started) -> None:
        """Announce a match that starts or is resumed."""
        first, second = event.players
        self.show(f"Match {event.match}: {event.game}, {first} against {second}, {event.clock}")

    def turn(self, match: ActiveMatch) -> None:
        """Print the clocks for a person to move."""
        time_controls = match.started.both_time_controls
        if match.player.human and match.clocks and time_controls:
            self.show(_clocks(match.started.players, match.clocks, time_controls))

    def progress(self, position: Position) -> Report | None:
        """Return a report that prints a search from `position` which takes long, on a terminal."""
        if self._quiet or not self._console.is_terminal:
            return None

        def show(info: Info) -> None:
            self.show(f"... {rendering.progress(position, info)}")

        return paced(show, PROGRESS_S)

    def move(self, match: ActiveMatch, position: Position) -> None:
        """Print the move or the roll that led to a position of the match."""
        if self._show_boards and not match.player.human:  # a person sees the board anyway
            mover = position.game.current_player(position.states[-2])
            subject = f"{match.started.players[mover - 1]} plays" if mover else "The roll is"
            self.show(f"{subject} {position.move_name()}")
            self._console.print(rendering.board(position))

    def analysis(self, player: Player, position: Position, info: Info) -> None:
        """Print the analysis of a move that was chosen in `position`, and write the tree.

        To be called after the move, when the player's clock no longer runs.
        """
        if info.actions and not self._quiet:
            self.show(rendering.analysis(position, info, self._console.width))
        if self._tree_file:
            try:
                self._tree_file.write(player, position.state, info)
            except OSError as error:  # which is not the player's fault
                self.show(f"The tree was not written: {error}")

    def ended(self, event: Ended) -> None:
        """Announce the end of a match."""
        self.show(f"Match {event.match}: {event.text} ({event.reason}).")


def _clocks(
    names: tuple[str, str],
    states: tuple[ClockState, ClockState],
    time_controls: tuple[TimeControl, TimeControl],
) -> str:
    """Return a line with the remaining time of both players."""
    parts = []
    for name, left, time_control in zip(names, states, time_controls, strict=True):
        minutes, seconds = divmod(left.main_s, 60)
        periods = f" + {left.periods}x{time_control.period_s:g}" if left.periods else ""
        parts.append(f"{name} {int(minutes)}:{seconds:04.1f}{periods}")
    return "Clocks: " + ", ".join(parts)
