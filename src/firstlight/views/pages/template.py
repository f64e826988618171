"""Pages with the same head, styles and script, each in one file that loads nothing else.

Only the script of the page runs: the content security policy names its digest and forbids every request. A live page,
served by `firstlight watch`, may ask its own server.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from firstlight._version import __version__


def render_page(template: str, *, live: str = "", **content: Any) -> str:
    """Render a whole HTML page; `live` identifies the state of the run, for a page that is served."""
    return (
        _environment()
        .get_template(template)
        .render(
            version=__version__,
            styles=_asset("page.css"),
            script=_script(),
            policy=policy(live=bool(live)),
            live=live,
            **content,
        )
    )


def policy(*, live: bool) -> str:
    """Return the content security policy."""
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    rules = [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        f"script-src 'sha256-{digest}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join([*rules, "connect-src 'self'"] if live else rules)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("firstlight.views.pages", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _script() -> Markup:
    return _asset("side.js") + _asset("page.js")


@cache
def _asset(name: str) -> Markup:
    return Markup((resources.files("firstlight.views.pages") / "templates" / name).read_text(encoding="utf-8"))
