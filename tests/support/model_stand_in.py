"""A stand-in for a language model: a player of Playout, which reads positions from prompts.

    python -m support.model_stand_in PLAYER GAME [SHARE]

It answers nonsense in that share of the requests.
"""

from __future__ import annotations

import json
import random
import re
import sys

from playout import games, players
from playout.games import Position
from playout.players import Limit


def main() -> None:
    """Answer requests until the end of the input."""
    name, *words = sys.argv[1:]
    game, share = games.load(words[0]), float(words[1]) if words[1:] else 0.0
    player, draw = players.load(name, game), random.Random(1)
    for line in sys.stdin:
        prompt = json.loads(line)["messages"][0]["content"]
        (moves,) = re.findall(r"^Moves so far: (.*)$", prompt, re.MULTILINE)
        names = [] if moves == "none" else moves.split(", ")
        position = Position.from_names(game, names)
        move = position.name(player.choose(position, Limit()).action)
        said = "a nonsense move" if draw.random() < share else move
        answer = {
            "content": f"I think.\nMOVE: {said}",
            "prompt_tokens": 100,
            "completion_tokens": 9,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
