"""The files that GitHub, editors and pre-commit read agree with the scripts of the project."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
FORMS = sorted(
    set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) - {GITHUB / "ISSUE_TEMPLATE/config.yml"}
)
#: The elements of a form that have an answer.
ANSWERED = {"checkboxes", "dropdown", "input", "textarea"}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_workflow_runs_every_check_where_nothing_is_skipped() -> None:
    workflow = read(GITHUB / "workflows" / "test.yml")
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML reads the key `on` as true
    (job,) = workflow["jobs"].values()
    (step,) = (step for step in job["steps"] if "run" in step)
    # `.ci/run` ends with the same command.
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == f"exec {step['run']}"
    assert step["run"].split()[0] == "scripts/test"
    assert step["env"]["CI"] == "true"


def test_the_workflow_uses_the_oldest_python_that_is_supported() -> None:
    (job,) = read(GITHUB / "workflows" / "test.yml")["jobs"].values()
    oldest = metadata("playout")["Requires-Python"].removeprefix(">=")
    assert job["container"]["image"].startswith(f"python:{oldest}-")


def test_the_later_versions_of_python_are_tested() -> None:
    jobs = read(GITHUB / "workflows" / "versions.yml")["jobs"]
    versions = jobs["python"]["strategy"]["matrix"]["python"]
    assert versions == ["3.12", "3.13", "3.14"]


@pytest.mark.parametrize("workflow", sorted((GITHUB / "workflows").iterdir()), ids=lambda p: p.name)
def test_a_workflow_names_files_that_exist(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    named = re.findall(r"(?:tests|scripts)/[\w./]+", text)
    assert named
    assert [each for each in named if not (ROOT / each).exists()] == []


@pytest.mark.parametrize("workflow", sorted((GITHUB / "workflows").iterdir()), ids=lambda p: p.name)
def test_a_workflow_skips_tests_only_where_their_programs_are_not_installed(workflow: Path) -> None:
    """GitHub sets CI to true, with which a skipped test fails; `scripts/test` installs programs.

    It installs none for files and folders without --checks.
    """
    steps = [step for job in read(workflow)["jobs"].values() for step in job["steps"]]
    steps = [step for step in steps if re.search(r"-m pytest|scripts/test", step.get("run", ""))]
    assert steps
    for step in steps:
        words = step["run"].split()
        installs = words[0] == "scripts/test" and (
            "--checks" in words or not any(each.startswith("tests/") for each in words)
        )
        assert step["env"]["CI"] == ("true" if installs else "false"), words


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.name)
def test_a_form_asks_for_something(form: Path) -> None:
    content = read(form)
    assert {"name", "description", "body"} <= content.keys()
    names = [element["id"] for element in content["body"] if element["type"] in ANSWERED]
    assert len(set(names)) == len(names) > 0
    assert any(element.get("validations", {}).get("required") for element in content["body"])
    for element in content["body"]:
        wanted = "label" if element["type"] in ANSWERED else "value"
        assert element["attributes"][wanted]


def test_the_form_for_defects_sends_vulnerabilities_elsewhere() -> None:
    first = read(GITHUB / "ISSUE_TEMPLATE" / "defect.yml")["body"][0]
    assert first["type"] == "markdown"
    assert "SECURITY.md" in first["attributes"]["value"]


def test_the_hooks_are_the_checks_of_a_quick_test() -> None:
    script = (ROOT / "scripts" / "test").read_text()
    checks = {
        f".venv/bin/{command}"
        for command in re.findall(r'^    check "\$BIN/(.+)$', script, re.MULTILINE)
    }
    checks = {check.replace('"', "", 1) for check in checks}
    hooks = read(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    at_commit = {hook["entry"] for hook in hooks if hook["stages"] == ["pre-commit"]}
    assert at_commit == checks
    (at_push,) = (hook["entry"] for hook in hooks if hook["stages"] == ["pre-push"])
    assert at_push.startswith(".venv/bin/python -m pytest ")
    assert at_push.endswith(" tests/unit")


def test_editors_and_ruff_have_the_same_line_length() -> None:
    settings = (ROOT / ".editorconfig").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"max_line_length = {project['tool']['ruff']['line-length']}" in settings


def test_texts_name_extras_that_exist_as_every_pip_finds_them() -> None:
    """By the normalised name: pip before 23.3 does not find `open_spiel` in `open-spiel`."""
    provided = metadata("playout").get_all("Provides-Extra") or []
    assert "open-spiel" in provided
    named = dict[str, Path]()
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("[a-z]*/**/*.py")]:
        for extras in re.findall(r"pip install [\"'](?:\.|playout)\[([\w,-]+)\]", path.read_text()):
            named |= dict.fromkeys(extras.split(","), path)
    assert {"nets", "open-spiel", "push"} <= named.keys()
    assert {name: path for name, path in named.items() if name not in provided} == {}
