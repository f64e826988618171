"""TransNAS-Bench-101: cells and macro structures."""
