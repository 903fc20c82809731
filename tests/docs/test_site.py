"""The site that `scripts/docs` builds: complete, without other hosts, and searchable as files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
#: Elements whose number shows whether a document was understood as GitHub understands it.
COUNTED = ("h1", "h2", "h3", "h4", "li", "ol", "ul", "table", "tr", "th", "td", "pre", "img")


class PageParser(HTMLParser):
    """The elements of a page, and the addresses from which it loads something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements = Counter[str]()
        self.classes: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        given = {name: value or "" for name, value in attrs}
        self.classes |= set(given.get("class", "").split())
        if tag == "link":
            self.loaded.append(given["href"])
        elif tag != "a" and given.get("src"):
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning of MkDocs is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    assert all(line.startswith("INFO ") for line in printed.splitlines()), printed
    return folder


def page_of(site: Path, document: Path) -> Path:
    """The page of a document."""
    name = "index" if document.stem == "README" else document.stem
    return site / document.relative_to(ROOT).with_name(f"{name}.html")


def article(page: Path) -> str:
    """The part of a page that is made from its document."""
    found = re.search(r"<article.*?</article>", page.read_text(encoding="utf-8"), re.DOTALL)
    assert found, page
    return found[0]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_has_the_headings_lists_tables_and_code_that_github_shows(
    site: Path, document: Path
) -> None:
    """The site has another parser, which for instance needs an empty line before a list."""
    text = document.read_text(encoding="utf-8")
    github = PageParser(MarkdownIt("commonmark").enable("table").render(text)).elements
    shown = PageParser(article(page_of(site, document))).elements
    assert {tag: shown[tag] for tag in COUNTED} == {tag: github[tag] for tag in COUNTED}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_navigation_leads_to_every_document(site: Path, document: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'<a href="([^"]+)" class="md-nav__link', start)
    assert page_of(site, document) in [(site / link).resolve() for link in links]


def test_a_linked_source_is_a_page(site: Path) -> None:
    assert 'href="../games/connect_four.py.html"' in article(site / "docs" / "writing-a-game.html")
    assert "ConnectFour" in article(site / "games" / "connect_four.py.html")


def test_a_linked_folder_is_a_page_with_its_documents(site: Path) -> None:
    assert 'href="../players/nets/trained.html"' in article(site / "docs" / "players.html")
    cards = article(site / "players" / "nets" / "trained.html")
    assert 'href="trained/connect_four.html"' in cards
    assert (site / "players" / "nets" / "trained" / "connect_four.html").exists()


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(DOCUMENTS)
    for page in pages:
        parsed = PageParser(page.read_text(encoding="utf-8"))
        assert parsed.loaded
        others = [address for address in parsed.loaded if urlsplit(address).netloc]
        assert others == [], page
        # The theme would load the program that draws these.
        assert "mermaid" not in parsed.classes, page
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        addresses = re.findall(r"""(?:url\(|@import\s+)["']?([^"')\s]+)""", text)
        assert [each for each in addresses if urlsplit(each).netloc] == [], style


def test_the_search_index_has_the_words_of_the_documents(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {
        entry["location"].partition("#")[0]
        for entry in index["docs"]
        if "SPRT" in entry["text"].upper()
    }
    assert {"docs/architecture.html", "docs/tournaments.html"} <= found
    indexed = {entry["location"] for entry in index["docs"]}
    assert "games/connect_four.py.html" not in indexed, "sources are shown, but not searched"


def test_the_search_tells_the_nodes_of_its_index_apart(site: Path) -> None:
    workers = list((site / "assets" / "javascripts" / "workers").glob("*.js"))
    assert workers
    for worker in workers:
        text = worker.read_text(encoding="utf-8")
        assert "lunr" in text
        assert re.findall(r"\w+\+\w+\.id\}", text) == []


def test_the_search_works_without_a_server_and_without_a_network(
    site: Path, chromium: Browser
) -> None:
    page = chromium.new_page()
    requested: list[str] = []
    printed: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("console", lambda message: printed.append(message.text))
    page.goto((site / "index.html").as_uri())
    # By keys, as people do: `fill` sends none, and the search reads the text at a key, or once when
    # its index is ready, which may be before `fill` has written the text.
    page.locator("[data-md-component=search-query]").press_sequentially("SPRT")
    page.locator(".md-search-result__item h1", has_text="Numbers of tournaments").wait_for()
    assert printed == []
    page.goto((site / "docs" / "architecture.html").as_uri())
    page.close()
    assert {urlsplit(address).scheme for address in requested} <= {"file", "data", "blob"}
