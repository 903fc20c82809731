"""Bots that a server offers: how they are spelled, and which spellings are refused."""

from __future__ import annotations

import pytest

from playout.protocol.messages import OfferedBot
from playout.server.model.offered_bots import (
    BadBot,
    for_game,
    parse_offered_bot,
    parse_offered_bots,
)


@pytest.mark.parametrize(
    ("text", "bot"),
    [
        (
            "Playout Easy:easy=flat(simulations=30)",
            OfferedBot(name="Playout Easy", player="flat(simulations=30)", level="easy"),
        ),
        (" Max : strong = uct(time=2)", OfferedBot(name="Max", player="uct(time=2)",
                                                   level="strong", move_s=2.0)),
        ("Max=my.bot:Max(a=1)", OfferedBot(name="Max", player="my.bot:Max(a=1)")),
        ("uct(time=0.3)", OfferedBot(name="uct(time=0.3)", player="uct(time=0.3)", move_s=0.3)),
        ("random", OfferedBot(name="random", player="random")),
        (f"bots:My_{'x' * 40}", OfferedBot(name=f"My{'x' * 30}", player=f"bots:My_{'x' * 40}")),
        ("uct(time=soon)", OfferedBot(name="uct(time=soon)", player="uct(time=soon)")),
        ("uct(time=nan)", OfferedBot(name="uct(time=nan)", player="uct(time=nan)")),
        (
            "Max=uct(time=2); go = rave(time=3,k=300) ;hex=rave(time=1)",
            OfferedBot(name="Max", player="uct(time=2)", move_s=3.0,
                       players={"go": "rave(time=3,k=300)", "hex": "rave(time=1)"}),
        ),
        (
            "uct(time=2);go=rave",
            OfferedBot(name="uct(time=2)", player="uct(time=2)", players={"go": "rave"}),
        ),
    ],
)  # fmt: skip
def test_a_bot_has_a_name_a_level_and_the_seconds_of_its_moves(text: str, bot: OfferedBot) -> None:
    assert parse_offered_bot(text) == bot


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("uct(time", "cannot read 'uct(time'"),
        ("Max=", "cannot read ''"),
        (
            "Max:hard=uct",
            "unknown level 'hard' (there are: easy, medium",
        ),
        ("=uct", "a name has 1 to 32 characters; this has 0"),
        ("Max=uct;gone=rave", "unknown game 'gone'"),
        ("Max=uct;go", "'go' is not GAME=PLAYER"),
        ("Max=uct;go=", "cannot read ''"),
        (f"{'x' * 33}=uct", "a name has 1 to 32 characters; this has 33"),
    ],
)
def test_a_spelling_that_names_no_bot_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadBot) as caught:
        parse_offered_bot(text)
    assert why in str(caught.value)


def test_a_bot_may_have_another_player_for_a_game() -> None:
    bot = parse_offered_bot("Max:strong=uct(time=2);go=rave")
    assert for_game(bot, "nim(chips=7)") == parse_offered_bot("Max:strong=uct(time=2)")
    assert for_game(bot, "go(size=5)") == parse_offered_bot("Max:strong=rave")


def test_a_bot_that_is_given_twice_is_offered_once() -> None:
    assert [each.name for each in parse_offered_bots(["random", "uct", "random"])] == [
        "random",
        "uct",
    ]


def test_names_that_look_alike_are_refused() -> None:
    with pytest.raises(BadBot, match=r"look alike, 'uct\(c=1.4\)' and 'uct\(c=14\)': name them"):
        parse_offered_bots(["uct(c=1.4)", "uct(c=14)"])
