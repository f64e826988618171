"""Small files in the official layouts of the benchmarks, and one object that no reader may let out of its pickle."""

from __future__ import annotations

import base64
import bz2
import json
import os
import pickle
import struct
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def marker() -> Path:
    """Where there is a file after an `Evil` object was unpickled carelessly."""
    return Path(tempfile.gettempdir()) / f"firstlight-evil-{os.getpid()}"


class Evil:
    def __reduce__(self) -> Any:
        return os.system, (f"touch {marker()}",)


# --- NATS-Bench and NAS-Bench-201


def trial(epochs: int, train: float, evaluations: Mapping[str, float]) -> dict[str, Any]:
    """A trial with all of its learning curves; only the last epoch has the given values."""
    curve = dict.fromkeys(range(epochs - 1), 1.0)
    return {
        "name": "infer.tiny",
        "net_state_dict": None,
        "train_acc1es": curve | {epochs - 1: train},
        "train_acc5es": None,
        "train_losses": curve,
        "train_times": None,
        "arch_config": {"channel": 16, "num_cells": 5, "class_num": 10},
        "params": 0.5,
        "flop": 70.0,
        "seed": 777,
        "epochs": epochs,
        "latency": [0.01],
        "eval_names": list(evaluations),
        "eval_acc1es": {
            f"{name}@{epoch}": value if epoch == epochs - 1 else 1.0
            for name, value in evaluations.items()
            for epoch in range(epochs)
        },
        "eval_times": {},
        "eval_losses": {},
    }


def results(text: str, trials: Mapping[tuple[str, int], Mapping[str, Any]]) -> dict[str, Any]:
    seeds: dict[str, list[int]] = {}
    for dataset, seed in trials:
        seeds.setdefault(dataset, []).append(seed)
    return {
        "arch_index": 0,
        "arch_str": text,
        "all_results": dict(trials),
        "dataset_seed": seeds,
        "clear_net_done": True,
    }


def architecture_of_nats(text: str, base: float) -> dict[str, Any]:
    """12 and 200 epochs on all data sets; CIFAR-10 has two seeds, one point apart."""

    def trained(epochs: int, start: float) -> dict[str, Any]:
        sets = {"x-valid": start + 1, "x-test": start + 2, "ori-test": start + 3}
        return results(
            text,
            {
                ("cifar10-valid", 777): trial(epochs, start, {"x-valid": start + 4, "ori-test": start + 5}),
                ("cifar10", 777): trial(epochs, start, {"ori-test": start + 6}),
                ("cifar10", 888): trial(epochs, start, {"ori-test": start + 7}),
                ("cifar100", 777): trial(epochs, start, sets),
                ("ImageNet16-120", 777): trial(epochs, start, sets),
            },
        )

    return {"12": trained(12, base), "200": trained(20, base + 10)}


def write_bz2(content: Any, path: Path) -> None:
    path.write_bytes(bz2.compress(pickle.dumps(content, protocol=4)))


# --- NAS-Bench-101


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def field(number: int, value: int | float | bytes) -> bytes:
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3) + varint(value)


def measurement(epoch: float, seconds: float, train: float, validation: float, test: float) -> bytes:
    figures = b"".join(
        field(number, value) for number, value in enumerate((epoch, seconds, train, validation, test), 1)
    )
    return figures + field(6, b"model.ckpt-1")


def record_of_nasbench101(
    adjacency: str, operations: Sequence[str], epochs: int, final: Sequence[float], params: int
) -> bytes:
    """`final`: seconds, then accuracy on training, validation and test set as fractions."""
    metrics = field(1, measurement(0, 0.0, 0.1, 0.1, 0.1)) + field(1, measurement(epochs / 2, 1.0, 0.2, 0.2, 0.2))
    metrics += field(1, measurement(epochs, *final)) + field(2, params) + field(3, 1e4)
    names = ",".join(["input", *operations, "output"])
    return json.dumps(["0" * 32, epochs, adjacency, names, base64.b64encode(metrics).decode()]).encode()


def slow_crc32c(message: bytes) -> int:
    """One bit at a time."""
    checksum = 0xFFFFFFFF
    for byte in message:
        checksum ^= byte
        for _ in range(8):
            checksum = checksum >> 1 ^ (0x82F63B78 if checksum & 1 else 0)
    return checksum ^ 0xFFFFFFFF


def slow_mask(checksum: int) -> int:
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecords(contents: Iterable[bytes]) -> bytes:
    def checked(message: bytes) -> bytes:
        return message + struct.pack("<I", slow_mask(slow_crc32c(message)))

    return b"".join(checked(struct.pack("<Q", len(content))) + checked(content) for content in contents)


# --- TransNAS-Bench-101


def transnas_database(architectures: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Of {space: architectures}; figures rise with epoch and architecture, but for a fall in the last epoch."""

    def curve(place: int, epochs: int, scale: float) -> list[float]:
        rising = [scale * (place + epoch / epochs) for epoch in range(epochs)]
        return [*rising[:-1], rising[-1] - scale]

    def task(place: int, epochs: int, figures: Mapping[str, float]) -> dict[str, Any]:
        metrics = {
            f"{s}_{f}": curve(place, epochs, scale) for s in ("train", "valid", "test") for f, scale in figures.items()
        }
        return {
            "model_info": {"inference_time": 0.1, "encoder_params": 1, "model_params": 2},
            "total_epochs": epochs,
            "metrics": metrics | {"time_elapsed": [1.0] * epochs},
        }

    tasks = {
        "class_scene": (25, {"top1": 10.0, "top5": 11.0, "loss": 1.0}),
        "room_layout": (25, {"loss": 1.0, "neg_loss": -1.0}),
        "segmentsemantic": (30, {"loss": 1.0, "acc": 10.0, "mIoU": 5.0}),
        "autoencoder": (30, {"l1_loss": 1.0, "ssim": 0.1}),
    }
    data = {
        space: {text: {name: task(place, *tasks[name]) for name in tasks} for place, text in enumerate(texts, start=1)}
        for space, texts in architectures.items()
    }
    return {"metrics_dict": {}, "info_names": [], "task_list": list(tasks), "data": data}
