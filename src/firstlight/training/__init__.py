"""Training: one loop, recipes, checkpoints, warm-up."""
