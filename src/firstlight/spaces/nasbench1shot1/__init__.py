"""NAS-Bench-1Shot1: NAS-Bench-101 cells with a fixed number of parents."""
