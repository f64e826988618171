"""One page for the Python API: every public name of the package, which mkdocstrings fills from its docstring."""

from __future__ import annotations

from tools.pages.markdown import origin

import firstlight

GROUPS = {
    "Calls": (
        *("score", "rank", "predict", "search", "space", "correlate", "trust", "compare", "load_table", "train", "fit"),
        "export",
        "reproduce",
    ),
    "Options": (
        *("Inputs", "Network", "Model", "Limits", "Truth", "Training", "Reporting", "Retraining", "Compute", "Storage"),
        *("Judging", "Baselines", "Files"),
    ),
    "Results": ("Event", "Score", "Parts", "Ranking", "Prediction", "SearchResult", "Table", "Trained", "Fit"),
    "Settings": ("TrainingRecipe", "Skeleton"),
    "Extension points": (
        "proxy",
        "Probe",
        "register",
        "choices",
        "Space",
        "ChoiceSpace",
        "Architecture",
        "algorithm",
        "Problem",
    ),
    "Registries": ("PROXIES", "SPACES", "ALGORITHMS"),
    "Errors": ("FirstlightError", "SearchInterrupted"),
    "Version": ("__version__",),
}
INTRODUCTION = """# Python API

Everything here is imported from `firstlight`. Authors of proxies, spaces and algorithms also use `firstlight.testing`
(`check_proxy`, `check_space`, `check_algorithm`), the errors of `firstlight.core.errors`, the feature statistics of
`firstlight.probe.spectra`, the layers of `firstlight.spaces.ops`, and the marks of settings in
`firstlight.core.settings` and `firstlight.search.algorithm`. Other modules may change without notice.

A call takes each option group as a keyword, such as `limits=Limits(max_params="1.0M")`, and each field of its groups as
a plain keyword, such as `max_params="1.0M"`.
"""


def pages() -> dict[str, str]:
    """Return the page by its file name.

    Raises:
        ValueError: If the groups and `firstlight.__all__` do not hold the same names.
    """
    grouped = [name for names in GROUPS.values() for name in names]
    if different := set(grouped) ^ set(firstlight.__all__):
        raise ValueError(f"in only one of firstlight.__all__ and GROUPS of {__name__}: {', '.join(sorted(different))}")
    sections = [_section(title, names) for title, names in GROUPS.items()]
    return {"README.md": "\n".join([origin("tools/pages/api.py"), INTRODUCTION, *sections])}


def _section(title: str, names: tuple[str, ...]) -> str:
    return "\n".join([f"## {title}\n", *(f"::: {_path(name)}\n" for name in names)])


def _path(name: str) -> str:
    """Return where a name is defined, if it is a call: a package may have the same name."""
    module = getattr(getattr(firstlight, name), "__module__", "")
    return f"{module}.{name}" if module.startswith("firstlight.api.") else f"firstlight.{name}"
