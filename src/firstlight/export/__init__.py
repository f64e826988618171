"""Networks for use elsewhere: a description, stand-alone PyTorch source, weights and ONNX."""
