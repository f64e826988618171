"""Quantities of untrained networks, each measured once."""

from firstlight.probe.batch import Batches
from firstlight.probe.probe import Probe
from firstlight.probe.subject import Loss

__all__ = ["Batches", "Loss", "Probe"]
