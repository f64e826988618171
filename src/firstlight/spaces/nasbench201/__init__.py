"""NAS-Bench-201: cells of four nodes."""
