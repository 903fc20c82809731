"""Messages of the original system: what a client is told of its match, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeGuard

from playout.games import IllegalAction, State
from playout.players.engines.original_rules import OriginalRules, UnknownAction, win_values
from playout.protocol.messages import Analysis

Fields = dict[str, Any]


class ClientFault(ValueError):
    """Raised for a line of a client that breaks the protocol; the message says how."""


class IllegalMessage(ClientFault):
    """Raised for an action that the rules forbid: `action` is what the client sent."""

    def __init__(self, action: object) -> None:
        super().__init__(f"the action {json.dumps(action)} is illegal")
        self.action = action


def message(kind: str, **fields: object) -> str:
    """Return a message as a line of JSON, without its end."""
    return json.dumps({"type": kind, **fields}, ensure_ascii=False)


def position_fields(rules: OriginalRules, states: Sequence[State], moves: Sequence[int]) -> Fields:
    """Return the fields of an update, with the last move that was no pass.

    `moves` are the actions between the states of the match, which begin with its first one.
    """
    state = states[-1]
    played = [
        (before[0], action)
        for before, move in zip(states, moves, strict=False)
        if (action := rules.action_json(before, move)) is not None
    ]
    mover, action = played[-1] if played else (3 - state[0], None)
    fields: Fields = {"board": None, "state": rules.state_json(state, mover)}
    if action is not None:
        sequence = len(played) + 1  # the number of positions so far
        fields["last_action"] = {"player": mover, "action": action, "sequence": sequence}
    return fields


def result_fields(rules: OriginalRules, state: State, winner: int) -> Fields:
    """Return the further fields of the last update: `winner` is 1 or 2, or -1 for a tie."""
    values = win_values(winner)
    by_rules = rules.game.winner(state)
    return {"winners": values, "points": rules.points(state) if by_rules else values}


def answer_of(rules: OriginalRules, state: State, line: str | bytes) -> tuple[int, Analysis | None]:
    """Return the legal action that a client answers, and its analysis. Raises ClientFault."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ClientFault("expected a line of JSON") from error
    if not isinstance(said, dict) or said.get("type") != "action":
        raise ClientFault('expected {"type": "action", "message": ...}')
    try:
        action = rules.action_of(state, said.get("message"))
    except UnknownAction as error:
        raise ClientFault(f"expected {error}") from error
    except IllegalAction as error:
        raise IllegalMessage(said["message"]) from error
    return action, _analysis(said.get("extras"))


def _analysis(extras: object) -> Analysis | None:
    """Return what the original search tells: its playouts, depth and win rate."""
    if not isinstance(extras, dict):
        return None
    playouts, depth, actions = (extras.get(key) for key in ("games", "max_depth", "actions"))
    best = actions[0] if isinstance(actions, list) and actions else None
    percent = best.get("percent") if isinstance(best, dict) else None
    known = Analysis(
        simulations=playouts if _is_count(playouts) else None,
        depth=depth if _is_count(depth) else None,
        win_rate=percent / 100 if _is_percentage(percent) else None,
    )
    return known if known != Analysis() else None


def _is_percentage(value: object) -> TypeGuard[float]:
    return type(value) in (int, float) and 0 <= value <= 100  # type: ignore[operator]


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**31
