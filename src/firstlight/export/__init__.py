"""Networks for use elsewhere: a description, stand-alone PyTorch source, weights and ONNX."""

from firstlight.export.exporter import FORMATS, Export, export

__all__ = ["FORMATS", "Export", "export"]
