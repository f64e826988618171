"""NAS-Bench-101: cells of at most seven vertices."""
