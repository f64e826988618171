"""What a recipe asks of a network: left out with a note if it came with a name, refused if the user wrote it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from firstlight.core.errors import SettingError
from firstlight.spaces import SPACES
from firstlight.training.fitting import build_for_training, channels_last, fit_recipe, without_auxiliary_head
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import RECIPES, RecipeRequest

DARTS, NB201 = SPACES["darts"], SPACES["nasbench201"]
GENOTYPE, CELL = DARTS.example(), NB201.example()
SMALL = DARTS.skeleton(channels=2, cells=3)


def test_a_space_that_offers_all() -> None:
    recipe, notes = fit_recipe(RecipeRequest.parse("darts-cifar"), DARTS, GENOTYPE, SMALL)
    assert (recipe, notes) == (RECIPES["darts-cifar"], [])


def test_what_a_named_recipe_brings_along_is_left_out_with_a_note() -> None:
    recipe, notes = fit_recipe(RecipeRequest.parse("darts-cifar"), NB201, CELL, NB201.skeleton())
    assert recipe == replace(RECIPES["darts-cifar"], drop_path=0.0, auxiliary_weight=0.0)
    assert len(notes) == 2
    assert notes[0].startswith("drop_path=0.2 of the recipe 'darts-cifar' is not used: networks of 'nasbench201'")
    tiny = DARTS.skeleton(channels=2, cells=3, input_shape=(3, 16, 16))
    recipe, (note,) = fit_recipe(RecipeRequest.parse("darts-cifar"), DARTS, GENOTYPE, tiny)
    assert (recipe.drop_path, recipe.auxiliary_weight) == (0.2, 0.0)
    assert "at least 29" in note


@pytest.mark.parametrize("setting", ["drop_path=0.2", "auxiliary_weight=0.4"])
def test_what_the_user_wrote_is_refused(setting: str) -> None:
    name = setting.partition("=")[0]
    with pytest.raises(SettingError, match=f"{name} is 0\\.., but networks of 'nasbench201' have no .* Set {name}=0"):
        fit_recipe(RecipeRequest.parse(f"darts-cifar:{setting}"), NB201, CELL, NB201.skeleton())
    asked = TrainingRecipe(**{name: 0.3})  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=name):
        fit_recipe(RecipeRequest.of(asked), NB201, CELL, NB201.skeleton())


def test_layer_norms_stay() -> None:
    request = RecipeRequest.of(TrainingRecipe(layer_norm=0))
    with pytest.raises(SettingError, match="layer_norm is 0, but networks of 'nasbench201' have no layer norms"):
        fit_recipe(request, NB201, CELL, NB201.skeleton())


def test_the_auxiliary_head_comes_and_goes_and_leaves_the_network_as_it_is() -> None:
    plain = DARTS.build(GENOTYPE, SMALL, seed=3)
    network = build_for_training(DARTS, GENOTYPE, SMALL, TrainingRecipe(auxiliary_weight=0.4), seed=3)
    x = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(network.train()(x)[0], plain.train()(x), rtol=0, atol=0)
    back = without_auxiliary_head(network, DARTS, GENOTYPE, SMALL)
    assert back.state_dict().keys() == plain.state_dict().keys() < network.state_dict().keys()
    torch.testing.assert_close(back(x), network.eval()(x), rtol=0, atol=0)
    without = build_for_training(DARTS, GENOTYPE, SMALL, TrainingRecipe(), seed=3)
    assert without.state_dict().keys() == plain.state_dict().keys()


FASTER = [name for name, space in SPACES.items() if space.channels_last]


@pytest.mark.parametrize("name", FASTER)
def test_channels_last_gives_the_same_outputs_and_gradients(name: str) -> None:
    space = SPACES[name]
    shape = (3, 64, 64) if name == "mobilenetv2" else (3, 16, 16)
    skeleton = space.skeleton(input_shape=shape, classes=10)
    network = space.build(space.example(), skeleton, seed=0).double()
    x = torch.randn(8, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def gradients() -> list[torch.Tensor]:
        outputs = network(x)
        return [outputs.detach(), *torch.autograd.grad(outputs.square().sum(), list(network.parameters()))]

    plain = gradients()
    before = [parameter.stride() for parameter in network.parameters()]
    with channels_last(network, space):
        assert any(p.ndim == 4 and p.stride(1) == 1 and p.shape[2] > 1 for p in network.parameters())
        faster = gradients()
    assert [parameter.stride() for parameter in network.parameters()] == before
    for one, other in zip(plain, faster, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


def test_networks_of_other_spaces_keep_their_layout() -> None:
    network = torch.nn.Conv2d(3, 4, 3)
    with channels_last(network, SPACES["autoformer-tiny"]):
        assert network.weight.is_contiguous()
