"""What a submission to a queue of tests sends: values of lab.toml, and the files of versions."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from playout.bots.site_client import SiteClient, SiteUnreachable
from playout.laboratory.laboratory_command import main
from playout.laboratory.sources import UnknownVersion, Version, VersionSources
from playout.laboratory.submission import archive_of, asked
from support.posts import receiving


def test_the_values_that_the_server_leaves_to_authors_are_sent(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(
        'games = ["nim", "hex(size=5)"]\nalpha = 0.5\npairs = 9\nopenings = {plies = 2}'
    )
    assert asked(file, {"games": (), "clock": "1+1", "elo1": None}) == {
        "games": "nim;hex(size=5)",
        "clock": "1+1",
        "pairs": 9,
        "plies": 2,
    }
    assert asked(file, {"games": ("nim",), "pairs": 3})["games"] == "nim"
    file.write_text('openings = {shipped = true, plies = 4}\nisolate = "never"')
    assert asked(file, {}) == asked(None, {}) == {}
    file.write_text("games = [")
    with pytest.raises(click.ClickException, match=r"lab\.toml"):
        asked(file, {})


@pytest.mark.parametrize(
    ("labels", "folders"),
    [
        (
            ("origin/main", "feature/" + 40 * "x", "feature/" + 41 * "x"),
            ("origin-main", f"feature-{16 * 'x'}", f"feature-{16 * 'x'}-2"),
        ),
        (("v-2", "v", "v-"), ("v-2", "v", "v-3")),
    ],
)
def test_each_version_has_a_folder_in_the_archive(
    tmp_path: Path, labels: tuple[str, ...], folders: tuple[str, ...]
) -> None:
    versions = []
    for label in labels:
        folder = tmp_path / label
        folder.mkdir(parents=True)
        (folder / "bot.py").write_text(label)
        versions.append(VersionSources.of_folder(folder, str(folder)))
        versions[-1] = Version(versions[-1].id, label, pack=versions[-1].pack)
    base, content = archive_of(versions)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        names = archive.getnames()
    assert base == folders[0]
    assert names == [f"{each}/bot.py" for each in folders]
    with pytest.raises(UnknownVersion, match="is a player, which has no files"):
        archive_of([*versions, Version("id", "uct(c=1)", player="uct(c=1)")])


def test_an_error_is_no_verdict(tmp_path: Path) -> None:
    """A proxy whose server is away: the state is asked again, and the exit code is not 1."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bot.py").write_text(name)
    token = tmp_path / "token"
    token.write_text("secret")
    token.chmod(0o600)
    words = ("--folder", str(tmp_path), "--laboratories", str(tmp_path / "homes"))
    account = ("--name", "Ada", "--token-file", str(token))
    with receiving(502) as proxy:
        with pytest.raises(SiteUnreachable, match="Bad Gateway"):
            SiteClient(proxy.origin, "Ada", "secret").text("api/tests/a.zip", b"")
        site = ("--site", proxy.origin)
        ended = CliRunner().invoke(main, ["submit", "./old", "./new", *words, *account, *site])
    assert (ended.exit_code, "Bad Gateway" in ended.output) == (125, True)
