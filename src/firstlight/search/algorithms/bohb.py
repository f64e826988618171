"""BOHB: a density model proposes networks, and most of them are stopped after a few epochs (with Optuna)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from firstlight.core.errors import MissingExtraError
from firstlight.search.algorithm import algorithm
from firstlight.search.problem import Problem
from firstlight.search.queries import Queries
from firstlight.spaces.base import Architecture


@algorithm(reference="Falkner2018bohb", needs=("choices", "optuna"), fidelities=True)
def bohb(problem: Problem, *, startup: int = 10) -> None:
    """Tree-structured Parzen estimators propose networks, and Hyperband decides how long each is trained.

    A trial climbs the fidelities, fewest epochs first, until Hyperband prunes it. Each fidelity is a separate query.
    The fraction of trials that is promoted is the ratio of the epochs. With a single fidelity, this is plain TPE. If a
    network is proposed a second time, a random network replaces it.

    Args:
        startup: Number of random networks before the first proposal.
    """
    import_optuna()
    levels = problem.fidelities if isinstance(problem, Queries) and len(problem.fidelities) > 1 else ()
    with quiet():
        search = _Trials(problem, _study(problem, levels, startup))
        while problem.remaining and (proposal := search.propose()):
            search.climb(*proposal, levels)


class _Trials:
    """The study, the choices of the space as its parameters, and the networks proposed so far."""

    def __init__(self, problem: Problem, study: Any) -> None:
        self.problem, self.study = problem, study
        self.options = {f"choice {place}": len(options) for place, options in enumerate(problem.space.choices())}
        self.seen: set[str] = set()
        self.newcomers = problem.distinct_samples()

    def propose(self) -> tuple[Any, Architecture] | None:
        """Return a trial with a new network: a proposal, or a random one instead. None if there is no new one."""
        from optuna.trial import TrialState

        trial, architecture = self._ask()
        if str(architecture) in self.seen or not self.problem.fits(architecture):
            self.study.tell(trial, state=TrialState.FAIL)  # the model learns nothing from it
            fresh = next((other for other in self.newcomers if str(other) not in self.seen), None)
            if fresh is None:
                return None
            indices = self.problem.space.to_choices(fresh)
            self.study.enqueue_trial(dict(zip(self.options, indices, strict=True)))
            trial, architecture = self._ask()
        self.seen.add(str(architecture))
        return trial, architecture

    def _ask(self) -> tuple[Any, Architecture]:
        trial = self.study.ask()
        indices = [trial.suggest_categorical(name, range(size)) for name, size in self.options.items()]
        return trial, self.problem.space.canonical(self.problem.space.from_choices(indices))

    def climb(self, trial: Any, architecture: Architecture, levels: tuple[int, ...]) -> None:
        """Evaluate the network at one fidelity after the other, and tell the study."""
        from optuna.trial import TrialState

        problem = self.problem
        if not levels:
            (candidate,) = problem.score([architecture])
            utility = problem.utility(candidate)
            self.study.tell(trial, utility, state=TrialState.FAIL if utility is None else TrialState.COMPLETE)
            return
        assert isinstance(problem, Queries)
        factor = _factor(levels)
        for rung, epochs in enumerate(levels):
            utility = problem.evaluate_at(architecture, epochs).utility
            if utility is None:
                self.study.tell(trial, state=TrialState.FAIL)
                return
            trial.report(utility, factor**rung)
            if epochs == levels[-1]:
                self.study.tell(trial, utility)
            elif not problem.remaining or trial.should_prune():
                self.study.tell(trial, state=TrialState.PRUNED)
                return


def _study(problem: Problem, levels: tuple[int, ...], startup: int) -> Any:
    """Make a study in memory. A run that is started again replays, and the store answers what is known."""
    import optuna

    seed = problem.rng.getrandbits(32)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup)
    pruner: Any = optuna.pruners.NopPruner()
    if levels:
        factor = _factor(levels)
        pruner = optuna.pruners.HyperbandPruner(
            min_resource=1, max_resource=factor ** (len(levels) - 1), reduction_factor=factor
        )
    # Hyperband assigns brackets by the study's name, which is random unless it is given
    return optuna.create_study(study_name=f"bohb {seed}", direction="maximize", sampler=sampler, pruner=pruner)


def _factor(levels: tuple[int, ...]) -> int:
    """Return the mean ratio of the epochs of neighboring rungs, which is the reduction factor of Hyperband."""
    growth: float = (levels[-1] / levels[0]) ** (1 / (len(levels) - 1))
    return max(2, round(growth))


def import_optuna() -> None:
    """Import Optuna, or raise an error that says how to install it."""
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("bohb, which uses Optuna,", "optuna") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the messages of Optuna."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
