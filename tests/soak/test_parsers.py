"""Every parser of strangers' text gets damaged text: it reads it, or refuses it in a sentence.

A few examples each, or with `--soak SECONDS` an equal part of `SHARE` of these seconds, as
processor time. An input is a valid text with a few mutations. A refusal is one of the errors that
the parser declares; its text has at most 10 kB, and nothing has changed.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import gzip
import io
import json
import os
import pickle
import re
import select
import socket
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import click
import msgpack
import msgspec
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.web.resource import Resource

from playout import games
from playout.agents import benchmark_file, models
from playout.agents.models import ChatCompletion, ModelAnswer, decoded_answer
from playout.agents.prompts import move_of
from playout.agents.variants import known
from playout.bots import archive, bot_file
from playout.bots.archive import ArchiveError
from playout.bots.bot_file import BotFileError
from playout.bots.site_client import SiteClient
from playout.bridges.comply import proxy as comply_proxy
from playout.commands import identity
from playout.commands.identity import TokenError
from playout.commands.toml_table import TomlError
from playout.games import IllegalAction, Position, SpecError
from playout.games.core import plugins, spec
from playout.laboratory import lab_file
from playout.players import engine, find
from playout.players.core.player import Limit, PlayerError, Resigned
from playout.players.engines import config, original_json
from playout.players.engines.client import EngineClient
from playout.players.engines.config import EngineConfig
from playout.players.engines.engine_command import main as playout_engine
from playout.players.engines.engine_server import EngineServer, LineInput, checked_player
from playout.players.engines.gomocup_engine import GomocupBrain
from playout.players.engines.gtp_engine import GtpServer
from playout.players.engines.process import EngineProcess
from playout.players.engines.uci_engine import UciServer
from playout.players.evaluations import files as evaluation_files
from playout.players.nets import alphazero_gomoku, contract
from playout.players.nets.files import NetError
from playout.players.training import TrainingError, run_folder
from playout.players.training import settings as training_settings
from playout.protocol import codec, endpoints, names, sgf, text_files, time_control, versions
from playout.protocol.names import BadName
from playout.protocol.text_files import TextFileError
from playout.protocol.time_control import TimeControlError
from playout.sandbox.proxy import HostProxy
from playout.server.core.handlers.push import is_of_service
from playout.server.export import backgammon, jsonl, pgn, variations
from playout.server.export import sgf as export_sgf
from playout.server.ladder import hours
from playout.server.model.offered_bots import BadBot, parse_offered_bot
from playout.server.net import webhooks
from playout.server.organizer.local_server import ServerCertificate
from playout.server.organizer.spec_file import SpecFileError
from playout.server.server_command import main as playout_server
from playout.server.tournament import competition_file, opening_file, reported, spec_parser
from playout.server.tournament.competition_file import CompetitionFileError
from playout.server.tournament.ledger import StoredGame
from playout.server.web import texts
from playout.server.web.http import HandlerResource, HttpRequest, HttpResponse
from playout.server.web.http_server import LOCAL, LimitedSite
from playout.server.web.parameters import Parameters
from support import fixtures, scale
from support.nets import write_small_net
from support.organizer import SPEC
from support.scripted_engine import USUAL
from support.stored_game import PlayedGame
from support.variants import EXAMPLES
from support.web import HERE, HttpClientLine

pytestmark = pytest.mark.timeout(600 + scale.soak_s)

#: The share of the soak of all parsers together.
SHARE = 0.3
#: Maximum number of bytes of a refusal.
MOST_BYTES = 10_000
#: What strangers write into texts of every format.
NASTY = (
    *(
        "",
        " ",
        "\n",
        "\r",
        "\t",
        "\0",
        "\x1b[2J",
        "\u202e",
        "\ufeff",
        "\U0001f600",
        "\u0663",
        "e\u0301",
    ),
    *(
        "'",
        '"',
        "\\",
        "/",
        "..",
        "%s",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        "=",
        ",",
        ";",
        ":",
        "#",
    ),
    *("-1", "0", "1e999", "nan", "inf", "1.5", "9" * 5000, "0x10", "true", "null", "none"),
    *("(" * 3000, "[" * 3000, "{" * 3000, "a" * 20_000, "x,\n" * 3000, "a=" * 500, "(;" * 500),
)

Draw = Callable[[st.SearchStrategy[Any]], Any]
#: Gives a parser damaged text, which it draws; the folder is empty.
Fuzz = Callable[[Draw, Path], object]

PARSERS: dict[str, Fuzz] = {}


def parser(name: str) -> Callable[[Fuzz], Fuzz]:
    """Register a function that gives damaged texts to a parser."""

    def register(fuzz: Fuzz) -> Fuzz:
        PARSERS[name] = fuzz
        return fuzz

    return register


@pytest.mark.parametrize("name", PARSERS)
def test_damaged_texts_are_read_or_refused(name: str, tmp_path: Path) -> None:
    numbers = count()

    @given(st.data())
    @settings(
        max_examples=30 if scale.soak_s else 3,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
    )
    def examine(data: st.DataObject) -> None:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            PARSERS[name](data.draw, folder)
        assert "Traceback" not in errors.getvalue(), errors.getvalue()
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        folder.rmdir()

    end = time.process_time() + SHARE * scale.soak_s / len(PARSERS)
    examine()
    while time.process_time() < end:
        examine()


def refusable(parse: Callable[[], object], *refusals: type[Exception]) -> str:
    """Call a parser, which may raise one of these errors; return the text of the error."""
    try:
        parse()
    except refusals as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        assert text
        assert bounded(text)
        return text
    return ""


def bounded(text: str) -> bool:
    return len(text.encode(errors="surrogatepass")) <= MOST_BYTES


# Mutations.


def damaged(draw: Draw, valid: Sequence[str], words: Sequence[str] = ()) -> str:
    """Draw one of the valid texts, and change up to six places of it."""
    text: str = draw(st.sampled_from(valid))
    inserted = st.sampled_from([*words, *NASTY]) | st.text(max_size=4) | st.integers().map(str)
    for _ in range(draw(st.integers(0, 6))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 12)))
        match draw(st.integers(0, 4)):
            case 0:  # a part of another text
                other = draw(st.sampled_from(valid))
                place = draw(st.integers(0, len(other)))
                text = text[:begin] + other[place : place + 80] + text[end:]
            case 1:
                text = (
                    text[:begin] + text[begin:end] * draw(st.sampled_from([2, 3, 400])) + text[end:]
                )
            case _:
                text = text[:begin] + draw(inserted) + text[end:]
    return text


def damaged_bytes(draw: Draw, valid: Sequence[bytes]) -> bytes:
    """Draw one of the valid contents, and change up to six places of it."""
    data = bytearray(draw(st.sampled_from(valid)))
    for _ in range(draw(st.integers(0, 6))):
        begin = draw(st.integers(0, len(data)))
        end = draw(st.integers(begin, min(len(data), begin + 8)))
        data[begin:end] = draw(
            st.binary(max_size=8) | st.sampled_from([b"\xff" * 8, b"\0" * 8, b"\x80" * 4])
        )
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


def encoded(draw: Draw, text: str) -> bytes:
    """Return a text as a file of one of several programs."""
    encoding = draw(st.sampled_from(["utf-8"] * 4 + ["utf-8-sig", "utf-16", "latin-1", "gb18030"]))
    return text.encode(encoding, errors="replace")


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """Return a new file with this content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(errors="replace"))
    return path


# Names, games and other short texts.


@parser("names and versions")
def _(draw: Draw, folder: Path) -> None:
    text = damaged(draw, ["Ada", "Владимир v2", "李 Bot", "Zoë_3", "ㅋㅋ", "uct(c=0.7)"])
    refusable(lambda: names.normalised(text), BadName)
    refusable(lambda: names.checked_version(text), BadName)
    assert names.skeleton(names.skeleton(text)) == names.skeleton(text)


@parser("time controls")
def _(draw: Draw, folder: Path) -> None:
    text = damaged(draw, ["1/move", "300+3", "600+5x30", "120d12", "none", "60+1 | 10+0.1"])
    refusable(lambda: time_control.parse_time_controls(text), TimeControlError)


@parser("games with parameters")
def _(draw: Draw, folder: Path) -> None:
    valid = [
        *EXAMPLES,
        "go(size=9,komi=6.5)",
        "nim(piles=3;4)",
        "chess(fen=8/8/8/8/8/8/8/K1k5 w - - 0 1)",
        "open_spiel(game=hex)",
        "my_game:Class",
        "othello( size = 6 )",
    ]
    text = damaged(draw, valid, ["size=", "komi=", "fen=", "m=", "k=", ",", "=true"])
    refusable(lambda: games.load(text), SpecError)


@parser("players with options")
def _(draw: Draw, folder: Path) -> None:
    valid = ["uct(c=1.2,threads=2)", "alphabeta(depth=3)", "best(level=easy)", "engine(name=x)"]
    text = damaged(draw, valid, ["c=", "time=", "seed=", "evaluation=", "net="])

    def bound() -> None:
        wanted = spec.parse(text)
        spec.bind(find(wanted.name), wanted, skip=1)

    refusable(bound, SpecError)
    refusable(lambda: checked_player(text), SpecError)
    refusable(lambda: versions.of_player(text, lambda path: None), SpecError)


@parser("bots of a server")
def _(draw: Draw, folder: Path) -> None:
    valid = ["Playout Easy:easy=best(level=easy)", "uct(time=1)", "A=uct;go=rave;hex=uct(c=1)"]
    text = damaged(draw, valid)
    refusable(lambda: parse_offered_bot(text), BadBot)


@parser("addresses and headers")
def _(draw: Draw, folder: Path) -> None:
    valid = [
        "localhost:8765",
        "[::1]:80",
        "https://fcm.googleapis.com/fcm/send/x",
        "de-AT,de;q=0.9,*;q=0.1",
    ]
    text = damaged(draw, valid, ["443", "65536", "q=", "@", "[", "]"])
    assert endpoints.host_and_port(text) is None or text
    is_of_service(text, ("https://fcm.googleapis.com", "https://*.push.example"))
    assert texts.language_of(None, text)
    proxied = [
        b"PROXY TCP4 1.2.3.4 5.6.7.8 80 443\r\n",
        b"PROXY UNKNOWN\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(12),
    ]
    header = damaged_bytes(draw, proxied)
    refusable(lambda: endpoints.parse_header(header), endpoints.ProxyHeaderError)


@parser("text files")
def _(draw: Draw, folder: Path) -> None:
    data = damaged_bytes(
        draw, [b"Zo\xeb,\r\n", "Zoë,李".encode(), "Zoë".encode("utf-16"), b"CA[gbk] \xff"]
    )
    refusable(lambda: text_files.decoded(data), TextFileError)
    refusable(lambda: sgf.decoded(data), TextFileError)


@parser("files of tokens")
def _(draw: Draw, folder: Path) -> None:
    text = damaged(draw, ['{"localhost:8765": {"ada": "0123456789abcdef"}}', "0123456789abcdef\n"])
    path = written(folder, "tokens.json", text)
    path.chmod(0o600)
    known = identity.TokenFile(folder, lambda text: None)
    before = path.read_bytes()
    if refusable(lambda: known.keep("a:1", "Ada", "secret"), TokenError):
        assert path.read_bytes() == before
    refusable(lambda: identity.given_token(path, {}, lambda text: None), TokenError)


@parser("moves, as people, models and files write them")
def _(draw: Draw, folder: Path) -> None:
    position = Position(games.load(draw(st.sampled_from(EXAMPLES))))
    for _ in range(draw(st.integers(0, 8))):
        if position.winner:
            return
        position = position.play(draw(st.sampled_from(position.legal_actions)))
    if position.winner:
        return
    legal = [position.name(action) for action in position.legal_actions]
    text = damaged(draw, legal, [*legal[:20], "x", "-", "+", "#", "=Q", "O-O", "pass", "swap"])
    text = text[:200]  # as the readers of files and answers cut it
    game, state = position.game, position.state
    refusable(lambda: game.parse_action(state, text), IllegalAction)
    refusable(lambda: game.parse_turn(state, text), IllegalAction)
    refusable(lambda: move_of(position, text, known(game)), IllegalAction)
    marked = f"I think.\n**MOVE: {text}**"
    refusable(lambda: move_of(position, marked, known(game)), IllegalAction)


# Files of games and openings. A tournament's file names them, so that all its errors are counted.

PLAYED = {
    name: [PlayedGame(name).play_anything(seed, 12).stored for seed in (1, 2)]
    for name in ("chess", "draughts", "othello", "gomoku", "hex(size=5)", "go(size=9)", "checkers")
}
OPENINGS = {
    "pgn": (
        "chess",
        ['[FEN "4k3/8/8/8/8/8/4P3/4K2R w K - 0 1"]\n\n1. 0-0 Ke7 2. e4! {x} (2. e3) $5 *\n'],
    ),
    "pdn": ("draughts", ['[FEN "W:W31-50:B1-20"]\n1. 32-28 19x23 2. 28x19 *', "1. 30x10 2-0"]),
    "epd": ("chess", ['rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6 id "x"; fmvn 2;']),
    "mat": (
        "backgammon",
        [" 1 point match\n\n Game 1\n A : 0   B : 0\n  1) 31: 8/5 6/5     42: 8/4 6/4\n"],
    ),
    "psq": (
        "gomoku",
        ["Piskvorky 15x15, 11:11, 0\n8,8,1000\n9,7,20\n10,10,0\n-1\nan engine\nanother\n0\n"],
    ),
    "sgf": (
        "go(size=9)",
        ["(;FF[4]SZ[9]KM[6.5];B[ee];W[dd](;B[aa])(;B[bb];W[]))", "(;SiZe[9];Black[ee])"],
    ),
    "hex.sgf": ("hex(size=5)", ["(;FF[4]GM[11]SZ[5];B[a3];W[swap-pieces];B[c3])"]),
    "othello.txt": ("othello", ["F5D6C3D3C4\nf5 d6 c3\n[19, 34]\n# x\n"]),
    "gomoku.txt": ("gomoku", ["-3,-2, 0,1, 4,4\n0,0\n"]),
    "list.txt": ("connect_four", ["4 4 3\n[3, 3]\n1. d d 2. c"]),
}


_POSITIONS = ["rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2", "W:W31-50:B1-20"]


def _openings(kind: str) -> Fuzz:
    game, valid = OPENINGS[kind]
    played = PLAYED.get(game, [])
    if kind in ("pgn", "pdn"):
        valid = [*valid, *map(pgn.write, played)]
    elif kind == "sgf":
        valid = [*valid, *map(export_sgf.write, played)]
    words = [
        *"\n()[]{};*$%",
        "1.",
        "...",
        "1-0",
        "0-1",
        "[FEN ",
        "[SetUp ",
        "B[",
        "W[",
        ";B[",
        "tt",
        "1) ",
    ]

    def fuzz(draw: Draw, folder: Path) -> None:
        content = encoded(draw, damaged(draw, valid, words))
        plies = draw(st.sampled_from(["", "plies = 4\n"]))
        text = SPEC.replace('["tic_tac_toe", "nim"]', f'["{game}"]')
        text += f'[openings]\n{plies}file = "o.{kind}"\n'
        _, faults = spec_parser.read(text, files={f"o.{kind}": content}.get)
        assert bounded(faults.text())
        assert bounded("\n".join(faults.notes))

    return fuzz


for _kind in OPENINGS:
    parser(f"openings: {_kind}")(_openings(_kind))


@parser("pasted positions and moves")
def _(draw: Draw, folder: Path) -> None:
    game, valid = OPENINGS[draw(st.sampled_from([*OPENINGS]))]
    text = damaged(draw, [*valid, *_POSITIONS])
    rules = games.load(draw(st.sampled_from([game, *EXAMPLES])))
    refusable(lambda: opening_file.pasted(text, rules, 100), opening_file.BadOpening)


@parser("trees of variations")
def _(draw: Draw, folder: Path) -> None:
    text = damaged(draw, ["3 5 ( 4 2 ( 1 ) ) 6 ( 7 )", "0"], ["(", ")", "-1", "99", "( ( 1"])
    pgn_rules, sgf_rules = games.load("chess"), games.load("gomoku")
    refusable(lambda: variations.write_pgn(pgn_rules, variations.read(text)), variations.BadTree)
    refusable(lambda: variations.write_sgf(sgf_rules, variations.read(text)), variations.BadTree)


@parser("imported matches")
def _(draw: Draw, folder: Path) -> None:
    valid = [jsonl.write(each) for each in (*PLAYED["chess"], *PLAYED["gomoku"])]
    line = damaged(draw, valid, ['"moves"', '"action"', '"clock"', '"ended"', "{}", "[]", "1e400"])
    refusable(lambda: jsonl.read(line), jsonl.BadLine)
    refusable(lambda: jsonl.read(encoded(draw, line)), jsonl.BadLine)


@parser("reported matches")
def _(draw: Draw, folder: Path) -> None:
    valid = [jsonl.write(each) for each in (*PLAYED["chess"], *PLAYED["gomoku"])]
    line = damaged(draw, valid, ['"tournament"', '"fixture"', '"ended"', "\n", "1e400"])
    packed = reported.packed(encoded(draw, line))
    for text in (packed, damaged(draw, [packed])):
        arguments = text, 0, "t1", "ann", "t2", 0.0
        refusable(lambda: reported.read_matches(*arguments), reported.BadReport)  # noqa: B023
    whole = reported.ReportedTournament(spec=fixtures.spec(), withdrawn=(), ended_at=1.0)
    said = damaged(draw, [msgspec.json.encode(whole).decode()], ['"rounds"', "1e400", "[]"])
    packed = reported.packed(encoded(draw, said))
    (one, *_) = PLAYED["gomoku"]
    games = [StoredGame(msgspec.structs.replace(one.started, fixture="1.1.1.1.1"), one.ended, ())]
    refusable(lambda: reported.read_whole(packed, "t2", 0.0, games, 1.0), reported.BadReport)


@parser("imported matches of backgammon")
def _(draw: Draw, folder: Path) -> None:
    valid = [*OPENINGS["mat"][1], "(;FF[4]GM[6]PB[A]PW[B];B[31hefe];W[42rnpn])"]
    text = damaged(
        draw, valid, ["Doubles", "Takes", "Drops", "Wins 1 point", "bar/24", "66: ", "B[", "GM[6]"]
    )
    for _, found in zip(range(1000), backgammon.read(text), strict=False):
        assert bounded(str(found) if isinstance(found, ValueError) else "")


# Specifications.


def _toml(
    name: str, valid: Sequence[str], read: Callable[[Path], object], *refusals: type[Exception]
) -> None:
    words = sorted(
        {*re.findall(r"[\w.]+", " ".join(valid)), "[[", "]]", " = ", '"""', "1979-05-27"}
    )

    def fuzz(draw: Draw, folder: Path) -> None:
        path = written(folder, name, encoded(draw, damaged(draw, valid, words)))
        refusable(lambda: read(path), *refusals)

    parser(name)(fuzz)


class SpecRefused(ValueError):
    """The faults of a tournament's file."""


def _read_spec(path: Path) -> None:
    _, faults = spec_parser.read(sgf.decoded(path.read_bytes()), files=lambda path: None)
    if faults.found:
        raise SpecRefused(faults.text())


def _read_server(path: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        context = playout_server.make_context("playout-server", ["--config", str(path), "accounts"])
    assert context


_toml(
    "tournament.toml",
    [
        SPEC,
        'name = "t"\ngames = ["othello(size=6)"]\nformat = "sprt"\nclock = "1/move"\nanchor = "a"\n'
        "[sprt]\nelo0 = 0\nelo1 = 5\nalpha = 0.05\n[openings]\nplies = 2\n"
        "[adjudication]\nmax_plies = 5\n"
        '[defaults]\nthreads = 2\noptions = { c = 1.2 }\n[[entrants]]\nname = "a"\nplayer = "uct"\n'
        '[[entrants]]\nname = "b"\ncommand = "python bot.py"\nprotocol = "lines"\n'
        '[cluster]\ndask = "local"\n',
    ],
    _read_spec,
    SpecRefused,
    TomlError,
    TextFileError,
)
_toml(
    "bot.toml",
    ['protocol = "lines"\ncommand = "python3 bot.py"\nbuild = "make"\n'],
    lambda path: bot_file.read(path.parent),
    BotFileError,
)
_toml(
    "lab.toml",
    [
        'games = ["othello"]\nclock = "0.1/move"\nelo1 = 10\nbuild_hosts = ["pypi.org"]\n'
        "openings = { plies = 2 }\n[parameters]\nc = { range = [0.1, 2.0], start = 0.5 }\n"
        "[sandbox]\nmemory_mb = 100\n"
    ],
    lambda path: lab_file.read(path, {}, path.parent),
    SpecFileError,
)
_toml(
    "agents.toml",
    [
        'games = ["connect_four"]\nopponents = ["random"]\n[[models]]\nname = "m"\n'
        'command = "python m.py"\n[[models]]\nname = "e"\nendpoint = "x"\naddress = "ADDRESS"\n'
        'key = "KEY"\n[[prompts]]\nboard = "json"\n'
    ],
    benchmark_file.read,
    click.UsageError,
)
_toml(
    "engines.toml",
    [
        '[gnugo]\ncommand = "gnugo --mode gtp"\nprotocol = "gtp"\ngames = ["go"]\n'
        "options = { level = 1 }\nshort_s = 0.1\n"
    ],
    config.read,
    SpecError,
)
_toml(
    "training.toml",
    ['game = "connect_four"\nseed = 1\n[self_play]\nsimulations = 100\n[net]\nblocks = 2\n'],
    lambda path: training_settings.parse(sgf.decoded(path.read_bytes()), path.name),
    TrainingError,
    TextFileError,
)
_toml(
    "server.toml",
    ['port = 9000\nbots = 2\noffer = ["uct(time=1)"]\ngame = "hex"\nrate = 20.5\nopen = true\n'],
    _read_server,
    click.ClickException,
)
_COMPETITION = (
    'title = "Autumn"\ngames = ["othello"]\nclock = "1/move"\nroster = "class.csv"\n'
    "opens = 2026-01-01T00:00:00Z\ndeadline = 2027-01-01T00:00:00Z\n"
    '[[house]]\nname = "H"\nplayer = "uct"\n[final]\nrounds = 10\n[sandbox]\nmemory_mb = 100\n'
)
_toml("competition.toml", [_COMPETITION], competition_file.read, CompetitionFileError)


@parser("rosters")
def _(draw: Draw, folder: Path) -> None:
    rows = [
        "account,team,name\nada,reds,Ada L.\nbob,reds,Bob\n",
        "sep=;\naccount;team\nada;x\n",
        'Account\tName\nzoë\t"Z, ""Q"""\n',
    ]
    words = ["account", "team", "name", "\t", ";", ",", '""', "sep=", "\n"]
    written(folder, "class.csv", encoded(draw, damaged(draw, rows, words)))
    path = written(folder, "competition.toml", _COMPETITION)
    refusable(lambda: competition_file.read(path), CompetitionFileError)


# Archives, nets and evaluations.

_BOT = {"bot.py": b"print()", "bot.toml": b'protocol = "lines"\ncommand = "python3 bot.py"\n'}


def _zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in _BOT.items():
            made.writestr(f"ada/{name}", content)
    return buffer.getvalue()


def _tarred() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name, content in _BOT.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@parser("archives")
def _(draw: Draw, folder: Path) -> None:
    name, valid = draw(
        st.sampled_from(
            [
                ("bot.zip", _zipped()),
                ("bot.tar", _tarred()[:3072]),
                ("bot.tgz", _tarred()),
                ("bot.py", b"class Bot: pass"),
                ("bot.rar", b"Rar!"),
            ]
        )
    )
    content = damaged_bytes(draw, [valid])
    upload = written(folder, name, gzip.compress(content) if name == "bot.tgz" else content)
    refusable(
        lambda: archive.unpack(upload, name, folder / "unpacked", 2**20), ArchiveError, BotFileError
    )
    assert {each.name for each in folder.iterdir()} <= {name, "unpacked"}


_SMALL = games.load("tic_tac_toe")
_FILES: dict[str, bytes] = {}


def _content(name: str, folder: Path) -> bytes:
    """Return the bytes of a net or of an evaluation, which is made once."""
    if name not in _FILES:
        if name == "net":
            _FILES[name] = write_small_net(folder / "small", _SMALL).read_bytes()
            (folder / "small").unlink()
        else:
            path = evaluation_files.shipped(games.load(name))
            assert path
            _FILES[name] = path.read_bytes()
    return _FILES[name]


@parser("nets")
def _(draw: Draw, folder: Path) -> None:
    path = written(folder, "net.onnx", damaged_bytes(draw, [_content("net", folder)]))
    refusable(lambda: contract.read(path, _SMALL), NetError)


@parser("nets of AlphaZero_Gomoku")
def _(draw: Draw, folder: Path) -> None:
    arrays = [np.ones((2, 3), np.float32), np.zeros(4)]
    valid = [pickle.dumps(arrays, protocol) for protocol in (0, 2, 4)]
    path = written(folder, "best_policy_8_8_5.model", damaged_bytes(draw, valid))
    refusable(lambda: alphazero_gomoku.read_arrays(path), NetError)


@parser("evaluations")
def _(draw: Draw, folder: Path) -> None:
    name = draw(st.sampled_from(["pig", "connect_four"]))
    game = games.load(name)
    path = written(folder, "e.npz", damaged_bytes(draw, [_content(name, folder)]))
    read = evaluation_files.read_net if game.has_chance else evaluation_files.read
    refusable(lambda: read(path, game), evaluation_files.EvaluationError)


@parser("files of trainings")
def _(draw: Draw, folder: Path) -> None:
    content = damaged_bytes(draw, [run_folder.packed({"a": np.ones(9)}, {"round": 1})])
    refusable(lambda: run_folder.unpacked(content, "shard", "delete it"), TrainingError)


@parser("certificates and keys")
def _(draw: Draw, folder: Path) -> None:
    if "PEM" not in _FILES:
        made = ServerCertificate("127.0.0.1")
        _FILES["PEM"] = made.certificate.read_bytes() + made.key.read_bytes()
        made.delete()
    paths = [
        written(folder, name, damaged_bytes(draw, [_FILES["PEM"]])) for name in ("a.pem", "b.pem")
    ]
    refusable(lambda: endpoints.encrypted(None, *paths), endpoints.TlsError)


@parser("secrets of webhooks")
def _(draw: Draw, folder: Path) -> None:
    written(
        folder, "secret", encoded(draw, damaged(draw, ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]))
    )
    refusable(lambda: webhooks.secret(folder), webhooks.WebhooksUnavailable)


@parser("hours of ladders")
def _(draw: Draw, folder: Path) -> None:
    text = damaged(draw, ["18:00-22:00", "22:30-06:15", "00:00-24:00"], ["24", "60", ":", "-"])
    refusable(lambda: hours.parse_hours([text]), hours.LadderHoursError)


@parser("modules of Python in the folder of a bot")
def _(draw: Draw, folder: Path) -> None:
    code = damaged(draw, ["from playout.games import Game\n\nclass Mine(Game):\n    x = 'a.bin'\n"])
    written(folder, "mine.py", encoded(draw, code))
    assert plugins.file_hint("game", "Game", "mine.py", folder)
    files = {"mine.py": (folder / "mine.py").read_bytes()}.get
    assert versions.of_player("mine:Mine", files)


# Messages.

_MESSAGES = [
    {"type": "hello", "protocol_min": 1, "protocol_max": 1, "name": "Ada", "guest": True, "id": 1},
    {"type": "seek", "game": "go", "clock": "300+3", "matches": 2, "rated": True},
    {"type": "move", "match": "m", "ply": 3, "action": 5, "info": {"win_rate": 0.5, "pv": [1, 2]}},
    {
        "type": "create_tournament",
        "spec": {"name": "t", "games": ["nim"], "entrants": [], "format": "match"},
    },
]
_EVENTS = [
    {"type": "update", "match": "m", "ply": 3, "action": 5, "state": [1, 0], "legal_actions": [1]},
    {"type": "error", "code": "invalid", "text": "x", "re": 1},
]


@parser("messages")
def _(draw: Draw, folder: Path) -> None:
    frame = damaged_bytes(draw, list(map(msgpack.packb, _MESSAGES)))
    refusable(lambda: codec.decode_request(frame), codec.Unreadable)
    line = damaged(draw, list(map(json.dumps, _MESSAGES)), ["[]", '{"a":', "1e400", "\\ud800"])
    refusable(lambda: codec.decode_json_request(line.encode(errors="replace")), codec.Unreadable)


@parser("events")
def _(draw: Draw, folder: Path) -> None:
    frame = damaged_bytes(draw, list(map(msgpack.packb, _EVENTS)))
    refusable(lambda: codec.decode_event(frame), ValueError)


@parser("frames of bots that are checked")
def _(draw: Draw, folder: Path) -> None:
    bodies = map(msgpack.packb, _MESSAGES)
    frames = [len(each).to_bytes(4, "big") + each for each in bodies]
    data = damaged_bytes(draw, frames)

    async def read() -> None:
        stream = asyncio.StreamReader()
        stream.feed_data(data)
        stream.feed_eof()
        while frame := await comply_proxy.read_frame(stream):
            assert bounded(str(frame))

    refusable(lambda: asyncio.run(read()), comply_proxy.NotAFrame)


@parser("answers of models")
def _(draw: Draw, folder: Path) -> None:
    valid = [
        '{"content": "MOVE: a1", "prompt_tokens": 5}',
        '{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1}}',
    ]
    text = damaged(draw, valid, ["null", "[]", "{}", "1e400", '"content"'])
    for kind in (ModelAnswer, ChatCompletion):
        assert isinstance(decoded_answer(text, kind), ModelAnswer | ChatCompletion)
        assert isinstance(decoded_answer(encoded(draw, text), kind), ModelAnswer | ChatCompletion)


@parser("answers of the original clients")
def _(draw: Draw, folder: Path) -> None:
    rules = original_json.rules_named(draw(st.sampled_from(["connect_four", "othello", "chong"])))
    state = rules.game.initial_state()
    action = rules.action_json(state, rules.game.legal_actions(state)[0])
    extras = {"games": 5, "max_depth": 3, "actions": [{"percent": 50}]}
    valid = [original_json.message("action", message=action, extras=extras)]
    line = damaged(draw, valid, ["null", "[]", "{}", "1e400", "true", '"message"'])
    refusable(lambda: original_json.answer_of(rules, state, line), original_json.ClientFault)


# HTTP, and the proxy of sandboxes.

_REQUESTS = [
    b"GET /x?page=2&per_page=50&game=go(size%3D9)&player=A HTTP/1.1\r\nHost: localhost\r\n"
    b"Accept-Language: de,en;q=0.5\r\nCookie: language=zh_Hans\r\nAccept-Encoding: gzip\r\n\r\n",
    b"GET /x?since=2026-11-22&until=2026-11-23&tournament=1a&actions=1,2 HTTP/1.1\r\n"
    b"Host: 127.0.0.1:8080\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n",
    b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    b"CONNECT pypi.example:443 HTTP/1.1\r\n\r\n",
    b"GET http://pypi.example/a?b HTTP/1.1\r\nHost: pypi.example\r\nProxy-Connection: x\r\n\r\n",
]


def _page(request: HttpRequest) -> HttpResponse:
    names = ("page", "per_page", "game", "player", "result", "since", "until", "tournament")
    parameters = Parameters(request, (*names, "actions"))
    found = parameters.page, parameters.match_filter, parameters.actions("actions", 100)
    return HttpResponse(repr(found).encode())


@parser("HTTP requests")
def _(draw: Draw, folder: Path) -> None:
    root: Any = Resource()
    root.putChild(b"x", HandlerResource(_page))
    site: Any = LimitedSite(root, LOCAL)
    site.reactor = Clock()
    line = HttpClientLine(site.buildProtocol(HERE), HERE)
    data = damaged_bytes(draw, _REQUESTS)
    cut = draw(st.integers(0, len(data)))
    line.say(data[:cut])
    if line.open:
        line.say(data[cut:])
    answer = line.transport.value()
    assert len(answer) <= MOST_BYTES
    assert b" 500 " not in answer


@parser("requests of sandboxes to hosts")
def _(draw: Draw, folder: Path) -> None:
    data = damaged_bytes(draw, _REQUESTS)[:50_000]

    async def ask() -> bytes:
        ours, its = socket.socketpair()
        with ours:
            ours.sendall(data)
            ours.shutdown(socket.SHUT_WR)
            reader, writer = await asyncio.open_connection(sock=its, limit=65536)
            await HostProxy(["pypi.example=127.0.0.1"])._connected(reader, writer)
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            return ours.recv(65536)

    assert len(asyncio.run(ask())) <= MOST_BYTES


# Programs that answer over HTTP, and may be hostile.

_ANSWERS = [
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 43\r\n\r\n"
    b'{"ended_at": null, "choices": [], "x": "y"}',
    b"HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\n\r\n"
    b'{"error": "the queue is full"}',
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 409 Conflict\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
    b"HTTP/1.0 302 Found\r\nLocation: http://[::1/\r\n\r\n",
    b"HTTP/1.1 503 Later\r\nRetry-After: 5\r\nContent-Encoding: gzip\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
]


@contextlib.contextmanager
def _answering(data: bytes) -> Iterator[str]:
    """Yield an address at which each connection gets these bytes after its request."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                with listener.accept()[0] as peer:
                    peer.settimeout(5)
                    with contextlib.suppress(OSError):
                        peer.recv(65536)
                        peer.sendall(data)
                        peer.shutdown(socket.SHUT_WR)
                        while peer.recv(65536):
                            pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@parser("answers of sites")
def _(draw: Draw, folder: Path) -> None:
    with _answering(damaged_bytes(draw, _ANSWERS)) as site:
        client = SiteClient(site, "Ada", "secret")
        refusable(lambda: client.json("tests/1"), click.ClickException)


@parser("answers of endpoints of models")
def _(draw: Draw, folder: Path) -> None:
    with (
        _answering(damaged_bytes(draw, _ANSWERS)) as address,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("OPENAI_BASE_URL", address)
        client = models.client(benchmark_file.ModelConfig("m", endpoint="x"), folder)
        request = models.ModelRequest("1", [], 5, 10.0)
        refusable(lambda: client.ask(request), models.ModelBusy, models.ModelUnusable)


@parser("answers to webhooks")
def _(draw: Draw, folder: Path) -> None:
    data = damaged_bytes(draw, _ANSWERS)
    ends = SimpleNamespace(kinds=("match",), name="x")
    with _answering(data) as url:
        hook = webhooks.Webhook(Mock(), folder, url, ends, lambda: 5.0)
        refusable(lambda: hook._post("match.ended.1", b"{}"), *webhooks.EXPECTED)


# Engines of strangers: a process whose output is drawn, a piece for each command.


class DrawnProcess(EngineProcess):
    """Has the output of an engine that answers commands by `reply`, and then closes its output."""

    def __init__(self, settings: EngineConfig, reply: Callable[[str], bytes | None]) -> None:
        self._name, self._cancelled = settings.name, threading.Event()
        self._command, self._pending, self._answered = "", bytearray(), 0
        self._said, self._unused = "", 0
        self._log_path = Path(os.devnull)
        self._log = self._log_path.open("r+b", buffering=0)
        self._process: Any = SimpleNamespace(wait=lambda seconds: 1, poll=lambda: 1)
        self._output, self._feed = os.pipe()
        os.set_blocking(self._output, False)
        os.set_blocking(self._feed, False)
        self._reply = reply

    def send(self, line: str) -> None:
        self._command, self._answered, self._said = line, 0, ""
        self._answer(self._reply(line.strip()))

    def _answer(self, said: bytes | None) -> None:
        if self._feed >= 0 and said is None:
            os.close(self._feed)
            self._feed = -1
        elif self._feed >= 0:
            with contextlib.suppress(BlockingIOError):  # it is full
                os.write(self._feed, said or b"")

    def _read(self, deadline: float) -> bytes:
        if self._feed >= 0 and not select.select([self._output], [], [], 0)[0]:
            self._answer(None)
        return super()._read(deadline)

    def can_be_read(self, deadline: float) -> bool:
        return super().can_be_read(time.monotonic() + 0.0001)

    def close(self, farewell: str = "", *, is_leaving: bool = False) -> None:
        if not self._log.closed:
            self._answer(None)
            os.close(self._output)
            self._log.close()


_SAID = {
    "gtp": [
        "= \n\n",
        "={n} C3\n\n",
        "= resign\n\n",
        "? no\n\n",
        "= \ninfo move C3 visits 5 winrate 0.5 pv C3 D4\nplay C3\n\n",
    ],
    "uci": [
        "info depth 3 score cp 12 nodes 5 pv e2e4 e7e5\nbestmove e2e4\n",
        "bestmove (none)\n",
        "option name Hash type spin default 16 min 1 max 64\n",
        "readyok\n",
        "bestmove 0000 ponder x\n",
    ],
    "xboard": [
        "move e2e4\n",
        "1-0 {White wins}\n",
        "resign\n",
        "Error (x): y\n",
        "9 20 5 100 e2e4 e7e5\n",
        "pong 1\n",
    ],
    "gomocup": [
        "7,7\r\n",
        "MESSAGE Depth 3-5 Node 20K Eval +M5 Bestline H8 H9\r\n8,8\r\n",
        "SUGGEST 1,1\r\n",
        "ERROR x\r\n",
        "OK\r\n",
    ],
    "lines": ["0\n", "24\n", "\n"],
    "gnubg": ["8/5 6/5\n", "Error: x\n"],
    "json": ['{"type": "action", "message": {"row": 1, "column": 2}}\r\n', '{"type": "error"}\r\n'],
}
_PLAYED_BY = {
    "gtp": "go(size=9)",
    "uci": "chess",
    "xboard": "chess",
    "gomocup": "gomoku",
    "lines": "connect_four",
    "gnubg": "backgammon",
    "json": "connect_four",
}


def _client(protocol: str) -> Fuzz:
    game, said = games.load(_PLAYED_BY[protocol]), _SAID[protocol]
    settings_ = EngineConfig("fuzzed", ("false",), protocol, Path(), start_s=0.3)

    def usual(command: str) -> str:
        number, _, rest = command.partition(" ")
        number, rest = (number, rest) if number.isdigit() else ("", command)
        for pattern, answers in USUAL.get(protocol, []):
            if found := re.match(pattern, rest):
                text = answers[0].replace("{n}", number)
                return text.replace("{1}", found[1]) if found.groups() else text
        return ""

    def fuzz(draw: Draw, folder: Path) -> None:
        # Drawn before, because the client may read the clock.
        pieces = [
            (draw(st.integers(0, 5)), damaged(draw, said)) for _ in range(draw(st.integers(2, 20)))
        ]
        seconds = draw(st.sampled_from([0.1, None]))

        def reply(command: str) -> bytes | None:
            if not pieces:
                return None
            kind, piece = pieces.pop()
            text = usual(command)
            both = {0: piece, 1: text + piece, 2: piece + text}
            return both.get(kind, text or piece).encode(errors="replace")

        base: Any = engine.client_of(protocol)
        launched = {"_launched": lambda self, deadline: DrawnProcess(settings_, reply)}
        kind: type[EngineClient] = type("Drawn", (base,), launched)

        def play() -> None:
            client = kind(settings_, game, threading.Event())
            try:
                position = Position(game)
                while position.ply < 3 and not position.winner:
                    if position.to_move == 0:
                        position = position.play(position.legal_actions[0])
                        continue
                    with contextlib.suppress(Resigned):
                        position = position.play(client.choose(position, Limit(seconds)).action)
                for line in client.describe():
                    assert isinstance(line, str)
                client.ended(position, 1)
                client.new_match()
            finally:
                client.close()

        refusable(play, PlayerError)

    return fuzz


for _protocol in _SAID:
    parser(f"answers of engines: {_protocol}")(_client(_protocol))


# Programs of strangers that use our engines.


def _answers(server: EngineServer, line: str) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        server.answer(line)
    return output.getvalue()


def _state(server: EngineServer) -> object:
    match = server.match
    if match and isinstance(server, GomocupBrain):  # after INFO, a new match has its stones
        return match.state
    game = str(match.game) if match and isinstance(server, GtpServer) else ""
    return match and (game, [each.state for each in match.positions])


def _commands(
    name: str,
    make: Callable[[LineInput], EngineServer],
    valid: Sequence[str],
    is_refused: Callable[[str], bool],
) -> None:
    def fuzz(draw: Draw, folder: Path) -> None:
        server = make(LineInput(io.BytesIO()))
        stones = written(folder, "game.sgf", damaged(draw, OPENINGS["sgf"][1]))
        for _ in range(draw(st.integers(1, 8))):
            line = damaged(draw, valid) if draw(st.booleans()) else draw(st.sampled_from(valid))
            line = line.replace("FILE", str(stones)).replace("\n", " ")
            before = _state(server)
            said = _answers(server, line)
            assert bounded(said) or line.split()[:1] in (["showboard"], ["list_commands"]), line
            assert "the player failed" not in said, (line, said)
            if is_refused(said):
                assert _state(server) == before, (line, said)

    parser(f"commands to engines: {name}")(fuzz)


_commands(
    "gtp",
    lambda lines: GtpServer(games.load("go(size=9)"), checked_player("random"), lines),
    [
        "boardsize 9",
        "clear_board",
        "komi 6.5",
        "play b C3",
        "play w pass",
        "genmove b",
        "undo",
        "5 name",
        "time_settings 60 10 5",
        "time_left b 5 1",
        "loadsgf FILE",
        "loadsgf FILE 3",
        "showboard",
        "fixed_handicap 2",
        "set_free_handicap C3 D4",
        "place_free_handicap 3",
        "final_score",
        "list_commands",
        "known_command x",
        "final_status_list dead",
        "gogui-rules_board",
        "gogui-rules_legal_moves",
        "kgs-time_settings byoyomi 60 10 5",
        "reg_genmove w",
        "boardsize 7 8",
        "kgs-genmove_cleanup b",
        "printsgf",
    ],
    lambda said: said.startswith("?"),
)
_commands(
    "uci",
    lambda lines: UciServer(games.load("chess"), checked_player("random"), lines),
    [
        "uci",
        "isready",
        "ucinewgame",
        "position startpos moves e2e4 e7e5",
        "position startpos",
        "position fen 4k3/8/8/8/8/8/4P3/4K2R w K - 0 1 moves e1g1",
        "go movetime 1",
        "go wtime 5 btime 5 winc 1",
        "go nodes 1 searchmoves e2e4",
        "stop",
        "ponderhit",
        "d",
        "setoption name Hash value 16",
        "setoption name UCI_Variant value ataxx",
        "debug on",
    ],
    lambda said: said.startswith("info string error"),
)
_commands(
    "gomocup",
    lambda lines: GomocupBrain(checked_player("random"), lines),
    [
        "START 15",
        "START 20",
        "RECTSTART 10,12",
        "RESTART",
        "BEGIN",
        "TURN 7,7",
        "TURN 3,4",
        "TAKEBACK 7,7",
        "BOARD",
        "INFO timeout_turn 10",
        "INFO max_memory 0",
        "INFO rule 1",
        "INFO time_left 100",
        "ABOUT",
        "BOARD",
    ],
    lambda said: said.startswith(("ERROR", "UNKNOWN")),
)


# The list of parsers.

ROOT = Path(__file__).parents[2]
#: The definition of a function that reads texts, or the call of one that decodes.
_READER = re.compile(
    r"\bdef _?(?:parse|read|decode|load)(?:[sd]|_\w+)?\([^)]*: (?:str|bytes|Path)\b"
    r"|\b(?:msgspec\.\w+\.(?:decode|Decoder)|loads|unpackb|csv\.reader|ZipFile|genops|decoded"
    r"|ast\.parse|date(?:time)?\.fromisoformat|load_pem_\w+)\("
)
#: Modules that read texts and that this file does not import: by the parser above that reaches
#: them, or by the reason why strangers write no text for them.
_OTHERS = {
    "moves, as people, models and files write them": "games.backgammon games.chess games.core.game "
    "games.havannah",
    "games with parameters": "games.core.grid players.nets.net",
    "tournament.toml": "commands.toml_lines",
    "competition.toml": "competition.competition_command",
    "server.toml": "server.cli.server_options",
    "training.toml": "players.training.training_command",
    "imported matches": "server.cli.export_commands",
    "certificates and keys": "protocol.connection",
    "answers of engines: uci": "players.engines.uci_client",
    "commands to engines: gtp": "players.engines.gtp",
    "this program writes it": "bots.builder bots.python_bot commands.child commands.durable_files "
    "commands.subprocesses competition.submissions games.core.position laboratory.builds "
    "laboratory.journal laboratory.queue laboratory.queue_site laboratory.trial "
    "players.analyst.puzzles players.comparison.openings_command protocol.tournament_spec "
    "server.app server.core.accounts server.model.records server.net.push_sender "
    "server.organizer.commands.read server.organizer.commands.run "
    "server.storage.database server.storage.ipc server.storage.queries server.tournament.ledger "
    "server.web.match_data",
    "it is a file of the package": "agents.solved_positions players.best ratings.book",
    "it is a class of the user": "games.original",
}


def _reading_modules() -> set[str]:
    """Return the modules of the program that read texts."""
    found = set()
    for package in (each for each in (ROOT / "src" / "playout").iterdir() if each.is_symlink()):
        for path in package.resolve().rglob("*.py"):
            if _READER.search(path.read_text(encoding="utf-8")):
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                found.add(name.removesuffix(".__init__"))
    return found


def test_every_module_that_reads_texts_is_examined() -> None:
    reading = _reading_modules()
    imported = {
        name
        for each in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
        if isinstance(each, ast.ImportFrom) and (each.module or "").startswith("playout")
        for name in (each.module or "", *(f"{each.module}.{one.name}" for one in each.names))
    }
    examined = {name.removeprefix("playout.") for name in imported}
    others = {name for names in _OTHERS.values() for name in names.split()}
    assert sorted(reading - examined - others) == [], "give it a parser above"
    assert sorted(others - reading) == []
    assert [each for each in _OTHERS if ":" in each and each not in PARSERS] == []


def test_every_protocol_and_format_is_examined() -> None:
    assert {*_SAID} == {"lines", *engine._CLIENTS}
    assert {each.rpartition(".")[2] for each in OPENINGS} - {"txt"} == {*opening_file._READERS}
    commands = {each.removeprefix("commands to engines: ") for each in PARSERS}
    assert {*playout_engine.commands} <= commands
