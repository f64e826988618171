"""Score your own model before training it, and estimate how much its score varies."""

import torch
from torch import nn

import firstlight


def convnet(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
        nn.BatchNorm2d(2 * width),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * width, 10),
    )


# Some proxies need only inputs, others need labels, and some need several batches
batches = [(torch.randn(16, 3, 32, 32), torch.randint(10, (16,))) for _ in range(2)]
scores = firstlight.score(convnet(16), batches, proxies="dextr,synflow,naswot,zico,params")
for name, score in scores.items():
    print(f"{name:8} {score.value:12.4g}  {score.note}")

# Compare a score with those of other networks, and with its own standard error
for width in (8, 16, 32):
    found = firstlight.score(lambda width=width: convnet(width), batches, "dextr", repeats=4)["dextr"]
    print(f"width {width:2}: {found.value:.3f} ± {found.parts['standard_error']:.3f}")
