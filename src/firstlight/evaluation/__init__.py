"""True performance, and how well proxies and searches do by it."""
