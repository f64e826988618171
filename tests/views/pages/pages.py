"""One page of each kind, with a text of one's own wherever a stranger could have written it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from firstlight.core.statistics import Estimate
from firstlight.evaluation.compare import Comparison
from firstlight.evaluation.compare import Run as MethodRun
from firstlight.evaluation.correlate import Sample, Study
from firstlight.evaluation.methods import Query
from firstlight.evaluation.service import Evaluation
from firstlight.evaluation.trust import Trust
from firstlight.papers import EXPERIMENTS
from firstlight.papers.base import Finding, Findings
from firstlight.papers.experiment import Outcome
from firstlight.papers.page import reproduction_page
from firstlight.probe.cost import Cost
from firstlight.storage.outcome import Epoch, TrainingResult
from firstlight.storage.records import Run, Trial
from firstlight.views.pages.comparison import comparison_page
from firstlight.views.pages.correlation import correlation_page
from firstlight.views.pages.search import render
from firstlight.views.pages.template import render_page
from firstlight.views.pages.trust import trust_page

CELL = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"

PAYLOADS = (
    "<script>stolen=1</script>",
    "</script><script>stolen=1</script>",
    '"><img src=x onerror=stolen=1>',
    "' onfocus='stolen=1' autofocus='",
    "</style></title></textarea><svg onload=stolen=1>",
    "<img src=http://192.0.2.1/stolen>",
)


def trials(count: int, text: str = "") -> list[Trial]:
    """The last is the best; what it costs goes up and down."""
    return [
        Trial(
            f"{CELL}{text}{number}", Cost(1000 + 37 * (7 * number % count), 10**6 + number), 1 + number / count, number
        )
        for number in range(count)
    ]


def search_run(
    text: str = "", *, finished: bool = True, findings: dict[str, Any] | None = None, **settings: Any
) -> Run:
    asked = {"space": "nasbench201", "proxy": "dextr", "algorithm": "random", "seed": 0, "note": text} | settings
    result = {
        "best": {"architecture": f"{CELL}{text}39", "scores": {"dextr": {"parts": {f"part {text}": 1.0}}}},
        "notes": [text],
        "effort": text,
        "next_steps": [f"report {text}"],
        "versions": {"torch": text},
        "retrained": retrained(text),
        "stages": [{"resolution": text, "layers": [[f"layer {text}", f"kind {text}", [8, 4, 4], 10]]}],
        "findings": findings or {},
    }
    return Run(1, asked, "0.1.0", "2030-01-01 00:00:00", "2030-01-01 00:01:00" if finished else None, result)


def hnas(text: str) -> dict[str, Any]:
    answers = [
        {"architecture": name, "u": 0.5, "exponent": -1.0, "reached": reached}
        for name, reached in ((text, 91.0), ("other", 92.0))
    ]
    return {"hnas": {"answers": answers}}


def one_shot(text: str) -> dict[str, Any]:
    name = f"edge {text}"
    options, ends = [f"skip {text}", "conv"], [0.25, -0.25]
    return {
        "options": {name: options},
        "preferences": {name: ends},
        "chosen": {name: options[:1]},
        "growth": [{"steps": 1, name: [0.1, -0.1]}, {"steps": 2, name: ends}],
        "traces": [10.0, 100.0],
    }


def retrained(text: str) -> dict[str, Any]:
    figures = {f"{part}_{figure}": 0.5 for part in ("validation", "test") for figure in ("log_loss", "auc")}
    ended = {"params": 10, "status": "ok", "note": ""}
    networks = [
        {"name": f"{CELL}{text}39", "kind": "found", **figures, "results": [ended]},
        {"name": "DLRM", "kind": "by hand", **figures, "results": [ended | {"status": "failed", "note": text}]},
    ]
    known = {"recipe": text, "seeds": [0], "best": networks[0]["name"], "median_random_test_log_loss": 0.4}
    return {**known, "networks": networks}


def a_study(text: str = "", count: int = 30, others: int = 0) -> Study:
    rng = np.random.default_rng(0)
    truth = np.linspace(50, 90, count)
    names = [f"{CELL}{text}{number}" for number in range(count)]
    rows = pd.DataFrame({"architecture": names, "canonical": names, "toy_val_3": truth})
    proxies = {"good": truth + rng.normal(0, 3, count), f"bad {text}": rng.normal(0, 1, count)}
    proxies |= {f"number {place}": rng.normal(0, 1, count) for place in range(others)}
    return Study(Sample(rows, ("toy_val_3",)), (0,), (proxies,), resamples=20)


def a_trust(text: str = "") -> Trust:
    study = a_study(text)
    evaluations = [
        Evaluation(name, TrainingResult((Epoch(1.0, 0.5, 1.0, value / 100, 0.1),), seconds=0.1))
        for name, value in zip(study.sample.rows["architecture"], study.truth("toy_val_3"), strict=True)
    ]
    failed = Evaluation(text, TrainingResult((), "failed", text))
    return Trust((*evaluations, failed), study, classes=10, judged_by=100)


def a_comparison(text: str = "") -> Comparison:
    queries = tuple(Query(f"{text}{number}", 50.0 + number, 3, 1.0) for number in range(6))
    runs = {f"random{text}": [MethodRun(f"random{text}", seed, queries) for seed in (0, 1)]}
    figures = {query.architecture: {"toy_test_40": 60.0 + (query.value or 0)} for query in queries}
    return Comparison("toy_val_3", ("toy_test_40",), (3, 6), runs, figures, seconds=text, remarks=(text,))


def an_outcome(text: str = "") -> Outcome:
    line = Finding(f"what {text}", f"on {text}", Estimate(0.5, 0.4, 0.6), note=text)
    experiment = EXPERIMENTS["dextr-table4"]
    return Outcome(
        experiment, {"table": text}, Findings((line, replace(line, what="other")), (text,)), {text: text}, text, text
    )


def pages(text: str) -> dict[str, str]:
    settings = {"space": f"nasbench201{text}", "table": text, "data": f"digits{text}: 100"}
    networks = trials(40, text)
    return {
        "search": render(search_run(text), networks),
        "own space": render(search_run(text, space=f"mine:{text}", algorithm=text, finished=False), networks),
        "hnas": render(search_run(text, findings=hnas(text)), networks),
        "nasi": render(search_run(text, findings={"one_shot": one_shot(text)}), networks[-1:]),
        "front": render(search_run(text, objectives="params,macs"), networks),
        "correlation": correlation_page(a_study(text), settings, ensemble=True),
        "trust": trust_page(a_trust(text), settings),
        "comparison": comparison_page(a_comparison(text), settings),
        "reproduction": reproduction_page(an_outcome(text)),
        "waiting": render_page("waiting.html", folder=text, scores=1, trainings=2),
    }
