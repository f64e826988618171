"""The calls of the library, one file each. They take option groups, and import what they need when they are called."""
