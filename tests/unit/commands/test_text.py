"""Texts for people and for spreadsheets."""

from __future__ import annotations

import csv
import time
from datetime import datetime

import pytest

from playout.commands.text import as_file_name, csv_text, utc
from playout.protocol.tournament_spec import without_folders


def test_the_name_of_a_file_has_letters_digits_underscores_and_hyphens() -> None:
    assert as_file_name("mnk(m=8,n=8,k=5)") == "mnk-m-8-n-8-k-5"
    assert as_file_name("connect_four") == "connect_four"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t@", "\u3000-", "\uff1d", "'"])
def test_a_text_is_no_formula_of_a_spreadsheet_and_a_number_stays_a_number(start: str) -> None:
    rows = csv.reader(csv_text([(f"{start}1", -5, None, -0.5), ("a\nb", 'c"d,')]).splitlines())
    shown = f"'{start}1".replace("\t", " ")
    assert list(rows) == [[shown, "-5", "", "-0.5"], ["a b", 'c"d,']]


def test_times_are_in_utc_wherever_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert datetime.fromtimestamp(0).hour == 19  # the time zone is in effect
        assert f"{utc(0):%Y-%m-%d %H:%M}" == "1970-01-01 00:00"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("No file: '/home/ada/my bot/w.npz'", "No file: 'w.npz'"),
        ("engine(config=/home/Ada Lovelace/my bots/e.toml,name=a)", "engine(config=e.toml,name=a)"),
        ('File "/home/o\'neil/a.py", line 3', 'File "a.py", line 3'),
        ("file:///home/ada/a.npz sqlite:////home/ada/a.db", "file:a.npz sqlite:a.db"),
        ("PATH=/usr/bin:/home/ada/bin ~ada/x", "PATH=bin:bin x"),
        ("not allowed: '/home/ada' (/home/ada) /Users/ada", "not allowed: '~' (~) ~"),
        (r"C:\Users\ada\a.npz", "a.npz"),
        ("in /root/a.py, line 3", "in a.py, line 3"),
        ("~/bots/a.py and ./b/c.py", "a.py and ./b/c.py"),
        ("1/2 of http://host/x", "1/2 of http://host/x"),
    ],
)
def test_the_folders_of_absolute_paths_are_left_out(text: str, shown: str) -> None:
    assert without_folders(text) == shown
