"""`make test-lowest`: the lowest version of each dependency that pyproject.toml allows, as constraints for pip.

`python -m tools.lowest EXTRA...` prints `name==version` for each requirement of the package and of the named extras.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


def lowest(extras: list[str]) -> list[str]:
    """Return the lowest versions as lines of a constraints file.

    Args:
        extras: The extras whose requirements count as well.

    Returns:
        One line for each requirement that applies to this Python.

    Raises:
        ValueError: If a requirement has no lower bound.
    """
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(f"{project['name']}[{extra}]" for extra in extras)]
    return sorted({_lowest(requirement) for requirement in _requirements(project, lines)})


def _requirements(project: dict[str, Any], lines: list[str]) -> Iterator[Requirement]:
    """Yield those that apply here; an extra of the package itself stands for its requirements."""
    for line in lines:
        requirement = Requirement(line)
        if requirement.name == project["name"]:
            for extra in requirement.extras:
                yield from _requirements(project, project["optional-dependencies"][extra])
        elif requirement.marker is None or requirement.marker.evaluate():
            yield requirement


def _lowest(requirement: Requirement) -> str:
    bounds = [bound.version for bound in requirement.specifier if bound.operator == ">="]
    if len(bounds) != 1:
        raise ValueError(f"{requirement} in {PYPROJECT.name} has no lower bound; write {requirement.name}>=VERSION")
    return f"{requirement.name}=={bounds[0]}"


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
