"""OpenSpiel's search in C++ (`MCTSBot`): the reference for speed, and an opponent."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

import pyspiel

from playout import games
from playout.games import Game, Position, SpecError
from playout.games.core.spec import parse
from playout.players import Limit, Player, PlayResult, Report

#: OpenSpiel's names of games and parameters where they differ from Playout's, and Playout's
#: defaults where they differ from OpenSpiel's.
GAMES = {"kalah": "mancala"}
RENAMED = {
    "amazons": {"size": "board_size"},
    "dots_and_boxes": {"rows": "num_rows", "columns": "num_cols"},
    "go": {"size": "board_size"},
    "havannah": {"size": "board_size"},
    "hex": {"size": "board_size"},
    "nim": {"piles": "pile_sizes", "misere": "is_misere"},
    "oware": {"houses": "num_houses_per_player", "seeds": "num_seeds_per_house"},
    "y": {"size": "board_size"},
}
DEFAULTS = {
    "dots_and_boxes": {"rows": "5", "columns": "5"},
    "go": {"size": "9", "komi": "7.5"},
    "havannah": {"size": "6"},
    "nim": {"misere": "false"},
    "y": {"size": "11"},
}
#: The parameters with which benchmarks measure a game, where they are not its defaults: OpenSpiel's
#: nim has several heaps, and its mnk of 15x15 cells is gomoku.
MEASURED = {"mnk": "mnk(m=8,n=8,k=5)", "nim": "nim(piles=1;3;5;7)"}
_KINDS = {kind.short_name: kind for kind in pyspiel.registered_games()}
#: A limit that no search reaches.
MOST_SIMULATIONS = 10**9
MEMORY_MB = 4000


def mcts(
    game: pyspiel.Game,
    c: float,
    *,
    solve: bool,
    rollouts: int = 1,
    simulations: int = MOST_SIMULATIONS,
    seconds: float | None = None,
    seed: int = 1,
) -> pyspiel.MCTSBot:
    """Return a search with random rollouts and the same exploration as `uct(c=...)`.

    OpenSpiel's results are from -1 to 1 and those of `uct` from 0 to 1, so the constant is doubled.
    """
    return pyspiel.MCTSBot(
        game,
        pyspiel.RandomRolloutEvaluator(rollouts, seed),
        2 * c,
        simulations,
        MEMORY_MB,
        solve=solve,
        seed=seed,
        verbose=False,
        max_wall_clock_time=-1.0 if seconds is None else seconds,
    )


def spelling(text: str) -> str:
    """Return OpenSpiel's spelling of a game of Playout."""
    wanted = parse(text)
    names, options = RENAMED.get(wanted.name, {}), DEFAULTS.get(wanted.name, {})
    given = [
        f"{names.get(key, key)}={value}" for key, value in {**options, **wanted.options}.items()
    ]
    name = GAMES.get(wanted.name, wanted.name)
    return f"{name}({','.join(given)})" if given else name


def measured(*, chance: bool = False) -> list[str]:
    """Return each game with or without chance, with the parameters that benchmarks measure."""
    names = (MEASURED.get(name, name) for name in games.names() if name != "open_spiel")
    return [name for name in names if games.load(name).has_chance == chance]


def is_shared(spec: str) -> bool:
    """Return whether OpenSpiel has a game of this name with these parameters."""
    theirs = parse(spelling(spec))
    kind = _KINDS.get(theirs.name)
    return kind is not None and theirs.options.keys() <= kind.parameter_specification.keys()


def position(spec: str, actions: Iterable[int]) -> pyspiel.State:
    """Return OpenSpiel's position after a sequence of actions of Playout."""
    return _position(pyspiel.load_game(spelling(spec)), spec, actions)


def _position(peer: pyspiel.Game, spec: str, actions: Iterable[int]) -> pyspiel.State:
    state = peer.new_initial_state()
    split = spec == "ultimate_tic_tac_toe"
    for action in actions:
        for each in _halves(state, action) if split else (action,):
            state.apply_action(each)
    return state


def _halves(state: pyspiel.State, action: int) -> tuple[int, ...]:
    """Convert an action of ultimate tic-tac-toe: OpenSpiel uses two where any board is legal."""
    free = state.action_to_string(state.legal_actions()[0]).startswith("Choose")
    return divmod(action, 9) if free else (action % 9,)


class MCTSBot(Player):
    """OpenSpiel's search, which observes the time limit itself; `c` is on the scale of `uct`.

    It plays the moves of a match again, from the first position of the game. With `solve` (its
    MCTS-Solver, as in OpenSpiel's own example) it stops early when the result is proven.
    """

    def __init__(
        self, game: Game, c: float = 0.5, solve: bool = True, seed: int | None = None
    ) -> None:
        super().__init__(game)
        self._peer = _peer(game)
        self._c = c
        self._solve = solve
        self._seed = secrets.randbits(31) if seed is None else seed

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        """Return the action that OpenSpiel's search chooses.

        Raises ValueError for a match that began in another position than the game.
        """
        if position.states[0] != self.game.initial_state():
            raise ValueError(
                "OpenSpiel's search needs the moves from the first position of the game"
            )
        self._seed += 1
        bot = mcts(
            self._peer,
            self._c,
            solve=self._solve,
            simulations=limit.simulations or MOST_SIMULATIONS,
            seconds=limit.seconds,
            seed=self._seed,
        )
        return PlayResult(bot.step(_position(self._peer, self.game.spec, position.moves)))


def _peer(game: Game) -> pyspiel.Game:
    """Return OpenSpiel's game of the same name and action numbers. Raises SpecError."""
    try:
        peer = pyspiel.load_game(spelling(game.spec))
    except pyspiel.SpielError as error:
        raise SpecError(f"OpenSpiel has no {game}: {error}") from error
    if max(peer.num_distinct_actions(), peer.max_chance_outcomes()) != game.num_actions:
        raise SpecError(f"OpenSpiel numbers the actions of {game} differently")
    return peer
