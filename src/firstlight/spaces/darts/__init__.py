"""DARTS and NAS-Bench-301: two cells of four nodes."""
