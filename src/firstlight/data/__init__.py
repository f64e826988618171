"""Batches for proxies to look at, each source with a fingerprint that says exactly which numbers it gives."""

from firstlight.data.inputs import Inputs, InputSource, load_inputs

__all__ = ["InputSource", "Inputs", "load_inputs"]
