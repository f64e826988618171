"""Plain networks: stages of one kind of block."""
