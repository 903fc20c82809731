"""What a connected player shows of what happens, at a terminal and in a file for its trees."""

from __future__ import annotations

from rich.console import Console

from games import State
from players.client import report
from players.client.active_match import ActiveMatch
from players.client.trees import TreeFile
from players.core.player import Info, Player
from server.model.messages import Closing, Ended, Error, Seeking, Started


class PlayerConsole:
    """Says everything that the user is told."""

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        show: bool = False,
        tree_file: TreeFile | None = None,
    ) -> None:
        """`quiet` keeps what the player thinks to itself, `show` prints the board after each move,
        the search tree of each of its moves goes to `tree_file`.
        """
        self._console = console
        self._quiet = quiet
        self._show = show
        self._tree_file = tree_file

    def say(self, text: str) -> None:
        """A line."""
        self._console.out(text, highlight=False)

    def error(self, error: Error, more: str = "") -> None:
        """Something was refused."""
        self.say(f"The server says: {error.text} ({error.code}){more}")

    def closing(self, event: Closing) -> None:
        """The server is going to stop."""
        self.say(f"The server is going to stop, in {event.seconds:g} s at the latest.")
        if event.kept:
            self.say("Matches that are not over by then go on when it is back.")

    def seeking(self, event: Seeking, ours: bool) -> None:
        """An opponent is looked for, or we are challenged."""
        if not ours:
            self.say(f"{event.name} challenges you to {event.game}.")
            return
        clock = f", clock {event.clock}" if event.clock else ""
        whom = f"for {event.opponent}" if event.opponent else "for an opponent"
        self.say(f"{event.name}: waiting {whom} at {event.game}{clock} ...")

    def entered(self, name: str) -> None:
        """Matches will come."""
        self.say(f"{name}: entered, waiting for matches ...")

    def started(self, event: Started) -> None:
        """A match begins, or is taken up."""
        first, second = event.players
        self.say(f"Match {event.match}: {event.game}, {first} against {second}, {event.clock}")

    def turn(self, seat: ActiveMatch) -> None:
        """It is our turn: people want to know their time."""
        if seat.player.human and seat.clocks and seat.started.time_control:
            self.say(report.clocks(seat.started.players, seat.clocks, seat.started.time_control))

    def move(self, seat: ActiveMatch, action: int, after: State) -> None:
        """A move was played, in the last position that the seat knows."""
        if self._show and not seat.player.human:  # who sees the board anyway
            game, before = seat.game, seat.states[-1]
            who = seat.started.players[game.current_player(before) - 1]
            self.say(f"{who} plays {game.action_name(before, action)}")
            self._console.print(report.board(game, after, action, before))

    def thought(self, player: Player, state: State, info: Info) -> None:
        """What was thought about a move, once it is played: until then its clock runs."""
        if info.actions and not self._quiet:
            self.say(report.search(player.game, state, info, self._console.width))
        if self._tree_file:
            try:
                self._tree_file.write(player, state, info)
            except OSError as error:  # the disk's fault, not the player's
                self.say(f"The tree was not written: {error}")

    def ended(self, event: Ended) -> None:
        """A match is over."""
        self.say(f"Match {event.match}: {event.text} ({event.reason}).")
