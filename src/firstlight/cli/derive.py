"""Commands derived from the calls of the library: the same options, under the same names, with the same help.

A command is a handler of one dictionary, decorated with the call it makes. Its flags are the parameters of the call and
the fields of the call's option groups; their help is in the call's docstring and in the docstrings of the fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, cast

from cyclopts import App, Parameter
from cyclopts import Group as Panel

from firstlight.core.groups import Group, field_docs

Handler = Callable[..., None]
# What a flag can be read as, the most general first.
_READABLE: dict[str, Any] = {"str": str, "float": float, "int": int, "bool": bool}
# The call has no use on the command line for these.
_PYTHON_ONLY = {"callback", "loss"}
# The flag of a parameter that goes by another name than the rest of its kind.
_FLAGS = {"proxies": ("--proxy", "--proxies"), "out": ("--out", "-o")}
COMMAND = Panel("Options", sort_key=0)
# What stands above the examples in a help text. Google's `Examples:` would be left out of it.
EXAMPLES = "For example:\n"
JSON = Parameter(help="Print only JSON, for use in scripts.", group=COMMAND, negative=(), show_default=False)


def command_group(name: str, text: str) -> App:
    """Return a command that holds others, such as `firstlight store`."""
    return App(name=name, help=text, group_arguments=COMMAND, group_parameters=COMMAND)


def shown_default(value: Any) -> str | None:
    """Return a default as the help shows it; None for what goes without saying."""
    return None if value is None or value is False or value == "" else str(value)


def flag_type(annotation: str) -> Any:
    """Return what a flag is read as, given the annotation of a parameter or field.

    Text if the annotation allows it, else a number or a switch. Types that cannot be written on a command line are for
    Python only.
    """
    names = {name.strip() for name in re.sub(r"\[[^|]*\]", "", annotation).split("|")}
    kind = next((kind for name, kind in _READABLE.items() if name in names), str)
    return kind | None if names & {"None", "Any"} else kind


def one_line_each(text: str) -> str:
    """Return a help text with each paragraph on one line, for the terminal to wrap; examples keep their lines."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(part if part.startswith(EXAMPLES) else " ".join(part.split()) for part in paragraphs)


def docs_of(call: Callable[..., Any]) -> dict[str, str]:
    """Return the help of each parameter, from the `Args:` of the docstring."""
    text = inspect.getdoc(call) or ""
    match = re.search(r"^Args:\n((?:[ ]+.*\n|\n)*)", text + "\n", re.M)
    found: dict[str, str] = {}
    name = ""
    for line in match[1].splitlines() if match else ():
        entry = re.match(r"    (\w+): (.*)", line)
        if entry:
            name, found[entry[1]] = entry[1], entry[2]
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return found


def parameters_of(call: Callable[..., Any], without: Sequence[str] = ()) -> list[inspect.Parameter]:
    """Return the flags of a call: its own parameters, then those of its groups."""
    own = inspect.signature(getattr(call, "__wrapped__", call)).parameters
    groups: tuple[type[Group], ...] = getattr(call, "groups", ())
    hidden = {*_PYTHON_ONLY, *without, "options"}
    docs = docs_of(call)
    found = [
        _flag(parameter, docs.get(parameter.name, ""), COMMAND)
        for parameter in own.values()
        if parameter.name not in hidden
    ]
    for place, group in enumerate(groups, start=1):
        panel = Panel(group.title, sort_key=place)
        fields, texts = inspect.signature(group).parameters.values(), field_docs(cast(Any, group))
        found += [
            _flag(field.replace(kind=inspect.Parameter.KEYWORD_ONLY), texts[field.name], panel)
            for field in fields
            if field.name not in hidden and field.name not in own  # a call may use the name of an option for its own
        ]
    return sorted(found, key=lambda parameter: parameter.kind)


def _flag(parameter: inspect.Parameter, text: str, panel: Panel) -> inspect.Parameter:
    annotation = flag_type(parameter.annotation)
    keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    names = _FLAGS.get(parameter.name) if keyword else None
    described = Parameter(name=names, help=text, group=panel, show_default=shown_default, negative=())
    if parameter.name == "architectures":
        parameter = parameter.replace(kind=inspect.Parameter.VAR_POSITIONAL, default=inspect.Parameter.empty)
        annotation = str
    elif not keyword:
        parameter = parameter.replace(kind=inspect.Parameter.POSITIONAL_ONLY)
    if annotation is str and isinstance(parameter.default, (int, float)):  # the default of a text is a text
        parameter = parameter.replace(default=str(parameter.default))
    return parameter.replace(annotation=Annotated[annotation, described])


def derived(
    call: Callable[..., Any],
    *,
    without: Sequence[str] = (),
    usual: Mapping[str, Any] | None = None,
    more: Sequence[Handler] = (),
) -> Callable[[Callable[[dict[str, Any]], None]], Handler]:
    """Make a command of a handler: it gets what the user wrote, by the names of the call's options.

    Args:
        call: The call whose options the command takes.
        without: Options that the command does not take.
        usual: Defaults that differ from the call's, such as a folder for the results.
        more: Functions whose keyword parameters are further flags of the command.
    """

    def decorate(handler: Callable[[dict[str, Any]], None]) -> Handler:
        flags = {parameter.name: parameter for parameter in parameters_of(call, without)}
        for name, value in (usual or {}).items():
            flags[name] = flags[name].replace(default=value)
        extra = {
            name: flag
            for function in more
            for name, flag in inspect.signature(function, eval_str=True).parameters.items()
        }
        flags |= extra
        flags["json"] = inspect.Parameter(
            "json",
            inspect.Parameter.KEYWORD_ONLY,
            default=False,
            annotation=Annotated[bool, JSON],
        )
        ordered = sorted(flags.values(), key=lambda parameter: parameter.kind)
        signature = inspect.Signature(ordered)

        def command(*given: Any, **options: Any) -> None:
            bound = signature.bind(*given, **options)
            handler({**(usual or {}), **bound.arguments})

        command.__name__, command.__doc__ = handler.__name__, one_line_each(inspect.getdoc(handler) or "")
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
        command.call = call  # type: ignore[attr-defined]
        command.extra = {*extra, "json"}  # type: ignore[attr-defined]
        return command

    return decorate
