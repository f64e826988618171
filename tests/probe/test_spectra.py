"""Singular values of feature maps, against one SVD per hook and against the reference implementation."""

from __future__ import annotations

import pytest
import torch
from tests import nets, textbook
from tests.conftest import ParityCase
from torch import Tensor, nn

from firstlight.probe import Probe
from firstlight.probe.spectra import InverseCondition


def ratios(model: nn.Module, x: Tensor, modules: str = "all") -> list[float]:
    probe = Probe(model, x)
    found = probe.feature_statistic(InverseCondition(), modules=modules, images=len(x))  # type: ignore[arg-type]
    return found.values.tolist()


def test_agrees_with_the_reference_implementation(parity: ParityCase) -> None:
    spectra = Probe(parity.net, parity.arrays["x"][:1]).feature_statistic(InverseCondition())
    assert list(spectra.names) == parity.values["dextr.hook_order"]
    # an entry of exactly zero rank is rounding noise on both sides
    expected = pytest.approx(parity.values["dextr.inv_conds"], rel=parity.tolerance, abs=1e-7)
    assert spectra.values.tolist() == expected
    total = float(spectra.values.sum())
    assert total == pytest.approx(parity.values["dextr.sum_inv_cond"], rel=parity.tolerance)


@pytest.mark.parametrize("name", ["residual", "smooth", "attention", "mlp"])
def test_agrees_with_one_svd_per_hook(name: str) -> None:
    net = nets.build(name)
    x = torch.randn(3, 3, 8, 8, dtype=torch.float64)
    expected = textbook.inverse_conditions(nets.build(name), x)
    assert ratios(net, x) == pytest.approx(expected, rel=1e-9, abs=1e-7)


def test_in_place_layers_are_seen_as_they_leave() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(inplace=True))
    x = torch.randn(1, 3, 4, 4)
    conv, relu, root = ratios(net, x)
    assert conv == pytest.approx(textbook.inverse_conditions(nn.Sequential(net[0]), x)[0], rel=1e-5)
    assert relu == root != conv


def test_rows_that_are_orthonormal_repeated_or_zero() -> None:
    x = torch.zeros(1, 2, 2, 2)
    x[0, 0, 0, 0] = x[0, 1, 1, 1] = 1.0
    assert ratios(nn.Identity(), x) == pytest.approx([1.0])
    x[0, 1] = x[0, 0]
    assert ratios(nn.Identity(), x) == pytest.approx([0.0])
    assert ratios(nn.Identity(), torch.zeros(1, 2, 2, 2)) == [0.0]


def test_vectors_count_one_and_zero_vectors_none() -> None:
    assert ratios(nn.Identity(), torch.tensor([[3.0, -1.0]])) == [1.0]
    assert ratios(nn.Identity(), torch.zeros(1, 2)) == [0.0]
    assert ratios(nn.Identity(), torch.tensor([2.0])) == [1.0]


def test_scaling_and_permuting_rows_changes_nothing() -> None:
    x = torch.randn(1, 6, 5, 5, dtype=torch.float64)
    (expected,) = ratios(nn.Identity(), x)
    assert ratios(nn.Identity(), 1e4 * x[:, torch.randperm(6)]) == pytest.approx([expected], rel=1e-9)


def test_maps_that_are_not_finite_count_nothing() -> None:
    class Root(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.sqrt()

    assert ratios(Root(), torch.tensor([[[1.0, 2.0], [-3.0, 4.0]]])) == [0.0]


def test_vectors_that_overflow_count_nothing() -> None:
    class Overflow(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x / 0

    assert ratios(Overflow(), torch.ones(1, 3)) == [0.0]


def test_measuring_in_inference_mode() -> None:
    net, x = nets.build("residual"), torch.randn(1, 3, 8, 8)
    expected = ratios(net, x)
    with torch.inference_mode():
        assert ratios(net, x.clone()) == expected
        assert Probe(net, x.clone()).output_curvature() is not None


def test_rounding_noise_behind_a_normalisation_counts_nothing() -> None:
    constant = 0.1 * torch.arange(1, 5).view(1, 4, 1, 1).expand(1, 4, 7, 7)
    assert ratios(nn.BatchNorm2d(4), constant) == [0.0]


def test_centred_maps_with_more_channels_than_pixels_have_no_smallest_singular_value() -> None:
    x = torch.randn(1, 12, 3, 3, dtype=torch.float64)
    norm = nn.BatchNorm2d(12).double()
    spectra = Probe(nn.Sequential(norm), x).feature_statistic(InverseCondition())
    assert spectra.values.tolist() == [0.0, 0.0]
    expected = torch.linalg.svdvals(norm(x)[0].detach().reshape(12, 9))
    assert float(expected.min()) == pytest.approx(0, abs=1e-12)
    nn.init.ones_(norm.bias)
    assert Probe(norm, x).feature_statistic(InverseCondition()).values.item() > 1e-3


def test_leaf_modules_only_and_shared_modules_each_time() -> None:
    shared = nn.ReLU()
    net = nn.Sequential(nn.Sequential(nn.Conv2d(3, 4, 1), shared), nn.Conv2d(4, 4, 1), shared)
    probe = Probe(net, torch.randn(1, 3, 4, 4))
    assert probe.feature_statistic(InverseCondition(), modules="leaf").names == ("0.0", "0.1", "1", "0.1")
    assert probe.feature_statistic(InverseCondition()).names == ("0.0", "0.1", "0", "1", "0.1", "<root>")


def test_tuples_are_read_by_their_first_element_with_samples_as_rows() -> None:
    class Pair(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x, x

    x = torch.tensor([[1.0, 0.0], [0.0, 4.0]])
    assert ratios(Pair(), x) == [0.25]


def test_a_tuple_with_a_childs_output_is_read_anew() -> None:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child = nn.Identity()

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.child(x), x

    assert ratios(Pair(), torch.tensor([[1.0, 0.0], [0.0, 4.0]])) == [1.0, 0.25]


class Threshold(nn.ReLU):
    def __init__(self, level: float) -> None:
        super().__init__()
        self.level = level

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.level).relu()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (nn.AvgPool2d(3, 1, 1), nn.AvgPool2d(3, 1, 1, count_include_pad=False)),
        (Threshold(0.0), Threshold(0.5)),
        (nn.ReLU(), nn.ReLU()),
    ],
)
def test_layers_on_the_same_tensor_are_taken_for_equal_only_if_they_are(first: nn.Module, second: nn.Module) -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first, second

        def forward(self, x: Tensor) -> Tensor:
            return self.first(x) + self.second(x)

    x = torch.randn(1, 4, 6, 6, dtype=torch.float64)
    assert ratios(Both(), x) == pytest.approx(textbook.inverse_conditions(Both(), x), rel=1e-9)


def test_small_gains_are_not_taken_for_noise() -> None:
    norm = nn.BatchNorm2d(4).double()
    x = torch.randn(1, 4, 7, 7, dtype=torch.float64)
    (expected,) = ratios(norm, x)
    nn.init.constant_(norm.weight, 5e-4)
    assert ratios(norm, x) == pytest.approx([expected], rel=1e-6)
    assert expected > 0.1


def test_many_large_maps_are_decomposed_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    net, x = nets.build("residual"), torch.randn(1, 3, 8, 8, dtype=torch.float64)
    together = ratios(net, x)
    monkeypatch.setattr("firstlight.probe.features._WAITING_LIMIT", 1)
    assert ratios(net, x) == pytest.approx(together, rel=1e-12)
