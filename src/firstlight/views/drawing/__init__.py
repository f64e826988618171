"""Architectures as pictures: in the terminal, inside a report's page, and as image files."""
