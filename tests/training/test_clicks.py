"""Training and judging networks that predict clicks, against slow and obvious twins."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.prepared import made_up_clicks
from torch import nn

from firstlight.core.errors import FirstlightError, SettingError, UnknownNameError
from firstlight.core.seeds import derive
from firstlight.data.clicks import ClickData, open_clicks
from firstlight.training.clicks import ClickMetrics, ClickResult, click_recipe, evaluate_clicks, train_clicks
from firstlight.training.recipe import TrainingRecipe

FEW = click_recipe("clicks:batch_size=32").recipe


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ClickData:
    return open_clicks(made_up_clicks(tmp_path_factory.mktemp("clicks")))


class Weighed(nn.Module):
    """A weight for each input; two logits, or one."""

    def __init__(self, outputs: int = 1) -> None:
        super().__init__()
        self.linear = nn.Linear(39, outputs)
        with torch.no_grad():
            self.linear.weight.copy_(torch.linspace(-0.2, 0.2, 39 * outputs).view(outputs, 39))
            self.linear.bias.zero_()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.cat([x[:, :13], x[:, 13:] / 20], 1)
        out: torch.Tensor = self.linear(x)
        return out


@pytest.mark.parametrize("outputs", [1, 2])
def test_log_loss_and_auc_are_those_by_definition(data: ClickData, outputs: int) -> None:
    network = Weighed(outputs)
    found = evaluate_clicks(network, data, "validation")
    rows = [(x, y) for xs, ys in data.batches("validation", 7) for x, y in zip(xs, ys, strict=True)]
    logits = [network(x[None])[0].detach().double() for x, _ in rows]
    scores = [float(z[0] if outputs == 1 else z[1] - z[0]) for z in logits]
    chances = [1 / (1 + math.exp(-score)) for score in scores]
    labels = [int(y) for _, y in rows]
    losses = [-math.log(p if y else 1 - p) for p, y in zip(chances, labels, strict=True)]
    assert found.rows == len(rows) == data.rows["validation"]
    assert found.log_loss == pytest.approx(sum(losses) / len(losses), rel=1e-6)
    clicked = [s for s, y in zip(scores, labels, strict=True) if y]
    others = [s for s, y in zip(scores, labels, strict=True) if not y]
    pairs = [(a > b) + 0.5 * (a == b) for a in clicked for b in others]
    assert found.auc == pytest.approx(sum(pairs) / len(pairs), abs=1e-6)
    assert not network.training


def test_training_is_adagrad_along_the_schedule(data: ClickData) -> None:
    found, twin = Weighed(), Weighed()
    result = train_clicks(found, data, FEW, seed=3)
    steps = data.rows["train"] // 32
    assert (result.steps, result.status, result.params) == (steps, "ok", 40)
    assert result.validation == evaluate_clicks(found, data, "validation")
    assert result.test == evaluate_clicks(found, data, "test")
    optimiser = torch.optim.Adagrad(twin.parameters(), lr=1.0, eps=1e-2)
    batches = data.batches("train", 32, seed=derive(3, "order", "0"), whole=True)
    warm = steps // 10
    for number, (x, y) in enumerate(batches):
        share = number / warm if number < warm else (1 + math.cos(math.pi * (number - warm) / (steps - warm))) / 2
        optimiser.param_groups[0]["lr"] = max(1e-8, 1e-8 + (0.12 - 1e-8) * share)
        optimiser.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(twin(x)[:, 0], y.float()).backward()
        nn.utils.clip_grad_norm_(twin.parameters(), 5.0)
        optimiser.step()
    assert torch.allclose(found.linear.weight, twin.linear.weight, atol=1e-5)


def test_the_same_seed_leads_to_the_same_and_another_does_not(data: ClickData) -> None:
    one, again, other = (train_clicks(Weighed(), data, FEW, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_what_diverges_has_no_figures(data: ClickData) -> None:
    network = Weighed()
    with torch.no_grad():
        network.linear.bias.fill_(float("nan"))
    result = train_clicks(network, data, FEW)
    assert (result.status, result.validation, result.test) == ("diverged", None, None)
    assert "step 1" in result.note


def test_one_label_only_has_no_auc(data: ClickData, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = data.batches

    def never(self: ClickData, *asked: object, **options: object) -> object:
        return ((x, torch.zeros_like(y)) for x, y in batches(*asked, **options))  # type: ignore[arg-type]

    monkeypatch.setattr(ClickData, "batches", never)
    assert evaluate_clicks(Weighed(), data, "test").auc is None


def test_a_batch_that_is_larger_than_the_data_is_refused(data: ClickData) -> None:
    with pytest.raises(SettingError, match=r"less than one batch of 5000.*clicks:batch_size="):
        train_clicks(Weighed(), data, click_recipe("clicks:batch_size=5000").recipe)


def test_recipes_as_text() -> None:
    assert click_recipe("clicks") == click_recipe()
    found = click_recipe("clicks:batch_size=64:epochs=2:layer_norm=0")
    assert (found.recipe.batch_size, found.recipe.epochs, found.recipe.layer_norm) == (64, 2, 0)
    assert str(found) == "clicks:epochs=2:batch_size=64:layer_norm=0"
    with pytest.raises(UnknownNameError, match="Known: clicks"):
        click_recipe("quick")
    for wrong in ("clicks:batch_size=0", "clicks:learning_rate=nan", "clicks:layer_norm=2", "clicks:momentum=0.5"):
        with pytest.raises(SettingError):
            click_recipe(wrong)


def test_recipes_from_python() -> None:
    usual = click_recipe().recipe
    assert str(click_recipe(replace(usual, epochs=2))) == "clicks:epochs=2"
    with pytest.raises(SettingError, match=r"The recipe sets .*optimizer=sgd.* only epochs, batch_size"):
        click_recipe(TrainingRecipe())


@given(st.integers(1, 5), st.integers(2, 4096), st.floats(1e-6, 10), st.integers(0, 1))
def test_the_text_of_a_recipe_reads_back(epochs: int, batch: int, rate: float, norm: int) -> None:
    recipe = click_recipe().changed(epochs=epochs, batch_size=batch, learning_rate=rate, layer_norm=norm)
    assert click_recipe(str(recipe)).recipe == recipe.recipe


@given(st.text(max_size=30))
def test_any_text_is_a_recipe_or_refused(text: str) -> None:
    try:
        click_recipe(f"clicks:{text}")
    except FirstlightError:
        return


def test_results_read_back() -> None:
    for result in (
        ClickResult(3, ClickMetrics(0.5, 0.7, 10), ClickMetrics(0.6, None, 9), steps=4, seconds=1.5),
        ClickResult.of_error(ValueError("x")),
    ):
        assert ClickResult.from_dict(result.to_dict()) == result
    assert ClickResult.of_error(MemoryError("no room")).status == "out_of_memory"
