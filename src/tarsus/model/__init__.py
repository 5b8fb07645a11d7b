"""The robot as data, and the importers that make it from files."""
