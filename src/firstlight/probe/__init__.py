"""What can be measured of an untrained network."""

from firstlight.probe.probe import Batches, Probe

__all__ = ["Batches", "Probe"]
