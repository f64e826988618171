"""Batches for proxies and data sets for training, each with a fingerprint of its exact values."""

from firstlight.data.datasets import Dataset, load_dataset
from firstlight.data.inputs import Inputs, InputSource, load_inputs

__all__ = ["Dataset", "InputSource", "Inputs", "load_dataset", "load_inputs"]
