"""The options that our UCI engine offers: its own, and the parameters of the player.

`Threads` and `Hash` are the player's `threads` and `memory_mb`; for a player without them, they are
accepted and have no effect, as programs set them for every engine. The other parameters of the
player have their own names; an empty value, or `<empty>`, is the default of the player.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from playout.games.core import spec
from playout.players import find
from playout.players.engines.uci_games import VARIANTS

MULTI_PV, OVERHEAD, SHOW_WDL, VARIANT = "MultiPV", "Move Overhead", "UCI_ShowWDL", "UCI_Variant"
_EMPTY = "<empty>"
#: The UCI names of parameters of players, and the maximum value for one without a bound.
_NUMBERS = {"threads": "Threads", "memory_mb": "Hash"}
_MOST = 1 << 16
#: The default of such an option for a player without the parameter.
_WITHOUT_EFFECT = {"threads": "1", "memory_mb": "16"}
#: The parameter for the number of moves that an analysis compares, which MultiPV sets.
CANDIDATES = "candidates"
#: Parameters of players that the protocol replaces.
_HIDDEN = ("ponder", CANDIDATES)
#: Milliseconds of a move that pass outside the engine, by default and at most.
_OVERHEAD_MS, _MOST_OVERHEAD_MS = 20, 5000
_MOST_LINES = 64


@dataclass(frozen=True)
class OfferedOption:
    """An option as UCI announces it; `parameter` is the player's, "" for one of the engine."""

    name: str
    kind: str
    default: str
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()
    parameter: str = ""

    def __str__(self) -> str:
        bounds = f" min {self.low} max {self.high}" if self.kind == "spin" else ""
        choices = "".join(f" var {each}" for each in self.choices)
        return f"option name {self.name} type {self.kind} default {self.default}{bounds}{choices}"

    def value(self, text: str) -> str:
        """Return the value that a text sets. Raises ValueError, which says what is expected."""
        wanted = ""
        if self.kind == "spin":
            if not (text.isascii() and text.isdigit() and self.low <= int(text) <= self.high):
                wanted = f"a whole number from {self.low} to {self.high}"
        elif self.kind == "check":
            text = text.lower()
            wanted = "" if text in ("true", "false") else "true or false"
        elif self.kind == "combo" and text not in self.choices:
            wanted = f"one of {', '.join(self.choices)}"
        if wanted:
            raise ValueError(f"the option {self.name} is {wanted}, not {text!r}")
        return "" if text == _EMPTY else text


class UciSettings:
    """The options of an engine and their values."""

    def __init__(self, player: spec.Spec, variant: str) -> None:
        """`player` is the specification of the player at the start of the engine."""
        self._player = player
        offered = [*_of_engine(variant), *_of_player(player)]
        #: The options by their names in lower case, as case does not matter.
        self._offered = {each.name.lower(): each for each in offered}
        self._values: dict[str, str] = {}

    def lines(self) -> Iterator[str]:
        """Yield the lines that announce the options."""
        return map(str, self._offered.values())

    def set(self, name: str, text: str) -> None:
        """Set an option. Raises ValueError for an unknown option or an invalid value."""
        option = self._offered.get(name.lower())
        if option is None:
            raise spec.unknown("option", name, [each.name for each in self._offered.values()])
        self._values[option.name] = option.value(text)

    def value(self, name: str) -> str:
        """Return the value of an option."""
        return self._values.get(name, self._offered[name.lower()].default)

    @property
    def lines_shown(self) -> int:
        """The number of lines of moves to report."""
        return int(self.value(MULTI_PV))

    @property
    def shows_wdl(self) -> bool:
        """Whether to report the chances of a win, a tie and a loss."""
        return self.value(SHOW_WDL) == "true"

    @property
    def overhead_s(self) -> float:
        """Seconds of a move that pass outside the engine."""
        return int(self.value(OVERHEAD)) / 1000

    def player(self) -> spec.Spec:
        """Return the player with the parameters that were set."""
        chosen = {
            each.parameter: self._values[each.name]
            for each in self._offered.values()
            if each.parameter and each.name in self._values
        }
        options = {**self._player.options, **chosen}
        if self.lines_shown > 1 and CANDIDATES in _parameters(self._player.name):
            options[CANDIDATES] = str(self.lines_shown)
        return spec.Spec(self._player.name, {key: text for key, text in options.items() if text})


def _of_engine(variant: str) -> Iterable[OfferedOption]:
    variants = tuple(dict.fromkeys(each.name for each in VARIANTS))
    return (
        OfferedOption(VARIANT, "combo", variant, choices=variants),
        OfferedOption("Ponder", "check", "false"),
        OfferedOption(MULTI_PV, "spin", "1", 1, _MOST_LINES),
        OfferedOption(SHOW_WDL, "check", "false"),
        OfferedOption(OVERHEAD, "spin", str(_OVERHEAD_MS), 0, _MOST_OVERHEAD_MS),
    )


def _of_player(player: spec.Spec) -> Iterator[OfferedOption]:
    parameters = _parameters(player.name)
    for key, name in _NUMBERS.items():
        if key not in parameters:
            yield OfferedOption(name, "spin", _WITHOUT_EFFECT[key], 1, _MOST)
    for key, parameter in parameters.items():
        is_given = parameter.default not in (None, "")
        text = player.options.get(key) or (spec.spelled(parameter.default) if is_given else _EMPTY)
        if key in _NUMBERS:
            most = int(parameter.option.le or _MOST)
            yield OfferedOption(_NUMBERS[key], "spin", text, 1, most, parameter=key)
        elif key not in _HIDDEN:
            kind = "check" if parameter.type is bool else "string"
            yield OfferedOption(key, kind, text, parameter=key)


def _parameters(name: str) -> Mapping[str, spec.Parameter]:
    """Return the parameters of a player by their names."""
    return spec.parameters_of(find(name), skip=1)
