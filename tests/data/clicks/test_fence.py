"""Click prediction keeps to its own modules: nothing else in the library mentions it."""

from __future__ import annotations

import re
from pathlib import Path

import firstlight

ROOT = Path(firstlight.__file__).parent
WORDS = re.compile(r"clicks|click-|click log|click data|criteo|avazu|kdd|nasrec|\bctr\b", re.IGNORECASE)
OWN = (
    "api/clicks.py",
    "data/clicks/",
    "spaces/nasrec/",
    "training/clicks.py",
    "training/retrained.py",
    "api/clicks.py",
    "evaluation/contenders.py",
    "evaluation/retraining.py",
    "papers/sigeo_click_ranks.py",
    "papers/sigeo_clicks.py",
    "papers/sigeo_figure4.py",
    "predict/features/recommenders.py",
    "cli/data.py",
)
# Indexes of names, which say what there is without importing it, and the bibliography
INDEXES = (
    "core/references.py",
    "data/sources.py",
    "papers/__init__.py",
    "predict/features/__init__.py",
    "spaces/__init__.py",
)


def test_nothing_else_mentions_it() -> None:
    others = [path for path in ROOT.rglob("*.py") if not path.relative_to(ROOT).as_posix().startswith((*OWN, *INDEXES))]
    assert len(others) > 100
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in others}
    # a link to the page of the guide says nothing by itself
    assert not [name for name, text in texts.items() if WORDS.search(text.replace("docs/ctr.md", ""))]
