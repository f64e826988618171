"""Cells of the DARTS space: those that three methods find, published ones, the largest, and random ones.

Searches and random genotypes have a seed of their own, so that every seed of an experiment trains the same networks.
"""

from __future__ import annotations

from dataclasses import replace

from firstlight.core.events import Event
from firstlight.core.seeds import python_generator
from firstlight.evaluation.compare import Run
from firstlight.evaluation.contest import Contest, training_truth
from firstlight.evaluation.methods import parse_method
from firstlight.papers.hnas_cells import cells as known_cells
from firstlight.papers.lab import Lab
from firstlight.scoring.service import Setting
from firstlight.spaces.darts.genotypes import NODES, Cell, Genotype
from firstlight.spaces.darts.space import DARTS
from firstlight.training.job import EvaluationSetting

SPACE = "darts"
SEED = 0
LARGEST = "largest genotype"
# HNAS evaluates networks after this many epochs at most, on half of the images
QUERIES, POOL, QUERY_EPOCHS, HALF = 10, 100, 2, 0.5
STEPS, STEP_BATCH = 100, 64
# nu=0 asks for the rule of the paper, the mean T of 50 random paths: its numbers are of a larger one-shot network
_NASI = f"nasi:steps={STEPS}:batch={STEP_BATCH}:mu=2:normalize=running:nu=0"
# The method, and the number of networks that it scores or evaluates
METHODS = {
    "Dextr": ("zero-cost-pt:proposals=1@dextr", 1),
    "HNAS": (f"hnas:metric=ntk_trace:form=paper:pool={POOL}:batch=16:acquisition=ucb:highest=1", QUERIES),
    "NASI, fixed nu": (f"{_NASI}:variant=fix@ntk_trace_batch", 1),
    "NASI, adaptive nu": (f"{_NASI}:variant=ada@ntk_trace_batch", 1),
}
_NASNET = (
    "Genotype(normal=[('sep_conv_5x5', 1), ('sep_conv_3x3', 0), ('sep_conv_5x5', 0), ('sep_conv_3x3', 0), "
    "('avg_pool_3x3', 1), ('skip_connect', 0), ('avg_pool_3x3', 0), ('avg_pool_3x3', 0), ('sep_conv_3x3', 1), "
    "('skip_connect', 1)], normal_concat=range(2, 7), reduce=[('sep_conv_5x5', 1), ('sep_conv_7x7', 0), "
    "('max_pool_3x3', 1), ('sep_conv_7x7', 0), ('avg_pool_3x3', 1), ('sep_conv_5x5', 0), ('skip_connect', 3), "
    "('avg_pool_3x3', 2), ('sep_conv_3x3', 2), ('max_pool_3x3', 1)], reduce_concat=range(4, 7))"
)
# What the searches count, by the stage of their events
WORDS = {"scoring": "networks", "states": "states"}
PUBLISHED = ("DARTS, first order", "DARTS, second order", "AmoebaNet")


def found(lab: Lab, setting: Setting, source_name: str) -> dict[str, Genotype]:
    """Search with every method; return what they decide on.

    Args:
        lab: What to search with.
        setting: The networks to search for.
        source_name: The images, at the size that these networks take.
    """
    assert lab.recipe is not None
    epochs = min(QUERY_EPOCHS, lab.recipe.epochs)
    recipe = replace(lab.recipe, epochs=epochs, warm_up_epochs=0, auxiliary_weight=0.0, validation=HALF)
    trained = EvaluationSetting(
        SPACE, source_name=source_name, recipe=recipe, seed=SEED, skeleton_settings=setting.skeleton_settings
    )
    truth = training_truth(trained, None, lab.executor, lab.store)
    contest = Contest(truth, (), None, lab.executor, lab.store, source_name, setting.skeleton_settings)
    cells = {}
    for number, (title, (text, budget)) in enumerate(METHODS.items()):

        def watch(event: Event, done: int = number, title: str = title) -> None:
            lab.progress(done, len(METHODS), f"search by {title}: {event.done:,} {WORDS.get(event.stage, event.stage)}")

        asked = parse_method(text).run(contest, budget, SEED, watch)
        best = Run(text, SEED, tuple(asked)).incumbents[-1]
        assert best is not None
        cells[title] = DARTS().parse(best.architecture)
    return cells


def published() -> dict[str, Genotype]:
    """Return genotypes that papers print."""
    known = known_cells()
    return {title: known[title] for title in PUBLISHED} | {"NASNet": DARTS().parse(_NASNET)}


def largest() -> Genotype:
    """Return a genotype with the most parameters: the largest operation on every edge, all of which read the inputs."""
    cell = Cell(tuple(("sep_conv_5x5", source) for _ in range(NODES) for source in (0, 1)))
    return Genotype(cell, cell)


def at_random(count: int) -> dict[str, Genotype]:
    """Return random genotypes. More of them include all of fewer."""
    space, rng = DARTS(), python_generator(SEED, "random genotypes")
    return {f"random {number}": space.canonical(space.sample(rng)) for number in range(1, count + 1)}
