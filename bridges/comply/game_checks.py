"""`playout-bridge comply-game`: checks that a game keeps to its interface, in random matches.

Each check is a generator of faults. It looks at the positions of random matches; the first fault is
shown with its position, and the moves that lead there. The games of Playout pass the same checks.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import click
import numpy as np

from playout import games
from playout.bridges.comply.player_checks import described, within
from playout.bridges.comply.processes import in_child
from playout.commands import interrupts
from playout.commands.options import registered
from playout.commands.progress import doing
from playout.commands.text import counted
from playout.games import TIE, Game, IllegalAction, KernelGame, State
from playout.games.core.random import seeded
from playout.players.core.player import PlayerError

#: Seconds that a check may take with one game: rules that do not return are a fault.
_CHECK_S = 120.0
#: Positions of a match that checks of the drawing look at.
_LOOKS = 12
#: Most characters of the name of a move, and of a game's title.
_LONGEST_NAME = 100
#: The largest number that all programs read exactly from JSON.
_LARGEST = 2**53
#: Most characters of a position that is shown.
_SHOWN = 3000


@dataclass(frozen=True)
class RulesFault:
    """A fault of a game, in the position of a random match after some moves."""

    text: str
    state: State | None = None
    moves: tuple[int, ...] = ()


@dataclass
class RandomMatches:
    """The random matches that the checks look at: their states, and the moves between them."""

    game: Game
    matches: list[tuple[list[State], list[int]]] = field(default_factory=list)

    def positions(self, most: int | None = None) -> Iterator[tuple[State, tuple[int, ...]]]:
        """Yield states with the moves that lead there, at most `most` of each match."""
        for states, moves in self.matches:
            step = 1 if most is None else max(1, -(-len(states) // most))
            places = {*range(0, len(states), step), len(states) - 1}
            for place in sorted(places):
                yield states[place], tuple(moves[:place])


Check = Callable[[RandomMatches], Iterator[RulesFault]]


def _play(game: Game, count: int, seed: int, played: RandomMatches) -> Iterator[RulesFault]:
    """Play the matches, and yield the faults that prevent it."""
    for name in ("num_actions", "max_plies"):
        if type(bound := getattr(game, name, None)) is not int or bound < 1:
            yield RulesFault(f"{name} is a whole number above 0, not {bound!r}")
            return
    if game.winner(first := game.initial_state()):
        yield RulesFault("the match is over before its first move", first)
        return
    chance = random.Random(seed)
    for _ in range(count):
        states, moves = [game.initial_state()], list[int]()
        while not game.winner(states[-1]):
            here = states[-1], tuple(moves)
            actions = game.legal_actions(states[-1])
            if not actions:
                text = "nobody has won, and no action is legal: a pass is an action, too"
                yield RulesFault(text, *here)
                return
            if len(moves) >= game.max_plies:
                yield RulesFault(
                    f"the match goes on after max_plies = {game.max_plies} moves", *here
                )
                return
            if game.has_chance and states[-1][0] == 0:
                action = game.roll(states[-1], chance.randrange)
            else:
                action = chance.choice(actions)
            try:
                states.append(game.next_state(states[-1], action))
            except IllegalAction as error:
                text = f"legal_actions has {action}, but next_state refuses it: {error}"
                yield RulesFault(text, *here)
                return
            moves.append(action)
        played.matches.append((states, moves))


def _states(played: RandomMatches) -> Iterator[RulesFault]:
    game = played.game
    for here in played.positions():
        state = here[0]
        if not isinstance(state, tuple) or not all(type(each) is int for each in state):
            yield RulesFault("a state is a tuple of int, not of other types: it is compared", *here)
        elif not all(-_LARGEST <= each <= _LARGEST for each in state):
            yield RulesFault("the numbers of a state are within ±2^53, as JSON needs them", *here)
        elif state[0] == 0 and not (game.has_chance and state[1] == 0):
            text = "nature moves, as the first number of a state is 0"
            why = "the game is over" if game.has_chance else "has_chance is not set"
            yield RulesFault(f"{text}, but {why}", *here)
        elif state[0] not in (0, 1, 2) or game.current_player(state) != state[0]:
            text = f"the first number of a state is the player to move, 1 or 2, not {state[0]}"
            yield RulesFault(text, *here)
        elif state[1] not in (0, 1, 2, TIE) or game.winner(state) != state[1]:
            text = "the second number is the winner, 1 or 2, -1 for a tie, 0 before the end"
            yield RulesFault(f"{text}; not {state[1]}", *here)
        elif sum(game.returns(state)) != (1 if state[1] else 0):
            yield RulesFault("the returns are (0, 0) before the end, and then 1 in all", *here)


def _actions(played: RandomMatches) -> Iterator[RulesFault]:
    game = played.game
    for here in played.positions():
        actions = game.legal_actions(here[0])
        if here[0][1]:
            if actions:
                yield RulesFault("the match is over, and actions are legal", *here)
            continue
        if not isinstance(actions, tuple):
            yield RulesFault("legal_actions returns a tuple", *here)
        elif list(actions) != sorted(set(actions)):
            yield RulesFault("legal_actions are in ascending order, each once", *here)
        elif actions[0] < 0 or actions[-1] >= game.num_actions:
            wrong = actions[-1] if actions[0] >= 0 else actions[0]
            text = (
                f"actions are 0 to num_actions - 1 = {game.num_actions - 1}, and {wrong} is legal"
            )
            yield RulesFault(text, *here)
        elif actions != game.legal_actions(here[0]):
            yield RulesFault("legal_actions returns something else at the second call", *here)
        elif here[0][0] == 0 and (fault := _fault_of_chances(game.chances(here[0]), actions)):
            yield RulesFault(fault, *here)


def _fault_of_chances(weights: tuple[int, ...], outcomes: tuple[int, ...]) -> str:
    if len(weights) != len(outcomes):
        return f"chances returns {len(weights)} weights, and there are {len(outcomes)} outcomes"
    if not all(type(each) is int and each > 0 for each in weights):
        return "the weights of chances are whole numbers above 0"
    return ""


def _refusals(played: RandomMatches) -> Iterator[RulesFault]:
    game = played.game
    for here in played.positions(_LOOKS):
        wrong = {-1, 0, game.num_actions // 2, game.num_actions - 1, game.num_actions, 2**40}
        for action in sorted(wrong - {*game.legal_actions(here[0])}):
            try:
                game.next_state(here[0], action)
            except IllegalAction:
                continue
            except Exception as error:
                text = f"next_state raises {described(error)} for the illegal action {action}"
                yield RulesFault(f"{text}, instead of IllegalAction", *here)
            else:
                yield RulesFault(f"next_state plays the illegal action {action}", *here)


def _repeated(played: RandomMatches) -> Iterator[RulesFault]:
    game = played.game
    for states, moves in played.matches:
        state = game.initial_state()
        for ply, move in enumerate(moves):
            state = game.next_state(state, move)
            if state != states[ply + 1]:
                text = "the same moves lead to another state: the rules draw lots, or keep a state"
                yield RulesFault(text, state, tuple(moves[: ply + 1]))
                return


def _names(played: RandomMatches) -> Iterator[RulesFault]:
    game = played.game
    for here in played.positions(_LOOKS):
        state = here[0]
        names = {action: game.action_name(state, action) for action in game.legal_actions(state)}
        name, count = Counter(names.values()).most_common(1)[0] if names else ("", 1)
        if count > 1:
            yield RulesFault(f"{count} legal actions have the name {name!r}", *here)
            continue
        for action, each in names.items():
            if not each.isprintable() or not 0 < len(each) <= _LONGEST_NAME:
                text = f"the name of {action} has 1 to {_LONGEST_NAME} visible characters"
                yield RulesFault(f"{text}, not {each[:_LONGEST_NAME]!r}", *here)
            if game.parse_action(state, f" {each} ") != action:
                yield RulesFault(
                    f"parse_action does not read {each!r}, the name of {action}", *here
                )
        try:
            game.parse_action(state, "nonsense")
        except IllegalAction:
            continue
        yield RulesFault("parse_action reads 'nonsense'", *here)


def _views(played: RandomMatches) -> Iterator[RulesFault]:
    game = played.game
    for here in played.positions(_LOOKS):
        state = here[0]
        view, legal = game.view(state), game.legal_actions(state)
        cells = view.rows * view.columns
        if len(view.cells) != cells:
            size = f"{view.rows} rows and {view.columns} columns"
            yield RulesFault(f"the view has {len(view.cells)} cells in {size}", *here)
        elif odd := set(view.cells) - {0, 1, 2, 3}:
            text = "a cell is 0, the player that owns its piece, or 3"
            yield RulesFault(f"{text}; not {sorted(odd)[0]}", *here)
        elif tuple(view.clicks) != legal:
            text = "clicks has the cells of each legal action, in the order of legal_actions"
            yield RulesFault(f"{text}: {len(view.clicks)} of {len(legal)} actions", *here)
        elif wrong := [
            each for way in view.clicks.values() for each in way if not 0 <= each < cells
        ]:
            yield RulesFault(f"a click is on the cell {wrong[0]}, of 0 to {cells - 1}", *here)
        game.show(state)


def _spelling(played: RandomMatches) -> Iterator[RulesFault]:
    game = played.game
    if str(games.load(str(game))) != str(game):
        yield RulesFault(f"its specification {str(game)!r} loads {games.load(str(game))}")
    description = games.describe(str(game).partition("(")[0])
    if not description.about:
        yield RulesFault("it has no rules for people: write a docstring, or `about`")
    title = description.title
    if not title.isprintable() or len(title) > _LONGEST_NAME:
        yield RulesFault(f"title has at most {_LONGEST_NAME} visible characters")


def _kernels(played: RandomMatches) -> Iterator[RulesFault]:
    game = played.game
    if not isinstance(game, KernelGame):
        return
    actions = np.empty(game.num_actions, dtype=np.int64)
    rng, trace = seeded(6), np.empty(game.max_plies + game.num_actions, dtype=np.int64)
    for states, moves in played.matches:
        board = game.board()
        for ply, state in enumerate(states):
            here = state, tuple(moves[:ply])
            if game.state(board) != state or not np.array_equal(board, game.board(state)):
                yield RulesFault("the board after `play` is not the one that `read` makes", *here)
                return
            if tuple(actions[: game.kernels.legal(board, actions)]) != game.legal_actions(state):
                yield RulesFault("the kernel `legal` depends on more than the state", *here)
            if ply < len(moves):
                game.kernels.play(board, moves[ply])
    for here in played.positions(_LOOKS):
        state, board = here[0], game.board(here[0])
        plies = game.kernels.playout(board, rng, trace)
        for action in trace[:plies].tolist():
            state = game.next_state(state, action)
        if state[1] == 0 or state[1] != board[1] or game.state(board) != state:
            yield RulesFault("the kernel `playout` ends in another position than its moves", *here)


#: The checks after the matches were played, with the duty of the game.
CHECKS: tuple[tuple[str, str, Check], ...] = (
    ("states", "Are tuples of int: the player to move, the winner, and the rest.", _states),
    ("actions", "Are in order, each once, and below num_actions.", _actions),
    ("refusals", "Other actions raise IllegalAction.", _refusals),
    ("repetition", "The same moves lead to the same states.", _repeated),
    ("names", "Each legal action has its own name, which is read back.", _names),
    ("view", "Shows each cell, and the clicks of each legal action.", _views),
    ("spelling", "Its specification loads it again; it has rules for people.", _spelling),
    ("kernels", "Agree with the tuples of the interface.", _kernels),
)
_MATCHES = "matches"
_WIDTH = max(len(name) for name, _, _ in CHECKS) + 2


def faults(game: Game, matches: int, seed: int = 1) -> Iterator[tuple[str, RulesFault | None]]:
    """Yield the name of each check, with the first fault that it finds, or None."""
    played = RandomMatches(game)
    fault = _first(lambda: _play(game, matches, seed, played))
    yield _MATCHES, fault
    if fault:
        return
    for name, _, check in CHECKS:
        yield name, _first(lambda check=check: check(played))  # type: ignore[misc]


def _first(check: Callable[[], Iterator[RulesFault]]) -> RulesFault | None:
    """Return the first fault of a check; an exception is one, and a check that does not end."""
    try:
        return within(_CHECK_S, "a function of the game", lambda: next(check(), None))
    except PlayerError as error:
        return RulesFault(str(error))
    except Exception as error:  # the game may be any program
        return RulesFault(f"it raised {described(error)}")


_EPILOG = """
\b
Examples:
  playout-bridge comply-game my_game:Chomp
  playout-bridge comply-game "my_game:Chomp(rows=3)" --matches 200

\b
Exit codes: 0 all checks were passed, 1 one was failed, 2 bad usage,
130 interrupted.
"""


@click.command("comply-game", epilog=_EPILOG)
@click.argument("game", metavar="GAME")
@click.option(
    "--matches", default=20, show_default=True, type=click.IntRange(1), help="Random matches."
)
@click.option("--seed", default=1, show_default=True, type=int, help="Seed of their moves.")
def command(game: str, matches: int, seed: int) -> None:
    """Check the rules, the notation and the drawing of GAME in random matches.

    GAME is a name or module:Class, with parameters. The first fault of each check is shown with its
    position. The games of Playout pass the same checks.
    """
    name = registered(game)
    try:
        with doing("Loading the game"):
            loaded = games.load(name)
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    with interrupts.with_text("Interrupted."):
        passed = in_child(partial(_passes, loaded, matches, seed))
    sys.exit(0 if passed else 1)


def _passes(game: Game, matches: int, seed: int) -> bool:
    """Print the result of each check; return whether all were passed."""
    failed, began = 0, time.monotonic()
    with doing("Checking the game"):
        for check, fault in faults(game, matches, seed):
            click.echo(f"{check:{_WIDTH}}{'FAILED: ' + fault.text if fault else 'passed'}")
            if fault:
                failed += 1
                _show(game, fault)
    took_s = time.monotonic() - began
    click.echo(f"\n{counted(failed, 'check')} failed, {counted(matches, 'match')}, {took_s:.1f} s")
    return not failed


def _show(game: Game, fault: RulesFault) -> None:
    """Print the position of a fault, and the moves that lead there."""
    if fault.state is None:
        return
    try:
        drawn = game.show(fault.state)[:_SHOWN]
    except Exception:  # it may be the fault
        drawn = ""
    click.echo("\n".join(f"    {line}" for line in drawn.splitlines()))
    click.echo(f"    state: {str(fault.state)[:_SHOWN]}")
    click.echo(f"    after the actions: {' '.join(map(str, fault.moves)) or 'none'}\n")
