"""Singular values of feature maps, against one SVD per hook and against the reference implementation."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from tests import nets, slow, textbook
from tests.conftest import ParityCase
from torch import Tensor, nn

from firstlight.probe import Probe
from firstlight.probe.features import Statistic
from firstlight.probe.spectra import (
    InverseCondition,
    LargestSingularValue,
    SampledInverseCondition,
    SmallestCorrelation,
    split_vectors,
)


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


def test_rounding_noise_behind_a_normalization_counts_nothing() -> None:
    constant = 0.1 * torch.arange(1, 5).view(1, 4, 1, 1).expand(1, 4, 7, 7)
    assert ratios(nn.BatchNorm2d(4), constant) == [0.0]


def test_centered_maps_with_more_channels_than_pixels_have_no_smallest_singular_value() -> None:
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


NETS = ["residual", "smooth", "attention", "mlp", "plain"]


def statistic(kind: Statistic, model: nn.Module, x: Tensor, seed: int = 0) -> list[float]:
    found: list[float] = Probe(model, x, seed=seed).feature_statistic(kind, images=len(x)).values.tolist()
    return found


@pytest.mark.parametrize("name", NETS)
def test_smallest_correlations_by_numpy(name: str) -> None:
    x = nets.images(3)
    expected = [slow.smallest_correlation(rows) for rows in slow.first_maps(nets.build(name), x)]
    assert statistic(SmallestCorrelation(), nets.build(name), x) == pytest.approx(expected, rel=1e-7, abs=1e-10)
    assert max(expected) > 0.05 or name == "mlp"  # which has vectors only


def test_correlations_do_not_see_scale_shift_sign_or_order_of_rows() -> None:
    x = nets.images(1)[:, [0, 1, 2, 2]]
    x[:, 3] = x[:, 3] + 2 * nets.images(1, seed=1)[:, 0]
    (expected,) = statistic(SmallestCorrelation(), nn.Identity(), x)
    changed = x[:, [2, 0, 3, 1]] * torch.tensor([3.0, -0.1, 50.0, -1.0]).view(1, 4, 1, 1) + 7.0
    assert statistic(SmallestCorrelation(), nn.Identity(), changed) == pytest.approx([expected], rel=1e-9)
    assert 0.05 < expected < 0.8


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e4])
def test_rows_that_do_not_vary_are_correlated_with_nothing(constant: float) -> None:
    x = nets.images(1)
    x[:, 1] = constant
    assert statistic(SmallestCorrelation(), nn.Identity(), x) == pytest.approx([0.0], abs=1e-12)


def test_correlations_of_vectors_and_of_maps_with_few_columns() -> None:
    assert statistic(SmallestCorrelation(), nn.Identity(), torch.randn(1, 5)) == [0.0]
    tall = nets.images(1, side=4).reshape(1, 12, 4)
    assert statistic(SmallestCorrelation(), nn.Identity(), tall) == [0.0]
    assert slow.smallest_correlation(tall[0]) == pytest.approx(0.0, abs=1e-12)
    wide = nets.images(1, side=4).reshape(1, 4, 12)
    assert statistic(SmallestCorrelation(), nn.Identity(), wide)[0] > 0.01


def rows_drawn(values: set[float], candidates: dict[tuple[int, ...], float]) -> set[tuple[int, ...]]:
    """Which rows each value was computed from; fails if one comes from none."""
    found = set()
    for value in values:
        (rows,) = (r for r, candidate in candidates.items() if candidate == pytest.approx(value, rel=1e-6, abs=1e-10))
        found.add(rows)
    return found


def test_drawn_correlations_are_those_of_some_rows() -> None:
    x = nets.images(1, side=10).reshape(1, 6, 50)
    candidates = {r: 6 / 3 * slow.smallest_correlation(x[0, list(r)]) for r in combinations(range(6), 3)}
    values = {statistic(SmallestCorrelation(3), nn.Identity(), x, seed)[0] for seed in range(8)}
    assert len(rows_drawn(values, candidates)) > 3
    assert statistic(SmallestCorrelation(6), nn.Identity(), x[:, :6]) == pytest.approx(
        statistic(SmallestCorrelation(), nn.Identity(), x)
    )


def test_drawn_condition_numbers_are_those_of_some_rows() -> None:
    x = nets.images(1, side=10).reshape(1, 6, 50)

    def ratio(rows: tuple[int, ...]) -> float:
        sigma = torch.linalg.svdvals(x[0, list(rows)])
        return 6 / 3 * float(sigma[-1] / sigma[0])

    values = {statistic(SampledInverseCondition(3), nn.Identity(), x, seed)[0] for seed in range(8)}
    assert len(rows_drawn(values, {r: ratio(r) for r in combinations(range(6), 3)})) > 3


def test_drawn_condition_numbers_of_maps_with_few_columns_and_of_vectors() -> None:
    x = nets.images(1, side=2).reshape(1, 6, 2)
    candidates = {r: torch.linalg.svdvals(x[0, list(r)]) for r in combinations(range(6), 4)}
    ratios_of = {r: 6 / 4 * float(sigma[1] / sigma[0]) for r, sigma in candidates.items()}
    assert rows_drawn({statistic(SampledInverseCondition(4), nn.Identity(), x)[0]}, ratios_of)
    assert statistic(SampledInverseCondition(2), nn.Identity(), torch.ones(1, 6)) == [3.0]
    assert statistic(SampledInverseCondition(2), nn.Identity(), torch.zeros(1, 6)) == [0.0]


@pytest.mark.parametrize("name", NETS)
def test_drawing_more_rows_than_there_are_takes_all(name: str) -> None:
    x = nets.images(2)
    whole, drawn = (statistic(kind, nets.build(name), x) for kind in (InverseCondition(), SampledInverseCondition(999)))
    assert drawn == pytest.approx(whole, rel=1e-12)
    assert statistic(SmallestCorrelation(999), nets.build(name), x) == statistic(
        SmallestCorrelation(), nets.build(name), x
    )


def test_equal_maps_of_different_layers_draw_rows_of_their_own() -> None:
    class Copies(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.copies = nn.ModuleList(nn.Hardtanh(-9, 9) for _ in range(6))

        def forward(self, x: Tensor) -> Tensor:
            return sum((copy(x) for copy in self.copies), torch.zeros(()))

    x = nets.images(1, side=10).reshape(1, 6, 50)
    assert len(set(statistic(SmallestCorrelation(3), Copies(), x)[:6])) > 2
    assert len(set(statistic(SmallestCorrelation(), Copies(), x)[:6])) == 1


@pytest.mark.parametrize("name", ["residual", "smooth", "attention", "mlp"])
def test_largest_singular_values_agree_with_one_svd_per_hook(name: str) -> None:
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    found = Probe(nets.build(name), x).feature_statistic(LargestSingularValue(), images=2)
    assert found.values.tolist() == pytest.approx(textbook.largest_singular_values(nets.build(name), x), rel=1e-9)


def test_the_largest_singular_value_grows_with_the_map() -> None:
    x = torch.zeros(1, 2, 2, 2)
    assert float(Probe(nn.Identity(), x).feature_statistic(LargestSingularValue()).values) == 0
    x[0, 0, 0, 0], x[0, 1, 1, 1] = 3.0, 0.5
    assert float(Probe(nn.Identity(), x).feature_statistic(LargestSingularValue()).values) == pytest.approx(3)


def test_vectors_are_what_comes_last_with_a_ratio_of_one() -> None:
    assert split_vectors([1.0, 0.5, 0.25, 1.0, 1.0]) == ([1.0, 0.5, 0.25], [1.0, 1.0])
    assert split_vectors([0.5, 0.0]) == ([0.5, 0.0], [])
    assert split_vectors([1.0, 1.0]) == ([1.0], [1.0])
