"""From data to a network that is compared with the plain one: the steps of `firstlight.fit`."""
