"""What playout-submit refuses before it sends a token."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import invoke


@pytest.mark.parametrize(
    ("site", "told"),
    [
        ("http://play.example", "others could read the token on its way to play.example"),
        ("play.example", "write an address such as https://play.example"),
        ("ftp://play.example", "write an address such as https://play.example"),
    ],
)
def test_a_token_is_sent_only_where_nobody_can_read_it(
    site: str, told: str, tmp_path: Path
) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text("")
    words = ("--competition", "autumn", "--name", "Ada", "--site", site)
    code, output = invoke("playout-submit", str(bot), *words)
    assert code == 2
    assert told in " ".join(output.split())
