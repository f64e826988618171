"""Recipes by name: published ones, and short ones for a CPU."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from firstlight.core.errors import UnknownNameError
from firstlight.core.settings import Settings, read_settings, write_settings
from firstlight.training.recipe import TrainingRecipe

SHORT, QUICK = "short", "quick"
RECIPES = {
    SHORT: TrainingRecipe(),
    QUICK: TrainingRecipe(epochs=10, batch_size=64),
    # how HNAS evaluates candidates in the DARTS space
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
    # for several GPUs, as in the successors of DARTS; without their random resized crops and color jitter
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
    # Table 4 of SiGeo, as in ZenNAS: without its AutoAugment, changes of lighting and teacher. The paper does not print
    # the strengths of smoothing, mix-up and erasing
    "sigeo-cifar": TrainingRecipe(
        epochs=1440,
        batch_size=256,
        nesterov=False,
        label_smoothing=0.1,
        clip_norm=0,
        flip=True,
        crop=4,
        erasing=0.2,
        mix_up=0.2,
    ),
    # Tables 8 and 9 of HNAS, with 20 and 14 cells; its CIFAR-10 is darts-cifar. The latter without random resized crops
    "hnas-cifar100": TrainingRecipe(
        epochs=600,
        batch_size=96,
        learning_rate=0.035,
        min_learning_rate=1e-3,
        nesterov=False,
        weight_decay=3e-4,
        flip=True,
        crop=4,
        cutout=16,
        drop_path=0.3,
        auxiliary_weight=0.6,
    ),
    "hnas-imagenet": TrainingRecipe(
        epochs=250,
        batch_size=1024,
        learning_rate=0.7,
        nesterov=False,
        weight_decay=3e-5,
        flip=True,
        warm_up_epochs=5,
        auxiliary_weight=0.4,
    ),
}
# Plain SGD, for warm-ups
PLAIN = "plain"
WARM_UPS = {
    PLAIN: TrainingRecipe(epochs=1, nesterov=False, weight_decay=0, clip_norm=0, schedule="constant"),
    # as in the published code of SiGeo
    "official": TrainingRecipe(
        epochs=10,
        learning_rate=1.0,
        momentum=0,
        nesterov=False,
        weight_decay=0,
        clip_norm=0,
        schedule="constant",
    ),
}
# What weight-sharing networks have in common; each names what is different
SHARED = TrainingRecipe(epochs=1, momentum=0, nesterov=False, weight_decay=0, min_learning_rate=1e-8)


@dataclass(frozen=True)
class Presets:
    """Named recipes for one purpose, and the settings that can be changed behind a name.

    Args:
        kind: What a recipe of these is called in messages.
        recipes: The recipes by name.
        settings: The names of the settings that can be changed.
    """

    kind: str
    recipes: Mapping[str, TrainingRecipe]
    settings: tuple[str, ...]

    def find(self, name: str) -> TrainingRecipe:
        """Return the recipe of this name."""
        if name not in self.recipes:
            raise UnknownNameError(self.kind, name, self.recipes)
        return self.recipes[name]

    def parse(self, text: str) -> RecipeRequest:
        """Read a name with settings behind it, such as `darts-cifar:epochs=10:batch_size=64`."""
        name, *pairs = text.split(":")
        preset = self.find(name)
        settings = read_settings("recipe", name, parameters_of(preset, self.settings), pairs)
        written = frozenset(pair.partition("=")[0] for pair in pairs)
        return RecipeRequest(name, replace(preset, **dict(settings)), preset, written)


_ALL = tuple(field.name for field in dataclasses.fields(TrainingRecipe))
TRAINING = Presets("recipe", RECIPES, tuple(name for name in _ALL if name != "layer_norm"))
WARM_UP = Presets("recipe of a warm-up", WARM_UPS, ("epochs", "batch_size", "learning_rate", "momentum"))


@dataclass(frozen=True)
class RecipeRequest:
    """A recipe as a user asks for it.

    Args:
        name: Its name; "" for one that was put together in Python.
        recipe: The recipe with all changes.
        preset: What the name stands for.
        written: The settings that the user wrote, which are never left out silently.
    """

    name: str
    recipe: TrainingRecipe
    preset: TrainingRecipe = TrainingRecipe()
    written: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> RecipeRequest:
        """Read the text form of a recipe for training from scratch; see `Presets.parse`."""
        return TRAINING.parse(text)

    @classmethod
    def of(cls, recipe: TrainingRecipe) -> RecipeRequest:
        """Wrap a recipe that was put together in Python; all that differs from the defaults counts as written."""
        return cls("", recipe, written=frozenset(name for name, _ in changed(recipe, TrainingRecipe())))

    def with_epochs(self, epochs: int) -> RecipeRequest:
        """Return the request with another number of epochs."""
        return self.changed(epochs=epochs)

    def changed(self, **settings: Any) -> RecipeRequest:
        """Return the request with some settings changed, as if they had been written."""
        return replace(self, recipe=replace(self.recipe, **settings), written=self.written | settings.keys())

    def __str__(self) -> str:
        """Return the text form: the name, and what differs from its recipe."""
        return write_settings(self.name, changed(self.recipe, self.preset)) if self.name else str(self.recipe)


def changed(recipe: TrainingRecipe, usual: TrainingRecipe) -> Settings:
    """Return the settings of a recipe that differ from those of another one."""
    return tuple((name, getattr(recipe, name)) for name in _ALL if getattr(recipe, name) != getattr(usual, name))


def read_recipe(given: str | TrainingRecipe | None, epochs: int | None = None, usual: str = SHORT) -> RecipeRequest:
    """Read a recipe as users give it: its name with settings, the object, or None for the usual one."""
    if given is None:
        given = usual
    request = RecipeRequest.parse(given) if isinstance(given, str) else RecipeRequest.of(given)
    return request if epochs is None else request.with_epochs(epochs)


def parameters_of(recipe: TrainingRecipe, names: Iterable[str]) -> dict[str, inspect.Parameter]:
    """Return some settings as parameters whose defaults are the values of a recipe, for `read_settings`."""
    parameters = inspect.signature(TrainingRecipe, eval_str=True).parameters
    return {name: parameters[name].replace(default=getattr(recipe, name)) for name in names}
