"""Rank three vision transformers of about the same size with an ensemble of proxies."""

import torch
from torch import Tensor, nn

import firstlight


class ViT(nn.Module):
    """A small ViT: patches of 8 x 8 pixels, attention and MLP blocks, mean over all tokens."""

    def __init__(self, width: int, depth: int, heads: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, stride=8)
        self.positions = nn.Parameter(0.02 * torch.randn(1, 16, width))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


torch.manual_seed(0)
models = {"deep": ViT(48, 8, 4), "even": ViT(64, 4, 4), "wide": ViT(96, 2, 4)}

# Combine ranks rather than scores, so that the scale of a proxy does not matter
ranking = firstlight.rank(models, proxies="independence,synflow,grad_norm,params", by="log_rank(independence,synflow)")
for row in ranking.rows:
    scores = "  ".join(f"{name} {score.value:.4g}" for name, score in row.network.scores.items())
    print(f"{row.network.architecture}: {scores}")
