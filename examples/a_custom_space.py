"""Define your own search space: name the choices, and write the function that builds a network from them."""

from torch import nn

import firstlight


@firstlight.choices(
    width=(8, 16, 32), depth=(1, 2, 3), kernel=(3, 5), activation={"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}
)
def convnet(width, depth, kernel, activation, input_shape, classes):
    """Plain convolutional networks."""
    layers, channels = [], input_shape[0]
    for _ in range(depth):
        layers += [nn.Conv2d(channels, width, kernel, padding=kernel // 2), nn.BatchNorm2d(width), activation()]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


if __name__ == "__main__":
    print(f"{len(convnet)} networks")
    result = firstlight.search(
        convnet,
        proxy="log_rank(dextr,synflow)",
        algorithm="evolution:population=6:tournament=3:children=2",
        samples=16,
        max_params="10k",
        workers=0,
    )
    print(f"The best of {result.scored} with at most 10,000 parameters: {result.best.architecture}")
    network = result.build()
    print(f"{sum(weight.numel() for weight in network.parameters()):,} parameters")
