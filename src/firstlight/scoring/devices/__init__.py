"""Latency without the device: models fitted on measurements."""
