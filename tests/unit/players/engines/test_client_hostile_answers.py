"""What programs of strangers answer, in every protocol: a sentence for people, and no traceback."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from playout import games
from playout.games import Position, SpecError
from playout.players import Limit, PlayerError, Resigned
from playout.players.engine import Engine
from playout.players.engines import client, config, gomocup_client, gtp_client, xboard_client
from playout.players.engines.original_json import ClientFault, answer_of, message, rules_named
from support import scale
from support.engines import scripted

DIGITS = "9" * 5000
#: A text of each kind, and their siblings, which are tried with --slow.
TEXTS = [
    DIGITS, f"0.{DIGITS}", f"1e{DIGITS}", "nan", "[" * 100_000, "\\ud83d", "\x1b]52;c;AA\x07\u202e",
]  # fmt: skip
SIBLINGS = [
    f"-{DIGITS}", f"+{DIGITS}", f"{DIGITS}.{DIGITS}", "1e999999999", "NaN", "-inf", "Infinity",
    '{"a":' * 50_000, '"\\ud800"', "\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT THREE}", "\0", ",",
    "1,", "0x10", "1_000", "\N{REPLACEMENT CHARACTER}", "A1000000000", f"Z{DIGITS}",
    f"{DIGITS},{DIGITS}", "a" * 100_000,
]  # fmt: skip
#: A position of each protocol, and rules of scripts in which {} is the text.
SCRIPTS: dict[str, list[tuple[str, tuple[int, ...], list[tuple[str, list[str]]]]]] = {
    "lines": [("tic_tac_toe", (), [(".", ["{}\n"])])],
    "uci": [
        ("chess", (), [
            ("uci$", ["id name {}\noption name {} type {} default {}\nuciok\n"]),
            ("go", [
                "info depth {} score cp {} nodes {} multipv {} pv e2e4\nbestmove e2e4\n",
                "info depth 1 score mate 1 pv {} e2e4\nbestmove e2e4 ponder {}\n",
                "bestmove {}\n",
            ]),
        ]),
    ],
    "gtp": [
        ("go(size=9)", (), [
            ("name|version", ["={n} {}\n\n"]),
            ("genmove", ["={} A1\n\n={n} {}\n\n"]),
        ]),
        ("go(size=9)", (), [
            ("list_commands", ["={n} boardsize clear_board play genmove kata-genmove_analyze\n\n"]),
            ("kata", ["={n}\ninfo move A1 visits {} winrate {} prior {} pv A1 {}\nplay A1\n\n"]),
        ]),
        ("go(size=9,counting=true)", (81, 81), [
            ("list_commands", ["={n} boardsize clear_board play genmove final_status_list\n\n"]),
            ("final_status_list", ["={n} {}\n\n"]),
        ]),
    ],
    "xboard": [
        ("chess", (), [
            ("protover", ['feature ping=1 usermove=1 setboard=1 myname="{}" {}={} done=1\n']),
            ("go", [
                "1 {} {} {} e2e4\n{} {} {} {} e2e4\nmove e2e4\n", "Error ({}): {}\nmove e2e4\n",
                "move {}\n",
            ]),
        ]),
    ],
    "gnubg": [
        ("backgammon", (0,), [("version", ["Interface: {}\nSoftware: {}\n"]), ("board", ["{}\n"])]),
        ("backgammon", (0, 0, 30, 109), [("evaluation", ["{}\n"])]),
    ],
    "gomocup": [
        ("gomoku", (), [
            ("ABOUT", ['name="{}", version="{}"\n']),
            ("START", ["OK {}\n"]),
            ("BEGIN", [
                "MESSAGE Depth {}-{} | Eval {} | Node {}K | Bestline A1 {}\n7,7\n",
                "SUGGEST {}\n", "{}\n",
            ]),
        ]),
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(gtp_client, "SILENCE_S", 0.01)
    monkeypatch.setattr(gomocup_client, "BANNER_S", 0.01)
    monkeypatch.setattr(client, "REPEATED_S", 0.01)
    monkeypatch.setattr(client, "MARGIN_S", 0.0)
    monkeypatch.setattr(xboard_client, "_FIRST_FEATURE_S", 0.05)
    monkeypatch.setattr(xboard_client, "_NEXT_FEATURE_S", 0.05)


def require_sentence(error: Exception) -> None:
    text = str(error)
    assert text.isprintable()
    assert len(text) < 2000


def test_every_protocol_is_tried() -> None:
    assert {*SCRIPTS, "json"} == {*config.PROTOCOLS}


@pytest.mark.parametrize("text", TEXTS + SIBLINGS * scale.slow, ids=lambda text: text[:8])
@pytest.mark.parametrize("protocol", SCRIPTS)
def test_an_answer_is_a_move_or_an_error_for_people(
    tmp_path: Path, protocol: str, text: str
) -> None:
    for game, moves, rules in SCRIPTS[protocol]:
        filled = [(word, [each.replace("{}", text) for each in told]) for word, told in rules]
        try:
            engine = Engine(games.load(game), **scripted(tmp_path, protocol, *filled))
        except SpecError as error:
            require_sentence(error)
            continue
        with contextlib.closing(engine):
            assert engine.version.isprintable()
            for _ in range(len(rules[-1][1])):
                try:
                    engine.choose(Position(engine.game, moves), Limit(seconds=0.3))
                except Resigned:
                    pass
                except PlayerError as error:
                    require_sentence(error)


VALUES = [
    "1e999", "-1e999", "NaN", "Infinity", DIGITS, f"0.{DIGITS}", f"1e{DIGITS}", '"\\ud800"',
    '"\\u0000"', "[" * 100_000 + "]" * 100_000, "[" * 900 + "]" * 900, "null", "true", "3.0", "[]",
    "{}", f'"{"a" * 100_000}"',
]  # fmt: skip
LINES = [
    "{}", '{"type": {}}', '{"type": "action", "message": {}}',
    '{"type": "action", "message": {"column": {}}}',
    '{"type": "action", "message": {"column": 3, "also": {}}}',
    '{"type": "action", "message": {"column": 2}, "extras": {}}',
    '{"type": "action", "message": {"column": 2}, "extras": {"games": {}, "max_depth": {}}}',
    '{"type": "action", "message": {"column": 2}, "extras": {"actions": [{"percent": {}}]}}',
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_an_answer_of_the_original_system_is_a_move_or_an_error(line: str) -> None:
    rules = rules_named("connect_four")
    state = Position(rules.game, [3] * 6).state  # column 3 is full
    for value in VALUES:
        try:
            _, analysis = answer_of(rules, state, line.replace("{}", value))
            json.dumps(analysis and analysis.win_rate, allow_nan=False)
        except ClientFault as error:
            require_sentence(error)
            message("error", message=getattr(error, "action", "")).encode()
