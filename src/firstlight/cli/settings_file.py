"""Settings files: options of a command in TOML. What is written on the command line takes precedence."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from firstlight.cli.derive import COMMAND
from firstlight.core.errors import SettingError, UnknownNameError

if TYPE_CHECKING:
    from cyclopts import App, ArgumentCollection

ENDING = ".toml"


def bundled() -> dict[str, Any]:
    """Return the settings files that come with the package, by name."""
    folder = resources.files("firstlight.cli") / "settings"
    return {entry.name.removesuffix(ENDING): entry for entry in folder.iterdir() if entry.name.endswith(ENDING)}


def settings_flag(
    *,
    settings: Annotated[
        str | None,
        Parameter(
            help="Read options from a TOML file, with lines such as samples = 500 or tables such as [limits], or from "
            "the folder of a run. Options on the command line take precedence. Bundled: dextr-autoformer, dextr-darts, "
            "dextr-mobilenetv2, hnas-darts, hnas-darts-imagenet, hnas-nasbench201, plainnet-cifar.",
            group=COMMAND,
        ),
    ] = None,
) -> None:
    """The flag `--settings`."""


def read_settings_file(given: str) -> dict[str, str]:
    """Read settings: a file, the name of a bundled one, or the folder of a run, whose options they are."""
    known = bundled()
    folder = given not in known and Path(given).is_dir()
    if given not in known and not folder and not Path(given).is_file():
        raise UnknownNameError("settings file", given, known)
    source = known.get(given) or Path(given)
    try:
        if folder:
            content = json.loads((source / "result.json").read_text(encoding="utf-8"))["options"]
        else:
            content = tomllib.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:  # also numbers of thousands of digits
        raise SettingError(
            f"{given} cannot be read as settings: {error}. Write lines such as samples = 500."
        ) from error
    flat: dict[str, Any] = {}
    for name, value in content.items():
        flat |= value if isinstance(value, dict) else {name: value}
    for name, value in flat.items():
        if not isinstance(value, (str, int, float)):
            raise SettingError(f"{given} sets {name} to {value!r}; expected text or a number.")
    return {name.replace("-", "_"): str(value) for name, value in flat.items()}


def apply_settings(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in what the settings file has and the command line has not."""
    chosen = next((entry for entry in arguments if entry.name == "--settings" and entry.tokens), None)
    if chosen is None:
        return
    given = chosen.tokens[0].value
    by_name = {entry.field_info.name: entry for entry in arguments}
    for name, value in read_settings_file(given).items():
        if name not in by_name or name == "settings":
            allowed = ", ".join(sorted(word.replace("_", "-") for word in by_name if word != "settings"))
            raise SettingError(f"{given} sets {name!r}, which the command does not have. It has: {allowed}.")
        if not by_name[name].tokens:
            by_name[name].append(Token(keyword=by_name[name].name, value=value, source=given))
