"""What the pages call your own model: convolutions, BatchNorm and ReLUs, and attention for those that look at it."""

from torch import Tensor, nn


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=4, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.qkv, self.mix = nn.Linear(8, 24), nn.Linear(8, 8)
        self.head = nn.Linear(8, 10)

    def feature_blocks(self) -> list[nn.Module]:
        return [self.stem, self.body]

    def forward(self, x: Tensor) -> Tensor:
        x = self.body(self.stem(x))
        q, k, v = self.qkv(x.flatten(2).transpose(1, 2)).chunk(3, dim=2)
        x = x + self.mix((q @ k.transpose(1, 2) / 8**0.5).softmax(-1) @ v).transpose(1, 2).reshape(x.shape)
        return self.head(x.mean((2, 3)))


def network() -> nn.Module:
    return Network()


resnet = network
