"""VKDNW: the number of tensors decides, and the entropy orders networks that have as many."""

from __future__ import annotations

import math

import pytest
from tests import nets
from tests.probe.test_fisher import slow_fisher

from firstlight.probe import Probe
from firstlight.probe.fisher import quantile_entropy
from firstlight.proxies.ensembles import Ensemble
from firstlight.proxies.vkdnw import vkdnw


@pytest.mark.parametrize("name", ["residual", "attention", "plain"])
def test_the_value_is_the_number_of_tensors_plus_an_entropy(name: str) -> None:
    probe = Probe(nets.build(name), nets.images(3))
    found = vkdnw(probe)
    tensors = len(list(nets.build(name).parameters()))
    entropy = quantile_entropy(probe.fisher_matrix(tensors=128))
    assert found.parts == {"layers": tensors, "entropy": entropy}
    assert found.value == tensors + entropy
    assert 0 <= entropy <= math.log(9)


def test_the_fisher_matrix_is_that_of_the_definition() -> None:
    """The drawn weights and inputs are those of a copy, which finite differences see as well."""
    import torch

    from firstlight.core.seeds import torch_generator
    from firstlight.probe.variants import reinitialized

    generator = torch_generator(3, "fisher")
    x = torch.randn(2, 3, 8, 8, generator=generator).double()
    model = reinitialized(nets.build("smooth"), generator, kaiming=True)
    found = Probe(nets.build("smooth"), nets.images(2), seed=3).fisher_matrix()
    torch.testing.assert_close(found, torch.from_numpy(slow_fisher(model, x, 128)), rtol=1e-5, atol=1e-9)


def test_the_ensemble_has_the_published_members() -> None:
    ensemble = Ensemble.parse("vkdnw_agg")
    assert ensemble.aggregation == "log_rank"
    assert list(map(str, ensemble.requests)) == ["vkdnw", "jacov", "az_expressivity", "az_trainability", "macs"]
