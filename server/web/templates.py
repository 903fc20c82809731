"""HTML from templates, in which everything is escaped and nothing may be missing."""

from __future__ import annotations

from importlib.metadata import version

from jinja2 import Environment, PackageLoader, StrictUndefined

_ENVIRONMENT = Environment(
    loader=PackageLoader("server.web", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.globals["software"] = f"Playout {version('playout')}"


def render(name: str, **context: object) -> bytes:
    """The template of that file name, filled in. Raises jinja2.TemplateError."""
    return _ENVIRONMENT.get_template(name).render(context).encode()
