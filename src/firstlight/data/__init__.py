"""Batches for proxies and data sets to train on, each with a fingerprint that says exactly which numbers it holds."""

from firstlight.data.datasets import Dataset, load_dataset
from firstlight.data.inputs import Inputs, InputSource, load_inputs

__all__ = ["Dataset", "InputSource", "Inputs", "load_dataset", "load_inputs"]
