"""The result of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firstlight.training.finalists import FinalResult
from firstlight.training.trained import Trained
from firstlight.training.verdict import Verdict


@dataclass(frozen=True)
class Fit:
    """The result of `firstlight.fit`: a trained network, and how it compares with the best plain one.

    Attributes:
        best: The network with the highest validation accuracy in the finals, which may be a plain one.
        baseline: The best plain network by validation accuracy.
        finalists: All networks of the finals.
        verdict: How the best network compares with the plain one on the test samples.
        decisions: What was decided at each step and why, one line each.
        trained: The number of trainings.
        screened: The number of networks that proxies looked at.
        seconds: The time that everything took, without interruptions.
        used: Which samples were used for what, in words.
        directory: The folder, if there is one.
        exported: The folder of the exported network, if there is one.

    >>> import firstlight
    >>> found = firstlight.fit("digits@8", time="1m", max_params="2k", workers=0)  # doctest: +SKIP
    >>> found.chosen.model, found.verdict.difference  # doctest: +SKIP
    """

    best: FinalResult
    baseline: FinalResult
    finalists: tuple[FinalResult, ...]
    verdict: Verdict
    decisions: tuple[str, ...]
    trained: int
    screened: int
    seconds: float
    used: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = field(default=None, compare=False)
    exported: Path | None = field(default=None, compare=False)

    @property
    def chosen(self) -> Trained:
        """The training of the best network with the highest validation accuracy: its weights are kept."""
        return max(self.best.trainings, key=lambda trained: trained.result.accuracy or 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return what `firstlight fit --json` prints."""
        verdict = self.verdict.to_dict()
        return {
            "best": self.best.to_dict(),
            "baseline": self.baseline.to_dict(),
            "verdict": {name: verdict[name] for name in ("text", "difference", "interval")},
            "trained": self.trained,
            "screened": self.screened,
            "seconds": self.seconds,
        }

    def record(self) -> dict[str, Any]:
        """Return what `result.json` holds: also the network as `export` reads it, and what was decided."""
        chosen = self.chosen
        return {
            "settings": dict(chosen.settings),
            "inputs": dict(chosen.inputs),
            "status": chosen.result.status,
            **self.to_dict(),
            "compared": {
                "verdict": self.verdict.to_dict(),
                "found": self.best.to_dict(),
                "baselines": [entry.to_dict() for entry in self.finalists if entry is not self.best],
            },
            "decisions": list(self.decisions),
            "used": dict(self.used),
        }
