"""True performance of architectures."""
