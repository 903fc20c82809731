"""The accessibility faults of pages, by axe-core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page

from support.requirements import skip_without

_AXE = Path(__file__).parents[1] / "node" / "node_modules" / "axe-core" / "axe.min.js"

#: Transitions are brought to their ends first: a color between two is not one of the page.
#: Of what axe-core finds, only the faults leave the browser: the rest is large.
_FAULTS = """() => {
    for (const each of document.getAnimations())
        if (each instanceof CSSTransition) each.finish();
    return axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations);
}"""


def require_axe() -> None:
    """Skip the test if axe-core is not installed."""
    if not _AXE.is_file():
        lacking = "it needs axe-core (apt install nodejs npm), then: cd tests/node && npm ci"
        skip_without(lacking)


def accessibility_faults(page: Page) -> list[str]:
    """Return the accessibility faults of a page, in words."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(_AXE.read_text())
    found = page.evaluate(_FAULTS)
    return [
        f"{each['id']}: {each['help']}: {[node['html'] for node in each['nodes']]}"
        f" {each['nodes'][0]['failureSummary']}"
        for each in found
    ]


@dataclass
class AccessibleNode:
    """What a screen reader gets of an element: its role, its name and its descendants."""

    role: str
    name: str
    element: int
    focusable: bool
    children: list[AccessibleNode] = field(default_factory=list)

    def all(self, role: str = "") -> Iterator[AccessibleNode]:
        """Yield this node and its descendants, or those of a role."""
        if role in ("", self.role):
            yield self
        for child in self.children:
            yield from child.all(role)

    def one(self, role: str, name: str) -> AccessibleNode:
        """Return the only node of a role with a name that begins so."""
        (found,) = (each for each in self.all(role) if each.name.startswith(name))
        return found

    @property
    def text(self) -> str:
        """The texts below it."""
        return " ".join(each.name for each in self.all("StaticText"))


class ScreenReader:
    """Knows a page only by Chromium's accessibility tree, and uses it by the focus and by keys."""

    def __init__(self, page: Page, devtools: CDPSession) -> None:
        self._page = page
        self._devtools = devtools

    def tree(self) -> AccessibleNode:
        """Return what the page says now; ignored elements are left out."""
        found = self._devtools.send("Accessibility.getFullAXTree")["nodes"]
        known = {each["nodeId"]: each for each in found}

        def below(node: dict[str, Any]) -> Iterator[AccessibleNode]:
            children = (known[each] for each in node.get("childIds", ()) if each in known)
            nodes = [each for child in children for each in below(child)]
            if node["ignored"]:
                yield from nodes
                return
            properties = {each["name"]: each["value"] for each in node.get("properties", ())}
            yield AccessibleNode(
                node["role"]["value"],
                node.get("name", {}).get("value", ""),
                node.get("backendDOMNodeId", 0),
                bool(properties.get("focusable", {}).get("value")),
                nodes,
            )

        (root,) = below(found[0])
        return root

    def press(self, node: AccessibleNode) -> None:
        """Give an element the focus, and press Enter."""
        self._devtools.send("DOM.focus", {"backendNodeId": node.element})
        self._page.keyboard.press("Enter")


@contextmanager
def screen_reader(page: Page) -> Iterator[ScreenReader]:
    """Read a page by its accessibility tree."""
    devtools = page.context.new_cdp_session(page)
    yield ScreenReader(page, devtools)
    devtools.detach()


def nameless(page: Page) -> list[str]:
    """Return the controls without a name, and the names that several cells of a board have."""
    with screen_reader(page) as reader:
        root = reader.tree()
    unnamed = [each.role for each in root.all() if each.focusable and not each.name]
    cells = [each.name for each in root.all("gridcell") if not each.name.startswith("unused")]
    twice = [name for name, count in Counter(cells).items() if count > 1]
    return [each for each in unnamed if each != "main"] + twice
