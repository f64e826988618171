"""What is imported, each in a fresh process: names are checked without PyTorch, and a score needs few modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

# What names can be checked with.
LIGHT = [
    "firstlight.core.amounts",
    "firstlight.core.errors",
    "firstlight.core.events",
    "firstlight.core.importing",
    "firstlight.core.quoting",
    "firstlight.core.references",
    "firstlight.core.registry",
    "firstlight.core.seeds",
    "firstlight.core.settings",
    "firstlight.proxies",
    "firstlight.search.algorithms",
    "firstlight.spaces",
]
HEAVY = ("botorch", "matplotlib", "numpy", "pandas", "pyarrow", "rich", "scipy", "sklearn", "torch")
MOST_MODULES = 68

MODEL = """
import sys, torch, firstlight
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(3600, 10))
firstlight.score(model, torch.randn(1, 3, 32, 32))
"""


def modules_after(code: str) -> list[str]:
    """Return the modules that a fresh process has imported after running the code."""
    code = f"{code}\nimport sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_light_packages_import_nothing_heavy() -> None:
    found = modules_after("import " + ", ".join(LIGHT))
    assert not set(HEAVY) & set(found)


@pytest.mark.parametrize(
    ("registry", "misspelled", "meant"),
    [
        ("firstlight.proxies.PROXIES", "dextrr", "dextr"),
        ("firstlight.spaces.SPACES", "nasbench21", "nasbench201"),
        ("firstlight.search.algorithms.ALGORITHMS", "evolutoin", "evolution"),
    ],
)
def test_a_misspelled_name_is_reported_without_pytorch(registry: str, misspelled: str, meant: str) -> None:
    module, _, name = registry.rpartition(".")
    found = modules_after(f"""
from {module} import {name}
from firstlight.core.errors import UnknownNameError
try:
    {name}[{misspelled!r}]
except UnknownNameError as error:
    assert "Did you mean {meant!r}?" in str(error), error
else:
    raise AssertionError("not refused")
""")
    assert not set(HEAVY) & set(found)


@pytest.mark.parametrize(
    "command",
    [
        ("search", "nasbench21"),
        ("search", "nasbench201", "--proxy", "dextrr"),
        ("search", "nasbench201", "--algorithm", "evolutoin"),
        ("score", "nasbench21", "x"),
        ("rank", "nasbench201", "--samples", "2", "--proxy", "dextrr"),
    ],
)
def test_the_command_line_checks_names_before_anything_heavy_is_imported(command: tuple[str, ...]) -> None:
    found = modules_after(f"""
import sys
sys.argv = ["firstlight", *{command!r}]
from firstlight.cli import main
try:
    main()
except SystemExit as ended:
    assert ended.code == 1, ended.code
else:
    raise AssertionError("not refused")
""")
    assert not set(HEAVY) - {"rich"} & set(found)


def test_scoring_a_model_imports_few_modules() -> None:
    found = [name for name in modules_after(MODEL) if name.partition(".")[0] == "firstlight"]
    assert len(found) <= MOST_MODULES, sorted(found)
    packages = {name.split(".")[1] for name in found if "." in name}
    assert not packages & {"data", "evaluation", "papers", "storage", "tables", "training", "views"}
