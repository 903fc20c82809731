"""The accounts of a tournament's own server."""

from __future__ import annotations

from playout.server.core.accounts import digest
from playout.server.organizer.local_server import new_tokens, organizer_name


def test_tokens_are_new_and_accounts_have_only_their_digests() -> None:
    tokens, accounts = new_tokens("organizer", ["Ann", "Bob"])
    known = {each.name: each for each in accounts}
    assert known.keys() == tokens.keys() == {"organizer", "Ann", "Bob"}
    assert [each.name for each in known.values() if each.administrator] == ["organizer"]
    assert {name: each.digest for name, each in known.items()} == {
        name: digest(token) for name, token in tokens.items()
    }
    assert new_tokens("organizer", ["Ann"])[0]["Ann"] != tokens["Ann"]


def test_the_organizer_has_a_name_of_its_own() -> None:
    assert organizer_name(["Ann"]) == "organizer"
    assert organizer_name(["Organizer"]).startswith("organizer ")
