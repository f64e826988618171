"""Made-up scores of classes of NAS-Bench-201, in place of those that come with Firstlight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from firstlight.papers import class_study
from firstlight.papers.class_scores import ARCHITECTURE, MEASURED, PARTS, ClassScores, ordered

VERSIONS = {"torch": "2.13.0"}


def toy_scores(counts: dict[str, int] | None = None) -> ClassScores:
    """Scores that grow with the number of convolutions, of the first `counts` classes of each part."""
    texts = ordered()
    generator = np.random.default_rng(0)
    convolutions = np.array([text.count("conv") for text in texts])
    columns: dict[str, Any] = {ARCHITECTURE: texts}
    about: dict[str, Any] = {"date": "2026-01-01", "versions": VERSIONS, "parts": {}}
    for name, part in PARTS.items():
        count = len(texts) if counts is None else counts.get(name, 0)
        measured = np.arange(len(texts)) < count
        for proxy in part.proxies:
            values = 1 + convolutions + generator.uniform(0, 2, len(texts))
            values = 1000 / values if proxy == "ntk_condition" else values
            columns[f"{name}.{proxy}"] = np.where(measured & (convolutions > 0), values, np.nan).astype(np.float32)
        columns[f"{name}.{MEASURED}"] = measured
        about["parts"][name] = {"measured": count}
    return ClassScores(pd.DataFrame(columns).set_index(ARCHITECTURE), about)


def use(monkeypatch: pytest.MonkeyPatch, scores: ClassScores) -> ClassScores:
    """Let experiments read these scores."""
    monkeypatch.setattr(class_study, "load_class_scores", lambda: scores)
    return scores
