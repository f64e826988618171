"""The effort of a search, and the next steps with its result, as texts for the terminal and the report."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from firstlight.core.quoting import joined
from firstlight.data.inputs import CIRCLE, SYNTHETIC, TRUE_LABELS
from firstlight.proxies.ensembles import members

if TYPE_CHECKING:
    from firstlight.search.result import SearchResult

# In a run's folder: the text of the chosen network
ARCHITECTURE_NAME = "architecture.txt"


def effort(result: SearchResult) -> str:
    """Return what the search took."""
    if result.setting.truth is not None:
        return _effort_of_queries(result)
    plural = "" if result.scored == 1 else "s"
    words = f"{result.scored} network{plural} scored and {result.reused} reused in {result.seconds:.1f} s"
    if result.states:
        what = "steps through the one-shot network" if _takes_steps(result) else "states of the supernet"
        known = f", {result.states_reused:,} of them reused" if result.states_reused else ""
        words += f", and {result.states:,} {what}{known}"
    if result.rejected:
        words += f"; {result.rejected:,} outside the limits were not scored"
    if result.forward_passes > 1:
        before = f" ({result.reused_seconds:,.1f} s of it earlier)" if result.reused_seconds else ""
        passes = f"{float(f'{result.forward_passes:.2g}'):,.0f}"
        words += (
            f". Scoring took {result.score_seconds:,.1f} s of compute time in total{before}, as much as "
            f"{passes} forward pass{'es' * (passes != '1')} of the chosen network with one input"
        )
    return words + "."


def _effort_of_queries(result: SearchResult) -> str:
    """Return what a query search took."""
    words = f"{result.scored + result.reused} networks were evaluated"
    if result.scored and result.reused:
        words += f", {result.reused} of them reused"
    if not math.isnan(result.training_seconds):
        words += f"; training them {'took' if result.scored else 'had taken'} {result.training_seconds:,.0f} s"
    if result.judged:
        before = f" ({result.reused_seconds:,.0f} s of it earlier)" if result.reused_seconds else ""
        words += f". Proxies scored {result.judged:,} networks in {result.score_seconds:,.0f} s of compute time{before}"
    return f"{words}. The search took {result.seconds:,.1f} s."


def _takes_steps(result: SearchResult) -> bool:
    return result.setting.algorithm.algorithm.takes_steps


def next_steps(result: SearchResult) -> list[str]:
    """Return commands without the name of the program; none for a search without a folder."""
    if result.directory is None:
        return []
    folder = shlex.quote(str(result.directory))
    trained = shlex.quote(str(result.directory / "trained"))
    skeleton = _skeleton_to_train(result)
    built = f" --skeleton {skeleton}" if skeleton else ""
    training = (
        f"train {folder} --data {shlex.quote(_data(result))}{built} --out {trained}",
        f"export {trained} -o {shlex.quote(str(result.directory / 'exported'))}",
    )
    exported = (f"export {folder} -o {shlex.quote(str(result.directory / 'exported'))}",)
    if result.setting.setting.space.data_kind == "images":
        further: tuple[str, ...] = training
    else:
        further = exported if result.retrained is not None and result.retrained.best is not None else ()
    return [f"report {folder}", *further, f"score {_arguments(result)}"]


def building(result: SearchResult) -> str:
    """Return the Python call that builds the chosen network."""
    setting = result.setting.setting
    skeleton, usual = asdict(result.setting.skeleton), asdict(setting.space.skeleton())
    changed = ", ".join(f"{name}={value!r}" for name, value in skeleton.items() if value != usual[name])
    text = repr(result.best.architecture)
    if result.directory is not None:  # long texts are printed once
        text = f"open({str(result.directory / ARCHITECTURE_NAME)!r}).read()"
    words = f"space = firstlight.space({setting.space_name!r}); model = space.build({text}"
    seed = f", seed={setting.seed}" if setting.seed else ""
    return f"{words}, space.skeleton({changed}){seed})" if changed else f"{words}{seed})"


def _arguments(result: SearchResult) -> str:
    """Return the arguments of `firstlight score` for the chosen network exactly as the search saw it."""
    setting = result.setting.setting
    by = [setting.space.proxy] if result.setting.truth else map(str, members(result.setting.by))
    proxies = dict.fromkeys([*by, "params"])
    assert result.directory is not None
    words = [setting.space_name, "--from", str(result.directory / ARCHITECTURE_NAME)]
    words += ["--proxy", ",".join(proxies), "--input", setting.source.name]
    if not result.setting.truth:  # else the search was not by this proxy, which knows best what it needs
        words += ["--batch-size", str(setting.source.batch_size), "--num-batches", str(setting.source.batches)]
    words += ["--seed", str(setting.seed)]
    if setting.source.labels != TRUE_LABELS:
        words += ["--labels", setting.source.labels]
    if setting.repeats > 1:
        words += ["--repeats", str(setting.repeats)]
    if setting.warm_up is not None:
        words += ["--warmup", str(setting.warm_up)]
    return joined([*words, *_skeleton(result)])


def _data(result: SearchResult) -> str:
    """Return the data that networks were trained on, or the images that they were shown; else digits."""
    truth = result.setting.truth
    shown = (truth.data if truth else None) or result.setting.setting.source.name
    return "digits" if shown in (SYNTHETIC, CIRCLE) else shown


def _skeleton(result: SearchResult) -> list[str]:
    settings = result.setting.setting.skeleton_settings
    return ["--skeleton", _written(dict(settings))] if settings else []


def _skeleton_to_train(result: SearchResult) -> str:
    """Return the skeleton that the search used, with all its settings but those that the data decide."""
    settings = asdict(result.setting.skeleton)
    return _written({n: v for n, v in settings.items() if n not in ("input_shape", "classes") and v != ()})


def _written(settings: Mapping[str, Any]) -> str:
    return ",".join(f"{n}={'x'.join(map(str, v)) if isinstance(v, tuple) else v}" for n, v in settings.items())
