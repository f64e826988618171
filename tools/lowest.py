"""`make test-lowest`: the lowest version of each dependency that pyproject.toml allows, as constraints for pip.

`python -m tools.lowest EXTRA...` prints one `name==version` for each requirement of the package and of the named extras.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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
    lines = {_lowest(requirement) for requirement in _requirements(project, project["dependencies"])}
    for extra in extras:
        lines |= {_lowest(known) for known in _requirements(project, project["optional-dependencies"][extra])}
    return sorted(lines)


def _requirements(project: dict[str, object], lines: list[str]) -> Iterator[Requirement]:
    """Those that apply here; an extra of the package itself stands for what it holds."""
    for line in lines:
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        if requirement.name == project["name"]:
            for extra in requirement.extras:
                yield from _requirements(project, project["optional-dependencies"][extra])
        else:
            yield requirement


def _lowest(requirement: Requirement) -> str:
    bounds = [bound.version for bound in requirement.specifier if bound.operator == ">="]
    if len(bounds) != 1:
        raise ValueError(f"{requirement} has no lower bound; write it as {requirement.name}>=VERSION in {PYPROJECT.name}")
    return f"{requirement.name}=={bounds[0]}"


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
