"""What can be measured of an untrained network."""

from firstlight.probe.batch import Batches
from firstlight.probe.probe import Probe
from firstlight.probe.subject import Loss

__all__ = ["Batches", "Loss", "Probe"]
