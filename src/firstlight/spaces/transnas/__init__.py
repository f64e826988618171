"""TransNAS-Bench-101: cells, and skeletons."""
