"""Predictors: models fitted on features of architectures and proxies, and the performance of a few trained networks."""
