"""The accessibility faults of pages, by axe-core."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from support.requirements import skip_without

_AXE = Path(__file__).parents[1] / "node" / "node_modules" / "axe-core" / "axe.min.js"


def require_axe() -> None:
    """Skip the test if axe-core is not installed."""
    if not _AXE.is_file():
        lacking = "it needs axe-core (apt install nodejs npm), then: cd tests/node && npm ci"
        skip_without(lacking)


def serious_faults(page: Page) -> list[str]:
    """Return the serious accessibility faults of a page, in words."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(_AXE.read_text())
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {each['help']}: {[node['html'] for node in each['nodes']]}"
        f" {each['nodes'][0]['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
