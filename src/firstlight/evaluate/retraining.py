"""What found networks are worth: the best by their scores are trained from scratch, beside networks made by hand.

The best on the validation part is chosen; the test part is looked at for reporting only.
"""

from __future__ import annotations

import functools
import hashlib
import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from firstlight.data.ctr import ClickData, is_clicks, open_clicks
from firstlight.errors import FirstlightError, SettingError
from firstlight.evaluate.clicks import ClickRecipe, ClickResult, failed, train_clicks
from firstlight.run.executor import Executor, Lost
from firstlight.run.in_space import InSpace, in_space
from firstlight.seeds import torch_generator
from firstlight.spaces.nasrec_baselines import BASELINES
from firstlight.spaces.nasrec_network import NasRecSkeleton

if TYPE_CHECKING:
    from firstlight.algorithms.result import SearchResult

FOLDER = "retrained"  # of a run's folder
# Raise it when the same recipe leads to other numbers than before, so that results in a folder are not reused
REVISION = 1
# Scores that differ by less are taken for those of one and the same network, as in the published search
SAME_SCORE = 1e-6


@dataclass(frozen=True)
class Contender:
    """A network of the space, or the name of one made by hand, and the seed of its weights and of the order of rows."""

    name: str
    seed: int
    by_hand: bool = False


@dataclass(frozen=True)
class RetrainSetting(InSpace):
    """What all trainings have in common."""

    source_name: str = ""
    recipe: ClickRecipe = ClickRecipe()
    skeleton_settings: tuple[tuple[str, Any], ...] = ()
    device: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Each worker process opens the data itself."""
        super().__getstate__()
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @functools.cached_property
    def data(self) -> ClickData:
        return open_clicks(self.source_name)

    @functools.cached_property
    def skeleton(self) -> NasRecSkeleton:
        asked = {**dict(self.skeleton_settings), **self.data.skeleton, "layer_norm": self.recipe.layer_norm}
        found = self.space.skeleton(**asked)
        assert isinstance(found, NasRecSkeleton)
        return found

    def build(self, contender: Contender) -> nn.Module:
        if not contender.by_hand:
            return self.space.build(contender.name, self.skeleton, seed=contender.seed)
        network = BASELINES[contender.name](self.skeleton)
        network.initialise(torch_generator(contender.seed, contender.name, "weights"))
        return network

    def key(self, contender: Contender) -> dict[str, Any]:
        """All that decides what comes out."""
        return {
            "space": "" if contender.by_hand else self.space_key,
            "skeleton": str(self.skeleton),
            "data": self.data.fingerprint,
            "recipe": str(self.recipe),
            "revision": REVISION,
            **asdict(contender),
        }


@dataclass(frozen=True)
class RetrainJob:
    """Build, train, judge: the job that executors run. A network that fails costs only its own result."""

    setting: RetrainSetting

    def __call__(self, contender: Contender) -> ClickResult:
        setting = self.setting
        try:
            network = setting.build(contender)
            return train_clicks(network, setting.data, setting.recipe, seed=contender.seed, device=setting.device)
        except FirstlightError:  # which would meet every network
            raise
        except Exception as error:
            return failed(error)


@dataclass(frozen=True)
class Standing:
    """One network, trained once for each seed. Figures are means over those that came to an end."""

    name: str
    by_hand: bool
    results: tuple[ClickResult, ...]

    @property
    def ended(self) -> list[ClickResult]:
        return [result for result in self.results if result.status == "ok"]

    def mean(self, part: str, figure: str) -> float | None:
        known = [getattr(getattr(result, part), figure) for result in self.ended]
        return statistics.fmean(known) if known and None not in known else None

    def deviation(self, part: str, figure: str) -> float | None:
        known = [getattr(getattr(result, part), figure) for result in self.ended]
        return statistics.stdev(known) if len(known) > 1 and None not in known else None

    def as_json(self) -> dict[str, Any]:
        figures = {
            f"{part}_{figure}": self.mean(part, figure)
            for part in ("validation", "test")
            for figure in ("log_loss", "auc")
        }
        results = [result.as_json() for result in self.results]
        return {"name": self.name, "by_hand": self.by_hand, **figures, "results": results}


@dataclass(frozen=True)
class Retraining:
    """All contenders, lowest log loss on the validation part first; those without any at the end."""

    recipe: ClickRecipe
    data: str
    seeds: tuple[int, ...]
    standings: tuple[Standing, ...]

    @property
    def best(self) -> Standing | None:
        """The found network with the lowest log loss on the validation part."""
        return next((s for s in self.standings if not s.by_hand and s.ended), None)

    def as_json(self) -> dict[str, Any]:
        return {
            "recipe": str(self.recipe),
            "data": self.data,
            "seeds": list(self.seeds),
            "best": None if self.best is None else self.best.name,
            "networks": [standing.as_json() for standing in self.standings],
        }


def read_retrain(
    data: str | None, count: int | None, times: int, recipe: str | None, epochs: int | None
) -> Retrain | None:
    """In the words of the library's calls; None if nothing is to be trained after the search."""
    clicks = data is not None and is_clicks(data)
    if count is None:
        if clicks and (recipe is not None or epochs is not None):
            raise SettingError("A recipe and epochs are for networks that are trained: say how many by --retrain 15.")
        return None
    if data is None or not clicks:
        raise SettingError(
            f"The best {count} are to be trained from scratch, which is for clicks: name them as data, such as --data "
            f"criteo:FILE; it is {data!r}. To train a few on images, search with the algorithm verify."
        )
    wanted = ClickRecipe() if recipe is None else ClickRecipe.parse(recipe)
    return Retrain(count, data, wanted if epochs is None else replace(wanted, epochs=epochs), times)


def best_distinct(architectures: Sequence[str], utilities: Sequence[float | None], count: int) -> list[str]:
    """The best by their scores, of which no two have the same."""
    scored = sorted(
        ((utility, text) for utility, text in zip(utilities, architectures, strict=True) if utility is not None),
        key=lambda entry: -entry[0],
    )
    chosen: list[tuple[float, str]] = []
    for utility, text in scored:
        if len(chosen) == count:
            break
        if not chosen or chosen[-1][0] - utility >= SAME_SCORE:
            chosen.append((utility, text))
    return [text for _, text in chosen]


def retrain(
    setting: RetrainSetting,
    found: Iterable[str],
    executor: Executor,
    *,
    seeds: Sequence[int] = (0,),
    baselines: Iterable[str] = tuple(BASELINES),
    folder: Path | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Retraining:
    """Train all contenders with each seed. With a `folder`, each result is kept there, and none is computed twice."""
    names = [(name, False) for name in dict.fromkeys(found)] + [(name, True) for name in baselines]
    contenders = [Contender(name, seed, by_hand) for seed in seeds for name, by_hand in names]
    results: dict[Contender, ClickResult] = {}
    for contender, result in _results(setting, contenders, executor, folder):
        results[contender] = result
        watch(len(results), len(contenders))
    standings = [
        Standing(name, by_hand, tuple(results[Contender(name, seed, by_hand)] for seed in seeds))
        for name, by_hand in names
    ]
    standings.sort(key=lambda standing: _order(standing.mean("validation", "log_loss")))
    return Retraining(setting.recipe, setting.data.fingerprint, tuple(seeds), tuple(standings))


@dataclass(frozen=True)
class Retrain:
    """To be done after a search: train the best `count` of those that it scored."""

    count: int
    data: str
    recipe: ClickRecipe = ClickRecipe()
    times: int = 1

    def __post_init__(self) -> None:
        if self.count < 1 or self.times < 1:
            raise SettingError(
                f"The best {self.count} networks are to be trained {self.times} times; both must be 1 or more."
            )

    def __call__(
        self, result: SearchResult, executor: Executor, watch: Callable[[int, int], None] = lambda done, total: None
    ) -> SearchResult:
        search = result.setting.setting
        setting = RetrainSetting(
            **in_space(search.space_name if search.own_space is None else search.own_space),
            source_name=self.data,
            recipe=self.recipe,
            skeleton_settings=search.skeleton_settings,
            device=search.device,
        )
        found = best_distinct(result.history["architecture"], result.history["utility"], self.count)
        seeds = tuple(range(search.seed, search.seed + self.times))
        folder = None if result.directory is None else result.directory / FOLDER
        return replace(result, retrained=retrain(setting, found, executor, seeds=seeds, folder=folder, watch=watch))


def _order(loss: float | None) -> tuple[bool, float]:
    return loss is None, loss or 0.0


def _results(
    setting: RetrainSetting, contenders: Iterable[Contender], executor: Executor, folder: Path | None
) -> Iterator[tuple[Contender, ClickResult]]:
    missing = []
    for contender in contenders:
        known = None if folder is None else _known(folder, setting.key(contender))
        if known is None:
            missing.append(contender)
        else:
            yield contender, known
    for contender, result in executor.map(RetrainJob(setting), missing):
        if isinstance(result, Lost):
            result = ClickResult(0, status="failed", note=result.reason)
        if folder is not None:
            _keep(folder, setting.key(contender), result)
        yield contender, result


def _path(folder: Path, key: dict[str, Any]) -> Path:
    return folder / f"{hashlib.blake2b(json.dumps(key, sort_keys=True).encode(), digest_size=12).hexdigest()}.json"


def _known(folder: Path, key: dict[str, Any]) -> ClickResult | None:
    try:
        content = json.loads(_path(folder, key).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not there, or cut off: it is computed again
        return None
    return ClickResult.from_json(content["result"]) if content.get("key") == key else None


def _keep(folder: Path, key: dict[str, Any], result: ClickResult) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = _path(folder, key)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps({"key": key, "result": result.as_json()}, indent=2), encoding="utf-8")
    unfinished.replace(path)
