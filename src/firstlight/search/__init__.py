"""Search: the problem an algorithm sees, the pool of scored networks, the runner and its result."""
