"""A hook of MkDocs: a folder in the `nav` of mkdocs.yml stands for its README and all other pages by their headings."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    config["nav"] = _expanded(config["nav"], Path(config["docs_dir"]))
    return config


def _expanded(entry: Any, docs: Path) -> Any:
    if isinstance(entry, list):
        return [_expanded(part, docs) for part in entry]
    if isinstance(entry, dict):
        return {title: _expanded(part, docs) for title, part in entry.items()}
    if not entry.endswith("/"):
        return entry
    pages = {path.name: path.read_text(encoding="utf-8") for path in sorted((docs / entry).glob("*.md"))}
    headings = {name: text.partition("\n# ")[2].partition("\n")[0] for name, text in pages.items()}
    listed = [{heading: f"{entry}{name}"} for name, heading in headings.items() if name != "README.md"]
    return [f"{entry}README.md", *listed]
