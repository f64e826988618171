"""Size and work as proxies."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import firstlight


def test_counts() -> None:
    scores = firstlight.score(nn.Linear(4, 3), torch.zeros(2, 4), ("params", "macs"))
    assert (scores["params"].value, scores["macs"].value) == (15.0, 12.0)


class LanguageModel(nn.Module):
    """An embedding of 30 words, a trained layer and a frozen one."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30, 4)
        self.layer, self.frozen = nn.Linear(4, 6), nn.Linear(6, 5)
        self.frozen.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.frozen(self.layer(self.words(x).mean(1)))


def test_parameters_of_a_decoder_are_those_that_are_trained_and_not_embeddings() -> None:
    words = torch.randint(30, (2, 7), generator=torch.Generator().manual_seed(0))
    found = firstlight.score(LanguageModel(), words, "decoder_params,params")
    assert (found["decoder_params"].value, found["params"].value) == (30, 30 + 120 + 35)
