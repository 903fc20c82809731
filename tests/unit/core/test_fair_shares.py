"""Fair shares of lists of limited length."""

from __future__ import annotations

from playout.server.core.fair_shares import FairShares


def test_a_person_with_things_of_both_ranks_has_one_turn() -> None:
    shares = FairShares[str](ranks=2)
    shares.add("Ann 1", "address", "Ann", rank=0)
    shares.add("Ann 2", "address", "Ann", rank=1)
    for thing in ("Bob 1", "Bob 2"):
        shares.add(thing, "address", "Bob", rank=1)
    assert shares.first(2) == ["Ann 1", "Bob 1"]
    assert shares.first(3) == ["Ann 1", "Ann 2", "Bob 1"]
    assert shares.first(9) == ["Ann 1", "Ann 2", "Bob 1", "Bob 2"]
    assert shares.first(9, ranks=1) == ["Ann 1"]


def test_a_person_who_owns_much_leaves_room_to_others_of_the_address() -> None:
    shares = FairShares[str]()
    for number in range(9):
        shares.add(f"Ann {number}", "address", "Ann")
    shares.add("Bob", "address", "Bob")
    shares.add("Cem", "elsewhere", "Cem")
    assert shares.first(3) == ["Ann 0", "Bob", "Cem"]
