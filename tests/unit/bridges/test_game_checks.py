"""`playout-bridge comply-game`: the games of Playout pass, and each fault of a game is found."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from playout import games
from playout.bridges import bridge_command
from playout.bridges.comply import game_checks
from playout.bridges.comply.game_checks import CHECKS, faults
from playout.bridges.comply.player_checks import passes
from playout.games import Game, IllegalAction, State
from playout.games.core import plugins
from playout.games.core.view import BoardView
from playout.players import Player
from support.variants import every_game


@every_game
def test_the_games_of_playout_pass(spec: str) -> None:
    found = dict(faults(games.load(spec), 1))
    assert len(found) == 1 + len(CHECKS)
    assert not [fault for fault in found.values() if fault]


class TwoChips(Game):
    """Take one or two of seven chips; the player who takes the last one wins."""

    num_actions, max_plies = 2, 7

    def initial_state(self) -> State:
        return (1, 0, 7)

    def legal_actions(self, state: State) -> tuple[int, ...]:
        return () if state[1] else tuple(range(min(2, state[2])))

    def next_state(self, state: State, action: int) -> State:
        if action not in self.legal_actions(state):
            raise IllegalAction(self._explain(state, str(action)))
        left = state[2] - action - 1
        return (3 - state[0], 0 if left else state[0], left)

    def view(self, state: State) -> BoardView:
        cells = tuple(int(cell < state[2]) for cell in range(7))
        return BoardView(1, 7, cells, {action: (action,) for action in self.legal_actions(state)})


#: The method that a game has wrong, and what is said of it.
FAULTS = {
    "matches: the match goes on after max_plies": {"max_plies": 2},
    "matches: max_plies is a whole number above 0, not 7.0": {"max_plies": 7.0},
    "matches: num_actions is a whole number above 0, not None": {"num_actions": None},
    "matches: the match is over before its first move": {"initial_state": lambda *_: (1, 2, 0)},
    "matches: nobody has won, and no action is legal": {"legal_actions": lambda *_: ()},
    "matches: legal_actions has 1, but next_state refuses it": {
        "legal_actions": lambda self, state: () if state[1] else (0, 1),
        "next_state": lambda self, state, action: (
            TwoChips.next_state(self, state, action) if action < state[2] else self.refuse()
        ),
        "refuse": lambda self: (_ for _ in ()).throw(IllegalAction("too many")),
    },
    "matches: it raised ZeroDivisionError": {"next_state": lambda *_: 1 // 0},
    "states: a state is a tuple of int": {
        "initial_state": lambda self: (1, 0, 7.0),
        "legal_actions": lambda self, state: (
            () if state[1] else tuple(range(int(min(2, state[2]))))
        ),
    },
    "states: the numbers of a state are within ±2^53": {
        "initial_state": lambda *_: (1, 0, 7, 2**70),
        "next_state": lambda self, state, action: (
            *TwoChips.next_state(self, state[:3], action),
            state[3],
        ),
    },
    "actions: actions are 0 to num_actions - 1 = 0, and 1 is legal": {"num_actions": 1},
    "actions: legal_actions are in ascending order": {
        "legal_actions": lambda self, state: TwoChips.legal_actions(self, state)[::-1],
    },
    "actions: legal_actions returns a tuple": {
        "legal_actions": lambda self, state: list(TwoChips.legal_actions(self, state)),
    },
    "refusals: next_state plays the illegal action": {
        "next_state": lambda self, state, action: (
            TwoChips.next_state(self, state, action % 2)
            if action % 2 in self.legal_actions(state)
            else TwoChips.next_state(self, state, 0)
        ),
    },
    "refusals: next_state raises IndexError": {
        "next_state": lambda self, state, action: (
            TwoChips.next_state(
                self, state, self.legal_actions(state)[self.legal_actions(state).index(action)]
            )
            if action in self.legal_actions(state)
            else ()[action]
        ),
    },
    "names: 2 legal actions have the name 'x'": {"action_name": lambda *_: "x"},
    "names: parse_action reads 'nonsense'": {
        "parse_action": lambda self, state, text: int(text) if text.strip().isdigit() else 0,
    },
    "view: the view has 3 cells in 1 rows and 7 columns": {
        "view": lambda self, state: BoardView(
            1, 7, (0, 1, 1), {action: (action,) for action in self.legal_actions(state)}
        ),
    },
    "view: a cell is 0, the player that owns its piece, or 3; not 9": {
        "view": lambda self, state: BoardView(1, 7, (9,) * 7),
    },
    "view: clicks has the cells of each legal action": {
        "view": lambda self, state: BoardView(1, 7, (0,) * 7),
    },
    "view: a click is on the cell 9": {
        "view": lambda self, state: BoardView(
            1, 7, (0,) * 7, {action: (action + 9,) for action in self.legal_actions(state)}
        ),
    },
    "spelling: it has no rules for people": {"__doc__": ""},
    "names: the name of 0 has 1 to 100 visible characters": {
        "action_name": lambda self, state, action: f"\x1b[2J{action}",
    },
}


def checked(kind: type[Game]) -> list[str]:
    """Return the faults of a game, which is not installed."""
    game = kind()
    found = []
    for name, fault in faults(game, 3):
        if fault and name != "spelling":
            found.append(f"{name}: {fault.text}")
    if not game.about and not kind.__doc__:
        found.append("spelling: it has no rules for people")
    return found


def test_a_game_without_faults_passes() -> None:
    assert not checked(TwoChips)


@pytest.mark.parametrize("told", FAULTS)
def test_a_fault_is_found_with_its_position(told: str) -> None:
    kind = type("Faulty", (TwoChips,), {"__doc__": TwoChips.__doc__, **FAULTS[told]})
    found = checked(kind)
    assert any(each.startswith(told) for each in found), found


def test_rules_that_do_not_return_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_checks, "_CHECK_S", 0.05)
    kind = type(
        "Slow", (TwoChips,), {"next_state": lambda *_: threading.Event().wait(), "__doc__": "A."}
    )
    assert "matches: a function of the game has not returned after 0 s" in checked(kind)


def test_the_game_of_a_file_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state that is shown is one from which the fault is seen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(plugins.VARIABLE, "")  # the game is registered in this process
    (tmp_path / "counted_chips.py").write_text(
        "from playout import Game, IllegalAction\n\n\nclass CountedChips(Game):\n"
        '    """Take one or two chips."""\n\n    num_actions, max_plies = 1, 7\n\n'
        "    def initial_state(self):\n        return (1, 0, 7)\n\n"
        "    def legal_actions(self, state):\n"
        "        return () if state[1] else tuple(range(min(2, state[2])))\n\n"
        "    def next_state(self, state, action):\n"
        "        if action not in self.legal_actions(state):\n"
        "            raise IllegalAction(str(action))\n"
        "        left = state[2] - action - 1\n"
        "        return (3 - state[0], 0 if left else state[0], left)\n"
    )
    shown = CliRunner().invoke(
        bridge_command.main, ["comply-game", "counted_chips:CountedChips", "--matches", "2"]
    )
    assert shown.exit_code == 1, shown.output
    assert (
        "actions     FAILED: actions are 0 to num_actions - 1 = 0, and 1 is legal" in shown.output
    )
    assert "state: (1, 0, 7)\n    after the actions: none" in shown.output
    assert "Traceback" not in shown.output


@pytest.mark.parametrize("error", [SystemExit("bye"), KeyboardInterrupt()])
def test_a_player_that_ends_its_process_is_told(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    def make() -> Player:
        raise error

    assert not passes(make, games.load("nim"), "1/move")
    expected = f"FAILED: the constructor of the player raised {type(error).__name__}"
    assert expected in capsys.readouterr().out
