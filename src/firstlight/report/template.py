"""One family of pages: the same head, styles and filters for all."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader

from firstlight._version import __version__


def render_page(template: str, **content: Any) -> str:
    """A whole HTML page that needs no network."""
    environment = Environment(
        loader=PackageLoader("firstlight.report", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(template).render(version=__version__, **content)
