"""The tools of an agent beyond its matches: ladders, tournaments, competitions, puzzles and tests.

They ask the addresses of the server's pages, of its competitions and of its laboratory, which say
what the account may do. Files of a bot come as texts: no tool reads a file of this machine.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlencode

import click
import msgspec
from pydantic import Field

from playout import games
from playout.bots.packing import packed
from playout.bots.site_client import SiteClient
from playout.bridges.mcp.agent_session import AgentSession, board_rows
from playout.commands.agent_parameters import Matches, SearchSeconds, Version, Wait
from playout.commands.agent_tools import AgentError, Described, last_lines
from playout.games import IllegalAction, NotReady, Position, SpecError
from playout.players.analyst.costly_moves import Loss, instructive
from playout.players.client.templates import bot_files
from playout.protocol.messages import (
    REQUESTS,
    Analyse,
    AnalysisQueued,
    Board,
    PositionView,
    Request,
)

#: Items of a list, and seconds between two questions.
_ITEMS, _ASK_S = 10, 0.3
#: Files of a bot, and bytes of all of them.
_MOST_FILES, _MOST_BYTES = 200, 2**20
#: Seconds until an analysis ends, besides its own.
_ANALYSIS_S = 60.0

Game = Annotated[str, Field(description="A game of list_games, e.g. othello(size=6)")]
AnyGame = Annotated[str | None, Field(description="A game; without it, a list")]
Page = Annotated[int, Field(ge=1, le=10_000, description="Page of a list")]
Competition = Annotated[str, Field(description="The name of the competition")]
Test = Annotated[int, Field(ge=1, description="The number of a test")]


class Sites(NamedTuple):
    """The addresses of the server's pages, its competitions and its laboratory.

    `client` returns the client of an account at an address. Raises ClickException.
    """

    web: str
    competitions: str
    laboratory: str
    client: Callable[[str], SiteClient]


class SiteTools:
    """The tools; their docstrings and the descriptions of their parameters are for the agent."""

    def __init__(self, session: AgentSession, sites: Sites) -> None:
        self._session, self._sites = session, sites

    async def rules(self, game: Game) -> Described:
        """Return the rules of a game, its parameters and its variants."""
        return await asyncio.to_thread(rules_of, game)  # it may be compiled

    async def analyse(
        self,
        match: Annotated[str, Field(description="A finished match that you have played")],
        ply: Annotated[int, Field(ge=0, description="Number of moves before the position")],
        seconds: Annotated[float, Field(gt=0, le=60)] = 3,
    ) -> Described:
        """Have a bot of the server analyse a position of a finished match of yours.

        `win_rate` is for the player to move.
        """
        found = await self._web(f"api/matches/{quote(match, safe='')}")
        name = (await self._session.ready()).name
        if name not in found["players"] or found.get("result") is None:
            raise AgentError("Only positions of your own finished matches are analysed.")
        moves = [each["action"] for each in found["positions"] if "action" in each]
        position = await asyncio.to_thread(_position, found["game"], moves)
        played = dict(enumerate(moves)).get(ply)
        if played is None:
            raise AgentError(f"ply must be from 0 to {len(moves) - 1}, not {ply}.")
        request = Analyse(
            game=found["game"], moves=tuple(moves[:ply]), seconds=seconds, played=played
        )
        queued = await self._session.ask(request)
        assert isinstance(queued, AnalysisQueued)
        update = await self._session.analysis(queued.analysis, seconds + _ANALYSIS_S)
        before, info = position.at(ply), update.info
        if info is None:
            raise AgentError(update.text or "The analysis has no result.")
        return {
            "bot": queued.bot,
            "to_move": before.to_move,
            "played": before.name(played),
            "win_rate": info.win_rate,
            "best_line": list(before.names(info.pv)),
            "note": update.text,
        }

    async def puzzles(
        self,
        game: Game,
        puzzle: Annotated[str | None, Field(description="Its id; without it, a list")] = None,
        moves: Annotated[
            list[str], Field(max_length=100, description="Your moves so far, by their names")
        ] = [],  # noqa: B006 - the schema shows it
    ) -> Described:
        """List the puzzles of a game, or show one after your moves: one move wins each time."""
        path = f"puzzles/{quote(game, safe='')}"
        if puzzle is None:
            found = await self._web(f"{path}/puzzles.json")
            return {"puzzles": found["puzzles"][:_ITEMS], "of": len(found["puzzles"])}
        path, actions = f"{path}/{quote(puzzle, safe='')}.json", list[str]()
        found = await self._web(path)
        for move in moves:
            legal = {each["name"]: each["action"] for each in found["legal_moves"]}
            if move not in legal:
                raise AgentError(f"{move!r} is not a legal move. Legal moves: {', '.join(legal)}")
            actions.append(str(legal[move]))
            found = await self._web(f"{path}?{urlencode({'moves': ','.join(actions)})}")
        view = msgspec.convert(found["positions"][-1]["view"], PositionView)
        return {
            "state": found["state"],
            "you": found["solver"],
            "turns": found["turns"],
            "board": board_rows(msgspec.convert(found["board"], Board), view),
            "legal_moves": [each["name"] for each in found["legal_moves"]],
        }

    async def ladders(self, game: AnyGame = None, page: Page = 1) -> Described:
        """List the ladders, or show the standings of the ladder of a game, the best first."""
        if game is None:
            return await self._listed("api/ladders", page)
        found = await self._web(f"api/ladders/{quote(game, safe='')}")
        return _without(found, "meetings", "comparisons")

    async def tournaments(
        self,
        tournament: Annotated[str | None, Field(description="Its id; without it, a list")] = None,
        page: Page = 1,
    ) -> Described:
        """List the tournaments, the latest first, or show the standings of one."""
        if tournament is None:
            return await self._listed("api/tournaments", page)
        found = await self._web(f"api/tournaments/{quote(tournament, safe='')}")
        return {**found, "report": _without(found["report"], "crosstable", "los")}

    async def competition(self, competition: Competition) -> Described:
        """Show a competition: its games, deadline, protocols, limits, standings and matches."""
        found = await self._ask(self._sites.competitions, f"{quote(competition, safe='')}/state")
        return _without(found, "of_games", "titles", "shown", "pages", "build_hosts")

    async def hand_in(
        self,
        competition: Competition,
        files: Annotated[
            dict[str, str],
            Field(description="The text of each file by its path, such as bot.py and bot.toml"),
        ],
        wait_s: Wait = 120,
    ) -> Described:
        """Hand a bot in to a competition, and wait until it is accepted or refused.

        The answer has its state, the stage and the reason, and the end of the log.
        """
        path = f"{quote(competition, safe='')}/submissions"
        sent = await self._hand_in(self._sites.competitions, path, files)
        return await self.submissions(competition, sent["id"], wait_s)

    async def submissions(
        self,
        competition: Competition,
        number: Annotated[int | None, Field(ge=1, description="Without it, a list")] = None,
        wait_s: Wait = 0,
    ) -> Described:
        """List your last submissions, or show the stages and the log of one.

        With wait_s, the answer comes when it has ended.
        """
        path = f"{quote(competition, safe='')}/submissions"
        if number is None:
            listed: list[Described] = await self._ask(self._sites.competitions, path)
            return {"submissions": listed[-_ITEMS:], "of": len(listed)}
        found = await self._ended(self._sites.competitions, f"{path}/{number}", wait_s)
        return found | {"log": last_lines(found["log"].splitlines())}

    async def laboratory(self, page: Page = 1) -> Described:
        """Show the conditions of the server's laboratory and its tests, the latest first."""
        site, listed = self._sites.laboratory, f"api/tests?page={page}&per_page={_ITEMS}"
        return {"conditions": await self._ask(site, "api/queue"), **await self._ask(site, listed)}

    async def submit_candidate(
        self,
        versions: Annotated[
            dict[str, dict[str, str]],
            Field(
                description="The text of each file, by path, of each bot, by name; the base has "
                "the name base"
            ),
        ],
        games: Annotated[
            list[str], Field(description="Some games of the conditions; default: all")
        ] = [],  # noqa: B006 - the schema shows it
        pairs: Annotated[
            int | None, Field(ge=1, description="The maximum number of pairs, to end earlier")
        ] = None,
        wait_s: Wait = 120,
    ) -> Described:
        """Have the laboratory test whether a candidate is stronger than its base.

        The answer comes when the test has ended, or after wait_s: then call test_status.
        """
        files = {
            f"{name}/{path}": text for name, own in versions.items() for path, text in own.items()
        }
        given = {"games": ";".join(games), "pairs": pairs}
        query = urlencode({key: value for key, value in given.items() if value})
        sent = await self._hand_in(self._sites.laboratory, "api/tests", files, query)
        return await self.test_status(sent["test"], wait_s)

    async def test_status(self, test: Test, wait_s: Wait = 60) -> Described:
        """Wait until a test of the laboratory has ended; return its verdict or its progress."""
        found = await self._ended(self._sites.laboratory, f"api/tests/{test}", wait_s)
        return _without(found, "history")

    async def stop_test(self, test: Test) -> Described:
        """Stop a test of yours in the laboratory."""
        found = await self._ask(self._sites.laboratory, f"api/tests/{test}/stop", b"")
        return _without(found, "history")

    async def losses(
        self,
        test: Test,
        version: Version = None,
        matches: Matches = 3,
        seconds: SearchSeconds = 20,
    ) -> Described:
        """Return the most instructive matches that a version has lost in a test of yours.

        A search by the bridge finds the moves that cost most. `ply` counts all moves from 1; the
        first `opening` ones were made for the players. `win_rate` and `left` are the version's,
        before and after the move.
        """
        query = urlencode({"version": version} if version else {})
        found = await self._ask(self._sites.laboratory, f"api/tests/{test}/losses?{query}")
        try:
            lost = msgspec.convert(found["matches"], list[Loss])
            chosen = await asyncio.to_thread(instructive, lost, matches, seconds, lambda line: None)
        except (msgspec.ValidationError, SpecError, NotReady, IllegalAction) as error:
            raise AgentError(f"The matches cannot be searched: {error}") from error
        return {**found, "matches": [each.described() for each in chosen]}

    async def read_log(self, test: Test) -> Described:
        """Read the ends of the logs of a test of yours: of its builds, and of crashed programs."""
        found = await self._ask(self._sites.laboratory, f"api/tests/{test}/log")
        logs = {key: found[key] for key in ("builds", "outputs")}
        return {"log": last_lines(found["log"].splitlines())} | {
            key: {name: last_lines(text.splitlines()) for name, text in each.items()}
            for key, each in logs.items()
        }

    async def _listed(self, path: str, page: int) -> Described:
        query = urlencode({"page": page, "per_page": _ITEMS})
        found: Described = await self._web(f"{path}?{query}")
        return found

    async def _web(self, path: str) -> Any:
        return await _answered(lambda: SiteClient(self._sites.web, "", "").json(path))

    async def _hand_in(
        self, site: str, path: str, files: Mapping[str, str], query: str = ""
    ) -> Described:
        """Hand files in at a path of a site, and return the answer."""
        with tempfile.TemporaryDirectory(prefix="playout-agent-") as folder:
            name, content = _packed(Path(folder), files)
        sent: Described = await self._ask(site, f"{path}/{quote(name)}?{query}", content)
        return sent

    async def _ended(self, site: str, path: str, wait_s: float) -> Described:
        """Return what was handed in when it has ended, or after `wait_s`."""
        give_up_at = time.monotonic() + wait_s
        while True:
            found: Described = await self._ask(site, path)
            if found["ended_at"] is not None or time.monotonic() > give_up_at:
                return found
            await asyncio.sleep(_ASK_S)

    async def _ask(self, site: str, path: str, content: bytes | None = None) -> Any:
        """Return the answer of a site to the account."""
        await self._session.ready()  # the first login stores the token
        return await _answered(lambda: self._sites.client(site).json(path, content))


async def _answered(ask: Callable[[], Any]) -> Any:
    """Return the answer of a site, for which a thread asks. Raises AgentError."""
    try:
        return await asyncio.to_thread(ask)
    except click.ClickException as error:
        raise AgentError(error.message) from error


def rules_of(game: str) -> Described:
    """Return the rules of a game for an agent. Raises AgentError."""
    try:
        told = games.describe(str(games.load(game)).partition("(")[0])
    except (SpecError, NotReady) as error:
        raise AgentError(str(error)) from error
    return {
        "title": games.title(game),
        "rules": told.about,
        "first_steps": told.first_steps,
        "parameters": {each.name: f"{each.about}; {each.default}" for each in told.parameters},
        "variants": {each.game: each.about for each in told.variants},
    }


def protocol_text() -> str:
    """Return the requests of the protocol with their first sentences."""
    return "\n".join(
        f"{tag}: {(each.__doc__ or '').partition('.')[0]}." for tag, each in _requests().items()
    )


def request_text(message: str) -> str:
    """Return the fields and the meaning of a request. Raises AgentError."""
    found = _requests().get(message)
    if found is None:
        raise AgentError(f"There is no request {message!r}, but {', '.join(_requests())}")
    return f"{message}({', '.join(found.__struct_fields__)})\n\n{found.__doc__}"


def _requests() -> dict[str, type[Request]]:
    return {str(each.__struct_config__.tag): each for each in REQUESTS}


def write_a_bot(game: str, competition: str = "") -> str:
    """Write a bot for a game, test it, and mend it until it climbs."""
    try:
        files = bot_files(game, game)
    except (SpecError, NotReady) as error:
        raise AgentError(str(error)) from error
    if competition:
        then = (
            f"Hand it in to the competition {competition!r} with hand_in. If it is refused, read "
            "the stage, the reason and the log (submissions), mend it, and hand it in again. Then "
            "look at the standings (competition), find out why it lost (analyse), and make it "
            "stronger."
        )
    else:
        then = (
            "Make it stronger, and test each change against the version before with "
            "submit_candidate; losses shows the moves that cost it most. If a test is stopped, "
            "read its reason (test_status) and its logs (read_log), and mend the bot."
        )
    return (
        f"Write a bot for {game}. Read its rules first (tool rules).\n\n"
        f"A first bot, my_bot.py:\n\n{files['my_bot.py']}\n"
        f"Its bot.toml:\n\n{files['bot.toml']}\n"
        f"{then} Legal moves are position.legal_actions; position.play(action) returns the next "
        "position."
    )


def _packed(folder: Path, files: Mapping[str, str]) -> tuple[str, bytes]:
    """Return the name and the content of an upload. Raises AgentError."""
    size = sum(len(text.encode(errors="replace")) for text in files.values())
    if not 1 <= len(files) <= _MOST_FILES or size > _MOST_BYTES:
        raise AgentError(f"A bot has 1 to {_MOST_FILES} files, of at most 1 MiB in all.")
    top = folder / "bot"
    for name, text in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or not name.isprintable():
            raise AgentError(f"{name!r} is not a path within the folder of the bot.")
        try:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text, encoding="utf-8")
        except (OSError, ValueError) as error:
            raise AgentError(f"The file {name!r} cannot be written: {error}") from error
    (only, *more) = files
    try:
        return packed(top if more or not only.endswith(".py") else top / only)
    except click.ClickException as error:
        raise AgentError(error.message) from error


def _position(game: str, moves: list[int]) -> Position:
    try:
        return Position(games.load(game), moves)
    except (SpecError, NotReady, IllegalAction) as error:
        raise AgentError(str(error)) from error


def _without(found: Described, *keys: str) -> Described:
    return {key: value for key, value in found.items() if key not in keys}
