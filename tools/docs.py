"""`make docs`: one page for each proxy and an index, written from what the code says about itself."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from firstlight.facts import Facts, ensemble_facts, facts, family
from firstlight.proxies import PROXIES

FOLDER = Path(__file__).parent.parent / "docs" / "proxies"
ORIGIN = "<!-- Written by `make docs` from src/firstlight/proxies; change it there. -->\n"
INDEX = """# Proxies

One page for each proxy: formula, direction, needs, settings, cost, scale and reference. `firstlight proxies NAME`
prints the same in the terminal. What is known to work where is told in [which proxy when](../which-proxy-when.md).

*Needs* is what must be given: nothing (but the shape of an input), inputs, or inputs with labels.
"""
ENSEMBLES = """## Ensembles

Several proxies as one: networks are ranked by each, and the ranks within the pool are put together.

| ensemble | how it judges networks | written |
|---|---|---|
"""


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    return {f"{name}.md": page(facts(PROXIES[name])) for name in PROXIES} | {"README.md": index()}


def index() -> str:
    parts = [ORIGIN, INDEX]
    entries = sorted(PROXIES.values(), key=lambda entry: family(entry)[0].casefold())
    for (title, explanation), members in groupby(entries, key=family):
        rows = [
            f"| [`{known.name}`]({known.name}.md) | {known.summary} | {known.better} | {known.needs} |"
            for known in map(facts, members)
        ]
        head = "| proxy | what it measures | better | needs |\n|---|---|---|---|"
        parts += [f"## {title}\n", f"{_linked(explanation)}\n", "\n".join([head, *rows]) + "\n"]
    rows = [f"| `{known.name}` | {known.summary} | `{known.example}` |\n" for known in ensemble_facts().values()]
    return "\n".join(parts) + "\n" + ENSEMBLES + "".join(rows)


def page(known: Facts) -> str:
    parts = [
        ORIGIN,
        f"# {known.name}\n",
        f"{known.summary}\n",
        _block("text", known.formula),
        *(f"{_linked(paragraph, known.name)}\n" for paragraph in known.remarks),
        f"- **Direction:** {_linked(known.direction, known.name)}",
        f"- **Needs:** {known.needs_in_words}",
        f"- **Cost:** {_linked(known.cost, known.name)}",
        f"- **Scale:** {_linked(known.scale, known.name)}",
        f"- **Family:** [{known.family}](README.md)\n",
        *_settings(known),
        "## Use it\n",
        _block("bash", f"firstlight score mypackage.models:network --input-shape 3,32,32 --proxy {known.name}"),
        _block("python", _example(known)),
        "## Reference\n",
        f"{known.citation}\n" if known.citation else "None: it is a plain count.\n",
    ]
    return "\n".join(parts)


def _settings(known: Facts) -> list[str]:
    if not known.settings:
        return []
    texts = {name: _text(default) for name, default in known.settings.items()}
    rows = [
        f"| `{name}` | `{text}` | {_allowed(known.choices.get(name), known.settings[name])} |"
        for name, text in texts.items()
    ]
    asked = ":".join([known.name, *(f"{name}={text}" for name, text in texts.items())])
    return [
        "## Settings\n",
        f"Written behind the name, here with their defaults: `{asked}`.\n",
        "\n".join(["| setting | default | allowed |\n|---|---|---|", *rows]) + "\n",
    ]


def _allowed(choices: tuple[str, ...] | None, default: object) -> str:
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    return {bool: "`true`, `false`", int: "whole numbers", float: "numbers"}[type(default)]


def _text(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _example(known: Facts) -> str:
    one = f"torch.randn({known.batch_size}, 3, 32, 32)"
    if known.needs_labels:
        one = f"({one}, torch.randint(10, ({known.batch_size},)))"
    batches = one if known.batches == 1 else f"[{one} for _ in range({known.batches})]"
    return (
        "import firstlight, torch\n\n"
        f"batches = {batches}  # or inputs of your own\n"
        f'score = firstlight.score(model, batches, "{known.name}")["{known.name}"]\n'
        "print(score.value, score.parts, score.note)"
    )


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```\n"


def _linked(text: str, page: str = "") -> str:
    """Names of other proxies become links to their pages."""
    others = PROXIES.keys() - {page}
    return re.sub(r"`(\w+)`", lambda match: f"[{match[0]}]({match[1]}.md)" if match[1] in others else match[0], text)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(pages())} pages in {FOLDER}")


if __name__ == "__main__":
    main()
