"""Collects the texts of the pages, and brings the catalogue of each language up to date.

New texts have no translation: translate them in server/web/languages/CODE.po. Texts that have
changed keep the translation of a similar one, marked as `fuzzy`; remove the mark when it is right.
A language begins with an empty catalogue: scripts/languages fr
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import click
from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from playout import games
from playout.games import Description
from playout.server.web.texts import DATA, RULES

ROOT = Path(__file__).resolve().parents[2]
PAGES = Path("server/web"), Path("competition/page"), Path("laboratory/page")
CATALOGUES = ROOT / PAGES[0] / "languages"
_COLUMNS = 100

Found = tuple[int, str, Any, list[str]]


def data_lines(
    file: IO[bytes], keywords: Mapping[str, Any], tags: Iterable[str], options: Mapping[str, Any]
) -> Iterator[Found]:
    """Extract the lines of the file of texts that come as data, as Babel calls extractors."""
    for number, line in enumerate(file, 1):
        if text := line.decode().strip():
            yield number, "pgettext", (DATA, text), []


_METHODS = [
    ("**.html", "jinja2"),
    ("**.xml", "jinja2"),
    ("**.js", "javascript"),
    ("**.py", "python"),
    ("languages/data.txt", f"{__name__}:{data_lines.__name__}"),
]
_JINJA = {"trimmed": "true", "newstyle_gettext": "true", "silent": "false"}
_OPTIONS = {"**.html": _JINJA, "**.xml": _JINJA}


def extracted() -> Catalog:
    """All texts of the pages, without translations."""
    catalog = Catalog(charset="utf-8")
    for folder in PAGES:
        for path, _, text, comments, context in extract_from_dir(
            ROOT / folder, method_map=_METHODS, options_map=_OPTIONS
        ):
            place = [(str(folder / path), 0)]
            catalog.add(text, None, place, auto_comments=comments, context=context)
    for title in (*games.GROUPS.values(), games.OTHERS):
        catalog.add(title, None, [("games/core", 0)], context=DATA)
    for name in games.names():
        path = f"games/{name}.py"
        if (ROOT / path).exists():  # others are of packages that are installed on this machine
            for context, text in _of_game(games.describe(name)):
                catalog.add(text, None, [(path, 0)], context=context)
    return catalog


def _of_game(description: Description) -> Iterator[tuple[str, str]]:
    """The texts that describe a game, each with its context."""
    yield DATA, description.title
    rules = (description.about, description.first_steps, *(v.about for v in description.variants))
    yield from ((RULES, text) for text in rules if text)
    for parameter in description.parameters:
        words = parameter.name.replace("_", " ")
        is_switch = isinstance(parameter.default, bool)
        yield DATA, words
        yield DATA, f"no {words}" if is_switch else f"{words} %(value)s"
        if parameter.about:
            yield DATA, parameter.about


def catalogue(name: str) -> Catalog:
    """The catalogue of a language; one without translations if there is none."""
    path = CATALOGUES / f"{name}.po"
    if not path.exists():
        comment = f"# The texts of the pages in {Locale.parse(name).english_name}."
        return Catalog(name, header_comment=comment, project="Playout", fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=name)


@click.command(help=__doc__)
@click.argument("new", nargs=-1, metavar="[NAME]...")
def main(new: tuple[str, ...]) -> None:
    """Update all catalogues, and make those of new languages."""
    found = extracted()
    names = sorted({*new, *(path.stem for path in CATALOGUES.glob("*.po"))})
    for name in names:
        updated = catalogue(name)
        updated.update(found, update_creation_date=False)
        with (CATALOGUES / f"{name}.po").open("wb") as file:
            write_po(
                file,
                updated,
                width=_COLUMNS,
                sort_by_file=True,
                ignore_obsolete=True,
                include_lineno=False,
            )
        missing = sum(not _is_complete(each) or each.fuzzy for each in updated if each.id)
        click.echo(f"{name}: {len(updated)} texts, {missing} to translate")


def _is_complete(message: Any) -> bool:
    return all(message.string) if message.pluralizable else bool(message.string)


if __name__ == "__main__":
    main()
