"""What every other package builds on: errors, seeds, settings, registries. Nothing here imports PyTorch."""
