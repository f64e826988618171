"""A fit from beginning to end."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firstlight.core.errors import FirstlightError
from firstlight.core.events import Callback, Event, ignore
from firstlight.data.images import with_side
from firstlight.evaluation.baselines import LatencyFor, latencies
from firstlight.evaluation.finals import FINALS, train_finalists
from firstlight.evaluation.fit.candidates import Candidate, Family, drawn, recipe_of
from firstlight.evaluation.fit.families import Proposals
from firstlight.evaluation.fit.halving import (
    Ranked,
    Trainings,
    best_of_each,
    leaders_first,
    promoted,
    rung,
    seconds_for_leaders,
)
from firstlight.evaluation.fit.look import look_at
from firstlight.evaluation.fit.notebook import Notebook
from firstlight.evaluation.fit.plan import FINISHED, HALVED, MOST_EPOCHS, PLAIN, REFINED, SCREENED, Plan
from firstlight.evaluation.fit.refining import changes_for, refine
from firstlight.evaluation.fit.result import Fit
from firstlight.evaluation.fit.screening import screened
from firstlight.execution.executor import Executor, items_at_a_time, one_thread
from firstlight.options import Limits
from firstlight.storage.store import Store, open_store
from firstlight.training.finalists import Finalist, FinalResult
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipes import RecipeRequest
from firstlight.training.verdict import judge, same_network

# Without limits: the most parameters of a network per sample, within these bounds
PER_SAMPLE, FEWEST_PARAMS, MOST_PARAMS = 100, 20_000, 2_000_000
# Families whose plain networks rank below are not searched
SEARCHED = 3
FINAL_VALIDATION = 0.1
# Of the time to screen a family, the share after which no further network is drawn
DRAWING = 0.5
# Of the time that is left for the finals: trainings on more samples take a little longer
CAREFUL = 0.75
PERCEPTRONS = "plain-mlp"


@dataclass(frozen=True)
class FitSetting:
    """What is asked for.

    Attributes:
        data: The name of the data.
        limits: What a network may cost.
        seconds: The time.
        baselines: Further baselines, of the user's own.
        seed: Seed of everything that is drawn.
        device: Where to train.
    """

    data: str
    limits: Limits
    seconds: float
    baselines: Sequence[Any] = ()
    seed: int = 0
    device: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what decides the result, besides the time, which may be raised."""
        return {
            "data": self.data,
            "limits": str(self.limits),
            "baselines": ",".join(str(getattr(entry, "__name__", entry)) for entry in self.baselines),
            "seed": self.seed,
        }

    @property
    def digest(self) -> str:
        """A short text that tells fits apart."""
        return hashlib.blake2b(json.dumps(self.to_dict()).encode(), digest_size=3).hexdigest()


def run_fit(asked: FitSetting, executor: Executor, folder: Path | None = None, *, callback: Callback = ignore) -> Fit:
    """Find, train and test a network for some data.

    Args:
        asked: What is asked for.
        executor: Where networks are scored and trained.
        folder: Where everything is kept. A fit that was interrupted goes on from there.
        callback: Called with an event for each decision, and for progress.
    """
    with ExitStack() as stack:
        store = stack.enter_context(open_store(folder))
        notebook = Notebook(folder, asked.to_dict(), asked.seconds, callback)
        stack.enter_context(executor.staying())
        stack.enter_context(one_thread())
        workers = notebook.schedule("trainings at a time", lambda: items_at_a_time(executor))
        return _Fitting(asked, executor, store, notebook, folder, workers, callback).run()


@dataclass(frozen=True)
class _Fitting:
    asked: FitSetting
    executor: Executor
    store: Store
    notebook: Notebook
    folder: Path | None
    workers: int
    callback: Callback

    @property
    def trainings(self) -> Trainings:
        return Trainings(self.executor, self.store, self.notebook, self.callback)

    @property
    def latency(self) -> LatencyFor:
        return latencies(self.asked.limits.latency, self.store)

    def run(self) -> Fit:
        setting, limits = self._begin()
        proposals = Proposals(limits, self.asked.baselines, self.notebook, self.latency, self.workers)
        side = proposals.side(setting)
        if side is not None:
            setting = self._setting(with_side(self.asked.data, side))
        families, plan = proposals.families(setting)
        plain = [
            Candidate(family.setting, family.baseline.architecture, family.baseline.name, family.baseline.title)
            for family in families
            if family.baseline is not None
        ]
        ranked = self._baselines(plain, plan)
        chosen, looked = self._screen(families, ranked, limits, plan)
        last, epochs = self._halve(plain, chosen, plan)
        found, baseline = best_of_each(last)
        if baseline is None:
            raise FirstlightError("No plain network came to the end of its training. Give the fit more time.")
        # one that has not learned is no finalist, and would spoil the choice of the recipe
        best = [baseline] if found is None or found.stage != "learned" else [found, baseline]
        pair = [entry.candidate for entry in best]
        steps = pair[0].setting.recipe.num_batches(len(setting.dataset.y_train))
        short = [candidate.with_recipe(epochs=min(plan.refining, epochs)) for candidate in pair]
        changes = refine(self.trainings, short, changes_for(setting.dataset.input_shape, steps), REFINED)
        longest = functools.partial(self._final_epochs, best, plan.seeds, epochs)
        final_epochs = self.notebook.schedule("final epochs", longest)
        self.notebook.say(f"Finals: {' and '.join(map(str, pair))}, {plan.seeds} seeds, {final_epochs} epochs each.")
        finals = self._finals(pair, changes, final_epochs, plan.seeds)
        return self._result(finals, looked, setting)

    def _begin(self) -> tuple[EvaluationSetting, Limits]:
        asked = self.asked
        setting = self._setting(asked.data)
        look = look_at(setting.dataset)
        self.notebook.say(f"Data: {look}")
        limits = asked.limits
        if not any(most for _, most in limits.bounds.values()):
            most = min(MOST_PARAMS, max(FEWEST_PARAMS, PER_SAMPLE * look.samples))
            limits = replace(limits, max_params=most)
            self.notebook.say(
                f"No limits were given: networks have at most {most:,} parameters, {PER_SAMPLE} per sample."
            )
        return setting, limits

    def _setting(self, data: str) -> EvaluationSetting:
        asked = self.asked
        return EvaluationSetting(
            PERCEPTRONS,
            source_name=data,
            recipe=recipe_of(PERCEPTRONS, 128),
            seed=asked.seed,
            device=asked.device,
            tests_later=True,
        )

    def _baselines(self, plain: Sequence[Candidate], plan: Plan) -> list[Ranked]:
        """Train the plain networks first: they say which families are worth a search."""
        ranked, _ = rung(self.trainings, "plain networks", plain, plan.rungs[0], PLAIN)
        left_out = {entry.title for entry in plain} - {entry.candidate.title for entry in ranked}
        if left_out:
            self.notebook.say(f"No time yet for {', '.join(sorted(left_out))}.")
        words = ", ".join(f"{entry.candidate.title} {entry.accuracy:.1%}" for entry in ranked)
        self.notebook.say(f"Plain networks after {ranked[0].candidate.setting.recipe.epochs} epochs: {words}.")
        return ranked

    def _screen(
        self, families: Sequence[Family], ranked: Sequence[Ranked], limits: Limits, plan: Plan
    ) -> tuple[list[Candidate], int]:
        """Return the networks that proxies prefer, of the families whose plain networks are best."""
        order = [entry.candidate.baseline for entry in ranked if entry.candidate.baseline != "logistic"][:SEARCHED]
        searched = [family for family in families if family.title in order or family.baseline is None]
        searched = [family for family in searched if family.setting.own_space is None]
        each = max(1, (plan.candidates - len(ranked)) // max(1, len(searched)))
        chosen: list[Candidate] = []
        looked = 0
        for number, family in enumerate(searched):
            begin, end = (PLAIN + (SCREENED - PLAIN) * place / len(searched) for place in (number, number + 1))
            count = max(4 * each, plan.screened // len(searched))
            latency = self.latency(family.setting) if "latency" in limits.bounds else None
            go_on = functools.partial(self._before, begin + DRAWING * (end - begin))
            draw = functools.partial(drawn, family, limits, count, self.asked.seed, latency, go_on)
            texts = self.notebook.schedule(f"networks of {family.name}", draw)
            best = screened(
                family,
                texts,
                each,
                self.executor,
                self.store,
                self.notebook,
                end,
                lambda done: self.callback(Event("scoring", done, None)),
            )
            looked += best.looked
            chosen += [Candidate(family.setting, text) for text in best.chosen]
            self.notebook.say(
                f"{family.name}: {family.setting.space.proxy} looked at {best.looked:,} networks, the "
                f"{len(best.chosen)} best are trained."
            )
        return chosen, looked

    def _before(self, share: float) -> bool:
        """Return whether a share of the time is not over."""
        return self.notebook.left(share) > 0

    def _halve(self, plain: Sequence[Candidate], chosen: Sequence[Candidate], plan: Plan) -> tuple[list[Ranked], int]:
        """Train candidates for more and more epochs."""
        left, epochs, ranked = [*plain, *chosen], plan.rungs[0], list[Ranked]()
        reached = epochs
        for number, planned in enumerate(plan.rungs, start=1):
            epochs = max(planned, epochs * 2 if number > 1 and planned <= epochs else planned)
            share = SCREENED + (HALVED - SCREENED) * number / len(plan.rungs)
            if number > 1 and not self._time_for_leaders(number, ranked, epochs):
                self.notebook.say(f"No time is left to train networks for {epochs} epochs.")
                return ranked, reached
            always = 1 if number == 1 else 2
            ranked, epochs = rung(self.trainings, f"rung {number}", leaders_first(left), epochs, share, always)
            reached = epochs
            found, baseline = best_of_each(ranked)
            words = [] if found is None else [f"the best searched one {found.accuracy:.1%}"]
            words += [] if baseline is None else [f"{baseline.candidate} {baseline.accuracy:.1%}"]
            self.notebook.say(
                f"{len(ranked)} networks after {epochs} epochs: {', '.join(words)} on validation samples."
            )
            if found is None:
                self.notebook.say("No time was left to train networks that are not plain.")
            left = promoted(ranked)
        return ranked, reached

    def _time_for_leaders(self, number: int, ranked: Sequence[Ranked], epochs: int) -> bool:
        """Return whether the best network that is no baseline, and the best baseline, can be trained for longer."""
        needed = seconds_for_leaders(ranked, epochs, self.workers)
        return bool(self.notebook.schedule(f"rung {number} begun", lambda: self.notebook.left(REFINED) > needed))

    def _final_epochs(self, best: Sequence[Ranked], seeds: int, fewest: int) -> int:
        """Return the epochs for which the time suffices, given how long those of the finalists took."""
        seconds = sum(entry.result.seconds / max(1, len(entry.result.epochs)) for entry in best)
        suffices = CAREFUL * self.notebook.left(FINISHED) * self.workers / (seeds * max(seconds, 1e-6))
        earlier: int = self.notebook.earlier("final epochs", 0)
        return max(fewest, earlier, min(MOST_EPOCHS, int(suffices)))

    def _finals(self, pair: Sequence[Candidate], changes: dict[str, Any], epochs: int, seeds: int) -> list[FinalResult]:
        """Train the finalists with several seeds, on more of the samples, and test them."""
        finalists = []
        for candidate in pair:
            changed = candidate.with_recipe(**changes, epochs=epochs)
            recipe = replace(changed.setting.recipe, validation=FINAL_VALIDATION)
            name = candidate.baseline or "found"
            title = candidate.title if candidate.baseline else "found network"
            setting = replace(changed.setting, recipe=recipe)
            finalists.append(Finalist(name, title, setting, candidate.architecture, RecipeRequest.of(recipe)))
        place = None if self.folder is None else self.folder / FINALS
        results: list[list[FinalResult]] = []
        for seed in range(self.asked.seed, self.asked.seed + seeds):
            begun = self.notebook.elapsed
            name = f"finals with seed {seed}"
            if results and not self.notebook.schedule(name, lambda: self._time_for(results)):
                self.notebook.say(f"No time is left for more than {len(results)} seeds.")
                break
            results.append(train_finalists(finalists, (seed,), self.executor, place, callback=self.callback))
            took = self.notebook.elapsed - begun
            self.notebook.schedule(f"{name} took", functools.partial(float, took))
        return [
            FinalResult(finalist, tuple(by_seed[number].trainings[0] for by_seed in results))
            for number, finalist in enumerate(finalists)
        ]

    def _time_for(self, done: Sequence[Any]) -> bool:
        """Return whether another seed fits in the time, if it takes as long as the last one."""
        last = self.asked.seed + len(done) - 1
        return bool(self.notebook.left() > self.notebook.schedule(f"finals with seed {last} took", lambda: 0.0))

    def _result(self, finals: Sequence[FinalResult], looked: int, setting: EvaluationSetting) -> Fit:
        ended = [entry for entry in finals if entry.finished]
        plain = [entry for entry in ended if entry.finalist.name != "found"]
        if not plain:
            raise FirstlightError("The plain network did not come to the end of its training. Give the fit more time.")
        best = max(ended, key=lambda entry: entry.validation or 0.0)
        verdict = same_network(best.answers) if best in plain else judge(best.answers, plain[0].answers)
        data = setting.dataset
        tests = 0 if data.y_test is None else len(data.y_test)
        used = {
            "choosing networks and the recipe": f"{len(data.y_train):,} samples to train on, {len(data.y_val):,} to "
            "validate",
            "finals": f"{1 - FINAL_VALIDATION:.0%} of the same samples to train on, the others to validate; other ones "
            "for each seed",
            "verdict": f"{tests:,} test samples, once, after all decisions",
        }
        trained = self.notebook.schedule("trained", lambda: self._trained(finals))
        return Fit(
            best,
            plain[0],
            tuple(ended),
            verdict,
            tuple(self.notebook.lines),
            trained,
            looked,
            self.notebook.schedule("seconds", lambda: self.notebook.elapsed),
            used,
            self.folder,
        )

    def _trained(self, finals: Sequence[FinalResult]) -> int:
        return self.store.count_evaluations() + sum(len(entry.trainings) for entry in finals)
