"""Layers to make random networks of: every kind that PyTorch has for images, tokens and vectors."""

from __future__ import annotations

import random
from collections.abc import Callable

from torch import nn

Shape = tuple[int, ...]
Draw = Callable[[random.Random, Shape], nn.Module]

ACTIVATIONS: tuple[Callable[[], nn.Module], ...] = (
    *(nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.ELU, nn.CELU, nn.SELU, nn.GELU, nn.SiLU, nn.Mish),
    *(nn.Hardswish, nn.Hardtanh, nn.Hardsigmoid, nn.Hardshrink, nn.Softshrink, nn.Tanhshrink, nn.Softplus, nn.Softsign),
    *(nn.Sigmoid, nn.Tanh, nn.LogSigmoid, nn.Identity, nn.Dropout, nn.AlphaDropout),
    *(lambda: nn.ReLU(inplace=True), lambda: nn.ReLU6(inplace=True), lambda: nn.LeakyReLU(inplace=True)),
    *(lambda: nn.ELU(inplace=True), lambda: nn.SiLU(inplace=True), lambda: nn.Hardswish(inplace=True)),
    *(lambda: nn.Threshold(0.1, 0.2, inplace=True), lambda: nn.Dropout(0.3, inplace=True)),
    *(lambda: nn.Softmax(1), lambda: nn.Softmin(1), lambda: nn.LogSoftmax(1)),
)


def _groups(rng: random.Random, *counts: int) -> int:
    return rng.choice([g for g in range(1, min(counts) + 1) if all(count % g == 0 for count in counts)])


def _convolution(rng: random.Random, shape: Shape) -> nn.Module:
    width = rng.choice((1, 4, 6))
    stride, kernel = rng.choice((1, 1, 2)), rng.choice((1, 2, 3))
    padding = rng.choice((0, 1, kernel // 2))
    groups, dilation, bias = _groups(rng, shape[1], width), rng.choice((1, 1, 2)), rng.random() < 0.5
    mode = rng.choice(("zeros", "zeros", "circular", "reflect", "replicate"))
    kind = {3: nn.Conv1d, 4: nn.Conv2d, 5: nn.Conv3d}[len(shape)]
    return kind(shape[1], width, kernel, stride, padding, dilation, groups, bias, mode)


def _transposed(rng: random.Random, shape: Shape) -> nn.Module:
    kind = {3: nn.ConvTranspose1d, 4: nn.ConvTranspose2d, 5: nn.ConvTranspose3d}[len(shape)]
    return kind(shape[1], rng.choice((2, 4)), rng.choice((1, 2)), rng.choice((1, 2)), bias=rng.random() < 0.5)


def _pooling(rng: random.Random, shape: Shape) -> nn.Module:
    one, two, three = len(shape) == 3, len(shape) == 4, len(shape) == 5
    size = rng.choice((1, 2, 3))
    if one:
        kinds: list[Callable[[], nn.Module]] = [lambda: nn.MaxPool1d(2, 1), lambda: nn.AvgPool1d(2, 1, 1)]
        kinds += [lambda: nn.AdaptiveAvgPool1d(size), lambda: nn.AdaptiveMaxPool1d(size), lambda: nn.LPPool1d(2, 2)]
    elif two:
        kinds = [lambda: nn.MaxPool2d(size, padding=size // 2), lambda: nn.MaxPool2d(2, ceil_mode=True)]
        kinds += [lambda: nn.AvgPool2d(size, 1, size // 2, count_include_pad=False), lambda: nn.AdaptiveMaxPool2d(size)]
        kinds += [lambda: nn.AdaptiveAvgPool2d(size), lambda: nn.LPPool2d(2, 2)]
        kinds += [lambda: nn.FractionalMaxPool2d(2, output_ratio=0.6)]
    else:
        assert three
        kinds = [lambda: nn.MaxPool3d((1, 2, 2)), lambda: nn.AvgPool3d((1, 2, 2)), lambda: nn.AdaptiveAvgPool3d(1)]
    return rng.choice(kinds)()


def _normalization(rng: random.Random, shape: Shape) -> nn.Module:
    channels, affine, tracked = shape[1], rng.random() < 0.7, rng.random() < 0.7
    batch = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}[len(shape)]
    kinds: list[Callable[[], nn.Module]] = [
        lambda: batch(channels, affine=affine, track_running_stats=tracked),
        lambda: batch(channels, momentum=None),  # a cumulative average
        lambda: nn.GroupNorm(_groups(rng, channels), channels, affine=affine),
        lambda: nn.LayerNorm(shape[-1], elementwise_affine=affine),
        lambda: nn.LayerNorm(shape[1:]),
        lambda: nn.RMSNorm(shape[-1]),
        lambda: nn.LocalResponseNorm(2),
        lambda: nn.SyncBatchNorm(channels),
    ]
    if len(shape) > 2:
        instance = {3: nn.InstanceNorm1d, 4: nn.InstanceNorm2d, 5: nn.InstanceNorm3d}[len(shape)]
        kinds += [lambda: instance(channels, affine=affine, track_running_stats=tracked)]
    return rng.choice(kinds)()


def _linear(rng: random.Random, shape: Shape) -> nn.Module:
    """Along the last axis, whatever the others are."""
    return nn.Linear(shape[-1], rng.choice((1, 4, 6)), bias=rng.random() < 0.7)


def _rearranged(rng: random.Random, shape: Shape) -> nn.Module:
    kinds: list[Callable[[], nn.Module]] = [nn.Flatten, lambda: nn.Flatten(2), lambda: nn.Flatten(0, 1)]
    if len(shape) == 4:
        kinds += [lambda: nn.PixelShuffle(2), lambda: nn.PixelUnshuffle(2), lambda: nn.Unfold(2), nn.Softmax2d]
        kinds += [lambda: nn.ChannelShuffle(_groups(rng, shape[1])), lambda: nn.Upsample(scale_factor=2)]
        kinds += [lambda: nn.ZeroPad2d(1), lambda: nn.ReflectionPad2d(1), lambda: nn.Dropout2d(0.5)]
        kinds += [lambda: nn.Upsample(scale_factor=1.5, mode="bilinear")]
    if shape[1] % 2 == 0:
        kinds += [lambda: nn.Unflatten(1, (2, shape[1] // 2)), lambda: nn.GLU(1)]
    return rng.choice(kinds)()


def _activation(rng: random.Random, shape: Shape) -> nn.Module:
    return rng.choice(ACTIVATIONS)()


IMAGE_LAYERS: tuple[Draw, ...] = (
    *(_convolution, _convolution, _convolution, _transposed, _pooling, _normalization, _normalization, _activation),
    *(_activation, _activation, _linear, _rearranged),
)
TOKEN_LAYERS: tuple[Draw, ...] = (_linear, _linear, _convolution, _pooling, _normalization, _activation, _rearranged)
VECTOR_LAYERS: tuple[Draw, ...] = (_linear, _linear, _linear, _normalization, _activation)


def draw_layer(rng: random.Random, shape: Shape) -> nn.Module:
    """A layer that may take tensors of this shape; some do not, since their sizes do not divide."""
    draws = {2: VECTOR_LAYERS, 3: TOKEN_LAYERS}.get(len(shape), IMAGE_LAYERS)
    return rng.choice(draws)(rng, shape)
