"""Hooks of MkDocs: a site whose pages have the places of their files in the repository.

MkDocs takes documents from one folder, `docs/`. These link to files outside it, such as README.md
and the sources of games, with relative links that GitHub follows. So that the same links work on
the site, each document has the same place below the root of the site as in the repository, and each
file that a document links to is a page, too: a document as it is, a folder as a list of its
documents and other files, any other file as a listing of its text.

The navigation is made from the tables of `docs/README.md`, so that a document is listed once.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from urllib.parse import quote, unquote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

INDEX = "docs/README.md"
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n"  # results are documents
FENCE = "`" * 5  # longer than any in a listed file
#: The text of an edge of a node in the search of the theme, as `e=e+label+node.id`.
AMBIGUOUS_NODE = re.compile(r"\b(\w+)=\1\+\w+\+\w+\.id\b(?!\+)")
#: Files that the site has as they are; of other files and of folders it has a page.
AS_THEY_ARE = (".md", ".onnx", ".png", ".svg", ".xz")


class _Page(File):
    """A page that lists a folder, or the text of a file."""

    def is_documentation_page(self) -> bool:
        return True


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Makes the navigation from the tables of the index."""
    config.nav = navigation((_root(config) / INDEX).read_text(encoding="utf-8"))
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Gives the documents their places in the repository, and adds the files that they link to."""
    root, docs = _root(config), Path(config.docs_dir)
    placed = Files(file for file in files if file.src_dir != config.docs_dir)  # of the theme
    places = [
        (docs / file.src_uri).relative_to(root).as_posix()
        for file in files
        if file.src_dir == config.docs_dir
    ]
    for place in places:  # which grows
        if placed.get_file_from_path(place) is None and (root / place).exists():
            file = _file(place, config)
            placed.append(file)
            if file.src_uri.endswith(".md") or (root / place).is_dir():
                places += links(place, file.content_string)
    return placed


def on_post_build(config: MkDocsConfig) -> None:
    """Mends the search of the theme, so that a query finds all words that begin as it does.

    Its library, lunr, tells nodes of its index apart by labels and ids in one text without a
    separator: "1" and 23 look like "12" and 3. Nodes were confused, and every query that began as
    one of their words failed (lunr.js, issue 503).
    """
    for worker in Path(config.site_dir).glob("assets/javascripts/workers/search.*.js"):
        text = worker.read_text(encoding="utf-8")
        worker.write_text(AMBIGUOUS_NODE.sub(r"\g<0>+','", text), encoding="utf-8")


def navigation(index: str) -> list[dict[str, str] | dict[str, list[dict[str, str]]]]:
    """The navigation that MkDocs expects, from the text of the index.

    A line in bold is the title of a section, and the first link in a row of a table is a page.
    """
    sections: list[dict[str, list[dict[str, str]]]] = []
    pages: list[dict[str, str]] = []
    for line in index.splitlines():
        if title := re.fullmatch(r"\*\*(.+)\*\*", line):
            pages = []
            sections.append({title[1]: pages})
        elif row := re.match(r"\| \[(.+?)\]\((.+?)\) \|", line):
            pages.append({row[1]: _place(INDEX, row[2])})
    return [{"Documents": INDEX}, *sections]


def links(place: str, text: str) -> list[str]:
    """The places of the files that the document at `place` links to, except on other hosts."""
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    targets = re.findall(r"\]\(([^)#\s]+)", text)
    return [_place(place, target) for target in targets if "://" not in target]


def _root(config: MkDocsConfig) -> Path:
    assert config.config_file_path
    return Path(config.config_file_path).parent


def _place(origin: str, link: str) -> str:
    """The place that a link in the file at `origin` leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), unquote(link)))


def _file(place: str, config: MkDocsConfig) -> File:
    """The file of the site for a file or folder of the repository."""
    path = _root(config) / place
    if path.is_file() and path.suffix in AS_THEY_ARE:
        return File(place, str(_root(config)), config.site_dir, config.use_directory_urls)
    page = _Page(place, None, config.site_dir, config.use_directory_urls, dest_uri=f"{place}.html")
    page.content_string = f"{UNSEARCHED}# `{place}`\n\n{_listing(path)}"
    return page


def _listing(path: Path) -> str:
    """The text of a file as a block of code, or the names in a folder, with links to documents."""
    if path.is_dir():
        return "".join(f"* {_item(each)}\n" for each in sorted(path.iterdir()))
    language = {".py": "python", ".txt": "text"}.get(path.suffix, "")
    return f"{FENCE}{language}\n{path.read_text(encoding='utf-8')}{FENCE}\n"


def _item(path: Path) -> str:
    if path.suffix == ".md":
        return f"[`{path.name}`]({path.parent.name}/{quote(path.name)})"
    return f"`{path.name}`"
