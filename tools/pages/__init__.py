"""What the generated pages are made of, one file for each kind."""
