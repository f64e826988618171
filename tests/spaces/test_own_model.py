"""A user's own model as a space of one network."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch import Tensor, nn

from firstlight.core.errors import ModelError, ParseError, SettingError
from firstlight.spaces.own_model import ModelSpace


class Small(nn.Module):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.norm, self.head = nn.BatchNorm2d(3), nn.Linear(3, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(x).mean((2, 3)))


def wrong_type() -> int:
    return 3


def fails() -> nn.Module:
    raise RuntimeError("no weights")


def test_a_class_is_built_with_the_seed_and_the_classes() -> None:
    space = ModelSpace("Small", Small)
    skeleton = space.skeleton(input_shape=(3, 8, 8), classes=4)
    one, same, other = (space.build("model", skeleton, seed=seed) for seed in (0, 0, 1))
    assert one.head.out_features == 4
    assert torch.equal(one.head.weight, same.head.weight)
    assert not torch.equal(one.head.weight, other.head.weight)
    assert space.cost(space.parse("model"), skeleton).params == 6 + 16
    assert space.footprint(space.parse("model"), skeleton).memory > 0
    assert len(space) == 1


def test_a_module_keeps_its_weights_and_stays_as_it_was() -> None:
    model = Small().eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = torch.random.get_rng_state()
    space = ModelSpace("mine", model)
    built = space.build("model", space.skeleton(input_shape=(3, 8, 8)), seed=7)
    assert built is not model
    assert built.training
    assert torch.equal(built.head.weight, model.head.weight)
    with torch.no_grad():
        built.head.weight.zero_()
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert not model.training
    assert torch.equal(torch.random.get_rng_state(), state)


def test_what_cannot_be_trained_on_the_data_is_refused_at_once() -> None:
    with pytest.raises(ModelError, match=r"returns \(2, 10\) for two inputs; the data have 3 classes"):
        ModelSpace("mine", Small()).build("model", ModelSpace("mine", Small()).skeleton(classes=3))
    with pytest.raises(ModelError, match=r"does not take inputs of \(1, 8, 8\)"):
        ModelSpace("mine", Small()).build("model", ModelSpace("mine", Small()).skeleton(input_shape=(1, 8, 8)))
    with pytest.raises(ModelError, match="returned a int"):
        ModelSpace("wrong", wrong_type).build("model")
    with pytest.raises(ModelError, match="RuntimeError: no weights"):
        ModelSpace("fails", fails).build("model")
    with pytest.raises(SettingError, match=r"neither a torch\.nn\.Module nor a function"):
        ModelSpace("three", 3)  # type: ignore[arg-type]
    with pytest.raises(ParseError):
        ModelSpace("mine", Small()).parse("models")
    with pytest.raises(SettingError, match="initializes itself"):
        ModelSpace("mine", Small()).build("model", initialization="ntk")


def test_weights_that_are_not_numbers_are_named() -> None:
    model = Small()
    with torch.no_grad():
        model.head.weight[0, 0] = float("nan")
        model.norm.running_var[1] = float("inf")
    space = ModelSpace("mine", model)
    with pytest.raises(ModelError, match=r"Before any training, .* NaN or infinite: norm\.running_var, head\.weight\."):
        space.build("model", space.skeleton(input_shape=(3, 8, 8)))


def test_models_are_told_apart_by_code_and_weights() -> None:
    one, other = Small(), Small()
    assert ModelSpace("a", one).fingerprint() == ModelSpace("a", one).fingerprint()
    assert ModelSpace("a", one).fingerprint() != ModelSpace("a", other).fingerprint()
    assert ModelSpace("a", Small).fingerprint() != ModelSpace("a", fails).fingerprint()
    assert ModelSpace("a", nn.Sequential(nn.Flatten(), nn.ReLU())).fingerprint() != (
        ModelSpace("a", nn.Sequential(nn.Flatten(), nn.GELU())).fingerprint()
    )


def test_worker_processes_get_the_same_model() -> None:
    for model in (Small(), Small):
        space = ModelSpace("mine", model)
        sent = pickle.loads(pickle.dumps(space))
        assert sent.name == "mine"
        assert sent.fingerprint() == space.fingerprint()
    with pytest.raises(pickle.PicklingError, match="no module has"):
        pickle.dumps(ModelSpace("local", lambda: Small()))
