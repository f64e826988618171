"""Networks for use elsewhere: a description, stand-alone PyTorch source, weights and ONNX."""

from firstlight.export.exporter import FORMATS, Export, export_network, export_run

__all__ = ["FORMATS", "Export", "export_network", "export_run"]
