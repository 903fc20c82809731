"""The addresses of a server's pages and API, found by asking the site itself.

Pages are found by their links, from the first page on, and lists of the API in the error for an
unknown address. The error for an unknown parameter names those that an address has, and the error
for a wrong value the allowed ones.
"""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

import click

_LINK = re.compile(r'href="(/[^"?#]*)')
_FORM = re.compile(r'action="(/[^"?#]*)')
_ALLOWED = re.compile(r"allowed are ([\w, ]+)")
_CHOICES = re.compile(r"must be one of ([\w, ]+), not")
_API_LIST = re.compile(r"/api/\w+")
_PAGES = re.compile(r"Page \d+ of (\d+)")
#: Stands for a parameter that no address has, and for a value that none allows.
_UNKNOWN = "unknown-1"


class Site:
    """The pages and the API of a server on this machine."""

    def __init__(self, port: int) -> None:
        self._root = f"http://127.0.0.1:{port}"

    def get(self, address: str) -> tuple[int, str]:
        """Return the status and the body of a response."""
        try:
            with urllib.request.urlopen(self._root + address) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def seconds(self, address: str) -> float:
        """Return how long a response took. Raises ClickException if its status is not 200."""
        began = time.perf_counter()
        status, text = self.get(address)
        took = time.perf_counter() - began
        if status != 200:
            raise click.ClickException(f"{address} has the status {status}: {text[:300]}")
        return took


def page_addresses(
    site: Site, items: Mapping[str, str], values: Mapping[str, str]
) -> Iterator[str]:
    """Yield the addresses of pages, one of each kind, with each of its parameters.

    `items`: the last segment of the page of one item, by the list that it is in. `values`: of the
    parameters that take any value.
    """
    seen, left = {"/"}, ["/"]
    while left:
        path = left.pop(0)
        yield from _with_parameters(site, path, values)
        _, text = site.get(path)
        for link in [*_LINK.findall(text), *_FORM.findall(text)]:
            kind = link.split("/")[1]
            is_item = link.count("/") > 1 and kind in items
            address = f"/{kind}/{items[kind]}" if is_item else link
            if kind != "static" and address not in seen and (is_item or link.count("/") == 1):
                seen.add(address)
                left.append(address)


def api_addresses(site: Site, items: Mapping[str, str], values: Mapping[str, str]) -> Iterator[str]:
    """Yield the addresses of the API: each list with its parameters, and one item of each."""
    _, text = site.get("/api")
    for path in _API_LIST.findall(text):
        yield from _with_parameters(site, path, values)
        if item := items.get(path.rpartition("/")[2]):
            yield f"{path}/{item}"


def _with_parameters(site: Site, path: str, values: Mapping[str, str]) -> Iterator[str]:
    """Yield an address as it is, and with each of its parameters."""
    yield path
    _, error = site.get(f"{path}?{_UNKNOWN}=1")
    allowed = _ALLOWED.search(error)
    for name in allowed[1].split(", ") if allowed else ():
        if name == "page":
            chosen = [_last_page(site.get(path)[1])]
        elif choices := _CHOICES.search(site.get(f"{path}?{name}={_UNKNOWN}")[1]):
            chosen = choices[1].split(", ")
        elif name in values:
            chosen = [values[name]]
        else:
            raise click.ClickException(f"{path} has a parameter {name!r} without a value here")
        yield from (f"{path}?{urlencode({name: value})}" for value in chosen)


def _last_page(text: str) -> str:
    """Return the number of the last page of a list, from a page or from JSON."""
    if text.startswith("{"):
        return str(json.loads(text)["pages"])
    found = _PAGES.search(text)
    return found[1] if found else "1"
