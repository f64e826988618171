"""Where work happens: in this process, on local worker processes, on a Ray cluster."""
