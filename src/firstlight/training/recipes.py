"""Recipes by name: how others trained their networks, and one for a few minutes of a CPU."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass, replace

from firstlight.core.errors import UnknownNameError
from firstlight.core.settings import Settings, read_settings, write_settings
from firstlight.training.recipe import TrainingRecipe

SHORT, QUICK = "short", "quick"
RECIPES = {
    SHORT: TrainingRecipe(),
    QUICK: TrainingRecipe(epochs=10, batch_size=64),
    # by which HNAS judges candidates in the space of DARTS
    "hnas": TrainingRecipe(
        epochs=10,
        batch_size=576,
        min_learning_rate=5e-3,
        nesterov=False,
        weight_decay=3e-4,
        drop_path=0.2,
        validation=0.5,
    ),
    "nb201-200": TrainingRecipe(epochs=200, batch_size=256, clip_norm=0, flip=True, crop=4),
    "darts-cifar": TrainingRecipe(
        epochs=600,
        batch_size=96,
        learning_rate=0.025,
        nesterov=False,
        weight_decay=3e-4,
        flip=True,
        crop=4,
        cutout=16,
        drop_path=0.2,
        auxiliary_weight=0.4,
    ),
    # for several GPUs, as in what followed DARTS; images are only mirrored here, not cropped and coloured at random
    "darts-imagenet": TrainingRecipe(
        epochs=250,
        batch_size=1024,
        learning_rate=0.5,
        nesterov=False,
        weight_decay=3e-5,
        label_smoothing=0.1,
        flip=True,
        warm_up_epochs=5,
        schedule="linear",
        auxiliary_weight=0.4,
    ),
}


@dataclass(frozen=True)
class RecipeRequest:
    """A recipe, what it is called, and which of its settings the user has written and therefore means."""

    name: str
    recipe: TrainingRecipe
    written: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> RecipeRequest:
        """`darts-cifar`, or with some settings changed: `darts-cifar:epochs=10:batch_size=64`."""
        name, *pairs = text.split(":")
        if name not in RECIPES:
            raise UnknownNameError("recipe", name, RECIPES)
        settings = read_settings("recipe", name, _settings(RECIPES[name]), pairs)
        return cls(name, replace(RECIPES[name], **dict(settings)), frozenset(pair.partition("=")[0] for pair in pairs))

    @classmethod
    def of(cls, recipe: TrainingRecipe) -> RecipeRequest:
        """One that was put together in Python: all that is not usual is meant."""
        return cls("", recipe, frozenset(name for name, _ in _changed(recipe, TrainingRecipe())))

    def with_epochs(self, epochs: int) -> RecipeRequest:
        return replace(self, recipe=replace(self.recipe, epochs=epochs), written=self.written | {"epochs"})

    def __str__(self) -> str:
        if not self.name:
            return str(self.recipe)
        return write_settings(self.name, _changed(self.recipe, RECIPES[self.name]))


def _settings(recipe: TrainingRecipe) -> dict[str, inspect.Parameter]:
    """As those of a function, whose defaults are the settings of this recipe."""
    known = inspect.signature(TrainingRecipe, eval_str=True).parameters
    return {name: parameter.replace(default=getattr(recipe, name)) for name, parameter in known.items()}


def _changed(recipe: TrainingRecipe, usual: TrainingRecipe) -> Settings:
    names = [field.name for field in dataclasses.fields(recipe)]
    return tuple((name, getattr(recipe, name)) for name in names if getattr(recipe, name) != getattr(usual, name))


def read_recipe(given: str | TrainingRecipe | None, epochs: int | None = None, usual: str = SHORT) -> RecipeRequest:
    """Read a recipe as users give it: its name with settings, the object, or None for the usual one."""
    if given is None:
        given = usual
    request = RecipeRequest.parse(given) if isinstance(given, str) else RecipeRequest.of(given)
    return request if epochs is None else request.with_epochs(epochs)
