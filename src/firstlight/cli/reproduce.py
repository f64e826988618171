"""`firstlight reproduce`: published tables, measured again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstlight.api.reproduce import reproduce as call
from firstlight.cli.derive import derived
from firstlight.cli.printing import print_json, resumable, say

LEFT_OUT = ("labels", "batch_size", "num_batches", "repeats", "device", "store", "timeout", "max_worker_memory")


@derived(call, usual={"out": "runs/reproduce", "name": ""}, without=LEFT_OUT)
def reproduce(given: dict[str, Any]) -> None:
    """Run the experiment behind a published table or figure, and print whether the measured values agree.

    Without a name, all experiments are listed.

    Scores are stored in the run folder: running it again, or with more networks, computes only what is new.

    For example:
    firstlight reproduce
    firstlight reproduce dextr-table4 --samples 200
    """
    as_json = given.pop("json", False)
    if not given["name"]:
        _list(given.get("data"), as_json=as_json)
        return
    out = Path(given["out"])
    with resumable(out):
        from firstlight.views.console.progress import showing

        with showing() as callback:
            outcome = call(**given, callback=callback)
    if as_json:
        print_json(outcome.to_dict())
        return
    _show(outcome)
    say(f"\nPage, findings and scores: {out / given['name']}.html, .json, store.sqlite")


def _show(outcome: Any) -> None:
    from firstlight.papers.page import HEADERS, cells, rule, summary
    from firstlight.views.console.terminal import show_figures

    experiment = outcome.experiment
    say(f"{experiment.published_in}: {experiment.shows}.\n")
    show_figures(HEADERS, (cells(finding) for finding in outcome.findings.lines), *HEADERS)
    say(f"\n{summary(outcome)}.")
    for text in (rule(outcome), *outcome.findings.remarks):
        say(text)
    settings = "; ".join(f"{name}: {value}" for name, value in outcome.settings.items())
    say(f"Settings: {settings}.")
    for name, reason in outcome.missing.items():
        say(f"Not run: {name} needs {reason}.")


def _list(data: str | None, *, as_json: bool) -> None:
    from firstlight.papers import EXPERIMENTS
    from firstlight.papers.runner import missing_parts, open_data_folder
    from firstlight.views.console.terminal import console, show_table

    folder = open_data_folder(data)
    entries: list[dict[str, Any]] = []
    for experiment in EXPERIMENTS.values():
        missing = missing_parts(experiment, folder)
        parts = [benchmark.name for benchmark in experiment.needs]
        runs = "yes" if not missing else "not yet" if len(missing) == len(parts) else "in part"
        entries.append(
            {
                "name": experiment.name,
                "published_in": experiment.published_in,
                "paper": experiment.citation,
                "shows": experiment.shows,
                "samples": experiment.samples,
                "needs": parts,
                "runs": runs,
                "missing": missing,
            }
        )
    if as_json:
        print_json(entries)
        return
    show_table(
        ("experiment", "runs now", "published in", "what it shows"),
        ((entry["name"], entry["runs"], entry["published_in"], entry["shows"]) for entry in entries),
    )
    lacking: dict[str, list[str]] = {}
    for entry in entries:
        for name, reason in entry["missing"].items():
            lacking.setdefault(f"{name} needs {reason}", []).append(entry["name"])
    if lacking:
        console.print("\nMissing for the other experiments:")
    for text, names in lacking.items():
        say(f"  {text}. ({', '.join(names)})")
