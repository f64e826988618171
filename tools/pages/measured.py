"""One page for each table that was measured again, and a list of them, from the findings in docs/measured/*.json.

`firstlight reproduce NAME` leaves NAME.json in its folder: copy it there, and `make docs` writes the page. Some
programs in benchmarks/, such as `benchmarks.fit`, write theirs themselves.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.pages.markdown import block, origin, table

from firstlight.papers import EXPERIMENTS

FINDINGS = Path(__file__).parent.parent.parent / "docs" / "measured"
ORIGIN = origin("docs/measured/*.json, which `firstlight reproduce` has written")
INDEX = """# Tables measured again

What `firstlight reproduce` gave here, line by line, as it left it: published and measured figures, the verdict, the
command, the date, versions and the class of machine. [How a line is judged](../reproduce.md#how-a-line-is-judged). What
we make of them, and what was measured in other ways: [results](../results.md).
"""
WORDS = ("agrees", "differs", "too wide to tell", "no published value", "not measured")


def pages() -> dict[str, str]:
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FINDINGS.glob("*.json"))}
    return {f"{name}.md": page(content) for name, content in found.items()} | {"README.md": index(found)}


def index(found: dict[str, dict[str, Any]]) -> str:
    rows = [
        (f"[{content['published_in']}]({name}.md)", _shows(name, content), *_counts(content), content["date"])
        for name, content in sorted(found.items(), key=_place)
    ]
    return "\n".join([ORIGIN, INDEX, table(("published in", "what is measured", *WORDS, "date"), rows)])


def _place(item: tuple[str, dict[str, Any]]) -> tuple[int, str]:
    """Return where a page stands: by its experiment, which may have been run on several data sets."""
    name, content = item
    order = [*EXPERIMENTS, content["experiment"]]  # what a program in benchmarks/ has measured comes last
    return order.index(content["experiment"]), name


def _shows(name: str, content: dict[str, Any]) -> str:
    other = f", on {content['settings']['input']}" if name != content["experiment"] else ""
    return content["shows"] + other


def _counts(content: dict[str, Any]) -> list[str]:
    verdicts = [finding["verdict"] for finding in content["findings"]]
    return [str(verdicts.count(word) or "") for word in WORDS]


def page(content: dict[str, Any]) -> str:
    rows = [
        (
            _cell(finding["what"]),
            _cell(finding["on"]),
            _published(finding["published"]),
            _ours(finding),
            finding["verdict"],
            _cell(finding["note"]),
        )
        for finding in content["findings"]
    ]
    known = {**content["settings"], **content["versions"]}
    parts = [
        ORIGIN,
        f"# {content['published_in']}\n",
        f"{content['shows'][0].upper()}{content['shows'][1:]}. {content['paper']}\n",
        f"Measured on {content['date']} by\n",
        "<!-- checked, not run: minutes to hours, and the tables are not part of the repository -->",
        block("bash", content["command"]),
        table(("what", "on", "published", "ours, 95 % interval", "verdict", "remarks"), rows),
        *(f"- {remark}" for remark in content["remarks"]),
        *(f"- Not run: {name} needs {reason}." for name, reason in content["missing"].items()),
        "\n## Settings and versions\n",
        table(("", ""), [(name, _cell(value)) for name, value in known.items()]),
    ]
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _published(ends: list[float] | None) -> str:
    if ends is None:
        return ""
    low, high = ends
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _ours(finding: dict[str, Any]) -> str:
    if finding["ours"] is None:
        return ""
    value, ends = finding["ours"], finding["ours_ci"]
    digits = 2 if abs(value) >= 10 else 3
    known = "" if None in ends or ends[0] == ends[1] else f" [{ends[0]:.{digits}f}, {ends[1]:.{digits}f}]"
    return f"{value:.{digits}f}{known}"
