"""Renders HTML templates: all values are escaped, and an undefined one is an error."""

from __future__ import annotations

from importlib.metadata import version

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

from server.export.text import utc
from server.tournament.report.words import counted

_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"))


def _duration(seconds: float) -> str:
    """A duration in round numbers, such as "about 3 hours"."""
    for unit, name in _UNITS:
        if seconds >= unit:
            return f"about {counted(round(seconds / unit), name)}"
    return "less than a minute"


_ENVIRONMENT = Environment(
    loader=PackageLoader("server.web", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.globals["software"] = f"Playout {version('playout')}"
#: For `tojson`, which escapes text that could end a script; msgspec is fast, and encodes structs.
_ENVIRONMENT.policies["json.dumps_function"] = lambda value, **_: msgspec.json.encode(
    value
).decode()
_ENVIRONMENT.filters["utc"] = lambda at, form="%Y-%m-%d %H:%M": f"{utc(at):{form}}"
_ENVIRONMENT.filters["about"] = _duration
_ENVIRONMENT.filters["count"] = counted


def render(name: str, **context: object) -> bytes:
    """The HTML of a template, in UTF-8. Raises jinja2.TemplateError."""
    return _ENVIRONMENT.get_template(name).render(context).encode()
