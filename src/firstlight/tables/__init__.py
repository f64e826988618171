"""Tables of trained networks, and the importers that read official benchmark files into them."""
