"""What the server is installed with: the image and the unit are of this repository."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from playout.server.server_command import main

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "playout.service"


def instructions(name: str) -> list[list[str]]:
    """Of the Dockerfile, those called `name`, as words."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    return [line.split()[1:] for line in text.splitlines() if line.startswith(f"{name} ")]


def settings(key: str) -> list[str]:
    """Of the unit, those called `key`."""
    prefix = f"{key}="
    lines = UNIT.read_text().splitlines()
    return [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]


def test_the_image_is_made_of_files_that_exist_and_are_not_ignored() -> None:
    let_in = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in let_in
    sources = [
        name for words in instructions("COPY") for name in words[:-1] if "--" not in words[0]
    ]
    package = {each.name for each in (ROOT / "src" / "playout").iterdir() if each.is_symlink()}
    assert package <= set(sources)
    for name in sources:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in let_in, name


def test_the_image_has_the_locked_dependencies_of_the_package() -> None:
    every = [Requirement(text) for text in requires("playout") or ()]
    wanted = [
        each for each in every if each.marker is None or str(each.marker) == 'extra == "postgres"'
    ]
    assert any(each.name == "psycopg" for each in wanted)
    text = (DEPLOY / "requirements.txt").read_text()
    locked = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", text, re.MULTILINE))
    assert len(locked) > len(wanted)
    for each in wanted:
        version = locked[each.name.replace("_", "-")]
        assert each.specifier.contains(version), f"{each}: run the command in the file again"
    assert text.count("--hash=sha256:") > len(locked)
    assert "--require-hashes --requirement deploy/requirements.txt" in " ".join(
        (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").split()
    )


def test_images_have_versions() -> None:
    images = [words[0] for words in instructions("FROM")]
    images += re.findall(r"image: (\S+)", (DEPLOY / "compose.yaml").read_text())
    assert all(re.search(r":\d+\.\d+\.\d+", each) for each in images), images


def test_the_image_runs_without_a_shell_and_not_as_root() -> None:
    (user,) = instructions("USER")
    assert user == ["playout"]
    (entry,) = instructions("ENTRYPOINT")
    assert entry[0] == '["playout-server",'
    (volumes,) = instructions("VOLUME")
    assert volumes == ['["/var/lib/playout",', '"/var/cache/playout"]']


def test_the_proxy_of_the_compose_file_reaches_the_server() -> None:
    compose, nginx = ((DEPLOY / name).read_text() for name in ("compose.yaml", "nginx.conf"))
    command = re.search(r"command: (\[.*\])", compose)
    assert command
    options = json.loads(command[1])
    assert "--proxy-protocol" in options
    assert "--http-proxied" in options
    assert "Strict-Transport-Security" in nginx
    assert nginx.count("limit_conn ") == 2
    assert f"proxy_pass playout:{options[options.index('--port') + 1]};" in nginx
    (entry,) = instructions("ENTRYPOINT")
    assert "0.0.0.0:8080" in " ".join(entry)
    assert "proxy_pass http://playout:8080;" in nginx
    published = json.loads(re.search(r"ports: (\[.*\])", compose)[1])  # type: ignore[index]
    listening = re.findall(r"listen (\d+) ssl;", nginx)
    assert [each.split(":")[1] for each in published] == listening
    wanted = [word for word in options if word.startswith("--")]
    offered = CliRunner().invoke(main, ["--help"]).output
    assert all(word in offered for word in wanted)


def test_the_image_and_the_unit_have_the_database_and_the_cache_in_the_same_places() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    (environment,) = settings("Environment")
    for setting in environment.split():
        assert setting in dockerfile
    assert settings("StateDirectory") == settings("CacheDirectory") == ["playout"]


def test_a_stop_may_take_as_long_as_matches_have_to_end() -> None:
    guide = (ROOT / "docs" / "server-options.md").read_text()
    (grace_s,) = re.findall(r"`--grace-s` \| `(\d+)`", guide)
    (stop_s,) = settings("TimeoutStopSec")
    assert int(stop_s) > int(grace_s)


def test_the_sample_of_a_configuration_is_accepted_once_it_has_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DEPLOY / "playout.toml").read_text()
    assert tomllib.loads(text)["port"] == 4242
    served: list[object] = []
    monkeypatch.setattr(
        "playout.server.server_command.serve", lambda settings, policy: served.append(settings)
    )
    config = tmp_path / "playout.toml"
    config.write_text(text)
    done = CliRunner().invoke(main, ["--config", str(config)])
    assert (done.exit_code, served) == (2, [])
    for name in ("fullchain.pem", "privkey.pem"):
        (tmp_path / name).touch()
    config.write_text(text.replace("/etc/playout", str(tmp_path)))
    done = CliRunner().invoke(main, ["--config", str(config)])
    assert done.exit_code == 0, done.output
    assert served


def test_the_unit_and_the_container_limit_memory_and_tasks() -> None:
    assert settings("MemoryMax")
    assert settings("TasksMax")
    assert settings("LimitNOFILE")
    compose = (DEPLOY / "compose.yaml").read_text()
    for each in ("mem_limit:", "pids_limit:", "nofile:"):
        assert each in compose


def analyzed(*arguments: str, tmp_path: Path) -> str:
    """What systemd-analyze says of the unit, with a command that is there."""
    tool = shutil.which("systemd-analyze")
    if not tool:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/playout/bin/playout-server", sys.executable))
    command = [tool, *arguments, str(copy)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    assert UNIT.name not in analyzed("verify", tmp_path=tmp_path)


def test_the_unit_lets_the_server_do_little(tmp_path: Path) -> None:
    said = analyzed("security", "--offline=true", tmp_path=tmp_path)
    (exposure,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", said)
    assert float(exposure) < 2, said
