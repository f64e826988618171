"""What a search is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from firstlight.core.errors import SettingError
from firstlight.core.seeds import python_generator
from firstlight.options import Limits
from firstlight.proxies.ensembles import Criterion, Ensemble
from firstlight.scoring.latency import LatencyRequest
from firstlight.scoring.service import Setting
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms.random import random
from firstlight.search.objective import Objective
from firstlight.search.source import TruthRequest
from firstlight.spaces.base import Skeleton


@dataclass(frozen=True)
class SearchSetting:
    """Everything that the result of a search depends on. Where it runs, and on how many workers, is not part of it.

    Attributes:
        setting: How networks are made, and what they are shown.
        by: The proxy or ensemble to maximize.
        algorithm: The algorithm with its settings.
        samples: The number of networks that may be scored; in a query search, the number of queries.
        limits: What a network may cost.
        costs: The costs that are minimized besides; by default those of the algorithm.
        latency: Where latencies come from, if any are needed.
        truth: Where true performance comes from, in a query search.
        options: The options that the search was asked with, as a settings file holds them. They are recorded, and do
            not tell searches apart.
    """

    setting: Setting
    by: Criterion
    algorithm: AlgorithmRequest = AlgorithmRequest(random)
    samples: int = 500
    limits: Limits = Limits()
    costs: tuple[str, ...] = ()
    latency: str = "measured"
    truth: TruthRequest | None = None
    options: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the networks that are scored or evaluated."""
        return self.setting.skeleton if self.truth is None else self.truth.skeleton

    @property
    def objective(self) -> Objective:
        """What is maximized, under which limits, and what is minimized besides."""
        return Objective(self.by, self.limits, self.wanted_costs)

    @property
    def wanted_costs(self) -> tuple[str, ...]:
        """The costs that are minimized besides."""
        return self.costs or self.algorithm.algorithm.costs

    @property
    def asks_for_latency(self) -> bool:
        """Whether latencies are needed."""
        return "latency" in self.wanted_costs or "latency" in self.limits.bounds

    @property
    def uses_proxies(self) -> bool:
        """Whether proxies are measured: by the search itself, or to choose what is evaluated."""
        return self.truth is None or self.algorithm.algorithm.needs_truth

    def check(self) -> None:
        """Check before any work that the search makes sense.

        Raises:
            SettingError: If settings contradict each other.
            FirstlightError: If the space or an installed package lacks what the algorithm needs.
        """
        algorithm = self.algorithm.algorithm
        if not isinstance(self.samples, int) or self.samples < 1:
            raise SettingError(f"samples is {self.samples!r}; it must be a whole number of 1 or more.")
        if isinstance(self.by, Ensemble) and self.samples < 2:
            raise SettingError(
                f"The ensemble {self.by} ranks networks relative to each other, but samples is 1. Score two or more "
                "networks, or search by a single proxy."
            )
        LatencyRequest(self.latency)
        algorithm.check(self.setting.space)
        self._check_texts()
        if algorithm.needs_truth and self.truth is None:
            raise SettingError(
                f"{self.algorithm.name} needs the true performance of networks. Name data to train them on "
                "(--data digits), or a table of trained networks (--table FILE)."
            )
        if algorithm.batch_setting and (size := dict(self.algorithm.settings).get(algorithm.batch_setting)):
            replace(self.setting.source, batch_size=size, batches=1).check_count()  # a default size is reduced instead
        self._check_proxies()
        if self.latency != SearchSetting.latency and not self.asks_for_latency:
            raise SettingError(
                f"latency is {self.latency!r}, but no latency is needed. Add a limit (--max-latency 5), or make it an "
                "objective (--objectives latency)."
            )

        if self.limits.precision != Limits.precision and not {"flash", "ram"} & {
            *self.wanted_costs,
            *self.limits.bounds,
        }:
            raise SettingError(
                f"precision is {self.limits.precision!r}, but neither flash nor RAM is needed. Add a limit "
                "(--max-flash 256K, --max-ram 64K), or make them objectives (--objectives flash,ram)."
            )

    def _check_texts(self) -> None:
        """Check with one network that texts of the user's own space can be read back: searches go by them."""
        space = self.setting.own_space
        if space is None:
            return
        drawn = space.sample(python_generator(self.setting.seed, "text"))
        if space.parse(str(drawn)) != drawn:
            raise SettingError(
                f"The space {space.name!r} does not read its own texts: {str(drawn)!r} is read as "
                f"{str(space.parse(str(drawn)))!r}. `parse` must be the inverse of `str`; check the space with "
                "firstlight.testing.check_space."
            )

    def _check_proxies(self) -> None:
        """Refuse what only makes sense where proxies score single networks."""
        name, supernet = self.algorithm.name, self.algorithm.algorithm.searches_supernet
        if self.setting.repeats > 1 and not self.uses_proxies:
            raise SettingError(
                f"repeats is {self.setting.repeats}, but {name} evaluates every network once, and uses no proxy here. "
                "Leave out repeats."
            )
        if self.setting.warm_up is not None and (supernet or not self.uses_proxies):
            reason = "searches a network with shared weights" if supernet else "uses no proxy here"
            raise SettingError(
                f"{name} {reason}, and a warm-up is for single networks that proxies score. Leave the warm-up out, or "
                "search by a proxy with another algorithm, such as random or evolution."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the run, by which it is recognized when it is resumed."""
        return {
            "space": self.setting.space_name,
            "skeleton": str(self.skeleton),
            "proxy": str(self.by),
            "algorithm": str(self.algorithm),
            "samples": self.samples,
            **(self.truth.to_dict() if self.truth else {}),
            **self.limits.to_dict(),
            **({"objectives": ",".join(self.wanted_costs)} if self.wanted_costs else {}),
            **({"latency": self.latency} if self.asks_for_latency else {}),
            "input": self.setting.inputs.fingerprint,
            "seed": self.setting.seed,
            **({"repeats": self.setting.repeats} if self.setting.repeats > 1 else {}),
            **({"warmup": self.setting.described.partition("warmup=")[2]} if self.setting.warm_up else {}),
        }
