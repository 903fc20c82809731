"""The net that a player uses: a file, or the one that comes with its game."""

from __future__ import annotations

from pathlib import Path

from games import Game
from players.nets.errors import NetError
from players.nets.net import Net
from players.nets.net import load as load_net

#: The nets that come with Playout; each has the name of its game.
FOLDER = Path(__file__).parent / "trained"


def load(file: str | None, game: Game, *, backend: str, batch: int) -> Net:
    """Return the net in `file`, by default the one that comes with `game`. Raises NetError."""
    path = shipped(game) if file is None else Path(file).expanduser()
    if path is None:
        raise NetError(
            f"no net comes with {game}; name one with net=FILE, or train one: "
            f'playout-train new "{game}" FOLDER'
        )
    return load_net(path, game, backend=backend, batch=batch)


def shipped(game: Game) -> Path | None:
    """Return the file of the net that comes with a game, or None."""
    path = FOLDER / f"{game}.onnx"
    return path if path.is_file() else None
