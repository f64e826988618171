"""The learning rate that a range test finds, and averaged weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firstlight.data import load_dataset
from firstlight.spaces import SPACES
from firstlight.training.checkpoint import Checkpoint
from firstlight.training.classifier import evaluate_classifier, train_classifier
from firstlight.training.loop import Loop, make_optimizer
from firstlight.training.range_test import RATES, range_test, rounded
from firstlight.training.recipe import TrainingRecipe

DATA = load_dataset("digits@8", samples=200)
ADAMW = TrainingRecipe(epochs=2, batch_size=16, optimizer="adamw", momentum=0, nesterov=False, learning_rate=2e-3)


def network(text: str = "a1/32", seed: int = 0) -> torch.nn.Module:
    space = SPACES["plain-mlp"]
    return space.build(text, space.skeleton(input_shape=(3, 8, 8)), seed=seed)


@pytest.mark.parametrize("recipe", [TrainingRecipe(batch_size=16), ADAMW])
def test_the_rate_learns_better_than_much_smaller_and_larger_ones(recipe: TrainingRecipe) -> None:
    rate = range_test(network(), DATA, recipe)
    assert RATES[recipe.optimizer][0] <= rate <= RATES[recipe.optimizer][1]
    assert rate == range_test(network(), DATA, recipe)

    def reached(factor: float) -> float:
        return train_classifier(network(), DATA, replace(recipe, learning_rate=rate * factor)).epochs[-1].val_loss

    assert reached(1) < reached(0.01)
    assert reached(1) < reached(100)


@pytest.mark.parametrize("pixel", [0.0, float("nan")])
def test_the_recipe_keeps_its_rate_where_nothing_is_learned(pixel: float) -> None:
    labels = torch.arange(len(DATA.y_train)) % 10
    blind = replace(DATA, x_train=torch.full_like(DATA.x_train, pixel), y_train=labels)
    assert range_test(network("a1"), blind, TrainingRecipe(batch_size=150, learning_rate=0.07)) == 0.07


def test_the_global_random_state_stays() -> None:
    state = torch.random.get_rng_state()
    range_test(network(), DATA, TrainingRecipe(batch_size=16))
    assert torch.equal(torch.random.get_rng_state(), state)


@given(st.floats(1e-6, 10))
def test_rates_are_round(rate: float) -> None:
    found = rounded(rate)
    assert f"{found:e}"[0] in "125"
    assert 0.6 < found / rate < 1.7


def test_adamw_is_that_of_torch() -> None:
    ours, theirs = network(), network()
    x, y = DATA.x_train[:16], DATA.y_train[:16]
    recipe = replace(ADAMW, schedule="constant", clip_norm=0, weight_decay=0.05)
    loop = Loop(ours, recipe, 3)
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=2e-3, weight_decay=0.05)
    for _ in range(3):
        next(loop.run([(x, y)]))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(theirs.train()(x), y).backward()
        optimizer.step()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    assert isinstance(make_optimizer(ours.parameters(), recipe), torch.optim.AdamW)


@pytest.mark.parametrize("recipe", [replace(ADAMW, epochs=3, average=0.9), TrainingRecipe(batch_size=16, average=0.8)])
def test_averages_and_moments_are_resumed(recipe: TrainingRecipe, tmp_path: Path) -> None:
    whole, parts = network(), network()
    expected = train_classifier(whole, DATA, recipe)

    def interrupt(event: object) -> None:
        if getattr(event, "note", "") == "epoch 2/3" and getattr(event, "item", None) is not None:
            raise KeyboardInterrupt

    checkpoint = Checkpoint(tmp_path / "c.safetensors", {"recipe": str(recipe)})
    with pytest.raises(KeyboardInterrupt):
        train_classifier(parts, DATA, recipe, checkpoint=checkpoint, callback=interrupt)
    fresh = network()
    found = train_classifier(fresh, DATA, recipe, checkpoint=checkpoint)
    assert found == expected
    for one, other in zip(whole.state_dict().values(), fresh.state_dict().values(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_the_average_is_what_is_validated_and_kept() -> None:
    recipe = TrainingRecipe(epochs=2, batch_size=16, average=0.5)
    model = network("a1")
    result = train_classifier(model, DATA, recipe)
    loss, accuracy = evaluate_classifier(model, DATA.x_val, DATA.y_val, 16)
    assert result.epochs[-1].val_accuracy == accuracy
    assert result.epochs[-1].val_loss == pytest.approx(loss)

    # by hand, from the weights after each step
    plain, mean = network("a1"), None
    seen: list[torch.Tensor] = []
    train_classifier(
        plain, DATA, replace(recipe, average=0.0), callback=lambda e: seen.append(plain.head.weight.clone())
    )
    steps = [weight for place, weight in enumerate(seen) if place % 11 != 10]  # the last event of an epoch is no step
    assert len(steps) == 20
    for weight in steps:
        mean = weight.clone() if mean is None else 0.5 * mean + 0.5 * weight
    torch.testing.assert_close(model.head.weight, mean)
